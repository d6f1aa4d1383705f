"""Charts: marks from frames. No statistic is computed here; every figure stands in the alt text.

Drawn for a phone's width: labels stand above their marks, so a long name costs no room. Colours are
Okabe and Ito's, which colour-blind readers tell apart, and a verdict has its own shape besides.
"""

from __future__ import annotations

import base64
import html
import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from evalnb.show.numbers import (
    format_count,
    format_difference,
    format_interval,
    format_mean,
    format_ms,
    present,
)
from evalnb.show.tables import VERDICT_SIGNS, label_measures, row_list
from evalnb.show.text import cell_width, one_line, plural

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

INK, PALE, GRID = "#1f2328", "#6e7781", "#d8dee4"
OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
VERDICT_COLOURS = {"better": "#007A59", "worse": "#C24E00", "equivalent": "#0072B2"}
VERDICT_MARKS = {"better": "^", "worse": "v", "equivalent": "s"}
WIDTH = 4.0  # inches: 384 px, which a phone shows almost unscaled
ROW = 0.42
AXIS = 0.48  # inches below an axes for its ticks and label
LABEL_WIDTH = 30
SIDE_LABEL = 22  # characters of a label that stands beside its marks
ALT_ROWS = 30  # beyond this many rows a description is longer than anybody listens to
LABELLED_BARS = 40
ECDF_VARIANTS = 6
FEW_TIMES = 40  # so many that a mark for each can still be told apart

_STYLE: Any = {
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
        with mpl.rc_context(_STYLE), warnings.catch_warnings():
            # The reader's browser draws the letters; that our layout font lacks one is no matter.
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            self.figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        return buffer.getvalue()

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.svg().encode()).decode()
        width, height = self.figure.get_size_inches() * 96
        return (
            f'<img class="chart" alt="{html.escape(self.alt)}" width="{width:.0f}" '
            f'height="{height:.0f}" src="data:image/svg+xml;base64,{data}">'
        )

    def __str__(self) -> str:
        return self.alt


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
            _label_row(
                ax,
                y,
                _name(row.variant) + (" (baseline)" if is_baseline else ""),
                f"{mean} · n {format_count(row.n)}",
            )
            _draw_interval(ax, y, row.ci_low, row.ci_high, colour)
            if row.n and present(row.mean) is not None:
                ax.plot([row.mean], [y], "D" if is_baseline else "o", color=colour, ms=6)
                if is_baseline:
                    ax.axvline(row.mean, color=GRID, lw=1.2, zorder=0)
        _finish_rows(ax, len(rows), f"mean {label}")
        _pad_limits(ax, [*rows["mean"], *rows["ci_low"], *rows["ci_high"]])
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
            verdict = str(row.verdict)
            colour = VERDICT_COLOURS.get(verdict, PALE)
            text = f"{VERDICT_SIGNS.get(verdict, '?')} {verdict} {format_difference(row.diff)}"
            _label_row(ax, y, _name(row.candidate), text, colour=colour)
            _draw_interval(ax, y, row.ci_low, row.ci_high, colour)
            if present(row.diff) is not None:
                hollow = verdict not in VERDICT_MARKS
                ax.plot(
                    [row.diff],
                    [y],
                    VERDICT_MARKS.get(verdict, "o"),
                    color=colour,
                    mfc="white" if hollow else colour,
                    ms=7,
                )
        ax.axvline(0, color=INK, lw=1, zorder=0)
        _finish_rows(ax, len(rows), f"difference in {label}")
        _pad_limits(ax, [0.0, *rows["diff"], *rows["ci_low"], *rows["ci_high"]])
    return Chart(figure, _describe("Differences", panels, _difference_words), comparison)


def _difference_words(row: Any) -> str:
    interval = format_interval(row.ci_low, row.ci_high)
    between = f" {interval}" if present(row.ci_low) is not None else ", no interval"
    return f"{one_line(str(row.candidate))} {format_difference(row.diff)}{between}, {row.verdict}"


def plot_cases(changed: pd.DataFrame, *, measure: str = "") -> Chart:
    """Draw each changed case's difference: bars for one candidate, a heat map for several.

    Parameters
    ----------
    changed
        Columns candidate, case_id, diff; drawn in the order given, the first at the top (left).
    """
    candidates = list(dict.fromkeys(changed["candidate"]))
    with mpl.rc_context(_STYLE):
        if len(candidates) > 1:
            figure = _heat(changed, candidates, measure)
        else:
            figure = _bars(changed, measure)
    rows = [
        f"{one_line(str(row.case_id))} {format_difference(row.diff)}"
        + (f" ({one_line(str(row.candidate))})" if len(candidates) > 1 else "")
        for row in row_list(changed.head(ALT_ROWS))
    ]
    more = f"; and {len(changed) - ALT_ROWS:,} more" if len(changed) > ALT_ROWS else ""
    alt = f"Differences of {plural(len(changed), 'changed case')} in {measure or 'score'}: "
    return Chart(figure, alt + "; ".join(rows) + more + ".", changed)


def _bars(changed: pd.DataFrame, measure: str) -> Figure:
    n = len(changed)
    labelled = n <= LABELLED_BARS
    names = [one_line(str(name), SIDE_LABEL) for name in changed["case_id"]] if labelled else []
    figure, ax = _side_figure(names, 0.85 + (0.2 * max(n, 1) if labelled else 4.2), above=0.3)
    values = [float(value) for value in changed["diff"]]
    colours = [VERDICT_COLOURS["better" if value > 0 else "worse"] for value in values]
    if labelled:
        ax.barh(range(n), values, height=0.8, color=colours)
        _label_sides(ax, names)
    else:  # two outlines instead of a thousand boxes
        for colour in dict.fromkeys(colours):
            outline = [v if c == colour else 0.0 for v, c in zip(values, colours, strict=True)]
            ax.fill_betweenx(range(n), outline, step="mid", color=colour, lw=0)
        ax.set_yticks([])
        ax.set_ylim(n - 0.4, -0.6)
        ax.set_ylabel(f"{n:,} changed cases, worst at the top")
    ax.axvline(0, color=INK, lw=1)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel(f"difference in {measure}" if measure else "difference", parse_math=False)
    name = _name(changed["candidate"].iloc[0]) if n else ""
    figure.text(0.02, 1 - 0.08 / figure.get_figheight(), name, va="top", parse_math=False)
    _pad_limits(ax, [0.0, *values])
    return figure


def _heat(changed: pd.DataFrame, candidates: list[str], measure: str) -> Figure:
    cases = list(dict.fromkeys(changed["case_id"]))
    grid = changed.pivot_table(index="candidate", columns="case_id", values="diff", sort=False)
    grid = grid.reindex(index=candidates, columns=cases)
    names = [one_line(str(name), SIDE_LABEL) for name in candidates]
    figure, ax = _side_figure(names, 1.1 + 0.3 * len(candidates), above=0.6)
    bound = max(abs(changed["diff"]).max(), 1e-9)
    image = ax.imshow(
        grid.to_numpy(dtype=float),
        aspect="auto",
        cmap="PuOr",
        vmin=-bound,
        vmax=bound,
        interpolation="nearest",
    )
    _label_sides(ax, names)
    ax.set_ylim(len(candidates) - 0.5, -0.5)
    ax.set_xticks([])
    ax.set_xlabel(plural(len(cases), "changed case"))
    box, height = ax.get_position(), figure.get_figheight()
    bar = figure.colorbar(
        image,
        cax=figure.add_axes((box.x0, box.y1 + 0.3 / height, box.width, 0.08 / height)),
        orientation="horizontal",
    )
    bar.set_ticks([-bound, 0, bound], labels=[format_difference(v) for v in (-bound, 0.0, bound)])
    bar.ax.tick_params(labelsize=8)
    bar.ax.set_title(f"difference in {measure}", fontsize=8, parse_math=False)
    return figure


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
    with mpl.rc_context(_STYLE):
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
    figure, ax = _side_figure(["share 1"], 2.7)
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
            label=_name(name),
        )
    ax.set_ylabel("share of searches finished")
    ax.set_ylim(0, 1.02)
    if groups:
        legend = ax.legend(loc="lower right", frameon=False, fontsize=8)
        for text in legend.get_texts():
            text.set_parse_math(False)
    return figure, ax


def _strips(groups: Sequence[tuple[str, list[float]]]) -> tuple[Figure, Axes]:
    names = [one_line(name, SIDE_LABEL) for name, _ in groups]
    figure, ax = _side_figure(names, 0.6 + 0.25 * len(groups))
    for y, (_, times) in enumerate(groups):
        ax.plot(times, [y] * len(times), "|", color=OKABE_ITO[0], alpha=0.5)
    _label_sides(ax, names)
    return figure, ax


def _name(value: object) -> str:
    return one_line(str(value), LABEL_WIDTH)


Panels = list[tuple[str, "pd.DataFrame"]]


def _panels(frame: pd.DataFrame) -> tuple[Panels, Figure, list[Axes]]:
    """Make one axes per measure, one above the other, as high as its rows need."""
    labelled = frame.assign(_label=label_measures(frame))
    panels = [(str(label), rows) for label, rows in labelled.groupby("_label", sort=False)]
    heights = [ROW * len(rows) + AXIS for _, rows in panels]
    total = sum(heights) or 1.0
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(WIDTH, total))
        axes, top = [], total
        for height in heights:
            top -= height
            box = (0.02, (top + AXIS) / total, 0.96, (height - AXIS) / total)
            axes.append(figure.add_axes(box))
    return panels, figure, axes


def _side_figure(
    labels: Sequence[str], height: float, *, above: float = 0.1
) -> tuple[Figure, Axes]:
    """Make a figure whose labels stand left of the axes; their room is reckoned, not measured.

    Measuring text to lay it out costs more than half of the time of drawing.
    """
    left = 0.15 + 0.075 * max([4, *map(cell_width, labels)])
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(WIDTH, height))
        box = (left / WIDTH, AXIS / height, 1 - (left + 0.15) / WIDTH, 1 - (AXIS + above) / height)
        ax = figure.add_axes(box)
    ax.spines[["top", "right"]].set_visible(False)
    return figure, ax


def _label_sides(ax: Axes, labels: Sequence[str]) -> None:
    ax.set_yticks(range(len(labels)), labels, parse_math=False)
    ax.tick_params(axis="y", length=0, labelcolor=INK)
    ax.set_ylim(max(len(labels), 1) - 0.4, -0.6)


def _label_row(ax: Axes, y: int, left: str, right: str, *, colour: str = INK) -> None:
    across = ax.get_yaxis_transform()
    # Its ground keeps the zero line out of the letters.
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
    style: Any = {"transform": across, "va": "center", "parse_math": False, "bbox": ground}
    ax.text(0, y - 0.42, left, ha="left", color=INK, **style)
    ax.text(1, y - 0.42, right, ha="right", color=colour, **style)


def _draw_interval(ax: Axes, y: int, low: object, high: object, colour: str) -> None:
    start, end = present(low), present(high)
    if start is not None and end is not None:
        ax.plot([start, end], [y, y], "|-", color=colour, lw=2, ms=7, mew=1.5)


def _finish_rows(ax: Axes, n: int, label: str) -> None:
    ax.set_ylim(max(n, 1) - 0.55, -0.75)
    ax.set_yticks([])
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_xlabel(label, parse_math=False, fontsize=8.5)
    ax.tick_params(labelsize=8)


def _pad_limits(ax: Axes, values: Sequence[object]) -> None:
    numbers = [number for value in values if (number := present(value)) is not None]
    if numbers:
        low, high = min(numbers), max(numbers)
        margin = 0.08 * (high - low) or 0.05 * max(abs(high), 1)
        if low >= 0 and high <= 1:  # a share ends at 1, with room for its mark
            ax.set_xlim(max(low - margin, -0.02), min(high + margin, 1.02))
        else:
            ax.set_xlim(low - margin, high + margin)


def _describe(title: str, panels: Panels, words: Callable[[Any], str]) -> str:
    parts = []
    for label, rows in panels:
        shown = "; ".join(words(row) for row in row_list(rows.head(ALT_ROWS)))
        more = f"; and {len(rows) - ALT_ROWS} more" if len(rows) > ALT_ROWS else ""
        parts.append(f"{label}: {shown}{more}.")
    return f"{title}. " + (" ".join(parts) or "Nothing to draw.")
