"""The sections of a report: each a display that a notebook shows and a page holds.

There is one rendering of everything. :func:`evalnb.show.html.page_html` puts the same displays one
after the other that a notebook shows cell by cell.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from evalnb.evaluation.frames import latency_frame
from evalnb.evaluation.report import EvaluationReport
from evalnb.show.charts import plot_latency, plot_means, plot_tradeoff
from evalnb.show.comparisons import (
    CASES_LISTED,
    changes_of,
    comparison_html,
    comparison_sections,
    differences_of,
    verdict_words,
)
from evalnb.show.decisions import decisions_html, decisions_text
from evalnb.show.display import (
    CUT_NOTE,
    ROWS_CHARTED,
    Display,
    charts_html,
    facts_html,
    measure_charts,
)
from evalnb.show.drilldown import case_states, cases_html, cases_text
from evalnb.show.findings import notices_of
from evalnb.show.insights import channels, exposure, holes, overlap, ranks, slices
from evalnb.show.markup import case_anchor, display_css, quiet_html, table_html, text_html
from evalnb.show.measured import COSTS_LEGEND, costs_table, recorded_costs, tradeoff_frame
from evalnb.show.numbers import format_value
from evalnb.show.reading import Reading, read_report, reading_of
from evalnb.show.tables import (
    MEANS_LEGEND,
    Cell,
    Column,
    Table,
    format_table,
    label_measures,
    means_table,
    row_list,
    text_columns,
)
from evalnb.show.text import one_line, plural
from evalnb.wording import listed

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "all_sections",
    "cases",
    "changes",
    "channels",
    "comparison_html",
    "comparison_sections",
    "decisions",
    "differences",
    "exposure",
    "holes",
    "latency",
    "lost",
    "means",
    "opening",
    "overlap",
    "provenance",
    "ranks",
    "read_report",
    "reading_of",
    "report_html",
    "slices",
    "title",
    "verdicts",
]

_NO_DECISION = "These variants leave nothing to decide between legs or rerankers."
_NO_LOSS = "Every case with targets found one."
_NO_USAGE = "Neither times nor usage were recorded."


def title(reading: Reading) -> str:
    """Name a report by its data set."""
    name = reading.report.dataset.name or reading.report.dataset.id
    return f"Retrieval report: {one_line(name, 120)}"


def all_sections(reading: Reading) -> list[Display]:
    """Return the sections that have something to say, in reading order; the opening first."""
    compared = [differences] if reading.comparison is not None else []
    parts = (
        *(opening, verdicts, decisions, means),
        *compared,
        *(changes, ranks, lost, slices, channels, overlap, latency, exposure, holes),
        *(cases, provenance),
    )
    return [display for part in parts if (display := part(reading)).html]


def opening(reading: Reading) -> Display:
    """Say what was evaluated, in one line of facts; it carries the style of all displays."""
    import pandas as pd

    report = reading.report
    name = report.dataset.name or report.dataset.id
    facts = {
        "data set": f"{one_line(name, 120)} ({report.dataset.id}, {report.dataset.split})",
        "cases": plural(len(report.cases), "case"),
        "variants": listed((one_line(v.name, 40) for v in report.variants), 6),
        "baseline": one_line(reading.baseline, 80) if len(report.variants) > 1 else "",
        "repetitions": str(report.request.repetitions) if report.request.repetitions > 1 else "",
        "finished": report.observed.finished_at,
    }
    stated = {name: value for name, value in facts.items() if value}
    return Display(
        key="opening",
        title=title(reading),
        question="What was evaluated?",
        data=pd.DataFrame(list(stated.items()), columns=["fact", "value"]),
        text="\n".join(f"{name}: {value}" for name, value in stated.items()),
        html=f"<style>\n{display_css()}</style>\n{facts_html(stated.items())}",
    )


def verdicts(reading: Reading) -> Display:
    """Say in words which differences are real, and what makes them doubtful."""
    comparison = reading.comparison
    notices = sorted(notices_of(reading.report), key=lambda notice: not notice.alarm)
    data = reading.means if comparison is None else comparison.frame
    lines, words = verdict_words(comparison) if comparison is not None else ([], "")
    lines = lines or [_alone(reading)]
    items = [
        f'<li class="{"alarm" if n.alarm else "quiet"}">{"⚠ " * n.alarm}{text_html(n.text)}</li>'
        for n in notices
    ]
    return Display(
        key="verdict",
        title="Verdict",
        question="Which variant is better, and is the difference real?",
        data=data,
        text="\n".join([*lines, *(f"{'! ' * n.alarm}{n.text}" for n in notices)]),
        html=(words or f"<p>{text_html(lines[0])}</p>")
        + (f'<ul class="notices">{"".join(items)}</ul>' if items else ""),
    )


def decisions(reading: Reading) -> Display:
    """Show what the figures ask for, question by question."""
    import pandas as pd

    columns = ["code", "question", "decision", "evidence", "command"]
    return Display(
        key="decisions",
        title="Decisions",
        question="What should be done?",
        data=pd.DataFrame(
            [[getattr(item, name) for name in columns] for item in reading.advice], columns=columns
        ),
        text=decisions_text(reading.advice) or _NO_DECISION,
        html=decisions_html(reading.advice),
    )


def means(reading: Reading) -> Display:
    """Show the mean of every measure, each beside its interval and its counts."""
    measured, silent = reading.measured
    is_compared = measured["measure"].isin(reading.measures)
    compared, others = measured[is_compared], measured[~is_compared]
    html = measure_charts(
        compared, lambda part: plot_means(part, baseline=reading.baseline), "mean"
    )
    if len(compared):
        html += table_html(_captioned(compared, reading, "Means"))
    if len(others):
        table = table_html(_captioned(others, reading, "Means also reported"))
        html += f"<details><summary>Also reported</summary>{table}</details>"
    if len(measured):
        html += quiet_html(MEANS_LEGEND)
    html += "".join(map(quiet_html, silent))
    table = format_table(means_table(measured, baseline=reading.baseline)) if len(measured) else ""
    return Display(
        key="means",
        title="Means",
        question="How good is each variant on average, and over how many cases?",
        data=reading.means,
        text="\n".join(filter(None, [table, *silent])) or "Nothing was measured.",
        html=html or "<p>Nothing was measured.</p>",
    )


def _captioned(means: pd.DataFrame, reading: Reading, caption: str) -> Table:
    return replace(means_table(means, baseline=reading.baseline), caption=caption)


def differences(reading: Reading) -> Display:
    """Show every difference to the baseline with its interval, tests and verdict."""
    if reading.comparison is None:
        return replace(
            verdicts(reading),
            key="differences",
            title="Differences",
            html=f"<p>{_alone(reading)}</p>",
        )
    return differences_of(reading.comparison)


def changes(reading: Reading) -> Display:
    """List the cases that changed, worst first; for one variant alone, those that it missed."""
    if reading.changed is None:
        return _misses(reading)
    queries = {case.case_id: case.request.query for case in reading.report.cases}
    shown = {view.case.case_id for view in reading.views}
    return changes_of(reading.changed, queries, shown)


def _misses(reading: Reading) -> Display:
    import pandas as pd

    missed = [
        (view.case.case_id, view.case.request.query)
        for view in reading.views
        if "miss" in set(case_states(view))
    ]
    rows = tuple(
        (Cell(one_line(case_id, 64), href=f"#{case_anchor(case_id)}"), Cell(one_line(query, 120)))
        for case_id, query in missed[:CASES_LISTED]
    )
    found = f"{len(missed):,} of {plural(len(reading.views), 'question')} found nothing relevant."
    table = Table(text_columns("case", "question"), rows, "Missed")
    return Display(
        key="missed",
        title="What was missed",
        question="Which questions found nothing relevant?",
        data=pd.DataFrame(missed, columns=["case_id", "query"]),
        text="\n".join([found, *([format_table(table)] if rows else [])]),
        html=f"<p>{found}</p>" + (table_html(table) if rows else ""),
    )


def lost(reading: Reading) -> Display:
    """Count the cases that found nothing relevant by where they were lost."""
    from evalnb.comparison.losses import REMEDIES, lost_frame

    counts = lost_frame(reading.report)
    columns = (
        Column("lost", right=False),
        *(Column(one_line(name, 30)) for name in counts.columns),
        Column("what would help", right=False),
    )
    rows = tuple(
        (Cell(reason), *(Cell(f"{n:,}") for n in found), Cell(REMEDIES[reason]))
        for reason, found in zip(counts.index, counts.to_numpy(), strict=True)
    )
    table = Table(columns, rows, "Missed cases")
    return Display(
        key="lost",
        title="Where it was lost",
        question="Why did cases find nothing relevant, and what would help?",
        data=counts.rename_axis("reason").reset_index(),
        text=format_table(table) if rows else _NO_LOSS,
        html=table_html(table) if rows else "",
    )


def latency(reading: Reading) -> Display:
    """Show how long searches took, and what they consumed."""
    costs, times = recorded_costs(reading.report), latency_frame(reading.report)
    table = costs_table(costs)
    charted = costs[costs["n_timed"] > 0]
    slowest = charted.nlargest(ROWS_CHARTED, "latency_p50")["variant"]
    drawn = times[times["variant"].isin(slowest) & ~times["warm_up"]]
    charts = [plot_latency(drawn)] if len(charted) else []
    traded = _tradeoff(reading, costs)
    if len(traded):
        unit, name = traded["unit"].iloc[0], reading.measures[0]
        charts.append(plot_tradeoff(traded, measure=name, cost=unit))
    note = CUT_NOTE if len(charted) > ROWS_CHARTED else ""
    return Display(
        key="latency",
        title="Time and usage",
        question="What does each variant cost per search?",
        data=costs,
        text=f"{format_table(table)}\n{COSTS_LEGEND}" if table.rows else _NO_USAGE,
        html=charts_html(charts) + note + table_html(table) + quiet_html(COSTS_LEGEND)
        if table.rows
        else "",
    )


def _tradeoff(reading: Reading, costs: pd.DataFrame) -> pd.DataFrame:
    measured, _ = reading.measured
    first = measured[measured["measure"].isin(reading.measures[:1])]
    kinds = first["kind"].fillna("")
    return tradeoff_frame(first[kinds == next(iter(kinds), "")], costs)


def cases(reading: Reading) -> Display:
    """Show every case: what was asked and expected, and what each variant returned."""
    import pandas as pd

    views = reading.views
    total = len(reading.report.cases)
    cut = f"{len(views):,} of {plural(total, 'case')} are shown." if len(views) < total else ""
    rows = [
        (view.case.case_id, view.case.request.query, variant.name, variant.outcome)
        for view in views
        for variant in view.variants
    ]
    return Display(
        key="cases",
        title="Cases",
        question="What came back for each question? A case opens with a click, or by its address.",
        data=pd.DataFrame(rows, columns=["case_id", "query", "variant", "first_relevant"]),
        text="\n".join(filter(None, [cases_text(views), cut])),
        html=(f"<p>{cut}</p>" if cut else "")
        + cases_html(views, compared=reading.measures, baseline=reading.baseline),
    )


def provenance(reading: Reading) -> Display:
    """Say what the figures were computed from, so that they can be computed again."""
    import pandas as pd

    rows = list(_provenance(reading.report))
    return Display(
        key="provenance",
        title="Provenance",
        question="From what were these figures computed, and how are they computed again?",
        data=pd.DataFrame(rows, columns=["what", "value"]),
        text="\n".join(f"{name}: {value}" for name, value in rows),
        html=facts_html(rows),
    )


def _provenance(report: EvaluationReport) -> Iterator[tuple[str, str]]:
    dataset, request, observed = report.dataset, report.request, report.observed
    yield "data set", f"{dataset.id}, version {dataset.version_sha}, split {dataset.split}"
    live = sorted(name for name, cut in report.cuts.items() if cut is None)
    if live:
        yield "asked live, not pinned", ", ".join(live)
    for name, cut in sorted(report.cuts.items()):
        if cut is None:
            continue
        parts = [f"snapshot {cut.snapshot_id}", *_pairs(cut.indexes)]
        yield f"system {name}", "; ".join(parts)
    for variant in report.variants:
        identity = ", ".join(_pairs(variant.identity))
        parts = [f"system {variant.system}", f"config {variant.config_id}"]
        changed = json.dumps(variant.overrides, sort_keys=True, ensure_ascii=False)
        parts += [f"overrides {changed}"] if variant.overrides else []
        yield f"variant {variant.name}", "; ".join([*parts, *([identity] if identity else [])])
    yield "measures", ", ".join(report.measures)
    offline = ", offline" if request.offline else ""
    yield "request", f"seed {request.seed}, {plural(request.repetitions, 'repetition')}{offline}"
    yield "versions", ", ".join(_pairs(report.versions))
    for name, value in (
        ("hardware", ", ".join(_pairs(observed.hardware))),
        ("started", observed.started_at),
        ("took", f"{observed.duration_s:,.1f} s" if observed.duration_s else ""),
        ("revision", observed.git_revision),
        ("command", observed.command),
    ):
        if value:
            yield name, value


def _pairs(named: Mapping[str, object]) -> list[str]:
    return [f"{name} {value}" for name, value in sorted(named.items())]


def report_html(report: EvaluationReport) -> str:
    """Write a report for a notebook cell: verdict and means, without the cases."""
    reading = reading_of(report)
    return "\n".join(part.block() for part in (opening(reading), verdicts(reading), means(reading)))


def _alone(reading: Reading) -> str:
    if len(reading.report.variants) < 2:
        return f"One variant: there is nothing to compare it with. {_first_mean(reading)}"
    return "Nothing could be compared: no case has a score under two variants."


def _first_mean(reading: Reading) -> str:
    measured, _ = reading.measured
    rows = row_list(measured[measured["measure"].isin(reading.measures)].head(1))
    return "".join(
        f"{label} {format_value(row.mean)} over {plural(row.n, 'case')}."
        for label, row in zip(label_measures(measured.head(1)), rows, strict=False)
    )
