"""From a table to cases: rows of the same query are one case."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from evalnb.errors import GoldError
from evalnb.gold.cases import GoldCase, Parsed, Split, imported_case
from evalnb.gold.options import spell_option
from evalnb.gold.tabular.table import NO, YES, Row, Table, find_columns, named_rows
from evalnb.wording import listed, shown

_SEVERAL = re.compile(r"[^\s,]+(,\s*[^\s,]+)+")
_NEXT_TAG = re.compile(r",\s*[^\s,=]+\s*=")
_SINGLE = ("split", "family", "tags", "language", "intent", "description")


@dataclass(slots=True)
class _Question:
    """What the rows of one query have said so far."""

    row: Row
    graded: dict[str, tuple[int | None, Row]] = field(default_factory=dict)
    forbidden: dict[str, None] = field(default_factory=dict)
    content: dict[tuple[str, bool], list[str]] = field(default_factory=dict)
    single: dict[str, tuple[str, Row]] = field(default_factory=dict)
    n_repeated: int = 0

    def add(self, row: Row, grade: int | None) -> None:
        """Take one more row in."""
        self._add_ids(row, grade)
        self._add_content(row)
        for name in _SINGLE:
            if text := row[name]:
                before, first = self.single.setdefault(name, (text, row))
                if before != text:
                    row.refuse(
                        name,
                        f"{name} is {shown(text)} here and {shown(before)} in row {first.number} "
                        "for the same query",
                        remedy="rows of one query are one case",
                    )

    def _add_ids(self, row: Row, grade: int | None) -> None:
        ids = _lines(row["expected"])
        flagged, named = _forbidden(row["forbidden"], flaggable=bool(ids))
        self.forbidden.update(dict.fromkeys(ids if flagged else named))
        if flagged:
            if grade is None:
                return
            if grade >= 1:
                row.refuse("forbidden", f"forbidden but graded {grade}")
        phrased = grade == 1 and (row["document"] or row["content"])
        if grade is not None and not ids and not phrased:
            row.refuse(
                "grade",
                f"grade {grade} without an id in the column 'expected'",
                remedy="phrases are not graded: leave the grade empty, or name a document",
            )
        for key in ids:
            self._judge(row, key, grade)

    def _judge(self, row: Row, key: str, grade: int | None) -> None:
        before, first = self.graded.setdefault(key, (grade, row))
        if first is row:
            return
        old, new = (1 if given is None else given for given in (before, grade))
        if old != new:
            row.refuse(
                "expected",
                f"{key!r} is graded {new} here and {old} in row {first.number} for the same query",
                remedy="keep the row that is right",
            )
        self.n_repeated += 1

    def _add_content(self, row: Row) -> None:
        document, phrase = row["document"], row["content"]
        if not document and not phrase:
            return
        if not row["expected"] and _forbidden(row["forbidden"], flaggable=True)[0]:
            row.refuse(
                "forbidden",
                "a phrase or a document's name cannot be forbidden",
                remedy="name the id of what must not be shown in this column",
            )
        # Phrases of one document are alternatives of each other, and of the document as a whole.
        phrases = self.content.setdefault((document, bool(phrase)), [])
        if phrase:
            phrases.append(phrase)

    def case(self, ordinal: int, split: Split) -> GoldCase:
        """Make the case."""
        relevance = {key: grade for key, (grade, _) in self.graded.items() if grade is not None}
        single = {name: text for name, (text, _) in self.single.items()}
        fields: dict[str, Any] = {
            "request": {"query": self.row["query"]},
            "expected": {"document_ids": [k for k in self.graded if relevance.get(k, 1) >= 1]},
            "forbidden": {"document_ids": list(self.forbidden)},
            "document_relevance": relevance,
            "content": [
                {"document": document or None, "content_contains": list(dict.fromkeys(phrases))}
                for (document, _), phrases in self.content.items()
            ],
            "family_key": single.pop("family", None),
            **single,
            "tags": self._tags(),
        }
        return imported_case(ordinal, fields, split=split, where=self.row.place(None))

    def _tags(self) -> dict[str, str]:
        text, row = self.single.get("tags", ("", self.row))
        tags: dict[str, str] = {}
        for part in filter(None, (part.strip() for part in re.split(r"[;\n]", text))):
            key, equals, value = (piece.strip() for piece in part.partition("="))
            if not equals or not key or key in tags or _NEXT_TAG.search(value):
                problem = f"tag {key!r} stands twice" if key in tags else f"found {shown(part)}"
                row.refuse(
                    "tags",
                    f"{problem}; tags are written key=value",
                    remedy="several stand apart by ; or line breaks",
                )
            tags[key] = value
        return tags


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
    map_grades = spell_option("--grades", {"0.5": 1, "1": 2}, table.name)
    remedy = f"correct it, or map each value to a grade: {map_grades}"
    questions: dict[str, _Question] = {}
    for row in named_rows(table, positions):
        if not (query := row["query"]):
            row.refuse(
                "query",
                f"a row with {', '.join(filter(row.texts.get, row.texts))} but without a query",
                remedy="repeat the query in every row of its judgements",
            )
        questions.setdefault(query, _Question(row)).add(row, _grade(row, grades, remedy))
    if not questions:
        raise GoldError(
            "there are no rows under the header",
            where=table.name,
            remedy=". ".join(filter(None, ("one judgement a row", table.elsewhere))),
        )
    cases = tuple(found.case(at, split) for at, found in enumerate(questions.values(), 1))
    return Parsed(cases, (*table.notes, *notes, *_notes(questions.values())))


def _grade(row: Row, grades: Mapping[str, int] | None, remedy: str) -> int | None:
    text = row["grade"]
    if not text or grades is None:
        return row.grade(remedy=remedy)
    if text not in grades:
        row.refuse(
            "grade",
            f"grade {text!r} is not in the grade map",
            remedy=f"it maps {', '.join(grades)}",
        )
    return grades[text]


def _notes(questions: Iterable[_Question]) -> Iterator[str]:
    """Say what a reader ought to know."""
    asked = list(questions)
    if repeated := sum(question.n_repeated for question in asked):
        yield f"repeated judgements merged: {repeated}"
    if bare := sum(not (found.graded or found.content or found.forbidden) for found in asked):
        yield f"questions without judgements: {bare}"
    ids = dict.fromkeys(key for found in asked for key in (*found.graded, *found.forbidden))
    if several := [repr(key) for key in ids if _SEVERAL.fullmatch(key)]:
        yield (
            f"read as one id each, though they hold a comma: {len(several)} ({listed(several)}); "
            "several ids stand apart by line breaks"
        )


def _lines(text: str) -> list[str]:
    """Split a cell of ids, which stand one a line."""
    return [line.strip() for line in text.split("\n") if line.strip()]


def _forbidden(text: str, *, flaggable: bool) -> tuple[bool, list[str]]:
    """Read a cell of the column: yes or no about what its row names, else ids of its own."""
    flag = text.casefold()
    if flag in YES and flaggable:
        return True, []
    if flag in NO and (flaggable or not flag.isdigit()):
        return False, []
    return False, _lines(text)
