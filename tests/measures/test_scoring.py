"""One result under one plan: which rows it gets, and with which status."""

from __future__ import annotations

from typing import Any

import pytest

from evalnb.errors import BadInputError, UnknownMeasureError
from evalnb.gold.cases import GoldCase
from evalnb.gold.labels import ContentExpectation, GoldSpan, LabelledIds
from evalnb.measures.scoring import (
    ScoreRow,
    duplicates_dropped,
    plan_scoring,
    score_result,
)
from evalnb.search.request import QueryRequest
from evalnb.search.result import Candidates, Hit, Identities, QueryResult, Span
from evalnb.search.system import Extraction

DOCUMENTS = {"expected": LabelledIds(document_ids=("a", "b"))}
PHRASE = {"content": (ContentExpectation(content_contains=("revenue grew",)),)}
ALL = (
    "nDCG@10", "RR@10", "R@10", "P@10", "AP", "Success@3", "Judged@10", "Rprec", "Bpref",
    "SpanCompleteness", "LocatorValidity", "ForbiddenLeakage", "PathP", "PathR", "EdgeP",
    "ReferenceResolution", "R@tokens=20",
)  # fmt: skip


def _case(case_id: str = "c", **labels: Any) -> GoldCase:
    return GoldCase(case_id=case_id, split="development", request=QueryRequest(query="q"), **labels)


def _hits(*ids: dict[str, str], text: str | None = None) -> QueryResult:
    hits = [Hit(rank=n, ids=Identities(**one), text=text) for n, one in enumerate(ids, start=1)]
    return QueryResult(hits=tuple(hits))


def _documents(*ids: str) -> QueryResult:
    return _hits(*({"document_id": key} for key in ids))


def _rows(case: GoldCase, result: QueryResult, *names: str, **more: Any) -> dict[str, ScoreRow]:
    rows = score_result(case, result, plan_scoring([case], names), **({"limit": 10} | more))
    return {row.measure: row for row in rows}


def test_rows_follow_the_plan() -> None:
    case = _case(**DOCUMENTS)
    plan = plan_scoring([case], ["ndcg_cut.10", "MRR", "R@5", "LocatorValidity"])
    rows = score_result(case, _documents("x", "a"), plan, limit=7)
    assert [(row.measure, row.k, row.kind, row.status) for row in rows] == [
        ("nDCG@10", 10, "document", "ok"),
        ("RR", 7, "document", "ok"),
        ("R@5", 5, "document", "ok"),
        ("LocatorValidity", None, None, "undefined"),
    ]
    assert (rows[1].value, rows[1].numerator, rows[1].denominator) == (0.5, 0.5, 1.0)


def test_the_limit_is_the_cutoff_of_measures_without_one() -> None:
    row = _rows(_case(**DOCUMENTS), _documents("x", "y", "a"), "RR", limit=2)["RR"]
    assert (row.k, row.value) == (2, 0.0)


def test_a_cutoff_above_the_limit_is_noted() -> None:
    rows = _rows(_case(**DOCUMENTS), _documents("a"), "P@10", "P@3", limit=5)
    assert (rows["P@10"].value, rows["P@10"].reason) == (0.1, "the limit 5 is below the cutoff")
    assert rows["P@3"].reason is None


def test_one_row_per_kind_where_no_kind_is_shared() -> None:
    first, second = _case("1", **DOCUMENTS), _case("2", expected=LabelledIds(unit_ids=("u",)))
    plan = plan_scoring([first, second], ["RR@10", "document:R@5"])
    rows = score_result(first, _hits({"document_id": "a", "unit_id": "u"}), plan, limit=10)
    assert [(row.measure, row.kind, row.status, row.value) for row in rows] == [
        ("RR@10", "unit", "undefined", None),
        ("RR@10", "document", "ok", 1.0),
        ("document:R@5", "document", "ok", 0.5),
    ]
    assert plan.kinds == ("unit", "document")


def test_a_prefix_asks_for_a_kind() -> None:
    labels = LabelledIds(document_ids=("a",), unit_ids=("u2",))
    result = _hits({"document_id": "a", "unit_id": "u1"}, {"document_id": "a", "unit_id": "u2"})
    rows = _rows(_case(expected=labels), result, "RR@10", "document:RR@10")
    assert {name: (row.kind, row.value) for name, row in rows.items()} == {
        "RR@10": ("unit", 0.5), "document:RR@10": ("document", 1.0),
    }  # fmt: skip


def test_an_empty_list_is_ok_and_0_except_what_divides_by_what_was_returned() -> None:
    case = _case(
        **DOCUMENTS,
        spans=(GoldSpan(revision_id="r", start=0, end=4),),
        forbidden=LabelledIds(document_ids=("z",)),
        paths=(("a", "b"),),
        references=("r1",),
    )
    rows = _rows(case, QueryResult(references=()), *ALL, extractions={})
    values = {name: row.value for name, row in rows.items()}
    undefined = {"Judged@10", "PathP", "EdgeP", "LocatorValidity", "ForbiddenCandidates"}
    assert {name for name, value in values.items() if value is None} == undefined
    assert {value for value in values.values() if value is not None} == {0.0}
    assert {rows[name].status for name in undefined} == {"undefined"}


def test_a_case_without_labels_is_undefined_whatever_happens() -> None:
    failed = QueryResult(status="unavailable", reason="timeout")
    for result in (_documents("a"), QueryResult(), failed):
        rows = _rows(_case(), result, *ALL)
        assert {row.status for row in rows.values()} == {"undefined"}


def test_a_failed_search_is_unavailable_where_there_is_gold() -> None:
    failed = QueryResult(status="unavailable", reason="SEARCH_FAILED: timeout")
    rows = _rows(_case(**DOCUMENTS), failed, *ALL, extractions={})
    reasons = {name: row.reason for name, row in rows.items() if row.status == "unavailable"}
    assert set(reasons) == {
        "nDCG@10", "RR@10", "R@10", "P@10", "AP", "Success@3", "Judged@10", "Rprec", "Bpref",
        "R@tokens=20", "LocatorValidity",
    }  # fmt: skip
    assert set(reasons.values()) == {"SEARCH_FAILED: timeout"}
    assert all(row.value is None and row.numerator is None for row in rows.values())
    assert rows["PathR"].status == "undefined"


@pytest.mark.parametrize(
    ("result", "kinds", "status", "reason"),
    [
        (_documents("a"), (), "ok", None),
        (_hits({"unit_id": "u"}), (), "unavailable", "no hit carries document_id"),
        (_hits({"unit_id": "u"}), ("unit",), "unavailable", "the system returns no document_id"),
        (_hits({"unit_id": "u"}), ("unit", "document"), "ok", None),
        (_hits({"unit_id": "u"}, {"document_id": "a"}), (), "ok", None),
        (QueryResult(), (), "ok", None),
        (QueryResult(), ("unit",), "unavailable", "the system returns no document_id"),
        (QueryResult(), ("document",), "ok", None),
    ],
)
def test_a_kind_that_is_not_returned_is_unavailable(
    result: QueryResult, kinds: tuple[Any, ...], status: str, reason: str | None
) -> None:
    row = _rows(_case(**DOCUMENTS), result, "RR@10", kinds=kinds)["RR@10"]
    assert (row.status, row.reason) == (status, reason)


def test_content_is_matched_in_the_hits_where_the_corpus_cannot_be_enumerated() -> None:
    result = QueryResult(
        hits=(
            Hit(rank=1, ids=Identities(document_id="d", unit_id="d#1"), text="costs"),
            Hit(rank=2, ids=Identities(document_id="d", unit_id="d#1"), text="costs"),
            Hit(rank=3, ids=Identities(document_id="d", unit_id="d#2"), text="Revenue  GREW"),
        )
    )
    rows = _rows(_case(**PHRASE), result, "RR@10", "Success@1", "Success@2", "R@10", "nDCG@10")
    assert [rows[n].value for n in ("RR@10", "Success@1", "Success@2")] == [0.5, 0.0, 1.0]
    assert {rows[n].status for n in ("R@10", "nDCG@10")} == {"undefined"}
    assert rows["RR@10"].kind == "unit"


def test_content_is_judged_by_the_units_of_a_pinned_corpus() -> None:
    result = _hits({"unit_id": "u9"}, {"unit_id": "u1"})
    rows = _rows(
        _case(**PHRASE), result, "RR@10", "R@10", "nDCG@10",
        content_units=frozenset({"u1", "u2"}),
    )  # fmt: skip
    assert [rows[n].value for n in ("RR@10", "R@10")] == [0.5, 0.5]
    nowhere = _rows(_case(**PHRASE), result, "RR@10", "R@10", content_units=frozenset())
    assert (nowhere["RR@10"].value, nowhere["R@10"].status) == (0.0, "undefined")


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (
            ContentExpectation(content_contains=("x",)),
            "no hit carries text; return each id with its text",
        ),
        (ContentExpectation(document="x"), "no hit carries document_name"),
    ],
)
def test_content_needs_what_it_reads(entry: ContentExpectation, reason: str) -> None:
    row = _rows(_case(content=(entry,)), _hits({"unit_id": "u"}), "RR@10")["RR@10"]
    assert (row.status, row.reason) == ("unavailable", reason)


@pytest.mark.parametrize(
    ("budget", "value", "noted"),
    [(2, 0.0, False), (5, 0.0, False), (6, 0.5, False), (7, 0.5, True)],
)
def test_a_token_budget_takes_the_longest_prefix_that_fits(
    budget: int, value: float, noted: bool
) -> None:
    result = QueryResult(
        hits=(
            Hit(rank=1, ids=Identities(document_id="x", unit_id="1"), text="one, two"),  # 3 tokens
            Hit(rank=2, ids=Identities(document_id="x", unit_id="1"), text="one, two"),  # again
            Hit(rank=3, ids=Identities(document_id="a", unit_id="2"), text="Üç 4 !"),  # 3 tokens
        )
    )
    row = _rows(_case(**DOCUMENTS), result, f"R@tokens={budget}")[f"R@tokens={budget}"]
    assert (row.k, row.value, row.status) == (None, value, "ok")
    assert row.reason == ("the limit 10 ends before the token budget" if noted else None)


def test_a_token_budget_needs_texts() -> None:
    row = _rows(_case(**DOCUMENTS), _documents("a"), "Success@tokens=5")["Success@tokens=5"]
    assert (row.status, row.reason) == (
        "unavailable",
        "no hit carries text; return each id with its text",
    )


def test_spans_within_a_token_budget() -> None:
    case = _case(spans=(GoldSpan(revision_id="r", start=0, end=20),))
    hits = tuple(
        Hit(
            rank=n,
            ids=Identities(unit_id=f"u{n}", revision_id="r"),
            text="five little words to count",
            span=Span(extraction_id="e", start=10 * n - 10, end=10 * n),
        )
        for n in (1, 2)
    )
    names = ("SpanCompleteness", "SpanCompleteness@tokens=9")
    rows = _rows(case, QueryResult(hits=hits), *names)
    assert [rows[name].value for name in names] == [1.0, 0.5]


def test_a_locator_that_does_not_hold_explains_itself() -> None:
    owner = Extraction("e", "r", "d", "s", "p", None, "text", {"u": (0, 4)})
    hit = Hit(
        rank=1,
        ids=Identities(unit_id="u"),
        span=Span(extraction_id="e", start=0, end=3),
        text="tex!",
    )
    row = _rows(_case(), QueryResult(hits=(hit,)), "LocatorValidity", extractions={"u": owner})
    assert row["LocatorValidity"].value == 0.0
    assert "hit 1: the text at [0, 3)" in (row["LocatorValidity"].reason or "")


def test_what_was_only_considered_is_an_informational_row() -> None:
    case = _case(**DOCUMENTS, forbidden=LabelledIds(document_ids=("z",)))
    result = _documents("a").model_copy(
        update={"candidates": {"lexical": Candidates(ids=("z",), scores=(1.0,))}}
    )
    rows = _rows(case, result, "ForbiddenLeakage")
    assert {name: row.value for name, row in rows.items()} == {
        "ForbiddenLeakage": 0.0, "ForbiddenCandidates": 1.0,
    }  # fmt: skip
    assert list(_rows(_case(**DOCUMENTS), result, "ForbiddenLeakage")) == ["ForbiddenLeakage"]


def test_refusals() -> None:
    with pytest.raises(UnknownMeasureError):
        plan_scoring([], ["ndgc"])
    with pytest.raises(BadInputError):
        plan_scoring([], ["Rprec@3"])


def test_the_judgements_of_a_case_are_collected_once_and_belong_to_it() -> None:
    case = _case(**DOCUMENTS)
    plan = plan_scoring([case], ["RR"])
    assert plan.judged(case, "document", None) is plan.judged(case, "document", None)
    other = _case(expected=LabelledIds(document_ids=("x",)))
    assert plan.judged(other, "document", None).targets() == {"x"}


def test_dropped_duplicates_are_counted_for_the_ranked_kind() -> None:
    result = _hits(*({"document_id": key, "source_id": "s"} for key in ("a", "a", "b", "a")))
    assert duplicates_dropped(result, plan_scoring([_case(**DOCUMENTS)], ["RR"])) == 2
    assert duplicates_dropped(result, plan_scoring([_case()], ["RR"])) == 0
    assert duplicates_dropped(QueryResult(), plan_scoring([_case(**DOCUMENTS)], ["RR"])) == 0
