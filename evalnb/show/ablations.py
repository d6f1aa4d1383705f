"""Variants that differ in one control, as a table for a terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from evalnb.show.numbers import format_difference, format_interval, format_p
from evalnb.show.tables import Cell, Column, Table, format_table, leaning_words, row_list
from evalnb.show.text import one_line

if TYPE_CHECKING:
    import pandas as pd

_HEADERS = ("control", "before", "after", "baseline", "candidate", "measure")


def ablations_text(frame: pd.DataFrame) -> str:
    """Write the rows of :func:`~evalnb.comparison.ablation.ablation_frame`; empty for none."""
    if frame.empty:
        return ""
    columns = [Column(header, right=False) for header in _HEADERS]
    columns += [Column(header) for header in ("difference", "95 % interval", "p adj.")]
    columns.append(Column("verdict", right=False))
    rows = tuple(
        tuple(
            map(
                Cell,
                (
                    *(row.control, _setting(row.before), _setting(row.after)),
                    *(one_line(row.baseline, 40), one_line(row.candidate, 40), row.measure),
                    format_difference(row.diff),
                    format_interval(row.ci_low, row.ci_high),
                    format_p(row.p_adjusted),
                    "identical" if row.ties == row.n else row.verdict + leaning_words(row),
                ),
            )
        )
        for row in row_list(frame)
    )
    title = "One control at a time (p adjusted over these pairs by Holm)"
    return f"{title}\n{format_table(Table(tuple(columns), rows))}"


def _setting(value: str) -> str:
    """Write a control's value, JSON in the frame, as somebody says it."""
    said = json.loads(value)
    if isinstance(said, list):
        return ", ".join(_plain(part) for part in said if part is not None) or "on"
    return _plain(said)


def _plain(value: Any) -> str:
    names = {None: "default", True: "on", False: "off"}
    known = value is None or isinstance(value, bool)
    return names[value] if known else one_line(str(value), 40)
