"""golden.json, as the mission writes it and as other tools do."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from evalnb.errors import BadInputError, GoldError
from evalnb.gold.golden import parse_golden
from evalnb.gold.labels import ContentExpectation, LabelProvenance
from evalnb.gold.loading import load_gold
from evalnb.strict_json import parse_strict

MISSION = {
    "cases": [
        {
            "description": "optional note for humans",
            "query": "What did Q3 revenue do?",
            "expect": {
                "document": "report.pdf",
                "content_contains": ["revenue grew", "gelirleri"],
            },
        }
    ]
}
OTHER_LAYOUT = [
    {"_comment": "about this set"},
    {"q": "where is the server?", "expect_paths": ["server/app.py"]},
]


def test_the_mission_format() -> None:
    (case,) = parse_golden(MISSION, where="golden.json").cases
    mark = hashlib.sha256(b"What did Q3 revenue do?").hexdigest()[:8]
    assert case.case_id == f"0001-{mark}"
    assert case.description == "optional note for humans"
    assert case.request.query == "What did Q3 revenue do?"
    assert case.content == (
        ContentExpectation(document="report.pdf", content_contains=("revenue grew", "gelirleri")),
    )
    assert (case.split, case.label_provenance) == ("development", LabelProvenance())


def test_a_bare_list_and_one_phrase() -> None:
    elements = [{"query": "q", "expect": {"content_contains": "x"}, "_note": 1}] * 2
    parsed = parse_golden(elements, where="g", split="test")
    assert [case.content[0].content_contains for case in parsed.cases] == [("x",), ("x",)]
    assert [case.case_id[:5] for case in parsed.cases] == ["0001-", "0002-"]
    assert {case.split for case in parsed.cases} == {"test"}


def test_the_template_that_travels_with_the_package(gold_dir: Path) -> None:
    assert len(load_gold(gold_dir / "golden.example.json")) >= 1


def test_f51_another_layout_needs_a_mapping() -> None:
    with pytest.raises(GoldError) as caught:
        parse_golden(OTHER_LAYOUT, where="golden.json")
    assert caught.value.where == "golden.json: [1]"
    assert "found q, expect_paths, expected query, expect" in caught.value.message
    assert "--map query=q" in str(caught.value)


def test_f51_a_mapping_reads_it_and_the_comment_is_noted() -> None:
    parsed = parse_golden(
        OTHER_LAYOUT, where="g", mapping={"query": "q", "document": "expect_paths"}
    )
    (case,) = parsed.cases
    assert case.content == (ContentExpectation(document="server/app.py"),)
    assert parsed.notes == ("[0] holds only comments and was left out",)


def test_a_mapping_reads_alternatives_ids_and_descriptions_and_notes_the_rest() -> None:
    parsed = parse_golden(
        {
            "cases": [
                {"q": "a", "files": ["x", "y"], "text": "t", "ids": ["1", "1"], "n": "d", "z": 0}
            ]
        },
        where="g",
        mapping={
            "query": "q",
            "document": "files",
            "content_contains": "text",
            "expected": "ids",
            "description": "n",
        },
    )
    (case,) = parsed.cases
    assert [(e.document, e.content_contains) for e in case.content] == [
        ("x", ("t",)),
        ("y", ("t",)),
    ]
    assert (case.expected.document_ids, case.description) == (("1",), "d")
    assert parsed.notes == ("key 'z' was not read (1 times)",)


def test_a_mapped_question_may_have_no_answer() -> None:
    mapping = {"query": "q", "document": "paths"}
    (case,) = parse_golden([{"q": "a", "paths": []}], where="g", mapping=mapping).cases
    assert case.content == ()


@pytest.mark.parametrize(
    ("element", "finding"),
    [
        ({}, "[0]: no query: found no keys, expected query, expect"),
        ({"expect": {"document": "a"}}, "[0]: no query: found expect"),
        ({"query": "q"}, "[0]: expect is missing"),
        ({"query": "q", "expect": {}}, "[0]: expect: give document, content_contains, or both"),
        ({"query": "", "expect": {"document": "a"}}, "[0]: query: the query is empty"),
        ({"query": 3, "expect": {"document": "a"}}, "[0]: query: expected a text, found 3"),
        ({"query": "q", "expect": {"document": ""}}, "expect.document: an empty phrase"),
        ({"query": "q", "expect": {"content_contains": [""]}}, "expect.content_contains[0]: an"),
        ({"query": "q", "expect": {"content_contain": "a"}}, "did you mean 'content_contains'?"),
        ({"query": "q", "expct": {"document": "a"}}, "expct: unknown key; did you mean 'expect'?"),
        ({"query": "q", "expect": "a.pdf"}, "[0]: expect: expected an object, found 'a.pdf'"),
        ("q", "[0]: expected an object, found 'q'"),
    ],
)
def test_an_element_is_refused(element: Any, finding: str) -> None:
    with pytest.raises(GoldError) as caught:
        parse_golden([element], where="golden.json")
    assert finding in str(caught.value)


@pytest.mark.parametrize(
    ("document", "finding"),
    [
        ({"q1": {"d1": 1}}, "found an object with q1"),
        ({"cases": [], "extra": 1}, "found an object with cases, extra"),
        ({"cases": {}}, "found an object with cases"),
        ("x", "found 'x'"),
        ([], "there are no cases"),
        ([{"_a": 1}], "there are no cases"),
    ],
)
def test_a_document_is_refused(document: Any, finding: str) -> None:
    with pytest.raises(GoldError, match=finding):
        parse_golden(document, where="g")


def test_mappings_are_checked() -> None:
    with pytest.raises(BadInputError, match=r"'qurey', which is not read here; did you mean 'q"):
        parse_golden([], where="g", mapping={"qurey": "q"})
    with pytest.raises(GoldError, match="no 'question', which the mapping reads as the query"):
        parse_golden([{"q": 1}], where="g", mapping={"query": "question"})
    with pytest.raises(GoldError, match="document: expected a text or a list of texts, found 3"):
        parse_golden([{"q": "a", "d": 3}], where="g", mapping={"query": "q", "document": "d"})


def test_r31_a_repeated_key_is_named() -> None:
    data = b'{"q1": {"d1": 1}, "q2": {"d3": 1}, "q1": {"d2": 1}}'
    with pytest.raises(GoldError, match='the key "q1" stands twice'):
        parse_strict(data, where="gold.json")


def test_r38_an_empty_expected_phrase_is_refused() -> None:
    element = {"query": "q", "expect": {"content_contains": [""]}}
    with pytest.raises(GoldError, match="an empty phrase would match every text"):
        parse_golden([element], where="g")
