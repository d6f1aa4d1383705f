"""A run file answers for the cases that it was made for."""

from __future__ import annotations

from pathlib import Path

import pytest

import evalnb as ev
from evalnb.errors import (
    BadInputError,
    CapabilityError,
    GoldError,
    NotEvaluatedError,
    NotFoundError,
    SearchFailedError,
)
from evalnb.evaluation.request import EvaluationRequest, Variant
from evalnb.evaluation.runner import run_evaluation
from evalnb.gold.cases import GoldDataset
from evalnb.gold.trec import Qrels, Topics, qrels_to_gold
from evalnb.search.request import Controls, Hints, QueryRequest
from evalnb.search.system import RecordedSession, SearchContext
from evalnb.systems.runs import RunFileSystem

RUN = "q1 Q0 a 1 0.5 bm25\nq1 Q0 c 2 0.5 bm25\nq1 Q0 b 3 0.9 bm25\nq7 Q0 z 1 1 bm25\n"


@pytest.fixture
def system(tmp_path: Path) -> RunFileSystem:
    path = tmp_path / "x.run"
    path.write_text(RUN)
    return RunFileSystem(path)


@pytest.mark.parametrize(
    ("controls", "named"),
    [
        (Controls(channels=("text",)), "text"),
        (Controls(rerank=True), "rerank"),
        (Controls(hints=Hints(rrf_k=10)), "rrf_k"),
    ],
)
def test_what_would_have_to_be_searched_again_is_refused(
    system: RunFileSystem, controls: Controls, named: str
) -> None:
    system.check(Controls(limit=3))
    with pytest.raises(CapabilityError, match=f"a run file cannot execute {named}"):
        system.check(controls)


def test_hits_are_documents_by_score_then_id(system: RunFileSystem) -> None:
    session = system.open(SearchContext())
    result = session.answer("q1", Controls(limit=2))
    assert [(hit.rank, hit.ids.document_id, hit.score) for hit in result.hits] == [
        (1, "b", 0.9), (2, "c", 0.5),
    ]  # fmt: skip
    assert (result.n_returned, result.status) == (3, "ok")
    assert isinstance(session, RecordedSession)


def test_a_case_that_the_run_lacks_is_an_empty_result(system: RunFileSystem) -> None:
    result = system.open(SearchContext()).answer("q2", Controls())
    assert (result.hits, result.status) == ((), "ok")


def test_capabilities_pin_the_content(system: RunFileSystem) -> None:
    found = system.capabilities()
    assert (found.kinds, found.texts, found.identity["run"]) == (("document",), False, "bm25")
    other = RunFileSystem(system.path.with_name("y.run"))
    other.path.write_text(RUN)
    assert other.capabilities() == found
    other = RunFileSystem(other.path)
    other.path.write_text(RUN.replace("0.9", "0.8"))
    assert other.capabilities().identity != found.identity


def test_a_query_is_answered_by_its_id_only(system: RunFileSystem) -> None:
    session = system.open(SearchContext())
    assert len(session.search(QueryRequest(query="q1"), Controls()).hits) == 3
    with pytest.raises(SearchFailedError, match="no query id 'goldfish'"):
        session.search(QueryRequest(query="goldfish"), Controls())


def test_files_that_are_no_runs(tmp_path: Path) -> None:
    path = tmp_path / "x.run"
    with pytest.raises(NotFoundError):
        RunFileSystem(path).capabilities()
    path.write_text("q1 Q0 a 1 nan t\n")
    with pytest.raises(GoldError, match=r"x\.run:1"):
        RunFileSystem(path).capabilities()


def _gold(qrels: dict[str, dict[str, int]]) -> GoldDataset:
    topics = Topics("t", {query: f"the text of {query}" for query in qrels})
    return qrels_to_gold(Qrels("q", qrels), topics)


def _evaluate(system: RunFileSystem, qrels: dict[str, dict[str, int]]) -> dict[str, float | None]:
    gold = _gold(qrels)
    request = EvaluationRequest(
        variants=(Variant(name="bm25", system="run"),), measures=("AP@10", "nDCG@10")
    )
    report = run_evaluation(gold, {"run": system}, request)
    return {row.measure: row.mean for row in report.aggregates if row.measure in ("AP@10",)}


def test_an_evaluation_matches_cases_by_query_id(system: RunFileSystem) -> None:
    assert _evaluate(system, {"q1": {"b": 1}, "q2": {"a": 1}}) == {"AP@10": 0.5}


def test_a_run_of_other_queries_is_refused(system: RunFileSystem) -> None:
    with pytest.raises(NotEvaluatedError, match=r"none of the 2 cases \(1, 2\); it has q1, q7"):
        _evaluate(system, {"1": {"b": 1}, "2": {"a": 1}})


def test_runs_are_fused_case_by_case_and_their_candidates_kept(tmp_path: Path) -> None:
    (tmp_path / "bm25.run").write_text("q1 Q0 a 1 9.0 s\nq1 Q0 b 2 8.0 s\nq2 Q0 c 1 1.0 s\n")
    (tmp_path / "dense.run").write_text("q1 Q0 b 1 0.9 s\nq1 Q0 x 3 0.8 s\n")  # x is second
    gold = _gold({"q1": {"b": 1}, "q2": {"c": 1}})
    fused = ev.fused({"bm25": tmp_path / "bm25.run", "dense": tmp_path / "dense.run"})
    weights = {"hints": {"weights": {"dense": 0.0}}}
    report = ev.evaluate(gold, {"rrf": fused, "bm25": (fused, weights)}, measures=["RR"]).record
    first, second = (r for r in report.results if r.variant == "rrf")
    assert [(hit.ids.document_id, hit.score) for hit in first.result.hits] == [
        ("b", pytest.approx(1 / 62 + 1 / 61)), ("a", pytest.approx(1 / 61)),
        ("x", pytest.approx(1 / 62)),
    ]  # fmt: skip
    assert report.candidates(first)["dense"].ids == ("b", "x")
    assert [hit.ids.document_id for hit in second.result.hits] == ["c"]
    means = {row.variant: row.mean for row in report.aggregates if row.measure == "RR"}
    assert means == {"rrf": 1.0, "bm25": 0.75}


def test_runs_that_cannot_be_fused_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("q1 Q0 a 1 9.0 s\n")
    (tmp_path / "b.run").write_text("q9 Q0 a 1 9.0 s\n")
    gold = _gold({"q1": {"b": 1}})
    with pytest.raises(NotEvaluatedError, match="channel 'b': the run answers none of the 1 cases"):
        ev.evaluate(gold, {"v": ev.fused({"a": tmp_path / "a.run", "b": tmp_path / "b.run"})})
    with pytest.raises(BadInputError, match="run files hold no texts to rerank"):
        ev.fused({"a": tmp_path / "a.run"}, rerank=lambda query, hits: [])
