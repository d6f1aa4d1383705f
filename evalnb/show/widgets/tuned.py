"""What tried settings change, in a sentence, a picture and a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalnb.comparison.paired import ComparisonRecord
from evalnb.show.charts import VERDICT_COLOURS
from evalnb.show.charts.canvas import INK, OKABE_ITO, PALE
from evalnb.show.markup import quiet_html, table_html, text_html
from evalnb.show.measured import covered
from evalnb.show.numbers import format_difference, format_interval, format_value, present
from evalnb.show.tables import Cell, Column, Table, row_list, shown_verdict, verdict_sign
from evalnb.show.text import one_line, plural
from evalnb.show.widgets.picture import Mark, comparison_picture
from evalnb.show.widgets.sources import RECORDED, THESE

if TYPE_CHECKING:
    import pandas as pd

SHAPES = {"better": "up", "worse": "down", "equivalent": "square"}
LISTED = 20  # changed cases in the list; the frame has all
NAMED = 6  # cases named for each reason


def compared_row(comparison: ComparisonRecord) -> Any:
    """Return the one row of a comparison, with the counts of what was left out."""
    (row,) = row_list(covered(comparison))
    return row


def state_words(row: Any, measure: str, n_live: int) -> str:
    """Say what these settings do to the mean."""
    live = f" {plural(n_live, 'case')} need a live search." if n_live else ""
    if row.n_unavailable > n_live:
        failed = plural(row.n_unavailable - n_live, "case")
        live += f" {failed} could not be searched: {one_line(row.reason, 120)}."
    if not row.n:
        return f"{measure}: n/a, no case has a value under both.{live}"
    difference = _with_interval(format_difference(row.diff), row.ci_low, row.ci_high)
    return (
        f"{measure} {format_value(row.mean)} with these settings, {format_value(row.baseline_mean)}"
        f" as recorded: {difference}, {shown_verdict(row)}; {row.wins:,} better, {row.losses:,} "
        f"worse of {plural(row.n, 'case')}.{live}"
    )


def _with_interval(words: str, low: object, high: object) -> str:
    return words if present(low) is None else f"{words} {format_interval(low, high)}"


def picture_html(row: Any, means: pd.DataFrame, changes: Sequence[float], measure: str) -> str:
    """Draw both means, their difference and the changed cases.

    Parameters
    ----------
    row
        Of the comparison.
    means
        The interval of each mean, over the cases that were compared.
    """
    if not row.n:
        return ""
    ends = {each.variant: each for each in row_list(means)}
    marks = [
        _mean_mark(RECORDED, row.baseline_mean, ends, INK, "diamond"),
        _mean_mark(THESE, row.mean, ends, OKABE_ITO[0], "circle"),
    ]
    verdict = shown_verdict(row)
    difference = Mark(
        f"{verdict_sign(verdict)} {verdict}",
        _with_interval(format_difference(row.diff), row.ci_low, row.ci_high),
        present(row.diff),
        present(row.ci_low),
        present(row.ci_high),
        VERDICT_COLOURS.get(verdict, PALE),
        SHAPES.get(verdict, "circle"),
    )
    return comparison_picture(measure, marks, difference, changes)


def _mean_mark(name: str, mean: float, ends: Mapping[str, Any], colour: str, shape: str) -> Mark:
    low, high = present(ends[name].ci_low), present(ends[name].ci_high)
    words = _with_interval(format_value(mean), low, high)
    return Mark(name, words, present(mean), low, high, colour, shape)


def needs_live_html(needs_live: Mapping[str, str]) -> str:
    """Name the cases that cannot be replayed, under each reason."""
    reasons: dict[str, list[str]] = {}
    for case_id, why in needs_live.items():
        reasons.setdefault(why, []).append(one_line(case_id, 40))
    items = []
    for why, cases in reasons.items():
        more = f" and {len(cases) - NAMED:,} more" if len(cases) > NAMED else ""
        names = ", ".join(cases[:NAMED]) + more
        items.append(f"<li>{text_html(one_line(why, 120))}: {text_html(names)}</li>")
    if not items:
        return ""
    return f"<p>A live search is needed by:</p><ul>{''.join(items)}</ul>"


def changed_html(changed: pd.DataFrame, queries: Mapping[str, str]) -> str:
    """List the cases that changed, the worst first; of many, the worst and the best."""
    if changed.empty:
        return quiet_html("No case changed.")
    half = LISTED // 2
    few = len(changed) <= LISTED
    shown = row_list(changed) if few else row_list(changed[:half]) + row_list(changed[-half:])
    cut = "" if few else f", the {half} worst and the {half} best of them"
    columns = (
        Column("question", right=False),
        *map(Column, ("recorded", "these", "change")),
        Column("case", right=False),
    )
    cells = tuple(
        (
            Cell(one_line(queries.get(row.case_id, ""), 80)),
            *(Cell(format_value(value)) for value in (row.baseline_value, row.value)),
            _change_cell(row.diff),
            Cell(one_line(row.case_id, 40), "muted"),
        )
        for row in shown
    )
    return table_html(Table(columns, cells, f"{plural(len(changed), 'case')} changed{cut}"))


def _change_cell(change: float) -> Cell:
    words = format_difference(change)
    return Cell(f"▲ {words}", "better") if change > 0 else Cell(f"▼ {words}", "worse")
