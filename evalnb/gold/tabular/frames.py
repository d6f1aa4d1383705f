"""A DataFrame, or a list of dicts, as a table."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from evalnb.gold.tabular.table import Table
from evalnb.wording import shown

if TYPE_CHECKING:
    import pandas as pd

_KEEP_TEXT = "keep the column as text, for example with read_csv(..., dtype=str)"
_SEVERAL = frozenset({"expected", "forbidden"})


def read_frame(frame: pd.DataFrame) -> Table:
    """Read a DataFrame; its index is not read.

    A cell of ``expected`` may be a list of ids. None, NaN and NA are empty cells.
    """
    return _table("DataFrame", list(frame.columns), list(frame.itertuples(index=False, name=None)))


def read_records(records: Sequence[Mapping[str, Any]], *, name: str) -> Table:
    """Read a list of dicts, one row each."""
    header = list(dict.fromkeys(key for record in records for key in record))
    return _table(name, header, [[record.get(key) for key in header] for record in records])


def _table(name: str, header: list[Any], rows: Sequence[Sequence[object]]) -> Table:
    def place(number: int, position: int | None) -> str:
        if number == 0:
            return f"{name} columns"
        column = "" if position is None else f", column {header[position]!r}"
        return f"{name} row {number}{column}"

    return Table(
        name=name,
        header=header,
        header_row=0,
        rows=list(enumerate(rows, 1)),
        text=_cell_text,
        place=place,
    )


def _cell_text(cell: object, column: str) -> str:
    if type(cell).__name__ == "ndarray":
        cell = cell.tolist()  # type: ignore[attr-defined]
    if isinstance(cell, str):
        return cell.strip()
    if cell is None or type(cell).__name__ in {"NAType", "NaTType"}:
        return ""
    if isinstance(cell, (bytes, bytearray, memoryview)):
        raise ValueError(f"found {shown(cell)}, expected a text; decode it first")
    if isinstance(cell, Sequence):
        return _several(cell, column)
    if isinstance(cell, bool) or type(cell).__name__ in {"bool", "bool_"}:
        if column == "forbidden":
            return str(bool(cell)).lower()
        raise ValueError(f"found {bool(cell)}, expected a text; {_KEEP_TEXT}")
    if isinstance(cell, Integral):
        return str(int(cell))
    if isinstance(cell, Real):
        return _number(float(cell), column)
    if isinstance(cell, (dt.date, dt.time, dt.timedelta)):
        raise ValueError(f"found the date or time {cell}, expected a text; {_KEEP_TEXT}")
    raise ValueError(f"found {shown(cell)}, expected a text")


def _number(value: float, column: str) -> str:
    if math.isnan(value):  # the empty cell of pandas
        return ""
    if column == "grade":
        return str(int(value)) if value.is_integer() else repr(value)
    raise ValueError(
        f"found the number {value}, which need not be how it was written; {_KEEP_TEXT}"
    )


def _several(cell: Any, column: str) -> str:
    if column not in _SEVERAL:
        raise ValueError(f"found {shown(cell)}, expected one text; give one a row")
    return "\n".join(_cell_text(item, "") for item in cell)
