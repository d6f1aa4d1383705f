"""From hits to a ranking, from labels to judgements."""

from __future__ import annotations

from typing import Any

import pytest

from evalnb.gold.cases import GoldCase
from evalnb.gold.labels import ContentExpectation, LabelledIds
from evalnb.measures.judgements import Judgements, judgements, ranking, target_kinds
from evalnb.search.ids import canonical_id
from evalnb.search.request import QueryRequest
from evalnb.search.result import Hit, Identities, Kind, LineLocator, QueryResult


def _case(**labels: Any) -> GoldCase:
    content = labels.pop("content", ())
    expected = {key: labels.pop(key) for key in list(labels) if key.endswith("_ids")}
    forbidden = {f"{k}_ids": v for k, v in labels.pop("forbidden", {}).items()}
    return GoldCase(
        case_id="c",
        split="development",
        request=QueryRequest(query="q"),
        expected=LabelledIds(**expected),
        forbidden=LabelledIds(**forbidden),
        content=tuple(ContentExpectation(content_contains=(text,)) for text in content),
        **labels,
    )


def _result(*ids: dict[str, str], **more: Any) -> QueryResult:
    hits = [Hit(rank=n, ids=Identities(**one)) for n, one in enumerate(ids, start=1)]
    return QueryResult(hits=tuple(hits), **more)


def test_a_repeated_id_keeps_its_first_place_and_is_counted() -> None:
    result = _result(*({"document_id": key} for key in ("a", "b", "a", "c", "b")))
    found = ranking(result, "document")
    assert (found.ids, found.duplicates_dropped) == (("a", "b", "c"), 2)


def test_each_kind_is_ranked_over_the_hits_that_carry_it() -> None:
    result = _result(
        {"unit_id": "u1", "document_id": "d1", "source_id": "s"},
        {"asset_id": "x", "document_id": "d2", "source_id": "s"},
        {"unit_id": "u2", "document_id": "d1", "source_id": "s"},
    )
    kinds: tuple[Kind, ...] = ("unit", "asset", "document", "source", "revision")
    assert [ranking(result, kind).ids for kind in kinds] == [
        ("u1", "u2"), ("x",), ("d1", "d2"), ("s",), (),
    ]  # fmt: skip


def test_the_order_of_the_hits_stands_whatever_their_scores() -> None:
    hits = tuple(
        Hit(rank=n, ids=Identities(document_id=key), score=score)
        for n, (key, score) in enumerate([("a", 0.1), ("b", 0.9)], start=1)
    )
    assert ranking(QueryResult(hits=hits), "document").ids == ("a", "b")


def test_a_file_without_an_id_is_its_source_revision_and_path() -> None:
    hit = Hit(
        rank=1,
        ids=Identities(source_id="s", revision_id="r"),
        locator=LineLocator(path="a.py", first_line=1, last_line=2),
    )
    found = ranking(QueryResult(hits=(hit,)), "file").ids
    assert found == (canonical_id("file", "s", "r", "a.py"),)


def test_definitions_come_from_the_structured_records_of_the_hits() -> None:
    result = _result(
        {"unit_id": "u1"},
        {"unit_id": "u2", "definition_id": "f"},
        structured=(
            Identities(unit_id="u1", definition_id="g"),
            Identities(unit_id="u9", definition_id="only in context"),
            Identities(unit_id="u2", definition_id="f"),
        ),
    )
    found = ranking(result, "definition")
    assert (found.ids, found.duplicates_dropped) == (("g", "f"), 0)


A = {"document_ids": ("a",)}


@pytest.mark.parametrize(
    ("labels", "grades", "targets", "targets_at_2"),
    [
        ({"document_ids": ("a", "b")}, {"a": 1, "b": 1}, "ab", ""),
        ({"document_relevance": {"a": 2, "b": 0, "c": -1}}, {"a": 2, "b": 0, "c": -1}, "a", "a"),
        (A | {"document_relevance": {"a": 2, "b": 1}}, {"a": 2, "b": 1}, "a", "a"),
        (A | {"document_relevance": {"b": 3}}, {"a": 1, "b": 3}, "a", ""),
        ({"forbidden": {"document": ("z",)}}, {"z": 0}, "", ""),
        ({"forbidden": {"document": ("z",)}, "document_relevance": {"z": -2}}, {"z": -2}, "", ""),
        ({"document_ids": ("a", "a")}, {"a": 1}, "a", ""),
        ({"unit_ids": ("u",)}, {}, "", ""),
    ],
)  # fmt: skip
def test_judgements_of_documents(
    labels: dict[str, Any], grades: dict[str, int], targets: str, targets_at_2: str
) -> None:
    found = judgements(_case(**labels), "document")
    assert found.grades == grades
    assert found.targets() == frozenset(targets)
    assert found.targets(2) == frozenset(targets_at_2)


def test_flat_grades_fall_to_the_kind_that_expects_the_id() -> None:
    case = _case(file_ids=("f",), asset_ids=("x",), graded_relevance={"f": 3, "x": 2})
    assert judgements(case, "file").grades == {"f": 3}
    assert judgements(case, "asset").grades == {"x": 2}


@pytest.mark.parametrize(
    ("units", "grades", "enumerated"),
    [(None, {}, False), (frozenset(), {}, True), (frozenset({"u", "v"}), {"u": 1, "v": 1}, True)],
)
def test_content_gold_is_judged_by_the_units_it_matches(
    units: frozenset[str] | None, grades: dict[str, int], enumerated: bool
) -> None:
    found = judgements(_case(content=("phrase",)), "unit", units)
    assert (found.grades, found.content, found.enumerated) == (grades, True, enumerated)


def test_an_explicit_label_stands_above_a_phrase() -> None:
    case = _case(content=("phrase",), unit_relevance={"u": 0}, forbidden={"unit": ("z",)})
    found = judgements(case, "unit", frozenset({"u", "v", "z"}))
    assert (found.grades, found.targets()) == ({"u": 0, "v": 1, "z": 0}, {"v"})


@pytest.mark.parametrize(
    ("cases", "kinds"),
    [
        ([{"document_ids": ("a",)}, {"document_ids": ("b",), "unit_ids": ("u",)}], ("document",)),
        ([{"unit_ids": ("u",), "document_ids": ("a",)}] * 2, ("unit",)),
        ([{"content": ("x",)}, {"unit_ids": ("u",)}], ("unit",)),
        ([{"content": ("x",)}, {"document_ids": ("a",)}], ("unit", "document")),
        ([{"file_relevance": {"f": 1}}, {"file_ids": ("g",), "document_ids": ("a",)}], ("file",)),
        ([{"document_ids": ("a",)}, {}], ("document",)),
        ([{"document_ids": ("a",)}, {"forbidden": {"unit": ("u",)}}], ("document",)),
        ([{"document_relevance": {"a": 0}}], ("document",)),
        ([{"definition_ids": ("f",), "asset_ids": ("x",), "file_ids": ("y",)}], ("definition",)),
        ([{}], ()),
        ([], ()),
    ],
)
def test_the_target_kind_is_the_most_specific_that_every_labelled_case_has(
    cases: list[dict[str, Any]], kinds: tuple[Kind, ...]
) -> None:
    assert target_kinds([_case(**dict(labels)) for labels in cases]) == kinds


def test_the_ideal_counts_what_was_never_returned() -> None:
    judged = Judgements({"a": 3, "b": 1, "c": -1, "d": 0})
    assert judged.ideal("log2", 1) == 3.0
    assert judged.ideal("log2", None) == judged.ideal("log2", 2) == 3.0 + 1 / 1.584962500721156
    assert judged.ideal("exp-log2", 1) == 7.0
