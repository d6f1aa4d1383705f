"""What can be tuned: variants that kept candidates, by measures that can be replayed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evalnb.comparison.replay import Replay
from evalnb.comparison.tuning import grid, sample
from evalnb.errors import BadInputError
from evalnb.evaluation.frames import scores_frame
from evalnb.evaluation.report import AnyReport, EvaluationReport, VariantRecord, record_of
from evalnb.evaluation.request import Variant
from evalnb.evaluation.runner import Progress, run_evaluation
from evalnb.gold.cases import dataset_from_cases
from evalnb.measures.names import parse_measures
from evalnb.search.result import Kind
from evalnb.search.system import SearchSystem
from evalnb.show.tables import measure_label
from evalnb.show.text import one_line

if TYPE_CHECKING:
    import pandas as pd

GRID = 200  # settings tried at the press of a button
WEIGHTS = ((0.0, 0.5, 1.0, 2.0), (0.0, 1.0, 2.0), (0.0, 1.0))
RECORDED, THESE = "as recorded", "these settings"


@dataclass(frozen=True, eq=False)
class Source:
    """One variant of one report.

    Attributes
    ----------
    measures
        By label: a measure of a ranking, and the kind of id that it judges here.
    """

    report: EvaluationReport
    variant: VariantRecord
    measures: Mapping[str, tuple[str, Kind | None]]
    _laid_out: dict[str, tuple[Replay, pd.DataFrame]] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Name it in a list."""
        dataset = self.report.dataset
        return one_line(f"{dataset.name} · {dataset.split} · {self.variant.name}", 80)

    @cached_property
    def queries(self) -> dict[str, str]:
        """Queries by case."""
        return {case.case_id: case.request.query for case in self.report.cases}

    def measure_named(self, name: str | None) -> str:
        """Return the label of a measure, the first unless one is named.

        Raises
        ------
        BadInputError
            If it is none of these.
        """
        if name is not None and name not in self.measures:
            raise BadInputError(
                f"{name!r} cannot be replayed here",
                where="measure",
                remedy=f"one of {', '.join(self.measures)}",
            )
        return name or next(iter(self.measures))

    def lay_out(self, label: str) -> tuple[Replay, pd.DataFrame]:
        """Return the replay by one of the measures, and the scores that were recorded by it."""
        if label not in self._laid_out:
            measure, kind = self.measures[label]
            replay = Replay(self.report, self.variant.name, measures=[measure], kind=kind)
            recorded = scores_of(self.report, self.variant.name, replay, RECORDED)
            self._laid_out[label] = replay, recorded
        return self._laid_out[label]

    def search(
        self, system: SearchSystem, variant: Variant, *, progress: Progress
    ) -> EvaluationReport:
        """Search every case of the report under one other variant.

        Raises
        ------
        EvalnbError
            What an evaluation refuses.
        """
        unpinned = dict.fromkeys(("baseline", "dataset_id", "version_sha"))
        wanted = {"variants": (variant,), "repetitions": 1, **unpinned}
        return run_evaluation(
            dataset_from_cases(self.report.cases, dataset_id=self.report.dataset.id),
            {variant.system: system},
            self.report.request.model_copy(update=wanted),
            scope=self.report.scope,
            progress=progress,
        )


def quick_grid(channels: Sequence[str], **ways: Any) -> list[dict[str, Any]]:
    """Return as fine a grid of settings as is tried in seconds."""
    for weights in WEIGHTS:
        if len(weights) ** len(channels) <= 4 * GRID:
            found = grid(channels, weights=weights, **ways)
            if len(found) <= GRID:
                return found
    return sample(channels, n=GRID)


def sources_of(reports: AnyReport | Sequence[AnyReport]) -> list[Source]:
    """Return what can be tuned in reports.

    Raises
    ------
    BadInputError
        If there is nothing.
    """
    given = reports if isinstance(reports, list | tuple) else (reports,)
    found = [source for report in given for source in _sources(record_of(report))]
    if not found:
        raise BadInputError(
            "no variant here kept candidates that a measure of a ranking judges, so no other "
            "fusion can be replayed",
            remedy="evaluate a workspace, or channels composed with evalnb.fused",
        )
    return found


def _sources(report: EvaluationReport) -> list[Source]:
    kept = {result.variant for result in report.results if result.candidates}
    kinds: list[Kind] = [kind for kind in report.kinds if kind in {"unit", "document"}]
    measures = {}
    for measure in parse_measures(*report.compared):
        if measure.ranked and not measure.tokens:
            for kind in [None] if measure.kind else kinds:
                label = measure_label(measure, kind=kind if len(kinds) > 1 else None)
                measures[label] = (str(measure), kind)
    found = [variant for variant in report.variants if variant.name in kept]
    return [Source(report, variant, measures) for variant in found if measures]


def position_of(sources: Sequence[Source], variant: str | None) -> int:
    """Return the position of the first source of a variant.

    Raises
    ------
    BadInputError
        If there is none.
    """
    names = [source.variant.name for source in sources]
    if variant is not None and variant not in names:
        raise BadInputError(
            f"no variant {variant!r} kept candidates",
            where="variant",
            remedy=f"one of {', '.join(dict.fromkeys(names))}",
        )
    return 0 if variant is None else names.index(variant)


def scores_of(report: EvaluationReport, variant: str, replay: Replay, name: str) -> pd.DataFrame:
    """Return a variant's scores by a replay's measure, as a variant of another name."""
    scores = scores_frame(report)
    chosen = (scores["variant"] == variant) & (scores["repetition"] == 0)
    chosen &= (scores["measure"] == str(replay.measures[0])) & (scores["kind"] == replay.kind)
    return scores[chosen].assign(variant=name)
