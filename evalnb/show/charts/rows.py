"""Means and differences: one row each, its label above its marks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure

from evalnb.comparison.traits import measure_traits
from evalnb.show.charts.canvas import (
    ALT_ROWS,
    AXIS,
    GRID,
    INK,
    OKABE_ITO,
    PALE,
    STYLE,
    VERDICT_COLOURS,
    WIDTH,
    Chart,
    pad_limits,
    short_name,
)
from evalnb.show.numbers import (
    format_count,
    format_difference,
    format_interval,
    format_mean,
    present,
)
from evalnb.show.tables import label_measures, row_list, shown_verdict, verdict_sign
from evalnb.show.text import one_line

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

VERDICT_MARKS = {"better": "^", "worse": "v", "equivalent": "s"}
ROW = 0.42

Panels = list[tuple[str, "pd.DataFrame"]]


def plot_means(aggregates: pd.DataFrame, *, baseline: str = "") -> Chart:
    """Draw one dot per mean, with its interval where there is one, and n.

    Parameters
    ----------
    aggregates
        Rows of the aggregates frame; each measure is a panel, each row a line in it.
    baseline
        The variant whose mean is drawn on as a vertical line.
    """
    panels, figure, axes = _panels(aggregates)
    for ax, (label, rows) in zip(axes, panels, strict=True):
        for y, row in enumerate(row_list(rows)):
            is_baseline = row.variant == baseline
            colour = INK if is_baseline else OKABE_ITO[0]
            mean = format_mean(row.mean, row.n, row.n_undefined, row.n_unavailable)
            name = short_name(row.variant) + (" (baseline)" if is_baseline else "")
            _label_row(ax, y, name, f"{mean} · n {format_count(row.n)}")
            _draw_interval(ax, y, row.ci_low, row.ci_high, colour)
            if row.n and present(row.mean) is not None:
                ax.plot([row.mean], [y], "D" if is_baseline else "o", color=colour, ms=6)
                if is_baseline:
                    _draw_upright(ax, row.mean, len(rows), GRID)
        _finish_rows(ax, len(rows), f"mean {label}")
        pad_limits(ax, [*rows["mean"], *rows["ci_low"], *rows["ci_high"]])
    return Chart(figure, _describe("Means", panels, _mean_words), aggregates)


def _mean_words(row: Any) -> str:
    mean = format_mean(row.mean, row.n, row.n_undefined, row.n_unavailable)
    interval = format_interval(row.ci_low, row.ci_high)
    between = f" {interval}" if present(row.ci_low) is not None else ""
    return f"{one_line(str(row.variant))} {mean}{between}, n {format_count(row.n)}"


def plot_differences(comparison: pd.DataFrame) -> Chart:
    """Draw differences to the baseline as a forest plot around the zero line.

    Each verdict has a colour, a shape and a word: ▲ better, ▼ worse, = equivalent, ? otherwise.
    """
    panels, figure, axes = _panels(comparison)
    for ax, (label, rows) in zip(axes, panels, strict=True):
        for y, row in enumerate(row_list(rows)):
            verdict = shown_verdict(row)
            colour = VERDICT_COLOURS.get(verdict, PALE)
            text = f"{verdict_sign(verdict)} {verdict} {format_difference(row.diff)}"
            _label_row(ax, y, short_name(row.candidate), text, colour=colour)
            _draw_interval(ax, y, row.ci_low, row.ci_high, colour)
            if present(row.diff) is not None:
                fill = colour if verdict in VERDICT_MARKS else "white"
                mark = VERDICT_MARKS.get(verdict, "o")
                ax.plot([row.diff], [y], mark, color=colour, mfc=fill, ms=7)
        _draw_upright(ax, 0.0, len(rows), INK)
        up = measure_traits(str(rows["measure"].iloc[0])).direction > 0
        left, right = ("worse", "better") if up else ("better", "worse")
        _finish_rows(ax, len(rows), f"← {left} · difference in {label} · {right} →")
        pad_limits(ax, [0.0, *rows["diff"], *rows["ci_low"], *rows["ci_high"]])
    return Chart(figure, _describe("Differences", panels, _difference_words), comparison)


def _difference_words(row: Any) -> str:
    interval = format_interval(row.ci_low, row.ci_high)
    between = f" {interval}" if present(row.ci_low) is not None else ", no interval"
    verdict = shown_verdict(row)
    return f"{one_line(str(row.candidate))} {format_difference(row.diff)}{between}, {verdict}"


def _panels(frame: pd.DataFrame) -> tuple[Panels, Figure, list[Axes]]:
    """Make one axes per measure, one above the other, as high as its rows need."""
    labelled = frame.assign(_label=label_measures(frame))
    panels = [(str(label), rows) for label, rows in labelled.groupby("_label", sort=False)]
    heights = [ROW * len(rows) + AXIS for _, rows in panels]
    total = sum(heights) or 1.0
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, total))
        axes, top = [], total
        for height in heights:
            top -= height
            box = (0.02, (top + AXIS) / total, 0.96, (height - AXIS) / total)
            axes.append(figure.add_axes(box))
    return panels, figure, axes


def _label_row(ax: Axes, y: int, left: str, right: str, *, colour: str = INK) -> None:
    across = ax.get_yaxis_transform()
    style: Any = {"transform": across, "va": "center", "parse_math": False}
    ax.text(0, y - 0.42, left, ha="left", color=INK, **style)
    ax.text(1, y - 0.42, right, ha="right", color=colour, **style)


def _draw_interval(ax: Axes, y: int, low: object, high: object, colour: str) -> None:
    start, end = present(low), present(high)
    if start is not None and end is not None:
        ax.plot([start, end], [y, y], "|-", color=colour, lw=2, ms=7, mew=1.5)


def _draw_upright(ax: Axes, x: float, n: int, colour: str) -> None:
    """Draw an upright line at ``x`` through the marks of every row, but not through its label."""
    ax.vlines(
        [x] * n, [y - 0.16 for y in range(n)], [y + 0.34 for y in range(n)], colour, lw=1, zorder=0
    )


def _finish_rows(ax: Axes, n: int, label: str) -> None:
    ax.set_ylim(max(n, 1) - 0.55, -0.75)
    ax.set_yticks([])
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_xlabel(label, parse_math=False, fontsize=8.5)
    ax.tick_params(labelsize=8)


def _describe(title: str, panels: Panels, words: Callable[[Any], str]) -> str:
    parts = []
    for label, rows in panels:
        shown = "; ".join(words(row) for row in row_list(rows.head(ALT_ROWS)))
        more = f"; and {len(rows) - ALT_ROWS} more" if len(rows) > ALT_ROWS else ""
        parts.append(f"{label}: {shown}{more}.")
    return f"{title}. " + (" ".join(parts) or "Nothing to draw.")
