"""The way of relevant ids through a search: one row per list, ranks from left to right."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from evalnb.show.charts.canvas import (
    ALT_ROWS,
    AXIS,
    GRID,
    INK,
    MARKS,
    OKABE_ITO,
    PALE,
    SIDE_LABEL,
    STYLE,
    WIDTH,
    Chart,
)
from evalnb.show.numbers import present
from evalnb.show.text import cell_width, one_line, plural

if TYPE_CHECKING:
    import pandas as pd

TICKS, DECADES = (1, 2, 5, 10, 20, 50, 100, 200), (1, 10, 100, 1_000, 10_000)
ROW, KEY_ROW = 0.34, 0.19  # inches
KEY_WIDTH = 46

Point = tuple[float, float]


def plot_bumps(ways: pd.DataFrame, *, limit: int | None = None) -> Chart:
    """Draw each relevant id's rank in every list of a search, the search's steps downward.

    A dotted line leads from each channel to what follows it, a solid one from step to step; a
    hollow mark at the right says that a list does not have the id.

    Parameters
    ----------
    ways
        Columns target, name, step (``channel`` or another), stage, rank; drawn in the order given.
    limit
        How many were returned, drawn as an upright line.
    """
    names = dict(zip(ways["target"], ways["name"], strict=True))
    targets, stages = list(names), list(dict.fromkeys(ways["stage"]))
    keys = [one_line(str(names[target]), KEY_WIDTH) for target in targets[: len(MARKS)]]
    if len(targets) > len(keys):
        keys.append(f"and {len(targets) - len(keys):,} more, not drawn")
    deepest = max([10.0, limit or 0, *(n for rank in ways["rank"] if (n := present(rank)))])
    scale = _Scale([one_line(str(stage), SIDE_LABEL) for stage in stages], len(keys), deepest)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, scale.height))
        _draw_frame(figure, scale, limit)
        for at, target in enumerate(targets[: len(MARKS)]):
            _draw_way(figure, scale, ways[ways["target"] == target], at, stages)
        for at, key in enumerate(keys):
            y = 1 - (0.1 + KEY_ROW * (at + 0.5)) / scale.height
            if at < len(MARKS):
                _line(figure, [(0.05, y)], marker=MARKS[at], color=OKABE_ITO[at])
            _text(figure, 0.08, y, key, ha="left")
    return Chart(figure, _describe(ways, names), ways)


@dataclass(frozen=True)
class _Scale:
    """Where ranks and rows stand in the figure, in shares of it.

    The chart has no axes: those of matplotlib cost five times of all the rest.
    """

    labels: Sequence[str]
    n_keys: int
    deepest: float

    @property
    def height(self) -> float:
        return 0.1 + KEY_ROW * self.n_keys + ROW * max(1, len(self.labels)) + AXIS

    @property
    def left(self) -> float:
        return (0.2 + 0.075 * max([4, *map(cell_width, self.labels)])) / WIDTH

    def y(self, row: float) -> float:
        below = 0.1 + KEY_ROW * self.n_keys + ROW * (row + 0.5)
        return 1 - below / self.height

    def x(self, rank: float | None, at: int = 2) -> float:
        """Return the place of a rank; those that are nowhere stand side by side at the right."""
        if rank is None:
            return 0.91 + 0.022 * (at - 2)
        return self.left + 0.03 + (0.8 - self.left) * math.log10(rank) / math.log10(self.deepest)


def _draw_frame(figure: Figure, scale: _Scale, limit: int | None) -> None:
    top, bottom = scale.y(-0.5), scale.y(len(scale.labels) - 0.5)
    for row, label in enumerate(scale.labels):
        y = scale.y(row)
        _line(figure, [(scale.left, y), (0.98, y)], color=GRID, lw=0.8)
        _text(figure, scale.left - 0.02, y, label, ha="right")
    under = bottom - 0.1 / scale.height
    for tick in TICKS if scale.deepest <= 200 else DECADES:
        if tick <= scale.deepest:
            _text(figure, scale.x(tick), under, f"{tick:,}", ha="center", fontsize=8)
    _text(figure, scale.x(None), under, "absent", ha="center", fontsize=8)
    said = "rank" if limit is None else f"rank (dashed: limit {limit:,})"
    _text(figure, (scale.left + 0.85) / 2, under - 0.19 / scale.height, said, ha="center")
    if limit is not None:
        x = scale.x(limit + 0.5)
        _line(figure, [(x, top), (x, bottom)], color=PALE, lw=1, ls="--")


def _draw_way(
    figure: Figure, scale: _Scale, way: pd.DataFrame, at: int, stages: Sequence[str]
) -> None:
    found: list[Point] = []
    missing: list[Point] = []
    channels: list[Point] = []
    later: list[Point] = []
    for step, stage, rank in zip(way["step"], way["stage"], way["rank"], strict=True):
        known = present(rank)
        point = scale.x(known, at), scale.y(stages.index(stage))
        (missing if known is None else found).append(point)
        if step != "channel":
            later.append(point)
        elif known:
            channels.append(point)
    if found:  # what is nowhere goes no way
        gap = (math.nan, math.nan)
        dotted = [p for point in channels for p in (point, *later[:1], gap)]
        _line(figure, dotted, color=OKABE_ITO[at], lw=0.9, ls=":")
        _line(figure, later, color=OKABE_ITO[at], lw=1.8)
    style = {"color": OKABE_ITO[at], "ls": "", "marker": MARKS[at]}
    _line(figure, found, **style)
    _line(figure, missing, mfc="white", **style)


def _line(figure: Figure, points: Sequence[Point], **style: Any) -> None:
    if points:
        x, y = zip(*points, strict=True)
        figure.add_artist(Line2D(x, y, ms=6, **style))


def _text(figure: Figure, x: float, y: float, text: str, **style: Any) -> None:
    figure.text(x, y, text, va="center_baseline", color=INK, parse_math=False, **style)


def _describe(ways: pd.DataFrame, names: Mapping[str, str]) -> str:
    described = []
    for target, name in list(names.items())[:ALT_ROWS]:
        way = ways[ways["target"] == target]
        ranks = [
            f"{one_line(str(stage))} {'absent' if present(rank) is None else f'{rank:,}'}"
            for stage, rank in zip(way["stage"], way["rank"], strict=True)
        ]
        described.append(f"{one_line(str(name))}: {', '.join(ranks)}")
    more = f"; and {len(names) - ALT_ROWS:,} more" if len(names) > ALT_ROWS else ""
    said = "; ".join(described) or "Nothing to draw"
    return f"Ranks of {plural(len(names), 'relevant id')}. {said}{more}."
