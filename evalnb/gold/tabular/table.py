"""One table, whatever it came from, and the columns that it may have."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from evalnb.errors import GoldError
from evalnb.gold.golden import checked_mapping
from evalnb.gold.options import spell_option
from evalnb.wording import shown

COLUMNS = (
    "query",
    "expected",
    "document",
    "content",
    "grade",
    "forbidden",
    "split",
    "family",
    "tags",
    "language",
    "intent",
    "description",
)

# What people call these columns elsewhere: offered in errors, never assumed.
_ELSEWHERE = {
    "query": "question q text search input query_text user_input soru sorgu",
    "expected": "id docid doc_id docno doc document_id expected_id expected_ids target url path "
    "source answer_id corpus-id",
    "document": "file filename file_name title",
    "content": "phrase quote contains expected_text passage reference",
    "grade": "rating relevance rel score label judgement judgment",
    "split": "set fold",
    "family": "family_key group",
    "tags": "tag labels category",
    "language": "lang",
    "description": "note notes comment",
}
_ANSWERS = frozenset({"answer", "answers", "expected_answer", "ground_truth", "response", "cevap"})
YES, NO = frozenset({"yes", "true", "x", "1"}), frozenset({"no", "false", "0"})
_GRADE = re.compile(r"[+-]?[0-9]{1,9}")
_NEAR = {theirs: ours for ours, names in _ELSEWHERE.items() for theirs in names.split()}


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a header.

    Attributes
    ----------
    name
        The file, for errors.
    header_row
        The number of the header's row.
    rows
        Row numbers as the place counts them, and cells as the source has them.
    text
        Turns a cell into text, given the column's name; a ValueError says why it cannot.
    place
        Names a cell by row number and column position, or a row without one.
    notes
        What a reader ought to know; complete when the rows have been read.
    elsewhere
        Where else to look if this is not the table that was meant.
    """

    name: str
    header: Sequence[object]
    header_row: int
    rows: Iterable[tuple[int, Sequence[object]]]
    text: Callable[[object, str], str]
    place: Callable[[int, int | None], str]
    notes: Sequence[str] = ()
    elsewhere: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """The texts of one row by column; what it refuses, it refuses with the cell."""

    number: int
    texts: Mapping[str, str]
    place: Callable[[str | None], str]

    def __getitem__(self, column: str) -> str:
        """Return the text in a column; empty if the table has no such column."""
        return self.texts.get(column, "")

    def grade(self, *, remedy: str | None = None) -> int | None:
        """Read the whole number in the column ``grade``; None if the cell is empty."""
        text = self["grade"]
        if text and not _GRADE.fullmatch(text):
            self.refuse("grade", f"a grade is a whole number, found {shown(text)}", remedy=remedy)
        return int(text) if text else None

    def refuse(self, column: str | None, message: str, *, remedy: str | None = None) -> NoReturn:
        """Raise an error that names the cell, or the row."""
        raise GoldError(message, where=self.place(column), remedy=remedy)


def named_rows(table: Table, positions: Mapping[str, int]) -> Iterator[Row]:
    """Read the columns that were found, row by row; a row without any text is passed over.

    Raises
    ------
    GoldError
        Naming the cell that is no text.
    """
    for number, cells in table.rows:

        def place(column: str | None, number: int = number) -> str:
            return table.place(number, None if column is None else positions.get(column))

        row = Row(number, texts := {}, place)
        for name, position in positions.items():
            try:
                texts[name] = table.text(cells[position], name) if position < len(cells) else ""
            except ValueError as error:
                row.refuse(name, str(error))
        if any(texts.values()):
            yield row


def find_columns(
    table: Table,
    mapping: Mapping[str, str] | None = None,
    *,
    columns: Sequence[str] = COLUMNS,
    required: Sequence[str] = ("query",),
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Find where each column stands.

    Returns
    -------
    tuple
        Position by column name, and notes on what is not read.

    Raises
    ------
    GoldError
        For a repeated, unknown, unnamed or missing column, with a near name and the remedy.
    """
    mapping = checked_mapping(mapping, columns)
    names = [_column_name(cell) for cell in table.header]
    for position, name in enumerate(names):
        if name and names.index(name) != position:
            raise GoldError(
                f"column {name!r} stands twice",
                where=table.place(table.header_row, position),
                remedy="rename or delete one of them",
            )
    positions, unread = _matched(names, mapping, columns)
    missing = [
        f"{ours!r} (mapped to {theirs!r})"
        for ours, theirs in mapping.items()
        if ours not in positions
    ]
    missing += (repr(ours) for ours in required if ours not in {*positions, *mapping})
    if missing or (unread and not mapping):
        raise _wrong_header(table, names, missing, unread, columns)
    notes = (f"columns not read: {', '.join(unread)}",) if unread else ()
    return positions, notes


def _column_name(cell: object) -> str:
    return "" if cell is None else str(cell).strip()


def _matched(
    names: Sequence[str], mapping: Mapping[str, str], columns: Sequence[str]
) -> tuple[dict[str, int], list[str]]:
    """Match the header's names to ours; capital letters and outer blanks do not matter."""
    folded = [name.casefold() for name in names]
    positions = {}
    for ours in columns:
        theirs = mapping.get(ours, ours)
        if theirs in names:
            positions[ours] = names.index(theirs)
        elif theirs.strip().casefold() in folded:
            positions[ours] = folded.index(theirs.strip().casefold())
    taken = set(positions.values())
    unread = [name for at, name in enumerate(names) if name and at not in taken]
    return positions, [name for name in unread if not name.startswith("_")]


def _wrong_header(
    table: Table,
    names: Sequence[str],
    missing: Sequence[str],
    unread: Sequence[str],
    columns: Sequence[str],
) -> GoldError:
    findings = []
    if missing:
        findings.append(f"no column {' and no column '.join(missing)}")
    suggested = {name: near for name in unread if (near := _near_column(name, columns))}
    if unread:
        findings.append(
            "unknown column "
            + ", ".join(
                f"{shown(name)} (did you mean {suggested[name]!r}?)"
                if name in suggested
                else shown(name)
                for name in unread
            )
        )
    pairs = {ours: theirs for theirs, ours in suggested.items()}
    example = spell_option("--map", pairs or {"query": "question", "expected": "docid"}, table.name)
    hints = [
        f"columns that are read: {', '.join(columns)}",
        f"Rename the column, or pass a mapping such as {example}; what it does not name is left "
        "out",
    ]
    if any(map(_is_answer, unread)):
        hints.append(
            "An answer in words of its own is no phrase to be found: quote a document under "
            "'content', or name it under 'expected'"
        )
    if table.elsewhere:
        hints.append(table.elsewhere)
    return GoldError(
        f"{'; '.join(findings)}; the first row names the columns, and found there: "
        f"{', '.join(filter(None, names)) or 'nothing'}",
        where=table.place(table.header_row, None),
        remedy=". ".join(hints),
    )


def _folded(name: str) -> str:
    return name.casefold().replace(" ", "_")


def _is_answer(name: str) -> bool:
    return _folded(name) in _ANSWERS


def _near_column(name: str, columns: Sequence[str]) -> str | None:
    if _is_answer(name):
        return None
    folded = _folded(name)
    known = {theirs: ours for theirs, ours in _NEAR.items() if ours in columns}
    near = difflib.get_close_matches(folded, [*columns, *known], n=1, cutoff=0.75)
    return known.get(near[0], near[0]) if near else None
