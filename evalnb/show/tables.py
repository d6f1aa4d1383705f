"""Tables: what stands in which cell, once, and how a terminal shows it.

A :class:`Table` holds finished strings. :func:`format_table` aligns it as plain text without boxes
or wrapping; :func:`evalnb.show.html.table_html` writes the same cells into a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from evalnb.show.numbers import (
    NOTHING,
    format_count,
    format_difference,
    format_interval,
    format_mean,
    format_p,
    format_percent,
    format_value,
    present,
)
from evalnb.show.text import cell_width, one_line, pad

if TYPE_CHECKING:
    import pandas as pd

Tone = Literal["", "better", "worse", "equivalent", "undecided", "muted"]
NAME_WIDTH = 40  # a longer name is cut for display; the frame has all of it

# A sign beside every colour: a verdict must survive a black-and-white print.
VERDICT_SIGNS = {
    "better": "▲",
    "worse": "▼",
    "equivalent": "=",
    "unresolvable": "?",
    "undecided": "?",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """A finished string; ``tone`` colours it in a page, ``href`` links it."""

    text: str
    tone: Tone = ""
    href: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A header; numbers stand right. ``title`` explains the header."""

    header: str
    right: bool = True
    title: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and rows of cells."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""

    def kept(self) -> list[int]:
        """Return the positions of the columns that say something in any row."""
        return [
            at
            for at in range(len(self.columns))
            if not self.rows or any(row[at].text not in {"", NOTHING} for row in self.rows)
        ]


def format_table(table: Table, *, indent: str = "") -> str:
    """Align a table as plain text; columns that are empty in every row are left out."""
    kept = table.kept()
    columns = [table.columns[at] for at in kept]
    lines = [[column.header for column in columns]]
    lines += [[row[at].text for at in kept] for row in table.rows]
    widths = [max(cell_width(line[at]) for line in lines) for at in range(len(kept))]
    return "\n".join(
        indent
        + "  ".join(
            pad(text, width, right=column.right)
            for text, width, column in zip(line, widths, columns, strict=True)
        ).rstrip()
        for line in lines
    )


def measure_label(measure: object, k: object = None, kind: object = None) -> str:
    """Name a measure with the cutoff it was computed at, where its name does not carry one.

    >>> measure_label("nDCG@10", 10), measure_label("RR", 10), measure_label("R@5", 5, "file")
    ('nDCG@10', 'RR (k = 10)', 'file:R@5')
    """
    name, cutoff = str(measure), present(k)
    prefix = f"{kind}:" if isinstance(kind, str) and kind and ":" not in name else ""
    suffix = f" (k = {cutoff:.0f})" if cutoff is not None and "@" not in name else ""
    return f"{prefix}{name}{suffix}"


def row_list(frame: pd.DataFrame) -> list[Any]:
    """Return a frame's rows as named tuples."""
    return list(frame.itertuples())


def label_measures(frame: pd.DataFrame) -> list[str]:
    """Label each row's measure; the kind is named only where there are several."""
    several = frame["kind"].dropna().nunique() > 1
    return [
        measure_label(row.measure, row.k, row.kind if several else None) for row in row_list(frame)
    ]


def means_table(aggregates: pd.DataFrame, *, baseline: str = "") -> Table:
    """Tabulate means, each beside its interval and its counts.

    Success rate and the mean with failures as 0 stand in every row where a search failed.
    """
    columns = (
        Column("measure", right=False),
        Column("variant", right=False),
        Column("mean"),
        Column("95 % interval", title="of the mean, over families of cases"),
        Column("n", title="cases in the mean"),
        Column("N/A", title="cases without gold for this measure"),
        Column("n/a", title="cases whose search failed or was not possible"),
        Column("weighted", title="mean weighted by the cases' weights"),
        Column("micro", title="sum of numerators / sum of denominators"),
        Column("success", title="cases that were searched without failure"),
        Column("failed = 0", title="mean with failed cases counted as 0"),
        Column("note", right=False),
    )
    rows = []
    for label, row in zip(label_measures(aggregates), row_list(aggregates), strict=True):
        failed = bool(row.n_unavailable)
        name = one_line(str(row.variant), NAME_WIDTH)
        cells = (
            Cell(label),
            Cell(f"{name} (baseline)" if row.variant == baseline else name),
            Cell(format_mean(row.mean, row.n, row.n_undefined, row.n_unavailable)),
            Cell(format_interval(row.ci_low, row.ci_high), "muted"),
            Cell(format_count(row.n)),
            Cell(_nonzero(row.n_undefined)),
            Cell(_nonzero(row.n_unavailable), "worse" if failed else ""),
            Cell(_optional(row.weighted_mean)),
            Cell(_optional(row.micro)),
            Cell(format_percent(row.success_rate) if failed else NOTHING),
            Cell(format_value(row.mean_failed_zero) if failed else NOTHING),
            Cell(one_line(str(row.note or "")), "muted"),
        )
        rows.append(cells)
    return Table(columns, tuple(rows))


def _nonzero(count: object) -> str:
    return format_count(count) if present(count) else NOTHING


def _optional(value: object) -> str:
    return NOTHING if present(value) is None else format_value(value)


def comparison_table(comparison: pd.DataFrame, *, adjusted: bool = True) -> Table:
    """Tabulate differences to the baseline, each with its interval, tests and verdict."""
    columns = (
        Column("measure", right=False),
        Column("candidate", right=False),
        Column("mean"),
        Column("baseline"),
        Column("difference"),
        Column("95 % interval", title="of the difference"),
        Column("p", title="sign-flip test over families"),
        Column("p adj.", title="adjusted for all the hypotheses of this table"),
        Column("W/T/L", title="cases won, tied and lost"),
        Column("n", title="pairs ok in both"),
        Column("verdict", right=False),
        Column("resolves", title="smallest difference this set would show 4 times in 5"),
        Column("n needed", title="families needed to show the observed difference"),
        Column("note", right=False),
    )
    rows = []
    for label, row in zip(label_measures(comparison), row_list(comparison), strict=True):
        verdict = str(row.verdict)
        leaning = f", leaning {row.leaning}" if isinstance(row.leaning, str) and row.leaning else ""
        cells = (
            Cell(label),
            Cell(one_line(str(row.candidate), NAME_WIDTH)),
            Cell(format_value(row.mean)),
            Cell(format_value(row.baseline_mean)),
            Cell(format_difference(row.diff)),
            Cell(format_interval(row.ci_low, row.ci_high)),
            Cell(format_p(row.p_value)),
            Cell(format_p(row.p_adjusted) if adjusted else NOTHING),
            Cell(f"{row.wins:.0f}/{row.ties:.0f}/{row.losses:.0f}"),
            Cell(format_count(row.n)),
            Cell(f"{VERDICT_SIGNS.get(verdict, '?')} {verdict}{leaning}", verdict_tone(verdict)),
            Cell(_optional(row.mde)),
            Cell(format_count(row.n_needed)),
            Cell(one_line(str(row.note or "")), "muted"),
        )
        rows.append(cells)
    return Table(columns, tuple(rows))


def verdict_tone(verdict: str) -> Tone:
    """Return the colour of a verdict; what is not resolved is grey."""
    tones: dict[str, Tone] = {"better": "better", "worse": "worse", "equivalent": "equivalent"}
    return tones.get(verdict, "undecided")


def frame_table(frame: pd.DataFrame, *, right: Sequence[str] = ()) -> Table:
    """Tabulate a frame of finished values as it stands."""
    columns = tuple(Column(str(name), right=name in right) for name in frame.columns)
    rows = tuple(
        tuple(Cell(_plain(value)) for value in row) for row in frame.itertuples(index=False)
    )
    return Table(columns, rows)


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return one_line(value)
    return format_value(value) if isinstance(value, float) else format_count(value)
