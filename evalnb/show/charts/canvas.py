"""What charts share: the figure with its data and words, its style, its room for labels."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure

from evalnb.show.markup import svg_html
from evalnb.show.numbers import present
from evalnb.show.text import cell_width, one_line

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

INK, PALE, GRID = "#1f2328", "#6e7781", "#d8dee4"
OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKS = ("o", "s", "D", "^", "v", "P", "X")  # one for each colour
VERDICT_COLOURS = {"better": "#007A59", "worse": "#C24E00", "equivalent": "#0072B2"}
WIDTH = 4.0  # inches: 384 px, which a phone shows almost unscaled
AXIS = 0.48  # inches below an axes for its ticks and label
LABEL_WIDTH = 30
SIDE_LABEL = 22  # characters of a label that stands beside its marks
ALT_ROWS = 30  # beyond this many rows a description is longer than anybody listens to

STYLE: Any = {
    "svg.hashsalt": "evalnb",
    "svg.fonttype": "none",  # text stays text: searchable, small, in the reader's own fonts
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": GRID,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "xtick.color": PALE,
    "ytick.color": PALE,
    "xtick.labelcolor": INK,
    "text.parse_math": False,  # a $ in a name is a $
}


@dataclass(frozen=True, eq=False)
class Chart:
    """A drawn figure with the data behind it and its description in words."""

    figure: Figure
    alt: str
    data: pd.DataFrame

    def frame(self) -> pd.DataFrame:
        """Return the data that was drawn."""
        return self.data.copy()

    def svg(self) -> str:
        """Return the figure as SVG; equal frames give equal text."""
        buffer = io.StringIO()
        with mpl.rc_context(STYLE), warnings.catch_warnings():
            # The reader's browser draws the letters; that our layout font lacks one is no matter.
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            self.figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        return buffer.getvalue()

    def _repr_html_(self) -> str:
        width, height = self.figure.get_size_inches() * 96
        return svg_html(self.svg(), self.alt, width=width, height=height)

    def __str__(self) -> str:
        return self.alt


def short_name(value: object) -> str:
    """Cut a name to the room that a chart has for it."""
    return one_line(str(value), LABEL_WIDTH)


def side_figure(labels: Sequence[str], height: float, *, above: float = 0.1) -> tuple[Figure, Axes]:
    """Make a figure whose labels stand left of the axes; their room is reckoned, not measured.

    Measuring text to lay it out costs more than half of the time of drawing.
    """
    left = 0.15 + 0.075 * max([4, *map(cell_width, labels)])
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, height))
        box = (left / WIDTH, AXIS / height, 1 - (left + 0.15) / WIDTH, 1 - (AXIS + above) / height)
        ax = figure.add_axes(box)
    ax.spines[["top", "right"]].set_visible(False)
    return figure, ax


def label_sides(ax: Axes, labels: Sequence[str]) -> None:
    """Label rows on their left, the first one at the top."""
    ax.set_yticks(range(len(labels)), labels, parse_math=False)
    ax.tick_params(axis="y", length=0, labelcolor=INK)
    ax.set_ylim(max(len(labels), 1) - 0.4, -0.6)


def pad_limits(ax: Axes, values: Sequence[object]) -> None:
    """Give an axis the range of its values and room around them."""
    numbers = [number for value in values if (number := present(value)) is not None]
    if numbers:
        low, high = min(numbers), max(numbers)
        margin = 0.08 * (high - low) or 0.05 * max(abs(high), 1)
        if low >= 0 and high <= 1:  # a share ends at 1, with room for its mark
            ax.set_xlim(max(low - margin, -0.02), min(high + margin, 1.02))
        else:
            ax.set_xlim(low - margin, high + margin)
