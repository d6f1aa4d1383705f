"""The displays of a comparison: verdicts in words, differences, and the cases that changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evalnb.show.charts import Chart, plot_cases, plot_differences
from evalnb.show.display import ROWS_CHARTED, Display, charts_html, measure_charts
from evalnb.show.findings import Finding, findings_of
from evalnb.show.markup import case_anchor, display_css, quiet_html, table_html, text_html
from evalnb.show.measured import covered, failure_reasons, split_measured
from evalnb.show.next_step import next_step
from evalnb.show.numbers import format_difference, format_value
from evalnb.show.reading import gain_of, of_first_measure
from evalnb.show.tables import (
    DIFFERENCES_LEGEND,
    Cell,
    Column,
    Table,
    comparison_table,
    format_table,
    label_measures,
    row_notes,
    rows_by_candidate,
    text_columns,
    verdict_sign,
    verdict_tone,
)
from evalnb.show.text import one_line, plural

if TYPE_CHECKING:
    import pandas as pd

    from evalnb.comparison.paired import ComparisonRecord

FINDINGS_SHOWN = 12
BARS_EACH = 3  # candidates with a chart of their own; more share one heat map
CASES_LISTED = 25
CASES_PRINTED = 10
CASES_EACH = 3  # of any candidate, however many there are
NOTES_SHOWN = 8
NO_CHANGE = "No case changed."
NOTHING_COMPARED = "Nothing could be compared."


def comparison_sections(
    comparison: ComparisonRecord, queries: Mapping[str, str] | None = None
) -> list[Display]:
    """Return the sections of a comparison that stands alone; the opening first."""
    import pandas as pd

    first = Display(
        key="opening",
        title=f"Compared with {one_line(comparison.baseline, 80)}",
        question="What was compared?",
        data=pd.DataFrame({"candidate": list(dict.fromkeys(comparison.frame["candidate"]))}),
        text="",
        html=f"<style>\n{display_css()}</style>",
    )
    lines, html = verdict_words(comparison)
    verdict = Display(
        key="verdict",
        title="Verdict",
        question="Which variant is better, and is the difference real?",
        data=comparison.frame,
        text="\n".join(lines),
        html=html,
    )
    return [first, verdict, differences_of(comparison), changes_of(comparison, queries or {})]


def comparison_html(comparison: ComparisonRecord, queries: Mapping[str, str] | None = None) -> str:
    """Write a comparison for a notebook cell."""
    return "\n".join(part.block() for part in comparison_sections(comparison, queries))


def verdict_words(comparison: ComparisonRecord) -> tuple[list[str], str]:
    """Say what to do next and word the findings, as lines of text and as HTML.

    Of very many findings only the decided ones are told one by one.
    """
    found = findings_of(comparison)
    if not found:
        return [], ""
    told = found
    if len(found) > FINDINGS_SHOWN:
        told = tuple(finding for finding in found if finding.verdict in {"better", "worse"})
    shown = told[:FINDINGS_SHOWN]
    rest = [finding for finding in found if finding not in shown]
    step = next_step(comparison)
    lines = [step, *map(_finding_text, shown)]
    cards = "".join(map(_finding_html, shown))
    if rest:
        more = plural(len(rest), "more variant" if shown else "variant")
        counts = Counter(finding.verdict for finding in rest).items()
        lines.append(f"{more} below: {', '.join(f'{n:,} {verdict}' for verdict, n in counts)}.")
        cards += f'<li class="undecided"><p>{text_html(lines[-1])}</p></li>'
    return lines, f'<p class="step">{text_html(step)}</p><ul class="verdicts">{cards}</ul>'


def differences_text(comparison: ComparisonRecord) -> str:
    """Write every difference and what has to be known of it."""
    measured, notes = _noted(comparison)
    more = [f"and {len(notes) - NOTES_SHOWN:,} more notes"] if len(notes) > NOTES_SHOWN else []
    lines = [f"- {note}" for note in [*notes[:NOTES_SHOWN], *more]]
    table = [format_table(comparison_table(measured))] if len(measured) else []
    legend = [DIFFERENCES_LEGEND] if measured["mde"].notna().any() else []
    return "\n".join([*table, *legend, *lines])


def differences_of(comparison: ComparisonRecord) -> Display:
    """Show every difference with its interval, tests, verdict and notes."""
    measured, notes = _noted(comparison)
    html = measure_charts(measured, plot_differences, "diff")
    html += table_html(replace(comparison_table(measured), caption="Differences to the baseline"))
    html += quiet_html(DIFFERENCES_LEGEND) if measured["mde"].notna().any() else ""
    items = "".join(f"<li>{text_html(note)}</li>" for note in notes)
    return Display(
        key="differences",
        title="Differences",
        question="How large is each difference to the baseline, and how sure is it?",
        data=comparison.frame,
        text=differences_text(comparison),
        html=(html if len(measured) else f"<p>{NOTHING_COMPARED}</p>")
        + (f"<details><summary>Notes</summary><ul>{items}</ul></details>" if notes else ""),
    )


def _noted(comparison: ComparisonRecord) -> tuple[pd.DataFrame, list[str]]:
    table = covered(comparison)
    measured, silent = split_measured(table, failure_reasons(table))
    return measured, [*silent, *comparison.notes, *row_notes(measured)]


def changes_of(
    comparison: ComparisonRecord, queries: Mapping[str, str], linked: Collection[str] = ()
) -> Display:
    """List the cases that changed by the first measure: what got worse, then what got better."""
    changed = of_first_measure(comparison.changed, comparison)
    measure = next(iter(label_measures(changed)), "")
    charts = _change_charts(comparison, changed, queries, measure)
    losses = changes_table(comparison, queries, linked)
    gains = changes_table(comparison, queries, linked, gains=True)
    nothing = NO_CHANGE if comparison.frame["n"].any() else NOTHING_COMPARED
    html = charts_html(charts) + f"<p>{text_html(losses.caption)}</p>"
    html += table_html(replace(losses, caption="Got worse")) if losses.rows else ""
    if gains.rows:
        better = table_html(replace(gains, caption="Got better"))
        opened = "" if losses.rows else " open"
        html += f"<details{opened}><summary>What got better</summary>{better}</details>"
    return Display(
        key="changes",
        title="What changed",
        question="Which questions got worse or better? On this set the list is exact.",
        data=comparison.changed,
        text=changes_text(comparison, queries) or NOTHING_COMPARED,
        html=html if len(changed) else f"<p>{nothing}</p>",
    )


def _change_charts(
    comparison: ComparisonRecord, changed: pd.DataFrame, queries: Mapping[str, str], measure: str
) -> list[Chart]:
    first = of_first_measure(comparison.frame, comparison)
    largest = first.loc[first["diff"].abs().nlargest(ROWS_CHARTED).index, "candidate"]
    drawn = changed[changed["candidate"].isin(largest)]
    groups = [rows for _, rows in drawn.groupby("candidate", sort=False)]
    if len(groups) > BARS_EACH:
        return [plot_cases(drawn, measure=measure)]
    return [plot_cases(group, measure=measure, queries=queries) for group in groups]


def changes_text(comparison: ComparisonRecord, queries: Mapping[str, str] | None = None) -> str:
    """Write what got worse, worst first; count what got better. Without pairs, nothing."""
    if not comparison.frame["n"].any():
        return ""
    table = changes_table(comparison, queries, limit=CASES_PRINTED)
    if not table.caption:
        return NO_CHANGE
    return f"{table.caption}\n{format_table(table)}" if table.rows else table.caption


def changes_table(
    comparison: ComparisonRecord,
    queries: Mapping[str, str] | None = None,
    linked: Collection[str] = (),
    *,
    gains: bool = False,
    limit: int = CASES_LISTED,
) -> Table:
    """Tabulate the cases that got worse by the first measure, or those that got better.

    Each candidate has its own share of the rows, so that a bad one does not hide the others. The
    caption counts both directions for every candidate; it is empty where no case changed.
    """
    changed = of_first_measure(comparison.changed, comparison)
    worse, better = _by_candidate(changed, sign=-1), _by_candidate(changed, sign=1)
    names = [name for name in dict.fromkeys(changed["candidate"]) if name in {**worse, **better}]
    listed = better if gains else worse
    each = max(CASES_EACH, limit // max(len(listed), 1))
    rows = [row for name in names[:FINDINGS_SHOWN] for row in listed.get(name, [])[:each]]
    columns = (
        *text_columns("candidate", "case", "question"),
        *map(Column, ("baseline", "candidate's", "difference")),
    )
    cells = tuple(
        (
            Cell(one_line(row.candidate, 40)),
            Cell(
                one_line(row.case_id, 64),
                href=f"#{case_anchor(row.case_id)}" if row.case_id in linked else "",
            ),
            Cell(one_line((queries or {}).get(row.case_id, ""), 90)),
            Cell(format_value(row.baseline_value)),
            Cell(format_value(row.value)),
            Cell(format_difference(row.diff)),
        )
        for row in rows
    )
    measure = next(iter(label_measures(changed)), "")
    counts = [
        f"{one_line(name, 40)} {len(worse.get(name, ())):,} worse, "
        f"{len(better.get(name, ())):,} better"
        for name in names[:FINDINGS_SHOWN]
    ]
    more = len(names) - FINDINGS_SHOWN
    counts += [f"and {plural(more, 'more variant')}"] if more > 0 else []
    caption = f"Worst first, by {measure}: {'; '.join(counts)}." if names else ""
    return Table(columns, cells, caption)


def _by_candidate(changed: pd.DataFrame, *, sign: int) -> dict[str, list[Any]]:
    """Return the rows of one direction by candidate, the largest changes first."""
    return {
        name: sorted(kept, key=lambda row: -abs(row.diff))
        for name, rows in rows_by_candidate(changed).items()
        if (kept := [row for row in rows if sign * gain_of(row) > 0])
    }


def _finding_text(finding: Finding) -> str:
    headline = f"{verdict_sign(finding.verdict)} {finding.headline}"
    return "\n".join([headline, *(f"    {sentence}" for sentence in finding.sentences)])


def _finding_html(finding: Finding) -> str:
    tone, sign = verdict_tone(finding.verdict), verdict_sign(finding.verdict)
    sentences = "".join(f"<p>{text_html(sentence)}</p>" for sentence in finding.sentences)
    headline = f'<span class="{tone}">{sign}</span> {text_html(finding.headline)}'
    return f'<li class="{tone}"><p class="headline">{headline}</p>{sentences}</li>'
