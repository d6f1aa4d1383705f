"""Modes of the workspace: which channels run, how they are fused and reranked, what is pinned."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import evalnb as ev
from evalnb.cli.main import main
from evalnb.errors import BadInputError, CapabilityError
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.search.ids import canonical_id
from evalnb.search.request import Hints, Overrides, QueryRequest, resolve_controls
from evalnb.search.result import QueryResult
from evalnb.search.system import SearchContext
from evalnb.workspace import models, pipeline
from evalnb.workspace.encoders import OnnxEncoder
from evalnb.workspace.system import Workspace, open_workspace

WORDS = {"refund": (1.0, 0.0), "money": (0.8, 0.6), "fee": (0.0, 1.0)}
DOCUMENTS = {
    "a": "refund",  # in both lists
    "b": "money fee",  # nearest by meaning to "money"; the only one with the word
    "c": "fee",
}
CORPUS = {
    "sources": [{"key": "s", "documents": [{"path": p, "text": t} for p, t in DOCUMENTS.items()]}]
}


def names(result: QueryResult) -> list[str | None]:
    return [hit.document_name for hit in result.hits]


def by_name(result: QueryResult, ids: Sequence[str]) -> list[str | None]:
    known = {hit.ids.unit_id: hit.document_name for hit in result.hits}
    return [known[unit_id] for unit_id in ids]


def shortest_first(query: str, texts: Sequence[str]) -> list[float]:
    return [-len(text) for text in texts]


shortest_first.version = "1"


@pytest.fixture
def workspace(tmp_path: Path, make_model) -> Workspace:
    made = open_workspace(tmp_path / "ws", create=True, rerankers={"shortest": shortest_first})
    made.ingest_corpus(CORPUS)
    made.index(f"text:onnx:{make_model(tmp_path / 'model', WORDS)}")
    return made


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what was asked of index and encoder, in order; it goes on growing."""
    calls: list[str] = []
    encode, lexical = OnnxEncoder.encode, pipeline.lexical_ranking

    def encoding(self: OnnxEncoder, texts: list[str], role: str) -> Iterator[np.ndarray]:
        calls.append(f"encode {role}")
        return encode(self, texts, role)

    def ranking(*args: Any, **kwargs: Any) -> Any:
        calls.append("lexical")
        return lexical(*args, **kwargs)

    monkeypatch.setattr(OnnxEncoder, "encode", encoding)
    monkeypatch.setattr(pipeline, "lexical_ranking", ranking)
    return calls


SHORTEST = Hints(reranker="shortest")
CALLS = [
    ({"mode": "keyword"}, ["lexical"], ["lexical"]),
    ({"mode": "semantic"}, ["text"], ["encode query"]),
    ({"mode": "hybrid"}, ["lexical", "text"], ["lexical", "encode query"]),
    (
        {"mode": "hybrid_rerank", "hints": SHORTEST},
        ["lexical", "text"],
        ["lexical", "encode query"],
    ),
    ({"channels": ("text",)}, ["text"], ["encode query"]),
    ({"mode": "semantic", "channels": ("lexical",)}, ["lexical"], ["lexical"]),
    ({"channels": ("text", "lexical")}, ["text", "lexical"], ["encode query", "lexical"]),
    ({"channels": ("lexical", "lexical")}, ["lexical"], ["lexical"]),
]


@pytest.mark.parametrize(("overrides", "channels", "calls"), CALLS)
def test_a_channel_that_is_not_chosen_is_not_queried(
    workspace: Workspace, ask, asked, overrides, channels, calls
) -> None:
    ask(workspace, "fee")  # opens what is opened once
    workspace.check(resolved(workspace, Overrides(**overrides)))
    asked.clear()
    result = ask(workspace, "fee", overrides=overrides)
    assert list(result.candidates) == channels
    assert asked == calls


def resolved(workspace: Workspace, overrides: Overrides) -> Any:
    request = QueryRequest(query="fee")
    return resolve_controls(request, overrides, workspace.capabilities().configuration)


class TestFusion:
    def test_reciprocal_ranks_are_added(self, workspace: Workspace, ask) -> None:
        result = ask(workspace, "money", overrides={"mode": "hybrid"})
        text = by_name(result, result.candidates["text"].ids)
        assert text == ["b", "a", "c"]  # cosines with (.8, .6): 2 / 5 ** .5, .8, .6
        assert by_name(result, result.candidates["lexical"].ids) == ["b"]
        scores = {hit.document_name: hit.score for hit in result.hits}
        assert scores == pytest.approx({"b": 2 / 61, "a": 1 / 62, "c": 1 / 63})
        assert set(result.hits[0].channels) == {"lexical", "text"}
        assert set(result.hits[1].channels) == {"text"}

    def test_hints_choose_the_fusion(self, workspace: Workspace, ask) -> None:
        hints = Hints(rrf_k=1, weights={"lexical": 0.5, "text": 2.0})
        result = ask(workspace, "money", overrides={"mode": "hybrid", "hints": hints})
        assert result.hits[0].score == pytest.approx(0.5 / 2 + 2 / 2)
        weighted = Hints(fusion="weighted", normalisation="max")
        result = ask(workspace, "money", overrides={"mode": "hybrid", "hints": weighted})
        assert result.hits[0].score == pytest.approx(2)
        assert result.hits[1].score == pytest.approx(0.8 / (2 / 5**0.5))

    def test_one_channel_keeps_its_own_scores(self, workspace: Workspace, ask) -> None:
        result = ask(workspace, "money", overrides={"mode": "semantic"})
        assert result.hits[0].score == pytest.approx(2 / 5**0.5)

    IMPOSSIBLE = [
        (Hints(weights={"bm25": 1.0}), "weights name 'bm25'"),
        (Hints(weights={"lexical": 0.0, "text": 0.0}), "every weight is 0"),
    ]

    @pytest.mark.parametrize(("hints", "message"), IMPOSSIBLE)
    def test_impossible_weights_are_refused_before_searching(
        self, workspace: Workspace, hints, message
    ) -> None:
        with pytest.raises(BadInputError, match=message):
            workspace.check(resolved(workspace, Overrides(mode="hybrid", hints=hints)))

    def test_a_negative_weight_is_no_hint(self) -> None:
        with pytest.raises(ValidationError, match="greater than or equal to 0"):
            Hints(weights={"lexical": -1.0})

    def test_candidates_are_kept_past_the_limit(self, workspace: Workspace, ask) -> None:
        result = ask(workspace, "fee", limit=1, overrides={"mode": "hybrid"})
        assert len(result.hits) == 1
        assert [len(found.ids) for found in result.candidates.values()] == [2, 3]


class TestReranking:
    def test_scores_are_kept_for_the_whole_pool(self, workspace: Workspace, ask) -> None:
        overrides = {"mode": "hybrid_rerank", "hints": SHORTEST}
        result = ask(workspace, "money", limit=3, overrides=overrides)
        assert names(result) == ["c", "a", "b"]
        assert [hit.score for hit in result.hits] == [-3, -6, -9]
        first = ask(workspace, "money", limit=1, overrides=overrides)
        assert names(first) == ["c"]
        assert first.rerank_scores == result.rerank_scores
        assert result.rerank_scores is not None
        assert by_name(result, result.rerank_scores.ids) == ["c", "a", "b"]

    def test_what_is_past_the_depth_follows_without_a_score(self, workspace, ask) -> None:
        hints = SHORTEST.model_copy(update={"rerank_depth": 2})
        result = ask(workspace, "money", overrides={"mode": "hybrid_rerank", "hints": hints})
        assert names(result) == ["a", "b", "c"]  # b and a were first; c is third in the fusion
        assert [hit.score for hit in result.hits] == [-6, -9, None]

    def test_exact_identifiers_stay_first(self, workspace: Workspace, ask) -> None:
        name = workspace_text_index(workspace)
        workspace.ingest_corpus(
            {
                "sources": [
                    {
                        "key": "t",
                        "documents": [
                            {"path": "x", "text": "a longer text", "identifiers": ["AML-17"]}
                        ],
                    }
                ]
            }
        )
        workspace.index(name)
        result = ask(
            workspace,
            "money",
            exact_identifiers=("AML-17",),
            overrides={"mode": "hybrid_rerank", "hints": SHORTEST},
        )
        assert names(result) == ["x", "c", "a", "b"]

    def test_a_list_of_one_channel_is_reranked(self, workspace: Workspace, ask, asked) -> None:
        overrides = {"channels": ("lexical",), "rerank": True, "hints": SHORTEST}
        result = ask(workspace, "fee", overrides=overrides)
        assert names(result) == ["c", "b"]
        assert asked == ["lexical"]

    def test_nothing_found_is_nothing_to_rerank(self, workspace: Workspace, ask) -> None:
        result = ask(workspace, "unheard", overrides={"mode": "hybrid_rerank", "hints": SHORTEST})
        assert result.hits == ()
        assert result.rerank_scores is not None
        assert result.rerank_scores.ids == ()

    def test_maxsim_unless_another_is_chosen_or_configured(self, workspace: Workspace, ask) -> None:
        result = ask(workspace, "money", overrides={"mode": "hybrid_rerank"}, trace=True)
        assert result.trace is not None
        (step,) = [d for d in result.trace.decisions if d.step == "rerank"]
        assert step.detail.startswith("maxsim, the first 3; model_sha256 8199be6f699a")
        workspace.configure({"hints.reranker": "shortest"})
        result = ask(workspace, "money", overrides={"mode": "hybrid_rerank"}, trace=True)
        assert names(result) == ["c", "a", "b"]

    def test_offline_no_provider_is_called(self, tmp_path: Path, ask) -> None:
        def provider(query: str, texts: Sequence[str]) -> list[float]:
            raise AssertionError("called")

        provider.needs_network = True
        made = open_workspace(tmp_path / "net", create=True, rerankers={"llm": provider})
        made.ingest_corpus(CORPUS)
        hints = Hints(reranker="llm")
        with pytest.raises(CapabilityError, match="llm needs the network"):
            ask(made, "fee", overrides={"channels": ("lexical",), "rerank": True, "hints": hints})

    def test_the_trace_says_what_was_decided(self, workspace: Workspace, ask) -> None:
        hints = SHORTEST.merged(Hints(weights={"text": 2.0}, rerank_depth=2))
        result = ask(
            workspace, "fee", trace=True, overrides={"mode": "hybrid_rerank", "hints": hints}
        )
        assert result.trace is not None
        name = workspace_text_index(workspace)
        assert [(step.step, step.detail) for step in result.trace.decisions] == [
            ("lexical", "lexical:plain, any: fee -> 2 candidates"),
            ("text", f"{name} -> 3 candidates"),
            ("fuse", "rrf, k 60, text weighs 2"),
            ("rerank", "shortest, the first 2; version 1"),
            ("cut", "limit 10 of 3"),
        ]


def workspace_text_index(workspace: Workspace) -> str:
    name = workspace.capabilities().configuration.hints.text_index
    assert name is not None
    return name


class TestChoiceOfTheIndex:
    def test_without_any(self, handbook: Workspace, ask) -> None:
        with pytest.raises(CapabilityError, match=r"no text index.*evalnb index text:lsa-256"):
            ask(handbook, "payment", overrides={"mode": "semantic"})

    def test_of_several_one_has_to_be_named(self, workspace: Workspace, ask) -> None:
        name = workspace_text_index(workspace)
        workspace.index("text:lsa-256")
        with pytest.raises(CapabilityError, match=r"2 text indexes.*hints.text_index"):
            ask(workspace, "fee", overrides={"mode": "semantic"})
        hints = Hints(text_index="text:lsa-256")
        result = ask(workspace, "refunds", overrides={"mode": "semantic", "hints": hints})
        assert names(result)[0] == "a"
        workspace.configure({"hints.text_index": name})
        assert names(ask(workspace, "money", overrides={"mode": "semantic"}))[0] == "b"

    def test_what_is_configured_holds_in_every_working_directory(
        self, workspace: Workspace, tmp_path: Path, monkeypatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        reranker = "hints.reranker"
        written = {"onnx:m": f"onnx:{tmp_path}/m", "maxsim:onnx:m": f"maxsim:onnx:{tmp_path}/m"}
        for given, kept in (written | {"maxsim": "maxsim", "shortest": "shortest"}).items():
            assert workspace.configure({reranker: given}).hints.reranker == kept
        settings = workspace.configure({"hints.text_index": "text:onnx:model"})
        assert settings.hints.text_index == workspace_text_index(workspace)
        with pytest.raises(BadInputError, match="no text index is called 'text:bge'"):
            workspace.configure({"hints.text_index": "text:bge"})

    def test_an_index_of_another_snapshot_is_none(self, workspace: Workspace, ask) -> None:
        name = workspace_text_index(workspace)
        before = workspace.snapshot().snapshot_id
        workspace.ingest_corpus(
            {"sources": [{"key": "t", "documents": [{"path": "n", "text": "new"}]}]}
        )
        with pytest.raises(CapabilityError, match="no text index in this snapshot"):
            ask(workspace, "fee", overrides={"mode": "semantic"})
        hints = Hints(text_index=name)
        found = ask(
            workspace, "fee", snapshot_id=before, overrides={"mode": "semantic", "hints": hints}
        )
        assert len(found.hits) == 3


class TestPins:
    def test_capabilities_pin_models(self, workspace: Workspace) -> None:
        name = workspace_text_index(workspace)
        can = workspace.capabilities()
        settings = workspace.index_manifest(name)["settings"]
        assert can.channels == ("lexical", "text")
        assert can.identity[f"{name}.model_sha256"] == settings["model_sha256"]
        assert can.identity[f"{name}.tokenizer_sha256"] == settings["tokenizer_sha256"]
        assert can.identity["maxsim.model_sha256"] == models.MINILM_MODEL_SHA256
        assert can.identity["maxsim.tokenizer_sha256"] == models.MINILM_TOKENIZER_SHA256
        assert can.identity["shortest.version"] == "1"
        assert {"onnxruntime", "tokenizers", "tantivy"} <= set(can.identity)
        assert can.versioned

    def test_an_unversioned_function_is_not_pinned(self, tmp_path: Path) -> None:
        made = open_workspace(tmp_path / "x", create=True, rerankers={"f": lambda q, t: [0.0]})
        assert not made.capabilities().versioned

    def test_the_cut_has_text_indexes_and_rerankers(self, workspace: Workspace) -> None:
        name = workspace_text_index(workspace)
        workspace.check(
            resolved(workspace, Overrides(mode="hybrid_rerank", hints=SHORTEST)),
        )
        session = workspace.open(SearchContext())
        cut = session.cut()
        session.close()
        assert set(cut.indexes) == {"lexical:plain", name, "reranker:shortest"}
        assert cut.indexes[name] == workspace.index_manifest(name)["identity"]

    def test_another_revision_takes_the_place_of_the_old(
        self, workspace: Workspace, make_model, tmp_path: Path
    ) -> None:
        name = workspace_text_index(workspace)
        before = workspace.index_manifest(name)["identity"]
        make_model(tmp_path / "model", WORDS | {"fee": (0.6, 0.8)})
        assert workspace.index(name)
        session = workspace.open(SearchContext())
        cut = session.cut()
        session.close()
        assert cut.indexes[name] == workspace.index_manifest(name)["identity"] != before


class TestEvaluation:
    GOLD = dataset_from_cases(
        (
            GoldCase.model_validate(
                {
                    "case_id": "q",
                    "split": "development",
                    "request": {"query": "money"},
                    "expected": {
                        "document_ids": (
                            canonical_id("document", canonical_id("source", "s"), "c"),
                        )
                    },
                }
            ),
        ),
        dataset_id="set",
    )
    MODES = ("keyword", "semantic", "hybrid", "hybrid_rerank")

    def test_modes_are_variants(self, workspace: Workspace) -> None:
        workspace.configure({"hints.reranker": "shortest"})
        name = workspace_text_index(workspace)
        report = ev.evaluate(self.GOLD, {mode: (workspace, {"mode": mode}) for mode in self.MODES})
        record = report.record
        ranks = {
            entry.variant: next(s.value for s in entry.scores if s.measure == "RR@10")
            for entry in record.results
        }
        assert ranks == {
            "keyword": 0,
            "semantic": pytest.approx(1 / 3),
            "hybrid": pytest.approx(1 / 3),
            "hybrid_rerank": 1,
        }
        for entry in record.results:  # what was executed names what ran
            assert entry.controls.hints.text_index == name
            assert entry.controls.hints.reranker == "shortest"
        cut = record.cuts[record.variants[0].system]
        assert cut is not None
        assert set(cut.indexes) == {"lexical:plain", name, "reranker:shortest"}
        again = ev.evaluate(self.GOLD, {mode: (workspace, {"mode": mode}) for mode in self.MODES})
        assert [r.result for r in again.record.results] == [r.result for r in record.results]

    def test_a_leg_that_is_missing_poisons_nothing(self, tmp_path: Path) -> None:
        made = open_workspace(tmp_path / "bare", create=True)
        made.ingest_corpus(CORPUS)
        systems = {mode: (made, {"mode": mode}) for mode in self.MODES}
        with pytest.raises(CapabilityError, match="variant 'semantic': no text index"):
            ev.evaluate(self.GOLD, systems)
        report = ev.evaluate(self.GOLD, systems, allow_unavailable=True)
        status = {entry.variant: entry.result.status for entry in report.record.results}
        assert status == {"keyword": "ok"} | dict.fromkeys(self.MODES[1:], "unavailable")


def test_the_command_searches_as_a_session_does(
    workspace: Workspace, ask, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["search", "money", "--mode", "hybrid", "--json", "--workspace"]
    assert main([*command, str(workspace.folder)]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = ask(workspace, "money", overrides={"mode": "hybrid"})
    assert [hit["score"] for hit in found["hits"]] == [hit.score for hit in expected.hits]


def test_the_command_builds_an_index(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["index", "text:lsa-256", "--json", "--workspace", str(workspace.folder)]
    identity = {}
    for built in (True, False):
        assert main(command) == 0
        said = json.loads(capsys.readouterr().out)
        assert (said["index"], said["built"]) == ("text:lsa-256", built)
        identity[built] = said["identity"]
    assert identity[True] == identity[False]
