"""Grids with a shade and a figure in every cell: ranks before and after, every two variants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.patches import Rectangle

from evalnb.show.charts.canvas import (
    ALT_ROWS,
    INK,
    PALE,
    SIDE_LABEL,
    STYLE,
    VERDICT_COLOURS,
    Chart,
    label_sides,
    short_name,
    side_figure,
)
from evalnb.show.numbers import format_count, format_value, present
from evalnb.show.tables import row_list
from evalnb.show.text import one_line

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CELL = 0.34  # inches


def plot_ranks(changes: pd.DataFrame, *, steps: Sequence[str] = ()) -> Chart:
    """Draw how many cases moved from which rank to which: better above the diagonal.

    Parameters
    ----------
    changes
        Columns candidate (one), before, after, n.
    steps
        The ranks in their order, best first; in the order of the frame unless given.
    """
    steps = list(steps or dict.fromkeys([*changes["before"], *changes["after"]]))
    name = short_name(changes["candidate"].iloc[0]) if len(changes) else ""
    counts = {(row.before, row.after): row.n for row in row_list(changes)}
    moved = [(steps.index(row.after) - steps.index(row.before), row.n) for row in row_list(changes)]
    better = sum(n for by, n in moved if by < 0)
    worse = sum(n for by, n in moved if by > 0)
    same = sum(n for by, n in moved if not by)
    heading = f"{name}\n▲ {better:,} better, ▼ {worse:,} worse, = {same:,} the same"
    with mpl.rc_context(STYLE):
        figure, ax = side_figure(steps, 1.15 + CELL * len(steps), above=0.52)
        largest = max(counts.values(), default=1)
        for (before, after), n in counts.items():
            x, y = steps.index(after), steps.index(before)
            sign, tone = ("", PALE) if x == y else ("▲", "better") if x < y else ("▼", "worse")
            colour, strength = VERDICT_COLOURS.get(tone, PALE), 0.15 + 0.6 * n / largest
            _cell(ax, (x, y), f"{sign}{n:,}", colour=colour, strength=strength)
        label_sides(ax, steps)
        _finish(ax, steps, len(steps))
        ax.set_xlabel("rank now, across; rank of the baseline, down")
        figure.text(0.02, 1 - 0.08 / figure.get_figheight(), heading, va="top", parse_math=False)
    words = "; ".join(
        f"{row.before} to {row.after}: {format_count(row.n)}"
        for row in row_list(changes[changes["before"] != changes["after"]].head(ALT_ROWS))
    )
    alt = (
        f"Rank of the first relevant result under {name}, against the baseline: {better} cases "
        f"better, {worse} worse, {same} at the same rank."
    )
    return Chart(figure, alt + (f" {words}." if words else ""), changes)


def plot_overlap(overlap: pd.DataFrame, *, value: str = "jaccard") -> Chart:
    """Draw how much every two variants share, from 0 to 1.

    Parameters
    ----------
    overlap
        Columns variant, other, and the value; one row a pair.
    value
        The column that is drawn: jaccard or rbo.
    """
    names = list(dict.fromkeys([*overlap["variant"], *overlap["other"]]))
    shared = {(row.other, row.variant): getattr(row, value) for row in row_list(overlap)}
    figure = _pairs(names, shared, value)
    words = "; ".join(
        f"{one_line(one)} and {one_line(other)} {format_value(each)}"
        for (other, one), each in list(shared.items())[:ALT_ROWS]
    )
    return Chart(figure, f"Overlap of results ({value}): {words or 'nothing to draw'}.", overlap)


def _pairs(names: Sequence[str], shared: dict[tuple[str, str], Any], value: str) -> Figure:
    numbers = [str(at) for at in range(1, len(names) + 1)]
    labels = [f"{one_line(name, SIDE_LABEL)} {n}" for name, n in zip(names, numbers, strict=True)]
    with mpl.rc_context(STYLE):
        figure, ax = side_figure(labels, 0.95 + CELL * len(labels), above=0.1)
        for (down, across), each in shared.items():
            number = present(each)
            if number is not None:
                at = names.index(across), names.index(down)
                _cell(ax, at, f"{number:.2f}", colour="#0072B2", strength=number * 0.8)
        label_sides(ax, labels)
        _finish(ax, numbers[:-1], len(labels))
        ax.set_xlabel(f"{value}, with the variant of this number", parse_math=False)
    return figure


def _cell(ax: Axes, at: tuple[int, int], text: str, *, colour: str, strength: float) -> None:
    x, y = at
    ax.add_patch(Rectangle((x - 0.48, y - 0.48), 0.96, 0.96, color=colour, alpha=strength, lw=0))
    ax.text(
        x, y, text, ha="center", va="center", fontsize=8, color="white" if strength > 0.65 else INK
    )


def _finish(ax: Axes, columns: Sequence[str], n_rows: int) -> None:
    ax.set_xlim(-0.5, max(len(columns), 1) - 0.5)
    ax.set_ylim(max(n_rows, 1) - 0.5, -0.5)
    ax.set_xticks(range(len(columns)), columns, parse_math=False)
    ax.tick_params(length=0, labelsize=8)
    ax.spines[["left", "bottom"]].set_visible(False)
