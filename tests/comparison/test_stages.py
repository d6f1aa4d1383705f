"""The way of each relevant id through a search, against searches whose lists are written down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import evalnb as ev
from evalnb.comparison.stages import Course, courses, courses_frame
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.search.result import Candidates, Hit, Identities, QueryResult


def gold(**labels: Any) -> ev.GoldDataset:
    case = GoldCase.model_validate(
        {"case_id": "c", "split": "development", "request": {"query": "q"}, **labels}
    )
    return dataset_from_cases((case,), dataset_id="one")


def returning(*found: str) -> Callable[[str, int], list[str]]:
    def search(query: str, limit: int) -> list[str]:
        return list(found)

    return search


def followed(system: Any, *expected: str, limit: int = 3) -> tuple[Course, ...] | None:
    asked = gold(expected={"document_ids": list(expected)})
    record = ev.evaluate(asked, {"mine": system}, limit=limit).record
    (result,) = record.results
    return courses(record, record.cases[0], result, documents=record.documents_by_id())


def worst_first(query: str, hits: list[Any]) -> list[float]:
    return [float(hit.ids.document_id != "a") for hit in hits]


KEYWORD, SEMANTIC = returning("a", "b", "c", "d"), returning("d", "c", "a", "e", "f")
BOTH = {"keyword": KEYWORD, "semantic": SEMANTIC}


def test_two_channels_are_fused_and_cut() -> None:
    # 1/61 + 1/63 = .03227 for a, 1/64 + 1/61 = .03202 for d, 1/63 + 1/62 = .032 for c
    found = followed(ev.fused(BOTH), "a", "b", "d", "nowhere")
    assert found is not None
    assert [(c.target, c.channels, c.stages) for c in found] == [
        ("a", (("keyword", 1), ("semantic", 3)), (("fused", 1), ("returned", 1))),
        ("d", (("keyword", 4), ("semantic", 1)), (("fused", 2), ("returned", 2))),
        ("b", (("keyword", 2), ("semantic", None)), (("fused", 4), ("returned", None))),
        ("nowhere", (("keyword", None), ("semantic", None)), (("fused", None), ("returned", None))),
    ]
    assert [c.known for c in found] == [True, True, True, False]
    frame = courses_frame(found)
    assert list(frame.columns) == ["target", "name", "step", "stage", "rank"]
    assert len(frame) == 16
    assert frame["rank"].isna().sum() == 6
    assert set(frame["step"]) == {"channel", "later"}


def test_a_reranker_is_a_stage_of_its_own() -> None:
    found = followed(ev.fused(BOTH, rerank=worst_first), "a")
    assert found is not None
    assert found[0].stages == (("fused", 1), ("reranked", 6), ("returned", None))


def test_one_channel_is_not_fused() -> None:
    found = followed(ev.fused({"keyword": KEYWORD}), "c", limit=2)
    assert found is not None
    assert found[0] == Course("c", "c", (("keyword", 3),), (("returned", None),))
    assert found[0].returned is None


def test_what_was_not_recorded_is_none_and_what_is_not_labelled_is_empty() -> None:
    assert followed(KEYWORD, "a") is None
    assert followed(ev.fused(BOTH)) == ()
    assert list(courses_frame(()).columns) == ["target", "name", "step", "stage", "rank"]


def unit(rank: int, key: str) -> Hit:
    return Hit(
        rank=rank,
        kind="unit",
        ids=Identities(document_id="doc_1", unit_id=key),
        document_name="docs/guide.md",
    )


def course_of(result: QueryResult, **labels: Any) -> tuple[Course, ...] | None:
    record = ev.evaluate(gold(**labels), {"mine": lambda query: result}).record
    (found,) = record.results
    return courses(record, record.cases[0], found, documents=record.documents_by_id())


def test_a_document_stands_where_its_first_chunk_does() -> None:
    hits = (unit(1, "u2"), unit(2, "u1"))
    result = QueryResult(hits=hits, candidates={"text": Candidates(ids=("u2", "u1"))})
    named = course_of(result, expected={"document_ids": ["guide.md", "other.md"]})
    assert named == (
        Course("guide.md", "guide.md", (("text", 1),), (("returned", 1),)),
        Course("other.md", "other.md", (("text", None),), (("returned", None),)),
    )
    # Chunks of one document are told apart by their ids.
    by_unit = course_of(result, expected={"unit_ids": ["u1"]})
    assert by_unit == (Course("u1", "docs/guide.md · u1", (("text", 2),), (("returned", 2),)),)


def test_nothing_is_said_of_a_name_that_may_be_a_candidate() -> None:
    result = QueryResult(hits=(unit(1, "u1"),), candidates={"text": Candidates(ids=("u1", "u9"))})
    found = course_of(result, expected={"document_ids": ["guide.md", "other.md"]})
    assert found is not None
    assert [course.target for course in found] == ["guide.md"]


def test_units_are_not_looked_for_among_documents() -> None:
    result = QueryResult(hits=(unit(1, "u1"),), candidates={"text": Candidates(ids=("doc_1",))})
    assert course_of(result, expected={"unit_ids": ["u1"]}) == ()
