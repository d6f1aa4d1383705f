"""Gold goes out as what other tools read, and what they cannot carry is named."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.errors import BadInputError, GoldError
from evalnb.gold.cases import GoldDataset, dataset_from_cases
from evalnb.gold.exporting import export_gold
from evalnb.gold.loading import load_gold

ROWS: list[dict[str, Any]] = [
    {"query": "=wine, red", "expected": ["d1", "-2"], "grade": 3, "split": "test", "family": "f"},
    {"query": "=wine, red", "expected": "d3", "grade": 0, "forbidden": "d9", "tags": "a=1;b=2"},
    {"query": 'a "b"\nc', "document": "r.pdf", "content": "grew", "language": "tr"},
    {"query": 'a "b"\nc', "document": "r.pdf", "content": "gelirleri", "intent": "lookup"},
    {"query": "bad", "expected": "d4", "grade": -1, "forbidden": "yes"},
    {"query": "open", "description": "nobody knows"},
]


def gold(*cases: dict[str, Any]) -> GoldDataset:
    made = load_gold([{"split": "development", **case} for case in cases])
    return dataset_from_cases(made.cases, dataset_id="demo")


@pytest.mark.parametrize("name", ["a.csv", "a.xlsx"])
def test_a_table_reads_back_as_the_same_version(tmp_path: Path, name: str) -> None:
    before = load_gold(ROWS)
    assert export_gold(before, tmp_path / name) == ("not carried: case_id (4 of 4 cases)",)
    after = load_gold(tmp_path / name)
    assert after.version_sha == before.version_sha
    assert os.listdir(tmp_path) == [name]


def test_golden_json_reads_back(tmp_path: Path) -> None:
    expect = {"document": "r.pdf", "content_contains": ["grew", "gelirleri"]}
    document = {
        "cases": [
            {"description": "note", "query": "q", "expect": expect},
            {"query": "ğ", "expect": {"document": "x"}},
        ]
    }
    before = load_gold(document)
    export_gold(before, tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text()) == document
    assert load_gold(tmp_path / "a.json").version_sha == before.version_sha


def test_alternatives_of_one_document_become_one_expectation(tmp_path: Path) -> None:
    content = [
        {"document": "r", "content_contains": ["a"]},
        {"document": "r", "content_contains": "b"},
    ]
    export_gold(
        gold({"case_id": "1", "request": {"query": "q"}, "content": content}), tmp_path / "a.json"
    )
    (element,) = json.loads((tmp_path / "a.json").read_text())["cases"]
    assert element["expect"] == {"document": "r", "content_contains": ["a", "b"]}


@pytest.mark.parametrize(
    ("content", "finding"),
    [
        ([], "case '1' has no expected content"),
        ([{"document": "a"}, {"document": "b"}], "case '1' has 2 alternatives"),
        ([{"document": "a"}, {"document": "a", "content_contains": "x"}], "has 2 alternatives"),
    ],
)
def test_golden_json_refuses_what_it_cannot_say(
    tmp_path: Path, content: list[Any], finding: str
) -> None:
    case = {"case_id": "1", "request": {"query": "q"}, "content": content}
    with pytest.raises(GoldError, match=finding):
        export_gold(gold(case), tmp_path / "a.json")
    assert os.listdir(tmp_path) == []


def test_qrels_and_topics_read_back(tmp_path: Path) -> None:
    before = load_gold(ROWS)
    notes = export_gold(before, tmp_path / "a.qrels")
    assert notes == (
        "not carried: family_key (1 of 4 cases)",
        "not carried: split (1 of 4 cases)",
        "not carried: tags (1 of 4 cases)",
        "not carried: forbidden.document_ids (2 of 4 cases)",
        "not carried: intent (1 of 4 cases)",
        "not carried: language (1 of 4 cases)",
        "not carried: content (1 of 4 cases)",
        "not carried: description (1 of 4 cases)",
        "cases without judged documents, of which the query alone is written: 2",
    )
    after = load_gold(tmp_path / "a.qrels", topics=tmp_path / "a.topics.tsv")
    judged = [case for case in before if case.document_relevance]
    assert [(c.case_id, c.request, c.document_relevance, c.expected) for c in after] == [
        (c.case_id, c.request, c.document_relevance, c.expected) for c in judged
    ]


def test_what_a_table_cannot_carry_is_named(tmp_path: Path) -> None:
    request = {"query": "q", "mode": "keyword", "limit": 5}
    notes = export_gold(
        gold(
            {
                "case_id": "1",
                "request": request,
                "expected": {"unit_ids": ["u"], "document_ids": ["d"]},
                "document_relevance": {"d": 1, "graded-only": 2},
                "weight": 2.0,
                "label_provenance": {"method": "human", "annotators": 2},
            },
            {
                "case_id": "2",
                "request": request,
                "spans": [{"revision_id": "r", "start": 0, "end": 1}],
            },
        ),
        tmp_path / "a.csv",
    )
    assert set(notes) == {
        "not carried: case_id (2 of 2 cases)",
        "not carried: request.mode (2 of 2 cases)",
        "not carried: request.limit (2 of 2 cases)",
        "not carried: expected.unit_ids (1 of 2 cases)",
        "not carried: weight (1 of 2 cases)",
        "not carried: label_provenance (1 of 2 cases)",
        "not carried: spans (1 of 2 cases)",
        "cases with a graded document that is not expected, and is when read back: 1",
        "cases that share a query and are one case when read back: 1",
    }


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.topics.tsv").touch()
    with pytest.raises(BadInputError, match=r"a.topics.tsv: a file stands here already"):
        export_gold(load_gold(ROWS), tmp_path / "a.qrels")
    assert os.listdir(tmp_path) == ["a.topics.tsv"]


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"no format ends in '.pdf' \(endings: .json, .csv"):
        export_gold(load_gold(ROWS), tmp_path / "a.pdf")


TEXT = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=6)
LABELS = st.builds(
    lambda query, ids, content: {
        "case_id": query,
        "request": {"query": query},
        "expected": {"document_ids": [key for key, grade in ids.items() if grade >= 1]},
        "document_relevance": ids,
        "content": [{"document": d, "content_contains": p} for d, p in content.items()],
    },
    TEXT,
    st.dictionaries(TEXT, st.integers(-100, 100), max_size=3),
    st.dictionaries(TEXT, st.lists(TEXT, min_size=1, max_size=2, unique=True), max_size=2),
)


@given(cases=st.lists(LABELS, min_size=1, max_size=3, unique_by=lambda case: case["case_id"]))
def test_labels_survive_csv(tmp_path_factory: Any, cases: list[dict[str, Any]]) -> None:
    path = tmp_path_factory.getbasetemp() / "labels.csv"
    path.unlink(missing_ok=True)
    before = gold(*cases)
    export_gold(before, path)
    for old, new in zip(before, load_gold(path), strict=True):
        assert new.request == old.request
        assert new.document_relevance == old.document_relevance
        assert set(new.expected.document_ids) == set(old.expected.document_ids)
        assert new.content == old.content
