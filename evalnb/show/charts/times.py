"""The time of searches: the share that is finished by then, or a strip each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.ticker import FuncFormatter

from evalnb.show.charts.canvas import (
    ALT_ROWS,
    GRID,
    OKABE_ITO,
    SIDE_LABEL,
    STYLE,
    Chart,
    label_sides,
    short_name,
    side_figure,
)
from evalnb.show.numbers import format_ms
from evalnb.show.text import one_line

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ECDF_VARIANTS = 6
FEW_TIMES = 40  # so many that a mark for each can still be told apart


def plot_latency(latency: pd.DataFrame) -> Chart:
    """Draw the time of every finished search: curves of the share finished, or strips.

    Parameters
    ----------
    latency
        Columns variant, latency_ms; missing times are left out.
    """
    timed = latency.dropna(subset=["latency_ms"])
    groups = [
        (str(name), sorted(rows["latency_ms"]))
        for name, rows in timed.groupby("variant", sort=False)
    ]
    with mpl.rc_context(STYLE):
        figure, ax = _curves(groups) if len(groups) <= ECDF_VARIANTS else _strips(groups)
        every = [time for _, times in groups for time in times]
        if every and min(every) > 0 and max(every) / min(every) > 30:
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter(FuncFormatter(lambda ms, _: f"{ms:g}"))
        ax.set_xlabel("time of a search (ms)")
        ax.grid(axis="x", color=GRID, lw=0.6)
    words = "; ".join(
        f"{one_line(name)} from {format_ms(times[0])} to {format_ms(times[-1])}, n {len(times):,}"
        for name, times in groups[:ALT_ROWS]
    )
    return Chart(figure, f"Time of a search: {words or 'not recorded'}.", latency)


def _curves(groups: Sequence[tuple[str, list[float]]]) -> tuple[Figure, Axes]:
    key = 0.18 * ((len(groups) + 1) // 2)  # inches for the legend, below the curves it would hide
    figure, ax = side_figure(["share 1"], 2.7 + key)
    box, share = ax.get_position(), key / figure.get_figheight()
    ax.set_position((box.x0, box.y0 + share, box.width, box.height - share))
    for at, (name, times) in enumerate(groups):
        shares = [(i + 1) / len(times) for i in range(len(times))]
        ax.step(
            times,
            shares,
            where="post",
            color=OKABE_ITO[at],
            ls=("-", "--", "-.", ":")[at % 4],
            lw=1.8,
            marker="|" if len(times) <= FEW_TIMES else "",
            label=short_name(name),
        )
    ax.set_ylabel("share of searches finished")
    ax.set_ylim(0, 1.02)
    if groups:
        legend = figure.legend(loc="lower center", ncols=2, frameon=False, fontsize=8)
        for text in legend.get_texts():
            text.set_parse_math(False)
    return figure, ax


def _strips(groups: Sequence[tuple[str, list[float]]]) -> tuple[Figure, Axes]:
    names = [one_line(name, SIDE_LABEL) for name, _ in groups]
    figure, ax = side_figure(names, 0.6 + 0.25 * len(groups))
    for y, (_, times) in enumerate(groups):
        ax.plot(times, [y] * len(times), "|", color=OKABE_ITO[0], alpha=0.5)
    label_sides(ax, names)
    return figure, ax
