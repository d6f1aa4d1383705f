"""Judging: what systems returned goes into a sheet for people, and their grades come back.

The sheet names neither system nor rank, and a case's rows stand in an order that says nothing, so
that a judge sees the text alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError

from evalnb.errors import BadInputError, GoldError
from evalnb.files import read_bounded, write_file
from evalnb.gold.cases import GoldCase, GoldDataset, dataset_from_cases
from evalnb.gold.tabular.delimited import format_delimited, read_delimited
from evalnb.gold.tabular.sheets import CELL_CHARACTERS, read_sheet, write_sheet
from evalnb.gold.tabular.table import Table, find_columns
from evalnb.limits import CASES_BYTES
from evalnb.search.result import Hit, Kind
from evalnb.strict_json import describe_validation_error
from evalnb.wording import near_names, shown

COLUMNS = ("case_id", "query", "id", "text", "grade", "forbidden", "note")
_REQUIRED = ("case_id", "id", "grade")
_READ = frozenset({*_REQUIRED, "query", "forbidden"})  # text and note are for the judges
_GRADE = re.compile(r"[+-]?[0-9]{1,9}")
_YES, _NO = frozenset({"yes", "true", "x", "1"}), frozenset({"no", "false", "0"})
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f]")  # what a cell of xlsx cannot hold


def collect_returned(
    results: Iterable[tuple[str, Iterable[Hit]]], *, kind: Kind = "document", depth: int = 10
) -> dict[str, dict[str, str | None]]:
    """Gather by case_id the ids in the first ``depth`` ranks of each result, with a text of each.

    Parameters
    ----------
    results
        A case_id and the hits of one search, in rank order.
    kind
        Whose ids are ranked, each at its first occurrence; a hit without one is passed over.
    """
    returned: dict[str, dict[str, str | None]] = {}
    for case_id, hits in results:
        ranked: dict[str, str | None] = {}
        for hit in hits:
            if (key := hit.ids.of(kind)) is not None and len(ranked) < depth:
                ranked.setdefault(key, hit.text)
        found = returned.setdefault(case_id, {})
        found.update({key: found.get(key) or text for key, text in ranked.items()})
    return returned


def pool_rows(
    cases: Iterable[GoldCase],
    returned: Mapping[str, Mapping[str, str | None]],
    *,
    kind: Kind = "document",
) -> list[list[str]]:
    """Make the rows of a judging sheet, under a header.

    Parameters
    ----------
    returned
        By case_id, the ids that any system returned, with their text where there is one.
    kind
        What the ids name; grades that the gold has for them stand in the sheet already.
    """
    rows = [list(COLUMNS)]
    for case in cases:
        grades = _grades(case, kind)
        forbidden = set(case.forbidden.of(kind))
        found = returned.get(case.case_id, {})
        for key in sorted(found, key=lambda key: _shuffled(case.case_id, key)):
            text = _CONTROL.sub(" ", found[key] or "")[:CELL_CHARACTERS]
            grade = str(grades[key]) if key in grades else ""
            flag = "yes" if key in forbidden else ""
            rows.append([case.case_id, case.request.query, key, text, grade, flag, ""])
    return rows


def _grades(case: GoldCase, kind: Kind) -> dict[str, int]:
    return {**dict.fromkeys(case.expected.of(kind), 1), **case.relevance(kind)}


def _shuffled(case_id: str, key: str) -> bytes:
    return hashlib.sha256(f"{case_id}\x00{key}".encode()).digest()


def write_rows(rows: list[list[str]], path: Path) -> None:
    """Write a judging sheet as csv or xlsx, by the file's ending.

    Raises
    ------
    BadInputError
        For another ending, or a file that stands there already: it may hold judgements.
    """
    ending = path.suffix.lower()
    if ending not in {".csv", ".xlsx"}:
        raise BadInputError("a judging sheet ends in .csv or .xlsx", where=str(path))
    if path.exists():
        raise BadInputError("a file stands here already, maybe with judgements", where=str(path))
    if ending == ".csv":
        write_file(path, format_delimited(rows).encode())
    else:
        write_file(path, write_sheet(rows, title="judging"))


def read_rows(path: Path, *, encoding: str = "utf-8") -> Table:
    """Read a judging sheet from csv or xlsx.

    Raises
    ------
    GoldError
        As the readers of gold.
    """
    data = read_bounded(path, bound=CASES_BYTES, what="a judging sheet")
    if path.suffix.lower() == ".xlsx":
        return read_sheet(data, name=str(path))
    return read_delimited(
        data, name=str(path), encoding=encoding, mapping={name: name for name in COLUMNS}
    )


@dataclass(frozen=True, slots=True)
class Merged:
    """A set with the judgements of a sheet, and what they changed, a line each."""

    dataset: GoldDataset
    changes: tuple[str, ...]


@dataclass(slots=True)
class _Judgement:
    row: int
    grade: int | None
    forbidden: bool | None


@dataclass(slots=True)
class _Sheet:
    """The judgements of a sheet by case and id; a row without any is not one."""

    table: Table
    positions: Mapping[str, int]
    judged: dict[str, dict[str, _Judgement]] = field(default_factory=dict)

    def read(self, cases: Mapping[str, GoldCase]) -> None:
        """Take every row that judges, checked against the case it names."""
        for number, cells in self.table.rows:
            texts = dict(self._texts(number, cells))
            if not any(texts.values()):
                continue
            self._check_case(number, texts, cases)
            found = _Judgement(number, self._grade(number, texts), self._flag(number, texts))
            if found.grade is None and found.forbidden is None:
                continue
            if found.forbidden and (found.grade or 0) >= 1:
                self.refuse(number, "forbidden", f"forbidden but graded {found.grade}")
            before = self.judged.setdefault(texts["case_id"], {}).setdefault(texts["id"], found)
            if (before.grade, before.forbidden) != (found.grade, found.forbidden):
                self.refuse(
                    number,
                    "grade",
                    f"{texts['id']!r} is judged otherwise in row {before.row}",
                    remedy="keep the row that is right",
                )

    def _texts(self, number: int, cells: Any) -> Iterator[tuple[str, str]]:
        for name, position in self.positions.items():
            try:
                text = self.table.text(cells[position], name) if position < len(cells) else ""
            except ValueError as error:
                self.refuse(number, name, str(error))
            yield name, text

    def _check_case(
        self, number: int, texts: Mapping[str, str], cases: Mapping[str, GoldCase]
    ) -> None:
        case = cases.get(texts["case_id"])
        if case is None:
            self.refuse(
                number,
                "case_id",
                f"no case is called {texts['case_id']!r}{near_names(texts['case_id'], cases)}",
            )
        if texts.get("query") and texts["query"].split() != case.request.query.split():
            self.refuse(
                number,
                "query",
                f"case {case.case_id!r} asks {shown(case.request.query)}, not "
                f"{shown(texts['query'])}",
                remedy="was the sheet pooled from another set?",
            )
        if not texts["id"]:
            self.refuse(number, "id", "no id is named")

    def _grade(self, number: int, texts: Mapping[str, str]) -> int | None:
        text = texts["grade"]
        if text and not _GRADE.fullmatch(text):
            self.refuse(number, "grade", f"a grade is a whole number, found {shown(text)}")
        return int(text) if text else None

    def _flag(self, number: int, texts: Mapping[str, str]) -> bool | None:
        text = texts.get("forbidden", "").casefold()
        if text and text not in _YES | _NO:
            self.refuse(number, "forbidden", f"expected yes or no, found {shown(text)}")
        return text in _YES if text else None

    def refuse(
        self, number: int, column: str, message: str, *, remedy: str | None = None
    ) -> NoReturn:
        """Raise an error that names the cell."""
        place = self.table.place(number, self.positions.get(column))
        raise GoldError(message, where=place, remedy=remedy)


def merge_judgements(dataset: GoldDataset, table: Table, *, kind: Kind = "document") -> Merged:
    """Take the judgements of a sheet into a set.

    A grade of 1 or above makes an id expected, a lower one makes it not expected. A row without a
    grade or a flag changes nothing.

    Raises
    ------
    BadInputError
        If ids of this kind cannot be graded.
    GoldError
        Naming the cell: an unknown case, another query, a grade that is no whole number, two rows
        that contradict each other.
    """
    if f"{kind}_relevance" not in GoldCase.model_fields:
        raise BadInputError(f"{kind} ids cannot be graded")
    # With a mapping, columns that judges have added are left out instead of refused.
    positions, _ = find_columns(table, {"id": "id"}, columns=COLUMNS, required=_REQUIRED)
    sheet = _Sheet(table, {name: at for name, at in positions.items() if name in _READ})
    sheet.read({case.case_id: case for case in dataset.cases})
    cases: list[GoldCase] = []
    changes: list[str] = []
    for case in dataset.cases:
        judged = sheet.judged.get(case.case_id, {})
        merged = _merge_case(case, judged, sheet, kind) if judged else case
        changes += _changes(case, merged, kind)
        cases.append(merged)
    pinned = dataset_from_cases(tuple(cases), dataset_id=dataset.dataset_id, name=dataset.name)
    return Merged(pinned, tuple(changes))


def _merge_case(
    case: GoldCase, judged: Mapping[str, _Judgement], sheet: _Sheet, kind: Kind
) -> GoldCase:
    standing, grades = _grades(case, kind), case.relevance(kind)
    expected = dict.fromkeys(case.expected.of(kind))
    forbidden = dict.fromkeys(case.forbidden.of(kind))
    for key, found in judged.items():
        if found.forbidden:
            forbidden[key] = None
            expected.pop(key, None)
            if found.grade is None and grades.get(key, 0) >= 1:
                del grades[key]
        elif found.forbidden is False:
            forbidden.pop(key, None)
        if found.grade is not None and found.grade != standing.get(key):
            grades[key] = found.grade
            if found.grade >= 1:
                expected[key] = None
            else:
                expected.pop(key, None)
    fields = case.model_dump(mode="json", exclude_defaults=True)
    for name, ids in (("expected", expected), ("forbidden", forbidden)):
        fields.setdefault(name, {})[f"{kind}_ids"] = list(ids)
    fields[f"{kind}_relevance"] = grades
    fields["graded_relevance"] = {
        key: grade for key, grade in case.graded_relevance.items() if key not in grades
    }
    try:
        return GoldCase.model_validate_json(json.dumps(fields))
    except ValidationError as error:
        first = next(iter(judged.values()))
        sheet.refuse(first.row, "id", describe_validation_error(error))


def _changes(before: GoldCase, after: GoldCase, kind: Kind) -> Iterator[str]:
    keys = dict.fromkeys((*_states(before, kind), *_states(after, kind)))
    for key in keys:
        old, new = (_states(case, kind).get(key, "not judged") for case in (before, after))
        if old != new:
            yield f"{before.case_id}: {key}: {old} -> {new}"


def _states(case: GoldCase, kind: Kind) -> dict[str, str]:
    states = {key: f"grade {grade}" for key, grade in _grades(case, kind).items()}
    for key in case.forbidden.of(kind):
        states[key] = f"{states[key]}, forbidden" if key in states else "forbidden"
    return states
