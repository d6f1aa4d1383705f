"""One picture of a comparison, drawn by hand: a redraw must not cost what matplotlib takes."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evalnb.show.charts import VERDICT_COLOURS
from evalnb.show.charts.canvas import GRID, INK, OKABE_ITO, PALE
from evalnb.show.markup import svg_html
from evalnb.show.numbers import format_difference, format_value
from evalnb.show.text import one_line

WIDTH, EDGE, ROW, AXIS = 384, 10, 40, 34
BARS = 70  # height of the strip of changed cases
NAME = 36


@dataclass(frozen=True, slots=True)
class Mark:
    """One value on an axis: its words, its interval where there is one, its colour and shape."""

    name: str
    words: str
    value: float | None
    low: float | None = None
    high: float | None = None
    colour: str = OKABE_ITO[0]
    shape: str = "circle"


def comparison_picture(
    measure: str, means: Sequence[Mark], difference: Mark, changes: Sequence[float]
) -> str:
    """Draw means, their difference, and a bar for each case that changed.

    Parameters
    ----------
    measure
        Its name.
    means, difference
        On two axes.
    changes
        Differences of cases, the worst first.

    Returns
    -------
    str
        An ``img`` element that carries the figures as its alternative text.
    """
    drawn, below = _axis(means, f"mean {measure}", 0, symmetric=False)
    lower, end = _axis([difference], f"difference in {measure}", below, symmetric=True)
    bars, height = _bars(changes, end)
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12" '
        f'fill="{INK}">{drawn}{lower}{bars}</svg>'
    )
    words = [f"{one_line(mark.name)} {mark.words}" for mark in (*means, difference)]
    alt = f"{measure}: {'; '.join(words)}; {_changed_words(changes)}."
    return svg_html(svg, alt, width=WIDTH, height=height)


def _axis(marks: Sequence[Mark], label: str, top: int, *, symmetric: bool) -> tuple[str, int]:
    """Draw rows and their axis below ``top``; returns where they end."""
    numbers = [n for m in marks for n in (m.value, m.low, m.high) if n is not None]
    low, high, ticks = _scale(numbers, symmetric=symmetric)

    def x(value: float) -> float:
        return EDGE + (WIDTH - 2 * EDGE) * (value - low) / (high - low)

    foot = top + 6 + ROW * len(marks)
    parts = [f'<path d="M{EDGE} {foot}H{WIDTH - EDGE}" stroke="{GRID}"/>']
    if symmetric:
        parts.append(f'<path d="M{x(0):.1f} {foot - 18}V{foot}" stroke="{INK}"/>')
    for row, mark in enumerate(marks):
        y = top + ROW * row + 18
        parts.append(f'<text x="{EDGE}" y="{y}">{_text(mark.name)}</text>')
        parts.append(
            f'<text x="{WIDTH - EDGE}" y="{y}" text-anchor="end">{_text(mark.words)}</text>'
        )
        parts.append(_drawn(mark, x, y + 15))
    for tick in ticks:
        anchor = "start" if x(tick) < 30 else "end" if x(tick) > WIDTH - 30 else "middle"
        words = format_difference(tick) if symmetric else format_value(tick)
        parts.append(
            f'<text x="{x(tick):.1f}" y="{foot + 13}" font-size="10" fill="{PALE}" '
            f'text-anchor="{anchor}">{words}</text>'
        )
    parts.append(
        f'<text x="{WIDTH / 2}" y="{foot + 26}" font-size="11" text-anchor="middle">'
        f"{_text(label)}</text>"
    )
    return "".join(parts), foot + AXIS


def _drawn(mark: Mark, x: Callable[[float], float], y: int) -> str:
    parts = []
    if mark.low is not None and mark.high is not None:
        a, b = x(mark.low), x(mark.high)
        parts.append(
            f'<path d="M{a:.1f} {y}H{b:.1f}M{a:.1f} {y - 4}v8M{b:.1f} {y - 4}v8" '
            f'stroke="{mark.colour}" stroke-width="2"/>'
        )
    if mark.value is not None:
        at = x(mark.value)
        outline = {
            "diamond": f"M{at:.1f} {y - 5}l5 5l-5 5l-5 -5z",
            "up": f"M{at:.1f} {y - 5}l5 9h-10z",
            "down": f"M{at:.1f} {y + 5}l5 -9h-10z",
            "square": f"M{at - 4:.1f} {y - 4}h8v8h-8z",
            "circle": f"M{at - 4:.1f} {y}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
        }[mark.shape]
        parts.append(f'<path d="{outline}" fill="{mark.colour}"/>')
    return "".join(parts)


def _bars(changes: Sequence[float], top: int) -> tuple[str, int]:
    """Draw a bar for each changed case below ``top``; returns where they end."""
    if not changes:
        return "", top + 4
    bound = max(map(abs, changes))
    tall = BARS / 2 / bound
    middle = top + max(0.0, *changes) * tall
    step = min((WIDTH - 2 * EDGE) / len(changes), 14)
    wide = max(step * 0.8, 0.5)
    parts = [f'<path d="M{EDGE} {middle:.1f}H{WIDTH - EDGE}" stroke="{GRID}"/>']
    for verdict, sign in (("worse", -1), ("better", 1)):
        path = "".join(
            f"M{EDGE + step * (at + 0.5):.1f} {middle:.1f}v{-change * tall:.1f}"
            for at, change in enumerate(changes)
            if change * sign > 0
        )
        parts.append(
            f'<path d="{path}" stroke="{VERDICT_COLOURS[verdict]}" stroke-width="{wide:.1f}"/>'
        )
    foot = round(middle - min(0.0, *changes) * tall) + 14
    words = f"{_changed_words(changes)}; up is better"
    parts.append(
        f'<text x="{WIDTH / 2}" y="{foot}" font-size="11" text-anchor="middle">{words}</text>'
    )
    return "".join(parts), foot + 8


def _changed_words(changes: Sequence[float]) -> str:
    better = sum(change > 0 for change in changes)
    return f"{better:,} cases better, {len(changes) - better:,} worse"


def _scale(numbers: Sequence[float], *, symmetric: bool) -> tuple[float, float, list[float]]:
    """Return round ends around the numbers, and the ticks between them."""
    low, high = min(numbers, default=0.0), max(numbers, default=0.0)
    if symmetric:
        high = max(abs(low), abs(high)) or 0.05
        low = -high
    span = high - low or 0.1
    step = 10.0 ** math.floor(math.log10(span))
    step = next(s for s in (step / 5, step / 2, step, 2 * step, 5 * step) if span / s <= 4)
    first, last = math.floor(low / step), math.ceil(high / step)
    last += first == last
    return first * step, last * step, [round(n * step, 12) for n in range(first, last + 1)]


def _text(text: str) -> str:
    return html.escape(one_line(text, NAME))
