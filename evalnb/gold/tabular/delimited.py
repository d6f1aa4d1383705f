"""csv and tsv: RFC 4180, the delimiter taken from the header line, every cell text."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from evalnb.errors import GoldError
from evalnb.files import decode_text
from evalnb.gold.tabular.table import COLUMNS, Table

DELIMITERS = (",", ";", "\t")
# What a spreadsheet would run as a formula (OWASP's list, and the same signs at full width, which
# some take for them) is protected by an apostrophe on export,
# and the apostrophe taken off again here.
_PROTECTED = re.compile(r"'+[=+\-@\t\r＝＋－＠]")
_FORMULA = re.compile(r"'*[=+\-@\t\r＝＋－＠]")


def read_delimited(
    data: bytes, *, name: str, encoding: str = "utf-8", mapping: Mapping[str, str] | None = None
) -> Table:
    """Read a csv or tsv file as a table.

    The delimiter is the one of comma, semicolon and tab under which the header line names most
    columns that are read.

    Raises
    ------
    GoldError
        Naming the line: bytes outside the encoding, quotes that do not close, more cells than the
        header has names.
    """
    text, notes = decode_text(data, where=name, encoding=encoding)
    found = list(notes)
    delimiter = _sniff(text, name, {*COLUMNS, *(mapping or {}).values()})
    records = _records(text, name, delimiter)
    header_row, header = next(records, (1, []))
    return Table(
        name=name,
        header=header,
        header_row=header_row,
        rows=_checked(records, name, len(header), delimiter, found),
        text=_cell_text,
        place=lambda number, _: f"{name}:{number}",
        notes=found,
    )


def _checked(
    records: Iterable[tuple[int, list[str]]],
    name: str,
    width: int,
    delimiter: str,
    notes: list[str],
) -> Iterator[tuple[int, list[str]]]:
    unprotected = 0
    for number, cells in records:
        if any(cell.strip() for cell in cells[width:]):
            raise GoldError(
                f"{len(cells)} cells under {width} column names",
                where=f"{name}:{number}",
                remedy=f"a text that holds {delimiter!r} stands in double quotes",
            )
        unprotected += sum(_PROTECTED.match(cell.strip()) is not None for cell in cells)
        yield number, cells
    if unprotected:
        notes.append(f"apostrophes taken off that kept cells from being run: {unprotected}")


def _cell_text(cell: object, column: str) -> str:
    text = str(cell).strip()
    return text[1:] if _PROTECTED.match(text) else text


def _sniff(text: str, name: str, known: Iterable[str]) -> str:
    names = {column.casefold() for column in known}

    def fitness(delimiter: str) -> tuple[int, int]:
        try:
            _, cells = next(_records(text, name, delimiter), (1, []))
        except GoldError:
            return 0, 0
        return sum(cell.strip().casefold() in names for cell in cells), len(cells)

    return max(DELIMITERS, key=fitness)


def _records(text: str, name: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the records that are not blank with the line that each begins on."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    first = 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            remedy = "a text with quotes stands in double quotes, each quote in it doubled"
            if "field larger" in str(error):
                remedy = f"shorten the text, or close its quotes; {remedy}"
            raise GoldError(f"not csv: {error}", where=f"{name}:{first}", remedy=remedy) from error
        if any(cell.strip() for cell in cells):
            yield first, cells
        first = reader.line_num + 1


def format_delimited(rows: Iterable[Sequence[str]]) -> str:
    """Write rows as csv; what a spreadsheet would run as a formula gets an apostrophe before it."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\r\n")
    for row in rows:
        writer.writerow([f"'{cell}" if _FORMULA.match(cell) else cell for cell in row])
    return file.getvalue()
