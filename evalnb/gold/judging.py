"""Judging: what systems returned goes into a sheet for people, and their grades come back.

The sheet names neither system nor rank, and a case's rows stand in an order that says nothing, so
that a judge sees the text alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from evalnb.errors import BadInputError
from evalnb.files import read_bounded, write_file
from evalnb.gold.cases import GoldCase, GoldDataset, dataset_from_cases
from evalnb.gold.tabular.delimited import read_delimited
from evalnb.gold.tabular.sheets import CELL_CHARACTERS, format_table, read_sheet
from evalnb.gold.tabular.table import NO, YES, Row, Table, find_columns, named_rows
from evalnb.limits import CASES_BYTES, CASES_LINES
from evalnb.search.result import KINDS, Hit, Kind
from evalnb.strict_json import describe_validation_error
from evalnb.wording import near_names, shown

COLUMNS = ("case_id", "query", "id", "text", "grade", "forbidden", "note")
_REQUIRED = ("case_id", "id", "grade")
_READ = frozenset({*_REQUIRED, "query", "forbidden"})  # text and note are for the judges
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
        for key in sorted(found, key=lambda key: blind_order(case.case_id, key)):
            text = _CONTROL.sub(" ", found[key] or "")[:CELL_CHARACTERS]
            grade = str(grades[key]) if key in grades else ""
            flag = "yes" if key in forbidden else ""
            rows.append([case.case_id, case.request.query, key, text, grade, flag, ""])
    return rows


def _grades(case: GoldCase, kind: Kind) -> dict[str, int]:
    return {**dict.fromkeys(case.expected.of(kind), 1), **case.relevance(kind)}


@lru_cache(maxsize=CASES_LINES)  # a judging tool sorts by it at every key
def blind_order(case_id: str, key: str) -> bytes:
    """Return what to sort a case's ids by, so that their order says nothing of any system."""
    return hashlib.sha256(f"{case_id}\x00{key}".encode()).digest()


def write_rows(rows: list[list[str]], path: Path) -> None:
    """Write a judging sheet as csv or xlsx, by the file's ending.

    Raises
    ------
    BadInputError
        For another ending, or a file that stands there already: it may hold judgements.
    """
    if path.suffix.lower() not in {".csv", ".xlsx"}:
        raise BadInputError("a judging sheet ends in .csv or .xlsx", where=str(path))
    if path.exists():
        raise BadInputError("a file stands here already, maybe with judgements", where=str(path))
    write_file(path, format_table(rows, path.suffix, title="judging"))


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
class Change:
    """What is new about a case, or about what it says of one id."""

    case_id: str
    change: str
    id: str = ""

    def __str__(self) -> str:
        """Say it on a line."""
        return ": ".join(filter(None, (self.case_id, self.id, self.change)))


@dataclass(frozen=True, slots=True)
class Merged:
    """A set with the judgements of a sheet, and what they changed, a line each."""

    dataset: GoldDataset
    changes: tuple[str, ...]


class Judgement(NamedTuple):
    """What is said of one id; null leaves standing what the gold has."""

    grade: int | None = None
    forbidden: bool | None = None


_Sheet = dict[str, dict[str, tuple[Judgement, Row]]]


def _read_judgements(rows: Iterable[Row], cases: Mapping[str, GoldCase]) -> _Sheet:
    """Gather by case and id what the rows judge, each checked against the case it names."""
    judged: _Sheet = {}
    for row in rows:
        _check_case(row, cases)
        found = Judgement(row.grade(), _flag(row))
        if found == Judgement():
            continue
        if found.forbidden and (found.grade or 0) >= 1:
            row.refuse("forbidden", f"forbidden but graded {found.grade}")
        before, first = judged.setdefault(row["case_id"], {}).setdefault(row["id"], (found, row))
        if before != found:
            row.refuse(
                "grade",
                f"{row['id']!r} is judged otherwise in row {first.number}",
                remedy="keep the row that is right",
            )
    return judged


def _check_case(row: Row, cases: Mapping[str, GoldCase]) -> None:
    case_id, query = row["case_id"], row["query"]
    if case_id not in cases:
        row.refuse("case_id", f"no case is called {case_id!r}{near_names(case_id, cases)}")
    asked = cases[case_id].request.query
    if query and query.split() != asked.split():
        row.refuse(
            "query",
            f"case {case_id!r} asks {shown(asked)}, not {shown(query)}",
            remedy="was the sheet pooled from another set?",
        )
    if not row["id"]:
        row.refuse("id", "no id is named")


def _flag(row: Row) -> bool | None:
    text = row["forbidden"].casefold()
    if text and text not in YES | NO:
        row.refuse("forbidden", f"expected yes or no, found {shown(text)}")
    return text in YES if text else None


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
    check_gradable(kind)
    # With a mapping, columns that judges have added are left out instead of refused.
    positions, _ = find_columns(table, {"id": "id"}, columns=COLUMNS, required=_REQUIRED)
    rows = named_rows(table, {name: at for name, at in positions.items() if name in _READ})
    sheet = _read_judgements(rows, {case.case_id: case for case in dataset.cases})
    cases: list[GoldCase] = []
    changes: list[str] = []
    for case in dataset.cases:
        rows_of_case = sheet.get(case.case_id, {})
        judged = {key: found for key, (found, _) in rows_of_case.items()}
        try:
            merged = judged_case(case, judged, kind) if judged else case
        except ValidationError as error:
            _, first = next(iter(rows_of_case.values()))
            first.refuse("id", describe_validation_error(error))
        changes += map(str, _changes(case, merged, kind))
        cases.append(merged)
    pinned = dataset_from_cases(tuple(cases), dataset_id=dataset.dataset_id, name=dataset.name)
    return Merged(pinned, tuple(changes))


def check_gradable(kind: Kind) -> None:
    """Refuse a kind whose ids have no grades in gold.

    Raises
    ------
    BadInputError
        For a source or a revision.
    """
    if f"{kind}_relevance" not in GoldCase.model_fields:
        raise BadInputError(f"{kind} ids cannot be graded")


def judged_case(case: GoldCase, judged: Mapping[str, Judgement], kind: Kind) -> GoldCase:
    """Return a case with judgements taken in, by id.

    Raises
    ------
    ValidationError
        If the labels then contradict each other.
    """
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
    return GoldCase.model_validate_json(json.dumps(fields))


def version_changes(before: GoldDataset | None, after: GoldDataset) -> tuple[Change, ...]:
    """Say what a version has that the one before it had not, and the reverse.

    Cases that were added or removed, grades that changed, and other fields that did by name.
    """
    old = {case.case_id: case for case in before.cases} if before is not None else {}
    new = {case.case_id for case in after.cases}
    found = [Change(case_id, "removed") for case_id in old if case_id not in new]
    for case in after.cases:
        if case.case_id not in old:
            found.append(Change(case.case_id, f"added: {shown(case.request.query)}"))
        found += _case_changes(old.get(case.case_id), case)
    return tuple(found)


def _case_changes(before: GoldCase | None, after: GoldCase) -> Iterator[Change]:
    empty = GoldCase(case_id=after.case_id, split=after.split, request=after.request)
    for kind in KINDS:
        yield from _changes(before or empty, after, kind)
    for name in GoldCase.model_fields:
        graded = "relevance" in name or name in {"expected", "forbidden"}
        if before is not None and not graded and getattr(before, name) != getattr(after, name):
            yield Change(after.case_id, f"{name} changed")


def _changes(before: GoldCase, after: GoldCase, kind: Kind) -> Iterator[Change]:
    keys = dict.fromkeys((*_states(before, kind), *_states(after, kind)))
    for key in keys:
        old, new = (_states(case, kind).get(key, "not judged") for case in (before, after))
        if old != new:
            yield Change(before.case_id, f"{old} -> {new}", key)


def _states(case: GoldCase, kind: Kind) -> dict[str, str]:
    states = {key: f"grade {grade}" for key, grade in _grades(case, kind).items()}
    for key in case.forbidden.of(kind):
        states[key] = f"{states[key]}, forbidden" if key in states else "forbidden"
    return states
