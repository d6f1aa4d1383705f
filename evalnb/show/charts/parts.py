"""What a mean is made of: slices, channels, and what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.ticker import FuncFormatter

from evalnb.show.charts.canvas import (
    ALT_ROWS,
    GRID,
    INK,
    MARKS,
    OKABE_ITO,
    PALE,
    SIDE_LABEL,
    STYLE,
    Chart,
    label_sides,
    pad_limits,
    short_name,
    side_figure,
)
from evalnb.show.numbers import format_count, format_value, present
from evalnb.show.tables import label_measures, row_list
from evalnb.show.text import one_line

if TYPE_CHECKING:
    import pandas as pd

ROW = 0.26


def plot_slices(aggregates: pd.DataFrame, *, variant: str, baseline: str = "") -> Chart:
    """Draw one variant's mean in every slice, beside the baseline's, and n.

    Parameters
    ----------
    aggregates
        Rows of the aggregates frame of one measure; the axis spans the means of all variants, so
        that charts of several can be set side by side.
    """
    mine = {row.slice: row for row in row_list(aggregates[aggregates["variant"] == variant])}
    base = {row.slice: row for row in row_list(aggregates[aggregates["variant"] == baseline])}
    slices = list(dict.fromkeys(aggregates["slice"]))
    drawn = [name for name in slices if name in mine]
    names = [f"{one_line(str(name), 24)} ({format_count(mine[name].n)})" for name in drawn]
    measure = label_measures(aggregates)[0] if len(aggregates) else "score"
    words = []
    with mpl.rc_context(STYLE):
        figure, ax = side_figure(names, 0.9 + ROW * max(len(names), 1), above=0.3)
        for y, name in enumerate(drawn):
            here, there = present(mine[name].mean), present(getattr(base.get(name), "mean", None))
            if variant != baseline and there is not None:
                ax.plot([there], [y], "D", color=INK, mfc="white", ms=5, clip_on=False)
            if variant != baseline and here is not None and there is not None:
                ax.plot([there, here], [y, y], color=PALE, lw=1, zorder=0)
            if here is not None:
                mark = "D" if variant == baseline else "o"
                ax.plot([here], [y], mark, color=OKABE_ITO[0], ms=6, clip_on=False)
            words.append(
                f"{one_line(str(name))} {format_value(here)}, n {format_count(mine[name].n)}"
            )
        label_sides(ax, names)
        ax.grid(axis="x", color=GRID, lw=0.6)
        pad_limits(ax, list(aggregates["mean"]))
        ax.set_xlabel(
            measure if variant == baseline else f"{measure}, ◇ baseline", parse_math=False
        )
        figure.text(
            0.02, 1 - 0.08 / figure.get_figheight(), short_name(variant), va="top", parse_math=False
        )
    said = "; ".join(words[:ALT_ROWS])
    more = f"; and {len(words) - ALT_ROWS} more" if len(words) > ALT_ROWS else ""
    return Chart(figure, f"{one_line(variant)} by slice, mean {measure}: {said}{more}.", aggregates)


def plot_channels(contributions: pd.DataFrame, *, measure: str = "") -> Chart:
    """Draw what each channel adds: its share of the mean, and what it reaches alone.

    Parameters
    ----------
    contributions
        Columns channel, alone, lost_without, shapley.
    """
    rows = row_list(contributions)
    names = [one_line(str(row.channel), SIDE_LABEL) for row in rows]
    with mpl.rc_context(STYLE):
        figure, ax = side_figure(names, 1.25 + 0.34 * max(len(rows), 1), above=0.3)
        for y, row in enumerate(rows):
            ax.barh([y], [row.shapley], height=0.6, color=OKABE_ITO[4], label="its share" * (not y))
            ax.plot([row.alone], [y], "o", color=INK, ms=6, label="alone" * (not y), ls="")
            ax.plot(
                [row.lost_without],
                [y],
                "X",
                color=OKABE_ITO[1],
                ms=7,
                ls="",
                label="lost without it" * (not y),
            )
        ax.axvline(0, color=INK, lw=1)
        label_sides(ax, names)
        pad_limits(
            ax,
            [
                0.0,
                *contributions["alone"],
                *contributions["shapley"],
                *contributions["lost_without"],
            ],
        )
        ax.set_xlabel(f"mean {measure}" if measure else "mean", parse_math=False)
        if rows:
            ax.legend(
                loc="lower left", bbox_to_anchor=(-0.25, 1), ncols=3, frameon=False, fontsize=8
            )
    words = "; ".join(
        f"{one_line(str(row.channel))} share {format_value(row.shapley)}, alone "
        f"{format_value(row.alone)}, lost without it {format_value(row.lost_without)}"
        for row in rows[:ALT_ROWS]
    )
    title = f"What channels add to {measure or 'the mean'}"
    return Chart(figure, f"{title}: {words or 'nothing to draw'}.", contributions)


def plot_tradeoff(tradeoff: pd.DataFrame, *, measure: str = "", cost: str = "") -> Chart:
    """Draw quality against cost; what no other variant beats in both is joined by a line.

    Parameters
    ----------
    tradeoff
        Columns variant, mean, cost, front.
    measure, cost
        What the axes show.
    """
    rows = row_list(tradeoff)
    with mpl.rc_context(STYLE):
        figure, ax = side_figure(["0.0000000"], 2.9 + 0.16 * len(rows[:ALT_ROWS]), above=0.1)
        box = ax.get_position()
        share = 0.16 * len(rows[:ALT_ROWS]) / figure.get_figheight()
        ax.set_position((box.x0, box.y0 + share, box.width, box.height - share))
        front = tradeoff[tradeoff["front"]].sort_values("cost")
        ax.step(front["cost"], front["mean"], where="post", color=PALE, lw=1, zorder=0)
        for at, row in enumerate(rows):
            colour = OKABE_ITO[at % 7]
            fill = colour if row.front else "white"
            ax.plot([row.cost], [row.mean], MARKS[at % 7], ms=8, mew=1.6, color=colour, mfc=fill)
            ax.annotate(
                str(at + 1),
                (row.cost, row.mean),
                xytext=(5, 5),
                textcoords="offset points",
                fontsize=8,
            )
        for at, row in enumerate(rows[:ALT_ROWS]):
            figure.text(
                0.04,
                share - (0.16 * at + 0.12) / figure.get_figheight(),
                f"{at + 1}  {short_name(row.variant)}",
                fontsize=8,
                parse_math=False,
            )
        costs = [number for row in rows if (number := present(row.cost))]
        if costs and min(costs) > 0 and max(costs) / min(costs) > 30:
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter(FuncFormatter(lambda each, _: f"{each:g}"))
        ax.set_xlabel(cost or "cost", parse_math=False)
        ax.set_ylabel(f"mean {measure}" if measure else "mean", parse_math=False)
        ax.grid(color=GRID, lw=0.6)
    words = "; ".join(
        f"{one_line(str(row.variant))} {format_value(row.mean)} at {format_value(row.cost)}"
        + (", on the front" if row.front else "")
        for row in rows[:ALT_ROWS]
    )
    return Chart(figure, f"{measure or 'Mean'} against {cost or 'cost'}: {words}.", tradeoff)
