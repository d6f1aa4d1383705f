"""What a person holds: a report and a comparison, thin views of their records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evalnb.files import checked_path

if TYPE_CHECKING:
    import pandas as pd

    from evalnb.comparison.gates import GateResult
    from evalnb.comparison.paired import ComparisonRecord
    from evalnb.evaluation.report import EvaluationReport


class Report:
    """One evaluation, everything retained: a view of its record."""

    def __init__(self, record: EvaluationReport) -> None:
        self.record = record

    def frame(self) -> pd.DataFrame:
        """Return the scores, one row per variant, repetition, case and measure."""
        from evalnb.evaluation.frames import scores_frame

        return scores_frame(self.record)

    def aggregates(self) -> pd.DataFrame:
        """Return the means with their counts, one row per variant, slice and measure."""
        from evalnb.evaluation.frames import aggregates_frame

        return aggregates_frame(self.record)

    def costs(self) -> pd.DataFrame:
        """Return what searches cost, one row per variant: time, calls, tokens, money."""
        from evalnb.evaluation.frames import costs_frame

        return costs_frame(self.record)

    def hits(self) -> pd.DataFrame:
        """Return the ranked hits with their judgements, one row per hit."""
        from evalnb.evaluation.frames import hits_frame

        return hits_frame(self.record)

    def gates(
        self,
        *gates: str,
        baseline: str | None = None,
        others: Sequence[Report] = (),
        alpha: float = 0.05,
    ) -> tuple[GateResult, ...]:
        """Check what a change has to fulfil, such as ``"nDCG@10 >= 0.6"`` or ``"regressed<=2"``.

        Parameters
        ----------
        gates
            In the grammar of :mod:`evalnb.comparison.gates`.
        baseline
            The variant that others are compared with; the request's unless given.
        others
            More reports over the same cases, as :func:`compare` takes them.

        Raises
        ------
        BadInputError
            If a gate is no gate, or names what does not exist.
        """
        from evalnb.comparison.gates import check_gates
        from evalnb.evaluation.frames import joined_scores_frame

        records = [report.record for report in (self, *others)]
        return check_gates(
            joined_scores_frame(records, costs=True),
            gates,
            baseline=baseline or self.record.request.baseline,
            compared=self.record.compared,
            alpha=alpha,
        )

    def save(self, path: str | Path) -> Path:
        """Write the report as canonical JSON, atomically; a folder gets a report.json.

        Raises
        ------
        LimitExceededError
            If it is past the bound of 64 MiB; nothing is written then.
        """
        from evalnb.evaluation.report import save_report

        target = checked_path(path)
        target = target / "report.json" if target.is_dir() else target
        save_report(self.record, target)
        return target

    def save_runs(self, folder: str | Path) -> list[Path]:
        """Write the judgements and every variant's ranking as TREC files."""
        from evalnb.evaluation.trec_export import write_runs

        return write_runs(self.record, checked_path(folder))

    def to_html(self, path: str | Path, *, baseline: str | None = None) -> Path:
        """Write one HTML file with the comparison and every case; it opens offline."""
        from evalnb.show.html import write_report_html

        target = checked_path(path)
        target = target / "report.html" if target.is_dir() else target
        return write_report_html(self.record, target, baseline=baseline)

    def _repr_html_(self) -> str:
        from evalnb.show.sections import report_html

        return report_html(self.record)

    def __str__(self) -> str:
        """Return the table of means."""
        from evalnb.show.tables import report_text

        return report_text(self.record)


class Comparison:
    """Which differences are real: a view of its record."""

    def __init__(self, record: ComparisonRecord, queries: Mapping[str, str] | None = None) -> None:
        self.record = record
        self.queries = queries

    def frame(self) -> pd.DataFrame:
        """Return one row per candidate and measure, with interval, test and verdict."""
        return self.record.frame

    def changed(self) -> pd.DataFrame:
        """Return the cases that got better or worse, worst first: exact for this set."""
        return self.record.changed

    def save(self, path: str | Path) -> Path:
        """Write the frame as CSV."""
        from evalnb.show.tables import write_csv

        return write_csv(self.record.frame, checked_path(path))

    def to_html(self, path: str | Path) -> Path:
        """Write the comparison as one HTML file."""
        from evalnb.show.html import write_comparison_html

        return write_comparison_html(self.record, checked_path(path), queries=self.queries)

    def _repr_html_(self) -> str:
        from evalnb.show.sections import comparison_html

        return comparison_html(self.record, self.queries)

    def __str__(self) -> str:
        """Return the table of differences and the verdicts in words."""
        from evalnb.show.tables import comparison_text

        return comparison_text(self.record, self.queries)
