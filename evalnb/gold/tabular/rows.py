"""From a table to cases: rows of the same query are one case."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from evalnb.errors import GoldError
from evalnb.gold.cases import GoldCase, Parsed, Split, imported_case
from evalnb.gold.tabular.table import Table, find_columns
from evalnb.wording import shown

_GRADE = re.compile(r"[+-]?[0-9]{1,9}")
_FLAGS = {"true": True, "yes": True, "x": True, "1": True, "false": False, "no": False, "0": False}
_SINGLE = ("split", "family", "tags", "language", "intent", "description")


@dataclass(slots=True)
class _Question:
    """What the rows of one query have said so far."""

    query: str
    row: int
    graded: dict[str, tuple[int | None, int]] = field(default_factory=dict)  # id: grade, row
    forbidden: dict[str, None] = field(default_factory=dict)
    content: dict[tuple[str, bool], list[str]] = field(default_factory=dict)
    single: dict[str, tuple[str, int]] = field(default_factory=dict)  # column: text, row


def parse_table(
    table: Table,
    *,
    split: Split = "development",
    mapping: Mapping[str, str] | None = None,
    grades: Mapping[str, int] | None = None,
) -> Parsed:
    """Read one judgement a row; a row with neither id nor grade is a question without judgement.

    Parameters
    ----------
    split
        For cases whose rows name none.
    mapping
        Our column names to those of the table; what it does not name is left out and noted.
    grades
        From the text of a grade in the table to the grade it stands for.

    Raises
    ------
    GoldError
        Naming the cell or row, what is there and what to do.
    """
    positions, notes = find_columns(table, mapping)
    if {"document", "grade"} <= positions.keys() and not positions.keys() & {"expected", "content"}:
        # Only ids can be graded, so documents that stand beside grades alone are ids.
        positions["expected"] = positions.pop("document")
        notes += ("the graded column 'document' was read as document ids",)
    reader = _Reader(table, positions, grades)
    for number, cells in table.rows:
        reader.read(number, cells)
    if not reader.questions:
        raise GoldError(
            "there are no rows under the header", where=table.name, remedy="one judgement a row"
        )
    cases = tuple(
        reader.case(ordinal, question, split)
        for ordinal, question in enumerate(reader.questions.values(), 1)
    )
    return Parsed(cases, (*table.notes, *notes, *reader.notes()))


class _Reader:
    """Reads the rows of one table into questions."""

    def __init__(
        self, table: Table, positions: Mapping[str, int], grades: Mapping[str, int] | None
    ) -> None:
        self._table, self._positions, self._grades = table, positions, grades
        self.questions: dict[str, _Question] = {}
        self._n_repeated = 0

    def read(self, number: int, cells: Sequence[object]) -> None:
        """Add one row; a blank one says nothing."""
        texts = {
            name: self._text(number, name, cells[position]) if position < len(cells) else ""
            for name, position in self._positions.items()
        }
        query = texts.pop("query")
        if not query:
            if filled := [name for name, text in texts.items() if text]:
                self._refuse(
                    number,
                    "query",
                    f"a row with {', '.join(filled)} but without a query",
                    remedy="repeat the query in every row of its judgements",
                )
            return
        question = self.questions.setdefault(query, _Question(query, number))
        self._add_ids(question, number, texts)
        self._add_content(question, number, texts)
        self._add_single(question, number, texts)

    def _text(self, number: int, name: str, cell: object) -> str:
        try:
            return self._table.text(cell, name)
        except ValueError as error:
            self._refuse(number, name, str(error))

    def _refuse(
        self, number: int, name: str | None, message: str, *, remedy: str | None = None
    ) -> NoReturn:
        place = self._table.place(number, None if name is None else self._positions.get(name))
        raise GoldError(message, where=place, remedy=remedy)

    def _add_ids(self, question: _Question, number: int, texts: Mapping[str, str]) -> None:
        ids, grade = _lines(texts.get("expected", "")), self._grade(number, texts.get("grade", ""))
        flagged, named = _forbidden(texts.get("forbidden", ""), flaggable=bool(ids))
        question.forbidden.update(dict.fromkeys(named))
        if flagged:
            if grade is not None and grade >= 1:
                self._refuse(number, "forbidden", f"forbidden but graded {grade}")
            question.forbidden.update(dict.fromkeys(ids))
            if grade is None:
                return
        elif grade is not None and not ids:
            phrased = texts.get("document") or texts.get("content")
            if grade != 1 or not phrased:
                self._refuse(
                    number,
                    "grade",
                    f"grade {grade} without an id in the column 'expected'",
                    remedy="phrases are not graded: leave the grade empty, or name a document",
                )
        for key in ids:
            self._judge(question, number, key, grade)

    def _judge(self, question: _Question, number: int, key: str, grade: int | None) -> None:
        before, row = question.graded.setdefault(key, (grade, number))
        if row == number:
            return
        if (1 if before is None else before) != (1 if grade is None else grade):
            self._refuse(
                number,
                "expected",
                f"{key!r} is graded {'1' if grade is None else grade} here and "
                f"{'1' if before is None else before} in row {row} for the same query",
                remedy="keep the row that is right",
            )
        self._n_repeated += 1

    def _grade(self, number: int, text: str) -> int | None:
        if not text:
            return None
        if self._grades is not None:
            if text not in self._grades:
                self._refuse(
                    number,
                    "grade",
                    f"grade {text!r} is not in the grade map",
                    remedy=f"it maps {', '.join(self._grades)}",
                )
            return self._grades[text]
        if not _GRADE.fullmatch(text):
            self._refuse(
                number,
                "grade",
                f"a grade is a whole number, found {shown(text)}",
                remedy="correct it, or map each value to a grade: --grades 0.5=1,1=2",
            )
        return int(text)

    def _add_content(self, question: _Question, number: int, texts: Mapping[str, str]) -> None:
        document, phrase = texts.get("document", ""), texts.get("content", "")
        if not document and not phrase:
            return
        if not texts.get("expected") and texts.get("forbidden"):
            flagged, _ = _forbidden(texts["forbidden"], flaggable=True)
            if flagged:
                self._refuse(
                    number,
                    "forbidden",
                    "a phrase or a document's name cannot be forbidden",
                    remedy="name the id of what must not be shown in this column",
                )
        # Phrases of one document are alternatives of each other, and of the document as a whole.
        phrases = question.content.setdefault((document, bool(phrase)), [])
        if phrase:
            phrases.append(phrase)

    def _add_single(self, question: _Question, number: int, texts: Mapping[str, str]) -> None:
        for name in _SINGLE:
            if not (text := texts.get(name, "")):
                continue
            before, row = question.single.setdefault(name, (text, number))
            if before != text:
                self._refuse(
                    number,
                    name,
                    f"{name} is {shown(text)} here and {shown(before)} in row {row} for the same "
                    "query",
                    remedy="rows of one query are one case",
                )

    def case(self, ordinal: int, question: _Question, split: Split) -> GoldCase:
        """Make the case of one question."""
        relevance = {key: grade for key, (grade, _) in question.graded.items() if grade is not None}
        expected = [key for key in question.graded if relevance.get(key, 1) >= 1]
        single = {name: text for name, (text, _) in question.single.items()}
        fields: dict[str, Any] = {
            "request": {"query": question.query},
            "expected": {"document_ids": expected},
            "forbidden": {"document_ids": list(question.forbidden)},
            "document_relevance": relevance,
            "content": _content(question.content),
            "family_key": single.pop("family", None),
            "tags": self._tags(question, single.pop("tags", "")),
            "split": split,
            **single,
        }
        place = self._table.place(question.row, None)
        return imported_case(ordinal, fields, split=split, where=place)

    def _tags(self, question: _Question, text: str) -> dict[str, str]:
        tags: dict[str, str] = {}
        for part in filter(None, (part.strip() for part in re.split(r"[;\n]", text))):
            key, equals, value = (piece.strip() for piece in part.partition("="))
            if not equals or not key or key in tags:
                problem = f"tag {key!r} stands twice" if key in tags else f"found {shown(part)}"
                self._refuse(
                    question.single["tags"][1],
                    "tags",
                    f"{problem}; tags are written key=value",
                    remedy="several stand apart by ; or line breaks",
                )
            tags[key] = value
        return tags

    def notes(self) -> list[str]:
        """Say what a reader ought to know."""
        unjudged = sum(
            not (question.graded or question.content or question.forbidden)
            for question in self.questions.values()
        )
        counts = {
            "repeated judgements merged": self._n_repeated,
            "questions without judgements": unjudged,
        }
        return [f"{what}: {count}" for what, count in counts.items() if count]


def _lines(text: str) -> list[str]:
    """Split a cell of ids, which stand one a line."""
    return [line.strip() for line in text.split("\n") if line.strip()]


def _forbidden(text: str, *, flaggable: bool) -> tuple[bool, list[str]]:
    """Read a cell of the column: yes or no about what its row names, else ids of its own."""
    flag = _FLAGS.get(text.casefold())
    if flag is not None and (flaggable or text.casefold() in {"no", "false"}):
        return flag, []
    return False, _lines(text)


def _content(content: Mapping[tuple[str, bool], list[str]]) -> list[dict[str, Any]]:
    return [
        {
            **({"document": document} if document else {}),
            **({"content_contains": list(dict.fromkeys(phrases))} if phrases else {}),
        }
        for (document, _), phrases in content.items()
    ]
