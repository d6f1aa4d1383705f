"""A run file answers for the cases that it was made for."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalnb.errors import GoldError, NotEvaluatedError, NotFoundError, SearchFailedError
from evalnb.evaluation.request import EvaluationRequest, Variant
from evalnb.evaluation.runner import run_evaluation
from evalnb.gold.trec import Qrels, Topics, qrels_to_gold
from evalnb.search.request import Controls, QueryRequest
from evalnb.search.system import RecordedSession, SearchContext
from evalnb.systems.runs import RunFileSystem

RUN = "q1 Q0 a 1 0.5 bm25\nq1 Q0 c 2 0.5 bm25\nq1 Q0 b 3 0.9 bm25\nq7 Q0 z 1 1 bm25\n"


@pytest.fixture
def system(tmp_path: Path) -> RunFileSystem:
    path = tmp_path / "x.run"
    path.write_text(RUN)
    return RunFileSystem(path)


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


def _evaluate(system: RunFileSystem, qrels: dict[str, dict[str, int]]) -> dict[str, float | None]:
    topics = Topics("t", {query: f"the text of {query}" for query in qrels})
    gold = qrels_to_gold(Qrels("q", qrels), topics)
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
