"""The displays of a comparison: verdicts in words, differences, and the cases that changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from evalnb.comparison.traits import measure_traits
from evalnb.show.charts import plot_cases, plot_differences
from evalnb.show.display import ROWS_CHARTED, Display, charts_html, measure_charts
from evalnb.show.findings import Finding, findings_of
from evalnb.show.markup import case_anchor, display_css, table_html, text_html
from evalnb.show.numbers import format_difference, format_value
from evalnb.show.reading import of_first_measure
from evalnb.show.tables import (
    VERDICT_SIGNS,
    Cell,
    Column,
    Table,
    comparison_table,
    format_table,
    label_measures,
    row_list,
    row_notes,
    split_measured,
    verdict_tone,
)
from evalnb.show.text import one_line, plural

if TYPE_CHECKING:
    import pandas as pd

    from evalnb.comparison.paired import ComparisonRecord

FINDINGS_SHOWN = 12
BARS_EACH = 3  # candidates with a chart of their own; more share one heat map
CASES_LISTED = 25
NOTES_SHOWN = 8


def comparison_sections(comparison: ComparisonRecord) -> list[Display]:
    """Return the sections of a comparison that stands alone; the opening first."""
    import pandas as pd

    found = findings_of(comparison)
    lines, cards = verdict_words(found)
    first = Display(
        key="opening",
        title=f"Compared with {one_line(comparison.baseline, 80)}",
        question="What was compared?",
        data=pd.DataFrame({"candidate": [finding.candidate for finding in found]}),
        text="",
        html=f"<style>\n{display_css()}</style>",
    )
    verdict = Display(
        key="verdict",
        title="Verdict",
        question="Which variant is better, and is the difference real?",
        data=comparison.frame,
        text="\n".join(lines),
        html=cards,
    )
    return [first, verdict, differences_of(comparison), changes_of(comparison, {}, set())]


def comparison_html(comparison: ComparisonRecord) -> str:
    """Write a comparison for a notebook cell."""
    return "\n".join(part.block() for part in comparison_sections(comparison))


def verdict_words(found: Sequence[Finding]) -> tuple[list[str], str]:
    """Word the findings, as lines of text and as cards; of very many, the decided ones."""
    told = found
    if len(found) > FINDINGS_SHOWN:
        told = [finding for finding in found if finding.verdict in {"better", "worse"}]
    shown = told[:FINDINGS_SHOWN]
    rest = [finding for finding in found if finding not in shown]
    lines = [_finding_text(finding) for finding in shown]
    cards = "".join(_finding_html(finding) for finding in shown)
    if rest:
        more = plural(len(rest), "more variant" if shown else "variant")
        lines.append(f"{more} below: {_tally(rest)}.")
        cards += f'<li class="undecided"><p>{text_html(lines[-1])}</p></li>'
    return lines, f'<ul class="verdicts">{cards}</ul>'


def differences_text(comparison: ComparisonRecord) -> str:
    """Write every difference and what has to be known of it."""
    measured, notes = _noted(comparison)
    more = [f"and {len(notes) - NOTES_SHOWN:,} more notes"] if len(notes) > NOTES_SHOWN else []
    lines = [f"- {note}" for note in [*notes[:NOTES_SHOWN], *more]]
    return "\n".join([format_table(comparison_table(measured)), *lines])


def differences_of(comparison: ComparisonRecord) -> Display:
    """Show every difference with its interval, tests, verdict and notes."""
    measured, notes = _noted(comparison)
    items = "".join(f"<li>{text_html(note)}</li>" for note in notes)
    return Display(
        key="differences",
        title="Differences",
        question="How large is each difference to the baseline, and how sure is it?",
        data=comparison.frame,
        text=differences_text(comparison),
        html=measure_charts(measured, plot_differences, "diff")
        + table_html(comparison_table(measured))
        + (f"<details><summary>Notes</summary><ul>{items}</ul></details>" if notes else ""),
    )


def _noted(comparison: ComparisonRecord) -> tuple[pd.DataFrame, list[str]]:
    measured, silent = split_measured(comparison.frame)
    return measured, [*filter(None, [silent]), *comparison.notes, *row_notes(measured)]


def changes_of(
    comparison: ComparisonRecord, queries: Mapping[str, str], linked: Collection[str]
) -> Display:
    """List the cases that changed by the first measure, worst first."""
    changed = of_first_measure(comparison.changed, comparison.frame)
    measure = next(iter(label_measures(changed)), "")
    table = changes_table(comparison, queries, linked)
    drawn = changed[changed["candidate"].isin(_most_different(comparison))]
    groups = [rows for _, rows in drawn.groupby("candidate", sort=False)]
    charts = (
        [plot_cases(group, measure=measure) for group in groups]
        if len(groups) <= BARS_EACH
        else [plot_cases(drawn, measure=measure)]
    )
    nothing = "No case changed."
    return Display(
        key="changes",
        title="What changed",
        question="Which questions got worse or better? On this set the list is exact.",
        data=comparison.changed,
        text=f"{table.caption}\n{format_table(table)}" if table.rows else nothing,
        html=charts_html(charts) + table_html(table) if table.rows else f"<p>{nothing}</p>",
    )


def _most_different(comparison: ComparisonRecord) -> list[str]:
    """Name the candidates that there is room to draw: those with the largest differences."""
    first = of_first_measure(comparison.frame, comparison.frame)
    return list(first.loc[first["diff"].abs().nlargest(ROWS_CHARTED).index, "candidate"])


def changes_table(
    comparison: ComparisonRecord,
    queries: Mapping[str, str] | None = None,
    linked: Collection[str] = (),
    *,
    limit: int = CASES_LISTED,
) -> Table:
    """Tabulate the cases that changed by the first measure, the worst ones first."""
    changed = of_first_measure(comparison.changed, comparison.frame)
    rows = row_list(changed)
    rows.sort(key=lambda row: measure_traits(row.measure).direction * row.diff)
    columns = (
        Column("case", right=False),
        Column("question", right=False),
        Column("candidate", right=False),
        Column("baseline"),
        Column("candidate's"),
        Column("difference"),
    )
    caption = f"Worst first, by {next(iter(label_measures(changed)), '')}"
    if len(rows) > limit:
        caption += f": {limit} of {len(rows):,}"
    cells = tuple(
        (
            Cell(
                one_line(row.case_id, 64),
                href=f"#{case_anchor(row.case_id)}" if row.case_id in linked else "",
            ),
            Cell(one_line((queries or {}).get(row.case_id, ""), 90)),
            Cell(one_line(row.candidate, 40)),
            Cell(format_value(row.baseline_value)),
            Cell(format_value(row.value)),
            Cell(format_difference(row.diff)),
        )
        for row in rows[:limit]
    )
    return Table(columns, cells, caption)


def _tally(findings: Sequence[Finding]) -> str:
    counts = Counter(finding.verdict for finding in findings)
    return ", ".join(f"{n:,} {verdict}" for verdict, n in counts.items())


def _finding_text(finding: Finding) -> str:
    sign = VERDICT_SIGNS.get(finding.verdict, "?")
    return "\n".join([f"{sign} {finding.headline}", *(f"    {s}" for s in finding.sentences)])


def _finding_html(finding: Finding) -> str:
    tone = verdict_tone(finding.verdict)
    sign = VERDICT_SIGNS.get(finding.verdict, "?")
    sentences = "".join(f"<p>{text_html(sentence)}</p>" for sentence in finding.sentences)
    headline = f'<span class="{tone}">{sign}</span> {text_html(finding.headline)}'
    return f'<li class="{tone}"><p class="headline">{headline}</p>{sentences}</li>'
