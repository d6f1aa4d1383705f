"""A report as somebody reads it: against which baseline, by which measures, which cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalnb.comparison.traits import measure_traits
from evalnb.errors import BadInputError, NotFoundError
from evalnb.evaluation.frames import aggregates_frame, scores_frame
from evalnb.evaluation.report import EvaluationReport, check_variant, load_report_record
from evalnb.measures.names import parse_measure
from evalnb.show.cases import CaseView, Change, view_cases
from evalnb.show.measured import covered, failure_reasons, split_measured
from evalnb.show.tables import label_measures, row_list

if TYPE_CHECKING:
    import pandas as pd

    from evalnb.comparison.advice import Advice
    from evalnb.comparison.paired import ComparisonRecord

MAX_CASES = 1_024


@dataclass(frozen=True, eq=False)
class Reading:
    """One report, one baseline, the measures that carry verdicts, the cases to show."""

    report: EvaluationReport
    baseline: str
    measures: tuple[str, ...]
    case_ids: tuple[str, ...]

    @cached_property
    def scores(self) -> pd.DataFrame:
        """The scores frame."""
        return scores_frame(self.report)

    @cached_property
    def comparison(self) -> ComparisonRecord | None:
        """Every variant against the baseline; None where there is nothing to compare."""
        return self.changed and self.changed.resolved()

    @cached_property
    def changed(self) -> ComparisonRecord | None:
        """The comparison without what the set can resolve: enough to list the changed cases."""
        if len(self.report.variants) < 2 or not self.report.results or not self.measures:
            return None
        from evalnb.comparison.paired import compare_frames

        return compare_frames(
            self.scores, baseline=self.baseline, measures=self.measures, resolution=False
        )

    @cached_property
    def advice(self) -> tuple[Advice, ...]:
        """What the figures ask for."""
        from evalnb.comparison.advice import advise

        return advise(self.report, self.scores) if self.report.results else ()

    @cached_property
    def means(self) -> pd.DataFrame:
        """The aggregates of all cases, each with the interval of its mean."""
        means = aggregates_frame(self.report)
        means = means[means["slice"] == "all"]
        if not self.report.results:
            return means
        from evalnb.comparison.paired import mean_intervals

        bare = means.drop(columns=["ci_low", "ci_high", "ci_method"])
        keys = ["variant", "measure", "k", "kind"]
        return bare.merge(mean_intervals(self.scores), on=keys, how="left")[list(means.columns)]

    @cached_property
    def measured(self) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """The means of the measures that have any, and lines that say why the others have none."""
        failed = self.scores[self.scores["status"] == "unavailable"]
        return split_measured(self.means, failure_reasons(failed))

    @cached_property
    def views(self) -> tuple[CaseView, ...]:
        """The cases to show."""
        return tuple(
            view_cases(
                self.report,
                baseline=self.baseline,
                changes=primary_changes(self.changed),
                case_ids=self.case_ids,
            )
        )


def read_report(
    report_path: str | Path,
    *,
    baseline: str = "",
    measures: Sequence[str] = (),
    case_ids: Sequence[str] = (),
    max_cases: int = MAX_CASES,
) -> Reading:
    """Read a saved report.

    Parameters
    ----------
    report_path
        A report file, or the folder that holds a report.json.
    baseline
        The variant to compare with; the request's, or the first one, unless given.
    measures
        The measures that carry verdicts; those of the request unless given.
    case_ids
        The cases to show one by one; all unless given.
    max_cases
        Show at most so many: the first ones, and the page says so.

    Raises
    ------
    NotFoundError
        If there is no report, variant, measure or case of that name.
    """
    report = load_report_record(Path(report_path))
    return reading_of(
        report, baseline=baseline, measures=measures, case_ids=case_ids, max_cases=max_cases
    )


def reading_of(
    report: EvaluationReport,
    *,
    baseline: str = "",
    measures: Sequence[str] = (),
    case_ids: Sequence[str] = (),
    max_cases: int = MAX_CASES,
) -> Reading:
    """Read a report that is at hand; as :func:`read_report`."""
    names = [variant.name for variant in report.variants]
    usual = report.request.baseline or (names[0] if len(names) > 1 else "")
    chosen = baseline or usual
    if chosen:
        check_variant(chosen, names, baseline=True)
    if max_cases < 0:
        raise BadInputError(f"max_cases must not be negative, is {max_cases}")
    known = [case.case_id for case in report.cases]
    if unknown := sorted(set(case_ids) - set(known)):
        raise NotFoundError(
            f"the report has no case {unknown[0]!r}",
            remedy=f"it has {len(known):,}, such as {', '.join(known[:3])}",
        )
    wanted = set(case_ids)
    shown = [case_id for case_id in known if not wanted or case_id in wanted]
    return Reading(
        report=report,
        baseline=chosen,
        measures=tuple(str(parse_measure(name)) for name in measures) or report.compared,
        case_ids=tuple(shown[:max_cases]),
    )


def primary_changes(comparison: ComparisonRecord | None) -> dict[str, dict[str, Change]]:
    """Return how each case changed in the first measure: candidate -> case_id -> change."""
    if comparison is None or comparison.frame.empty:
        return {}
    found: dict[str, dict[str, Change]] = {}
    for row in row_list(of_first_measure(comparison.changed, comparison)):
        change = Change(row.measure, row.diff, gain_of(row))
        found.setdefault(row.candidate, {})[row.case_id] = change
    return found


def gain_of(row: Any) -> float:
    """Return a row's difference with better as positive."""
    return measure_traits(row.measure).direction * float(row.diff)


def of_first_measure(rows: pd.DataFrame, comparison: ComparisonRecord) -> pd.DataFrame:
    """Keep the rows of the first measure that could be compared: headlines speak of it.

    Where searches failed so that none could, it is the first that should have been.
    """
    found = covered(comparison)
    measured, _ = split_measured(found)
    able = measured if len(measured) else found[found["n_unavailable"] > 0]
    first = next(iter(label_measures(able, always_kind=True)), None)
    return rows.loc[[label == first for label in label_measures(rows, always_kind=True)]]
