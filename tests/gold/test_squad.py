"""SQuAD becomes content gold: the answers of a question, in the document that is about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalnb.errors import GoldError
from evalnb.gold.loading import load_gold
from evalnb.gold.squad import parse_squad


def squad(*questions: Any, title: str | None = "Panthers") -> dict[str, Any]:
    article: dict[str, Any] = {
        "paragraphs": [{"context": "They gave up 308.", "qas": [*questions]}]
    }
    return {"version": "v2.0", "data": [{"title": title, **article} if title else article]}


ASKED = {
    "id": "56be",
    "question": "How many?",
    "answers": [{"text": "308", "answer_start": 13}, {"text": "up 308"}, {"text": "308"}],
}
IMPOSSIBLE = {
    "id": "5ad5",
    "question": "Who lost?",
    "answers": [],
    "is_impossible": True,
    "plausible_answers": [{"text": "They", "answer_start": 0}],
}


def test_answers_are_phrases_in_the_article() -> None:
    (case,), notes = parse_squad(squad(ASKED), where="x", split="test")
    assert (case.case_id, case.request.query, case.split) == ("56be", "How many?", "test")
    (content,) = case.content
    assert (content.document, content.content_contains) == ("Panthers", ("308", "up 308"))
    assert notes == ("answers count in documents named like their article: 1 (Panthers)",)


def test_an_article_without_a_title_leaves_the_document_open() -> None:
    (case,), notes = parse_squad(squad(ASKED, title=None), where="x")
    assert case.content[0].document is None
    assert notes == ()


def test_an_impossible_question_is_a_case_without_labels() -> None:
    bare = {"question": "And then?", "answers": []}
    cases, notes = parse_squad(squad(ASKED, IMPOSSIBLE, bare), where="x")
    assert [len(case.content) for case in cases] == [1, 0, 0]
    assert cases[2].case_id.startswith("0003-")
    assert notes[0] == "questions without an answer, kept without labels: 2"


def test_an_answer_that_its_paragraph_does_not_have_is_noted() -> None:
    _, notes = parse_squad(squad(ASKED | {"answers": [{"text": "309"}]}), where="x")
    assert notes[0] == "an answer does not stand in its paragraph: 1 (56be)"


REFUSED: list[tuple[Any, str]] = [
    ({"data": 1}, "x: data: expected a list of objects, found 1"),
    ({"data": []}, "x: there are no cases"),
    ({"data": [{}]}, "x: data[0]: paragraphs: expected a list of objects, found None"),
    ({"data": [{"paragraphs": [{"qas": []}]}]}, "x: data[0].paragraphs[0]: context: expected a te"),
    ({"data": [{"title": 1, "paragraphs": []}]}, "x: data[0]: title: expected a text, found 1"),
    (squad("How?"), "x: data[0].paragraphs[0].qas[0]: expected an object, found 'How?'"),
    (squad({"question": "q"}), "qas[0]: answers: expected a list of objects, found None"),
    (squad({"question": "q", "answers": [{}]}), "qas[0].answers[0]: text: expected a text"),
    (squad({"answers": []}), "qas[0]: request.query: expected a text, found None"),
    (squad({"question": "q", "answers": [{"text": " "}]}), "an empty phrase"),
    (squad({"id": 7, "question": "q", "answers": []}), "case_id: expected a text, found 7"),
]


@pytest.mark.parametrize(("document", "finding"), REFUSED)
def test_another_shape_is_refused_with_its_place(document: Any, finding: str) -> None:
    with pytest.raises(GoldError) as caught:
        parse_squad(document, where="x")
    assert finding in str(caught.value)


def test_a_question_that_stands_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(squad(ASKED, ASKED)))
    with pytest.raises(GoldError, match="case_id '56be' stands twice"):
        load_gold(tmp_path / "a.json")


@pytest.mark.parametrize("language", ["en", "tr"])
def test_real_files(data_dir: Path, language: str) -> None:
    gold = load_gold(data_dir / "rag" / "xquad" / f"xquad.{language}.json")
    assert (len(gold), len(gold.notes)) == (1190, 1)
    assert gold.cases[0].case_id == "56beb4343aeaaa14008c925b"
    assert gold.cases[0].content[0].content_contains == ("308",)
