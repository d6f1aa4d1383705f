"""The way of relevant ids through a search: one row per list, ranks from left to right."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.lines import Line2D

from evalnb.show.charts.canvas import (
    ALT_ROWS,
    AXIS,
    GRID,
    OKABE_ITO,
    PALE,
    SIDE_LABEL,
    STYLE,
    Chart,
    label_sides,
    side_figure,
)
from evalnb.show.numbers import present
from evalnb.show.text import one_line, plural

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MARKS = ("o", "s", "D", "^", "v", "P", "X")  # with OKABE_ITO, one each: as many ways are drawn
TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
ROW, KEY_ROW = 0.34, 0.19

Point = tuple[float, float]


def plot_bumps(ways: pd.DataFrame, *, limit: int | None = None) -> Chart:
    """Draw each relevant id's rank in every list of a search, the search's steps downward.

    A thin line leads from each channel to what follows it, a thick one from step to step; a hollow
    mark at the right says that a list does not have the id.

    Parameters
    ----------
    ways
        Columns target, step (``channel`` or another), stage, rank; drawn in the order given.
    limit
        How many were returned, drawn as an upright line.
    """
    targets, stages = list(dict.fromkeys(ways["target"])), list(dict.fromkeys(ways["stage"]))
    shown = targets[: len(MARKS)]
    names = [one_line(str(stage), SIDE_LABEL) for stage in stages]
    more = len(targets) - len(shown)
    above = 0.1 + KEY_ROW * (len(shown) + bool(more))
    height = AXIS + above + ROW * max(1, len(stages))
    with mpl.rc_context(STYLE):
        figure, ax = side_figure(names, height, above=above)
        absent = _draw_scale(ax, [n for r in ways["rank"] if (n := present(r))], limit)
        for at, target in enumerate(shown):
            _draw_way(ax, ways[ways["target"] == target], at, stages, absent)
            y = 1 - (0.1 + KEY_ROW * (at + 0.5)) / height
            mark = Line2D([0.05], [y], marker=MARKS[at], color=OKABE_ITO[at], ms=6)
            figure.add_artist(mark)
            figure.text(0.08, y, one_line(str(target), 46), va="center_baseline", parse_math=False)
        if more:
            y = 1 - (0.1 + KEY_ROW * (len(shown) + 0.5)) / height
            figure.text(0.08, y, f"and {more:,} more, not drawn", va="center_baseline", color=PALE)
        label_sides(ax, names)
    return Chart(figure, _describe(ways, targets), ways)


def _draw_scale(ax: Axes, ranks: list[float], limit: int | None) -> float:
    """Lay out the axis of ranks; returns where an id stands that a list does not have."""
    deepest = max([10.0, *ranks, limit or 0])
    absent = math.log10(deepest) * 1.18
    ticks = [tick for tick in TICKS if tick <= deepest]
    places = [math.log10(tick) for tick in ticks]
    ax.set_xticks([*places, absent], [*(f"{tick:,}" for tick in ticks), "absent"])
    ax.set_xlim(-0.06 * absent, absent * 1.08)
    ax.set_xlabel("rank" if limit is None else f"rank (dashed: limit {limit:,})")
    ax.grid(axis="y", color=GRID, lw=0.8)
    ax.set_axisbelow(True)
    if limit is not None:
        ax.axvline(math.log10(limit + 0.5), color=PALE, lw=1, ls="--")
    return absent


def _draw_way(ax: Axes, way: pd.DataFrame, at: int, stages: list[str], absent: float) -> None:
    style: dict[str, Any] = {"color": OKABE_ITO[at], "clip_on": False}
    nowhere = absent * (1 + 0.025 * (at - 2))  # side by side, or they would hide each other
    found: list[Point] = []
    missing: list[Point] = []
    channels: list[Point] = []
    later: list[Point] = []
    for step, stage, rank in zip(way["step"], way["stage"], way["rank"], strict=True):
        known = present(rank)
        point = (nowhere if known is None else math.log10(known), stages.index(stage))
        (missing if known is None else found).append(point)
        if step != "channel":
            later.append(point)
        elif known:
            channels.append(point)
    gap = (math.nan, math.nan)
    ends = later[:1] * bool(found)
    _line(ax, [p for point in channels for p in (point, *ends, gap)], lw=0.8, ls=":", **style)
    _line(ax, later if found else [], lw=1.8, **style)
    _line(ax, found, ls="", marker=MARKS[at], ms=6, **style)
    _line(ax, missing, ls="", marker=MARKS[at], ms=6, mfc="white", **style)


def _line(ax: Axes, points: list[Point], **style: Any) -> None:
    if points:
        ax.plot([x for x, _ in points], [y for _, y in points], **style)


def _describe(ways: pd.DataFrame, targets: list[str]) -> str:
    described = []
    for target in targets[:ALT_ROWS]:
        way = ways[ways["target"] == target]
        ranks = [
            f"{one_line(str(stage))} {rank:,.0f}" if present(rank) else f"{one_line(stage)} absent"
            for stage, rank in zip(way["stage"], way["rank"], strict=True)
        ]
        described.append(f"{one_line(str(target))}: {', '.join(ranks)}")
    more = f"; and {len(targets) - ALT_ROWS:,} more" if len(targets) > ALT_ROWS else ""
    said = "; ".join(described) or "Nothing to draw"
    return f"Ranks of {plural(len(targets), 'relevant id')}. {said}{more}."
