"""A replay returns what a live search returns, for every setting that it accepts."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evalnb as ev
from evalnb.comparison.replay import Replay
from evalnb.errors import BadInputError, NotFoundError
from evalnb.gold.cases import GoldCase, GoldDataset, dataset_from_cases
from evalnb.workspace.system import Workspace, open_workspace

MEASURES = ["nDCG@10", "RR@10", "R@10", "AP", "Success@3"]
N = 30


def searcher(seed: int, *, scores: bool = True) -> Callable[[str, int], list[Any]]:
    """Return a channel that ranks 60 documents in an order of its own, with tied scores."""

    def search(query: str, limit: int) -> list[Any]:
        chance = random.Random(f"{seed} {query}")
        found = chance.sample([f"d{n}" for n in range(60)], 40)[:limit]
        return [(key, 10.0 - rank // 3) for rank, key in enumerate(found)] if scores else found

    return search


def reranker(query: str, hits: list[Any]) -> list[float]:
    return [float(sum(map(ord, hit.ids.document_id + query)) % 17) for hit in hits]


@pytest.fixture(scope="module")
def gold() -> GoldDataset:
    chance = random.Random(0)
    cases = (
        GoldCase(
            case_id=f"c{n}",
            split="development",
            request={"query": f"question {n}"},
            document_relevance={f"d{chance.randrange(60)}": g for g in (3, 1, 2, 0)},
        )
        for n in range(N)
    )
    return dataset_from_cases(tuple(cases), dataset_id="thirty")


CHANNELS = {name: searcher(seed) for seed, name in enumerate("abc")}
SETTINGS: list[dict[str, Any]] = [
    {},
    {"hints": {"rrf_k": 1}},
    {"hints": {"rrf_k": 2, "weights": {"a": 3.0, "b": 0.25}}},
    {"hints": {"weights": {"a": 0.0}}},
    {"channels": ["b"]},
    {"channels": ["c", "a"], "limit": 3},
    {"limit": 25},
    {"hints": {"candidates": 12}},
    {"hints": {"fusion": "weighted"}},
    {"hints": {"fusion": "weighted", "normalisation": "z-score", "weights": {"c": 2.5}}},
    {"hints": {"fusion": "weighted", "normalisation": "none", "candidates": 15}},
    {"hints": {"fusion": "weighted", "normalisation": "sum"}, "channels": ["a", "c"]},
    {"rerank": True, "hints": {"rerank_depth": 5}},
    {"rerank": True, "limit": 4, "hints": {"rrf_k": 5, "rerank_depth": 7}},
]


def live(gold: GoldDataset, system: Any, overrides: dict[str, Any]) -> ev.Report:
    return ev.evaluate(gold, {"live": (system, overrides)}, measures=MEASURES)


def assert_same(replay: Replay, report: ev.Report, overrides: dict[str, Any]) -> None:
    found = replay.run(overrides)
    assert not found.needs_live
    for result in report.record.results:
        ids = [hit.ids.unit_id or hit.ids.document_id for hit in result.result.hits]
        assert list(found.rankings[result.case_id]) == ids, (result.case_id, overrides)
    expected = report.frame().query("measure in @MEASURES").reset_index(drop=True)
    replayed = found.frame("live")
    both = expected.merge(replayed, on=["case_id", "measure", "k"], suffixes=("", "_replayed"))
    assert len(both) == len(expected) == len(replayed)
    for column in ("value", "numerator", "denominator", "status", "family_key", "kind"):
        assert both[column].equals(both[f"{column}_replayed"]), column


@pytest.mark.parametrize("overrides", SETTINGS, ids=str)
def test_a_composed_system_is_replayed(gold: GoldDataset, overrides: dict[str, Any]) -> None:
    system = ev.fused(CHANNELS, rerank=reranker)
    kept = ev.evaluate(
        gold,
        {"kept": (system, {"rerank": True, "limit": 10, "hints": {"rerank_depth": 60}})},
        measures=MEASURES,
    )
    replay = Replay(kept.record, "kept")
    chosen = {"rerank": False} | overrides
    assert_same(replay, live(gold, system, chosen), chosen)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    made = open_workspace(Path(tmp_path_factory.mktemp("replay")) / "ws", create=True)
    chance = random.Random(1)
    words = [f"word{n}" for n in range(50)]
    documents = [
        {"path": f"d{n}.md", "text": " ".join(chance.choices(words, k=120))} for n in range(40)
    ]
    made.ingest_corpus(
        {"sources": [{"key": "s", "documents": documents}]},
        settings={"chunk_size": 200, "chunk_overlap": 20},
    )
    made.index("text:lsa-256")
    return made


LABELS = [
    {"document_relevance": {"d3.md": 2, "d7.md": 1}},
    {"content": [{"content_contains": "d7"}]},
]
WORKSPACE_SETTINGS: list[dict[str, Any]] = [
    {},
    {"channels": ["text"]},
    {"hints": {"rrf_k": 3, "weights": {"lexical": 2.0}}, "limit": 20},
    {"hints": {"fusion": "weighted", "candidates": 30}},
]


@pytest.mark.parametrize("overrides", WORKSPACE_SETTINGS, ids=str)
@pytest.mark.parametrize("kind", ["document", "unit"])
def test_a_workspace_is_replayed(
    workspace: Workspace, kind: str, overrides: dict[str, Any]
) -> None:
    labels: dict[str, Any] = (
        {"document_relevance": {"d3.md": 2, "d7.md": 1}}
        if kind == "document"
        else {"content": [{"content_contains": ["word3 word7", "word11"]}]}
    )
    cases = (
        GoldCase.model_validate(
            {
                "case_id": f"c{n}",
                "split": "development",
                "request": {"query": f"word{n} word{n + 1} word{n + 2}"},
                **labels,
            }
        )
        for n in range(8)
    )
    gold = dataset_from_cases(tuple(cases), dataset_id="eight")
    kept = ev.evaluate(gold, {"kept": (workspace, {"mode": "hybrid"})}, measures=MEASURES)
    saved = ev.Report(type(kept.record).model_validate_json(kept.record.model_dump_json()))
    chosen = {"channels": ["lexical", "text"]} | overrides
    assert_same(Replay(saved.record, "kept"), live(gold, workspace, chosen), chosen)


def test_what_cannot_be_replayed_is_counted(gold: GoldDataset) -> None:
    system = ev.fused(CHANNELS, rerank=reranker, candidates=20)
    report = ev.evaluate(
        gold, {"kept": (system, {"hints": {"rerank_depth": 10}})}, measures=["RR@10"]
    )
    replay = Replay(report.record, "kept")
    deeper = replay.run({"rerank": False, "hints": {"candidates": 30}})
    assert set(deeper.needs_live.values()) == {"deeper candidates than were kept"}
    other = replay.run({"hints": {"weights": {"c": 9.0}, "rerank_depth": 10}})
    assert set(other.needs_live.values()) == {"no rerank score"}
    rows = other.frame().query("status == 'unavailable'")
    assert len(rows) == len(other.needs_live)
    assert set(rows["reason"]) == {"needs live search: no rerank score"}


WRONG = [
    ({"hints": {"lexical_operator": "all"}}, "needs live search: lexical_operator"),
    ({"mode": "keyword"}, "needs live search: mode"),
    ({"channels": ["a", "d"]}, "needs live search: d was not searched"),
    ({"hints": {"weights": {"a": 0.0, "b": 0.0, "c": 0.0}}}, "every weight is 0"),
    ({"hints": {"weights": {"dense": 2.0}}}, "weights name 'dense', which was not searched"),
    ({"hints": {"rrfk": 10}}, "hints.rrfk: unknown key"),
    ({"rrf_k": 10}, "rrf_k: unknown key"),
]


@pytest.mark.parametrize(("overrides", "message"), WRONG)
def test_what_changes_the_search_is_refused(
    gold: GoldDataset, overrides: dict[str, Any], message: str
) -> None:
    report = ev.evaluate(gold, {"kept": ev.fused(CHANNELS)}, measures=["RR@10"])
    with pytest.raises(BadInputError, match=message):
        Replay(report.record, "kept").run(overrides)


def test_a_variant_without_candidates_is_refused(gold: GoldDataset) -> None:
    report = ev.evaluate(gold, {"plain": CHANNELS["a"]}, measures=["RR@10"]).record
    with pytest.raises(BadInputError, match="kept no candidates"):
        Replay(report, "plain")
    with pytest.raises(NotFoundError, match="no variant 'other'"):
        Replay(report, "other")
