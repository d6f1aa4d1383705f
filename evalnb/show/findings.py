"""What a report says in words: one finding per candidate, and what a reader must not overlook."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalnb.comparison.verdicts import verdict_sentence
from evalnb.evaluation.report import EvaluationReport
from evalnb.show.measured import covered
from evalnb.show.numbers import format_difference, format_value
from evalnb.show.reading import of_first_measure
from evalnb.show.tables import leaning_words, row_list, rows_by_candidate, shown_verdict
from evalnb.show.text import one_line, plural

if TYPE_CHECKING:
    from evalnb.comparison.paired import ComparisonRecord

_HEADLINES = {
    "better": "{candidate} is better than {baseline}",
    "worse": "{candidate} is worse than {baseline}",
    "equivalent": "{candidate} is equivalent to {baseline} within the margin",
    "unresolvable": "{candidate} against {baseline}: too few cases changed to tell",
    "undecided": "{candidate} against {baseline}: undecided",
}
# Besides the verdicts of the frame: what has none because searches failed, and what never differs.
_ORDER = (
    *("better", "worse", "equivalent", "undecided", "unresolvable"),
    *("identical", "no verdict"),
)
REASONS_SHOWN = 3
_SEARCH_FAILED = re.compile(r"[A-Z]+(_[A-Z]+)+: ")  # the code of an error, as a runner records it


@dataclass(frozen=True, slots=True)
class Finding:
    """One candidate's verdict by the first measure, and a sentence for every measure."""

    candidate: str
    verdict: str
    headline: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a reader has to know; an alarm makes the numbers doubtful."""

    text: str
    alarm: bool = False


def findings_of(comparison: ComparisonRecord) -> tuple[Finding, ...]:
    """Word the verdict on every candidate, the decided ones first."""
    rows = covered(comparison)
    mine = rows_by_candidate(rows)
    found = [
        _finding(row, mine[row.candidate]) for row in row_list(of_first_measure(rows, comparison))
    ]
    return tuple(sorted(found, key=lambda finding: _ORDER.index(finding.verdict)))


def _finding(row: Any, rows: Sequence[Any]) -> Finding:
    """Word one candidate's row of the first measure, and its rows of all measures."""
    names = {name: one_line(getattr(row, name), 80) for name in ("candidate", "baseline")}
    against = "{candidate} against {baseline}".format(**names)
    means = f"{row.measure} {format_value(row.baseline_mean)} → {format_value(row.mean)}"
    verdict, sentences = shown_verdict(row), tuple(filter(None, map(_sentence, rows)))
    if verdict == "no verdict":
        headline = f"{against}: no verdict: {_obstacle(row)}"
        if row.n_unavailable and row.reason:
            sentences += (f"Why: {one_line(row.reason, 160)}",)
    elif verdict == "identical":
        alike = all(shown_verdict(each) == "identical" or not each.n for each in rows)
        by = "" if alike else f" by {row.measure}"
        sentences = () if alike else sentences
        mean = f"{row.measure} {format_value(row.mean)}"
        headline = f"{against}: identical on all {plural(row.n, 'case')}{by} ({mean})"
    else:
        headline = f"{_HEADLINES[verdict].format(**names)}{leaning_words(row)} ({means})"
    return Finding(row.candidate, verdict, headline, sentences)


def _obstacle(row: Any) -> str:
    """Say what stands between two variants and a verdict, and how far they were compared."""
    if not row.n_unavailable:
        return "no case has a score under both"
    # A measure may be unavailable though the search went well: no hit carries what it needs.
    failed = bool(_SEARCH_FAILED.match(row.reason)) or not row.reason
    total = row.n + row.n_unavailable
    sides = {
        one_line(row.candidate, 80): row.n_candidate_unavailable,
        f"the baseline {one_line(row.baseline, 80)}": row.n_baseline_unavailable,
    }
    if not row.n:
        whole = [name for name, n in sides.items() if n == total]
        who = " and ".join(whole or sides)
        verb = "failed" if failed else "is n/a" if len(whole) == 1 else "are n/a"
        return f"{who} {verb} on {'' if whole else 'one or the other of '}all {total:,} cases"
    who = ", ".join(f"{name} {n:,}" for name, n in sides.items() if n)
    what = "searches failed" if failed else "cases are n/a"
    return f"{row.n_unavailable:,} of {total:,} {what} ({who}); compared on {row.n:,}"


def _sentence(row: Any) -> str:
    """Say one row in a sentence, without a verdict where there can be none."""
    if not row.n:
        return ""
    if row.n_unavailable:
        counts = ", ".join(
            (plural(row.wins, "win"), plural(row.losses, "loss", "losses"), plural(row.ties, "tie"))
        )
        cases = plural(row.n, "case")
        return f"{row.measure} {format_difference(row.diff)} over the {cases} compared, {counts}"
    if shown_verdict(row) == "identical":
        return f"{row.measure}: identical on all {plural(row.n, 'case')}"
    # Notes on single rows stand under the differences, where there is room for them.
    return verdict_sentence({**row._asdict(), "note": ""})


def notices_of(report: EvaluationReport) -> Iterator[Notice]:
    """Say what makes numbers doubtful first, then what only has to be known."""
    if not report.integrity.ok:
        places = [f"{bad.variant}, {bad.case_id}: {bad.reason}" for bad in report.integrity.invalid]
        more = len(places) - REASONS_SHOWN
        listed = "; ".join(places[:REASONS_SHOWN]) + (f"; and {more} more" if more > 0 else "")
        yield Notice(f"Integrity failed: what was returned is not what is pinned. {listed}", True)
    yield from _failures(report)
    if not report.results:
        yield Notice("Nothing was searched: the split has no cases.", True)
    for name, bound in report.limits.items():
        yield Notice(f"The limit {name} was raised to {bound:,}.")
    for note in (*report.dataset.notes, *report.notes):
        yield Notice(note)


def _failures(report: EvaluationReport) -> Iterator[Notice]:
    totals = Counter(result.variant for result in report.results)
    failed = [result for result in report.results if result.result.status != "ok"]
    for variant, n in Counter(result.variant for result in failed).items():
        reasons = Counter(
            result.result.reason or "no reason given"
            for result in failed
            if result.variant == variant
        ).most_common(REASONS_SHOWN)
        words = "; ".join(f"{one_line(reason, 160)} ({count}x)" for reason, count in reasons)
        yield Notice(
            f"{variant}: {n:,} of {plural(totals[variant], 'search', 'searches')} failed and are "
            f"n/a, not 0. {words}",
            alarm=True,
        )
