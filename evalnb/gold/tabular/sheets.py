"""xlsx: every cell as the text that was typed, or an error that names the cell.

Excel keeps a number, not what was typed. A whole number of up to 15 digits in a cell without a
number format of its own is that text. Any other number, a date, a truth value, a formula and an
error are refused, each with its cell: ``007``, ``1e5`` and ``2301.12900`` survive in cells
formatted as Text.
"""

from __future__ import annotations

import datetime as dt
import io
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from evalnb.errors import BadInputError, GoldError, NotFoundError
from evalnb.gold.tabular.delimited import format_delimited
from evalnb.gold.tabular.table import Table
from evalnb.limits import MIB, check_limit
from evalnb.wording import near_names, shown

UNPACKED_BYTES = 256 * MIB  # a sheet of 64 MiB packs to a tenth of that; bombs do not
MAX_ROWS = 1_048_576  # Excel's own; a larger row number is made up
_MARGIN = 16  # columns right of the header in which stray cells are looked for
CELL_CHARACTERS = 32_767  # Excel's own; openpyxl would cut a longer text
_OLE = b"\xd0\xcf\x11\xe0"
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s[^>]*?ref=[\"']([A-Z0-9:]+)[\"']")
_AS_TYPED = frozenset({"General", "0", "@"})
_RETYPE = "format the column as Text and type it again"


def read_sheet(data: bytes, *, name: str, sheet: str | None = None) -> Table:
    """Read one sheet of a workbook as a table.

    Parameters
    ----------
    sheet
        Its name; by default the first one that is not hidden.

    Raises
    ------
    GoldError
        If it is no workbook, the sheet is empty, or cells are merged, naming the range.
    NotFoundError
        If no sheet has this name.
    LimitExceededError
        If the workbook unpacks to more than 256 MiB.
    """
    import openpyxl

    _check_archive(data, name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about extensions and styles, which are not read
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True)
            chosen = _choose(book.worksheets, name, sheet)
            others = ", ".join(repr(other.title) for other in book.worksheets if other != chosen)
            chosen.reset_dimensions()  # what a file says of its own size need not be so
            header_row, header = _header(chosen)
            if not header:
                raise GoldError(
                    f"the sheet {chosen.title!r} is empty", where=name, remedy=_elsewhere(others)
                )
            rows = list(_rows(chosen, header_row, len(header), name))
            merged = _merged_ranges(data, chosen)
    except (BadInputError, MemoryError):
        raise
    except Exception as error:  # openpyxl raises whatever its parsers raise
        raise GoldError(
            f"not a readable workbook: {type(error).__name__}: {error}", where=name
        ) from error
    title = f"{name} sheet {chosen.title!r}"
    _refuse_merged(merged, header_row, len(header), title)
    return Table(
        name=name,
        header=[_cell_text(cell, "") if cell.data_type == "s" else cell.value for cell in header],
        header_row=header_row,
        rows=rows,
        text=_cell_text,
        place=lambda number, position: f"{title} {_coordinate(number, position)}",
        notes=[f"sheet {chosen.title!r} was read, not {others}"] if others and not sheet else [],
        elsewhere=_elsewhere(others) or "",
    )


def _check_archive(data: bytes, name: str) -> None:
    if data.startswith(_OLE):
        raise GoldError(
            "an .xls workbook of before 2007, or one with a password",
            where=name,
            remedy="save it as .xlsx without a password, or as csv",
        )
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(part.file_size for part in archive.infolist())
    except Exception as error:  # zipfile raises whatever it trips over
        raise GoldError(
            "not an xlsx workbook", where=name, remedy="save it as .xlsx, or name a text file .csv"
        ) from error
    check_limit("unpacked bytes of the workbook", size, UNPACKED_BYTES, argument="", where=name)


def _elsewhere(others: str) -> str | None:
    hint = "--sheet NAME, or sheet=NAME in Python, reads another one"
    return f"{hint}: {others}" if others else None


def _choose(sheets: Sequence[Any], name: str, wanted: str | None) -> Any:
    if wanted is not None:
        titles = [sheet.title for sheet in sheets]
        if wanted not in titles:
            raise NotFoundError(
                f"no sheet {wanted!r}{near_names(wanted, titles)}",
                where=name,
                remedy=f"sheets there are: {', '.join(titles)}",
            )
        return sheets[titles.index(wanted)]
    for sheet in sheets:
        if sheet.sheet_state == "visible":
            return sheet
    raise GoldError("the workbook has no visible sheet", where=name)


def _header(sheet: Any) -> tuple[int, list[Any]]:
    """Find the first row that holds anything, without its empty end; no cells if none does."""
    for number, cells in enumerate(sheet.iter_rows(), 1):
        if number > MAX_ROWS:
            break
        filled = [position for position, cell in enumerate(cells) if not _is_empty(cell)]
        if filled:
            return number, list(cells[: filled[-1] + 1])
    return 0, []


def _rows(
    sheet: Any, header_row: int, width: int, name: str
) -> Iterator[tuple[int, Sequence[object]]]:
    below = sheet.iter_rows(min_row=header_row + 1, max_col=width + _MARGIN)
    blank: Sequence[object] = ()
    for number, cells in enumerate(below, header_row + 1):
        if number > MAX_ROWS:
            raise GoldError(f"a row past number {MAX_ROWS:,}", where=name)
        if cells is blank:  # openpyxl fills a gap of a million rows with one and the same row
            continue
        if all(map(_is_empty, cells)):
            blank = cells
            continue
        for position in range(width, len(cells)):
            if not _is_empty(cells[position]):
                raise GoldError(
                    f"the cell {_coordinate(number, position)} stands under no column name",
                    where=f"{name} sheet {sheet.title!r}",
                    remedy="name its column in the first row, or clear the cell",
                )
        yield number, cells[:width]


def _is_empty(cell: Any) -> bool:
    return cell.value is None or (isinstance(cell.value, str) and not cell.value.strip())


def _merged_ranges(data: bytes, sheet: Any) -> list[str]:
    """List the merged ranges, which openpyxl does not keep when it streams the rows."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        xml = archive.read(sheet._worksheet_path)  # the only place that knows the part's name
    after_rows = max(xml.rfind(b"sheetData>"), 0)
    return [found.decode() for found in _MERGED.findall(xml, after_rows)]


def _refuse_merged(merged: Iterable[str], header_row: int, width: int, title: str) -> None:
    from openpyxl.utils.cell import range_boundaries

    for reference in merged:
        left, _, _, bottom = range_boundaries(reference)
        if left <= width and bottom >= header_row:
            raise GoldError(
                f"the cells {reference} are merged, and only one of them has a text",
                where=title,
                remedy="split them and write the text into each row",
            )


def _coordinate(number: int, position: int | None) -> str:
    from openpyxl.utils import get_column_letter

    return f"row {number}" if position is None else f"{get_column_letter(position + 1)}{number}"


def _cell_text(cell: Any, column: str) -> str:
    value, kind = cell.value, cell.data_type
    if value is None:
        return ""
    if kind == "f":
        formula = getattr(value, "text", value)
        raise ValueError(f"a formula ({shown(formula)}); paste its value as text")
    if kind == "e":
        raise ValueError(f"the error {value}; correct it or clear the cell")
    if isinstance(value, str):  # with carriage returns as some programs write them
        return value.replace("_x000D_", "\r").replace("\r\n", "\n").replace("\r", "\n").strip()
    if isinstance(value, bool):
        if column == "forbidden":
            return str(value).lower()
        raise ValueError(f"Excel made the truth value {value} of it; {_RETYPE}")
    if isinstance(value, (dt.date, dt.time, dt.timedelta)):
        raise ValueError(f"Excel made the date or time {value} of it; {_RETYPE}")
    if column == "grade":
        whole = isinstance(value, int) or value.is_integer()
        return str(int(value)) if whole else repr(value)
    if isinstance(value, int) and cell.number_format in _AS_TYPED and abs(value) < 10**15:
        return str(value)
    raise ValueError(
        f"Excel keeps the number {value} here, which need not be what was typed; {_RETYPE}"
    )


def format_table(rows: Sequence[Sequence[str]], ending: str, *, title: str) -> bytes:
    """Write rows as a sheet where the ending is ``.xlsx``, else as csv."""
    if ending.lower() == ".xlsx":
        return write_sheet(rows, title=title)
    return format_delimited(rows).encode()


def write_sheet(rows: Sequence[Sequence[str]], *, title: str) -> bytes:
    """Write rows as one sheet whose cells are all text: nothing in them is ever run.

    Raises
    ------
    GoldError
        For a text that a cell cannot hold, naming the cell.
    """
    import openpyxl
    from openpyxl.cell import WriteOnlyCell

    for number, row in enumerate(rows, 1):
        for position, text in enumerate(row):
            _check_fits(text, _coordinate(number, position))
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet(title)
    for row in rows:
        cells = [WriteOnlyCell(sheet, value=text) for text in row]
        for cell in cells:
            cell.data_type = "s"  # what begins with = is text, too
            cell.number_format = "@"
        sheet.append(cells)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _check_fits(text: str, where: str) -> None:
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    if ILLEGAL_CHARACTERS_RE.search(text):
        problem = f"{shown(text)} holds a control character, which xlsx cannot carry"
    elif len(text) > CELL_CHARACTERS:
        problem = f"a text of {len(text):,} characters; a cell holds {CELL_CHARACTERS:,}"
    else:
        return
    raise GoldError(problem, where=where, remedy="export to csv or to a gold directory")
