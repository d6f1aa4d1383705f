"""The cases that changed: a bar each, or a heat map of several candidates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import matplotlib as mpl

from evalnb.show.charts.canvas import (
    ALT_ROWS,
    INK,
    SIDE_LABEL,
    STYLE,
    VERDICT_COLOURS,
    Chart,
    label_sides,
    pad_limits,
    short_name,
    side_figure,
)
from evalnb.show.numbers import format_difference
from evalnb.show.tables import row_list
from evalnb.show.text import one_line, plural

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

LABELLED_BARS = 40


def plot_cases(
    changed: pd.DataFrame, *, measure: str = "", queries: Mapping[str, str] | None = None
) -> Chart:
    """Draw each changed case's difference: bars for one candidate, a heat map for several.

    Parameters
    ----------
    changed
        Columns candidate, case_id, diff; drawn in the order given, the first at the top (left).
    measure
        What the difference is of.
    queries
        case_id -> question: a bar is labelled with it, where it is known.
    """
    candidates = list(dict.fromkeys(changed["candidate"]))
    with mpl.rc_context(STYLE):
        if len(candidates) > 1:
            figure = _heat(changed, candidates, measure)
        else:
            figure = _bars(changed, measure, queries or {})
    rows = [
        f"{one_line(str(row.case_id))} {format_difference(row.diff)}"
        + (f" ({one_line(str(row.candidate))})" if len(candidates) > 1 else "")
        for row in row_list(changed.head(ALT_ROWS))
    ]
    more = f"; and {len(changed) - ALT_ROWS:,} more" if len(changed) > ALT_ROWS else ""
    alt = f"Differences of {plural(len(changed), 'changed case')} in {measure or 'score'}: "
    return Chart(figure, alt + "; ".join(rows) + more + ".", changed)


def _bars(changed: pd.DataFrame, measure: str, queries: Mapping[str, str]) -> Figure:
    n = len(changed)
    labelled = n <= LABELLED_BARS
    asked = [str(queries.get(case_id, case_id)) for case_id in changed["case_id"]]
    names = [one_line(text, SIDE_LABEL) for text in asked] if labelled else []
    figure, ax = side_figure(names, 0.85 + (0.2 * max(n, 1) if labelled else 4.2), above=0.3)
    values = [float(value) for value in changed["diff"]]
    colours = [VERDICT_COLOURS["better" if value > 0 else "worse"] for value in values]
    if labelled:
        ax.barh(range(n), values, height=0.8, color=colours)
        label_sides(ax, names)
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
    name = short_name(changed["candidate"].iloc[0]) if n else ""
    figure.text(0.02, 1 - 0.08 / figure.get_figheight(), name, va="top", parse_math=False)
    pad_limits(ax, [0.0, *values])
    return figure


def _heat(changed: pd.DataFrame, candidates: list[str], measure: str) -> Figure:
    cases = list(dict.fromkeys(changed["case_id"]))
    grid = changed.pivot_table(index="candidate", columns="case_id", values="diff", sort=False)
    grid = grid.reindex(index=candidates, columns=cases)
    names = [one_line(str(name), SIDE_LABEL) for name in candidates]
    figure, ax = side_figure(names, 1.1 + 0.3 * len(candidates), above=0.6)
    bound = max(abs(changed["diff"]).max(), 1e-9)
    image = ax.imshow(
        grid.to_numpy(dtype=float),
        aspect="auto",
        cmap="PuOr",
        vmin=-bound,
        vmax=bound,
        interpolation="nearest",
    )
    label_sides(ax, names)
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
    bar.ax.get_xticklabels()[-1].set_horizontalalignment("right")
    bar.ax.set_title(f"difference in {measure}", fontsize=8, parse_math=False)
    return figure
