"""What a report says in words: one finding per candidate, and what a reader must not overlook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalnb.comparison.verdicts import verdict_sentence
from evalnb.evaluation.report import EvaluationReport
from evalnb.show.numbers import format_value
from evalnb.show.reading import of_first_measure
from evalnb.show.tables import row_list, split_measured
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
_RANK = {"better": 0, "worse": 1, "equivalent": 2, "undecided": 3, "unresolvable": 4}
REASONS_SHOWN = 3


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
    measured, _ = split_measured(comparison.frame)
    if measured.empty:
        return ()
    found = []
    by_candidate: dict[str, list[dict[str, object]]] = {}
    for each in measured.to_dict("records"):
        by_candidate.setdefault(each["candidate"], []).append({str(k): v for k, v in each.items()})
    for row in row_list(of_first_measure(measured, measured)):
        rows = by_candidate[row.candidate]
        leaning = f", leaning {row.leaning}" if isinstance(row.leaning, str) and row.leaning else ""
        headline = _HEADLINES[row.verdict].format(
            candidate=one_line(row.candidate, 80), baseline=one_line(row.baseline, 80)
        )
        means = f"{format_value(row.baseline_mean)} → {format_value(row.mean)}"
        found.append(
            Finding(
                candidate=row.candidate,
                verdict=row.verdict,
                headline=f"{headline}{leaning} ({row.measure} {means})",
                # Notes on single rows stand under the differences, where there is room for them.
                sentences=tuple(verdict_sentence({**each, "note": ""}) for each in rows),
            )
        )
    return tuple(sorted(found, key=lambda finding: _RANK[finding.verdict]))


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
