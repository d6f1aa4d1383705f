"""What to do next: each decision from a real report, by its code."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import evalnb as ev
from evalnb.comparison.advice import QUESTIONS, Advice, advise
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.show import sections
from evalnb.show.reading import reading_of
from evalnb.workspace.system import Workspace, open_workspace

N = 12
LEGS = {"keyword": {"mode": "keyword"}, "hybrid": {"mode": "hybrid"}}


def gold(n: int = N, **labels: Any) -> ev.GoldDataset:
    cases = (
        GoldCase.model_validate(
            {
                "case_id": f"c{k}",
                "split": "development",
                "request": {"query": f"word{k}"},
                **(labels or {"expected": {"document_ids": [f"d{k}"]}}),
            }
        )
        for k in range(n)
    )
    return dataset_from_cases(tuple(cases), dataset_id="twelve")


def at(rank: int) -> Callable[[str, int], list[str]]:
    """Return a search that has the right document at this rank."""

    def search(query: str, limit: int) -> list[str]:
        found = [f"{query} x{n}" for n in range(4)]
        found.insert(rank - 1, "d" + query.removeprefix("word"))
        return found

    return search


def advice(report: ev.Report, code: str) -> list[Advice]:
    return [found for found in advise(report.record) if found.code == code]


def reranked(order: Callable[[str, Sequence[Any]], list[float]]) -> ev.Report:
    system = ev.fused({"lexical": at(2), "text": at(2)}, rerank=order)
    variants = {
        "hybrid": (system, {"mode": "hybrid", "rerank": False}),
        "hybrid_rerank": (system, {"mode": "hybrid", "rerank": True}),
    }
    return ev.evaluate(gold(), variants)


RERANKERS = {
    "best first": (lambda query, hits: [float(h.rank == 2) for h in hits], "Turn the reranker on"),
    "as it was": (lambda query, hits: [-h.rank for h in hits], "Leave the reranker off"),
    "last": (lambda query, hits: [float(h.rank != 2) for h in hits], "Leave the reranker off"),
}


@pytest.mark.parametrize("name", RERANKERS)
def test_ev001_a_reranker_has_to_be_better(name: str) -> None:
    order, decision = RERANKERS[name]
    (found,) = advice(reranked(order), "EV001")
    assert found.decision.startswith(decision)
    assert "RR@10" in found.evidence
    assert found.question == QUESTIONS["EV001"]


def test_ev002_a_hybrid_is_weighed_against_each_leg() -> None:
    def decisions(keyword: int, semantic: int) -> list[str]:
        system = ev.fused({"lexical": at(keyword), "text": at(semantic)})
        modes = ("keyword", "semantic", "hybrid")
        report = ev.evaluate(gold(), {mode: (system, {"mode": mode}) for mode in modes})
        return [found.decision for found in advice(report, "EV002")]

    assert decisions(5, 1) == [
        "Use hybrid: it is better than keyword alone.",
        "Use semantic alone: hybrid is worse.",
    ]
    assert decisions(2, 2) == [
        "hybrid is not shown to be better than keyword alone.",
        "hybrid is not shown to be better than semantic alone.",
    ]


@pytest.fixture
def turkish(tmp_path: Path) -> Workspace:
    workspace = open_workspace(tmp_path / "ws", create=True)
    documents = [{"path": f"d{n}", "text": f"kitaplarimiz{n}", "language": "tr"} for n in range(N)]
    workspace.ingest_corpus({"sources": [{"key": "s", "documents": documents}]})
    return workspace


def test_ev003_a_keyword_leg_near_zero_in_another_language(turkish: Workspace) -> None:
    report = ev.evaluate(gold(), {"keyword": (turkish, {"mode": "keyword"})})
    (found,) = advice(report, "EV003")
    assert found.decision.startswith("Search in tr")
    assert "mean RR@10 of 0.000" in found.evidence
    assert "100% of 12 units are in tr" in found.evidence
    assert found.command == "evalnb ingest PATH --workspace DIR --language tr"


def test_ev004_a_missing_leg_comes_with_its_command(turkish: Workspace) -> None:
    variants = {mode: (turkish, {"mode": mode}) for mode in ("keyword", "semantic")}
    report = ev.evaluate(gold(), variants, allow_unavailable=True)
    (found,) = advice(report, "EV004")
    assert found.decision.startswith("Provide what semantic needs")
    assert found.command.startswith("evalnb index text:")


def test_ev004_says_once_what_several_variants_lack(turkish: Workspace) -> None:
    variants = {mode: (turkish, {"mode": mode}) for mode in ("keyword", "semantic", "hybrid")}
    report = ev.evaluate(gold(), variants, allow_unavailable=True)
    (found,) = advice(report, "EV004")
    assert found.decision == "Provide what semantic and hybrid need, and run again."


def test_ev005_a_reranker_that_changes_its_mind() -> None:
    turns = itertools.count()

    def moody(query: str, hits: Sequence[Any]) -> list[float]:
        sign = 1 if next(turns) % 2 else -1
        return [sign * hit.rank for hit in hits]

    system = ev.fused({"lexical": at(3), "text": at(2)}, rerank=moody)
    report = ev.evaluate(gold(13), {"rerank": (system, {"rerank": True})}, repetitions=2)
    (found,) = advice(report, "EV005")
    assert "13 of 13 cases" in found.evidence


def test_ev006_a_leak_is_named() -> None:
    labels = {"expected": {"document_ids": ["a"]}, "forbidden": {"document_ids": ["secret"]}}
    report = ev.evaluate(gold(**labels), {"open": lambda query: ["a", "secret"]})
    (found,) = advice(report, "EV006")
    told = "cases in which forbidden ids came back: open in 12 (c0, c1, c2, c3, c4 and 7 more)"
    assert found.evidence == told


def test_ev007_units_of_two_chunkings_are_not_counted_together(tmp_path: Path) -> None:
    systems = {}
    for name, size in (("small", 100), ("large", 400)):
        systems[name] = open_workspace(tmp_path / name, create=True)
        text = " ".join(f"word{k} and some more of it." for k in range(N))
        systems[name].ingest_corpus(
            {"sources": [{"key": "s", "documents": [{"path": "a.md", "text": text}]}]},
            settings={"chunk_size": size, "chunk_overlap": 0},
        )
    labels = {"content": [{"content_contains": "word3 and"}]}
    (found,) = advice(ev.evaluate(gold(**labels), systems), "EV007")
    assert "nDCG@10, R@10 count units" in found.evidence
    assert not advice(ev.evaluate(gold(**labels), systems, measures=["RR@10"]), "EV007")


def test_ev008_a_handful_of_cases_shows_nothing() -> None:
    (found,) = advice(ev.evaluate(gold(5), at(1)), "EV008")
    assert "5 cases in 5 families; fewer than 6 families cannot" in found.evidence
    (found,) = advice(ev.evaluate(gold(8), at(1)), "EV008")
    assert "8 cases in 8 families; fewer than 10 cases show only" in found.evidence
    assert not advice(ev.evaluate(gold(), at(1)), "EV008")


def test_every_code_is_documented(project_dir: Path) -> None:
    rows = (project_dir / "docs" / "advice.md").read_text().splitlines()
    documented = dict(row.split(" | ")[:2] for row in rows if row.startswith("| EV"))
    assert {code.removeprefix("| "): q for code, q in documented.items()} == QUESTIONS


def test_the_table_stands_in_a_report(tmp_path: Path) -> None:
    report = reranked(lambda query, hits: [float(h.rank == 2) for h in hits])
    shown = sections.decisions(reading_of(report.record, baseline="hybrid"))
    assert list(shown.frame()["code"]) == ["EV001"]
    assert "EV001  Rerank? Turn the reranker on: hybrid_rerank is better" in str(shown)
    page = report.to_html(tmp_path / "r.html", baseline="hybrid").read_text()
    assert "Turn the reranker on: hybrid_rerank is better than hybrid." in page
