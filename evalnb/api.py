"""The public verbs: they wire the layers together and hold no logic of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evalnb.errors import BadInputError
from evalnb.files import checked_path
from evalnb.gold.cases import GoldDataset
from evalnb.gold.loading import load_gold
from evalnb.limits import Limits

if TYPE_CHECKING:
    import pandas as pd

    from evalnb.comparison.gates import GateResult
    from evalnb.comparison.paired import ComparisonRecord
    from evalnb.evaluation.report import EvaluationReport
    from evalnb.systems.composed import ComposedSystem
    from evalnb.systems.function import FunctionSystem
    from evalnb.workspace.system import Workspace

__all__ = [
    "Comparison",
    "GoldDataset",
    "Limits",
    "Report",
    "compare",
    "evaluate",
    "fused",
    "load_gold",
    "load_report",
    "open_workspace",
    "score",
    "system",
]

Searcher = Any
"""A function, a search system, the path of a run or TOML file, or one of these with overrides."""


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


def evaluate(
    gold: GoldDataset | Any,
    systems: Mapping[str, Searcher] | Searcher,
    *,
    limit: int = 10,
    measures: Sequence[str] | None = None,
    split: Literal["development", "test"] = "development",
    seed: int = 0,
    repetitions: int = 1,
    timeout_s: float | None = None,
    deadline_s: float | None = None,
    allow_unavailable: bool = False,
    limits: Limits | None = None,
    cache: str | Path | None = None,
    executor: str | None = None,
    prices: Mapping[str, Mapping[str, float]] | str | Path | None = None,
) -> Report:
    """Run every system over a gold set and score every case.

    Parameters
    ----------
    gold
        A gold set, or anything that :func:`load_gold` reads.
    systems
        Systems by variant name: functions, search systems, paths of TREC run files or of TOML
        files that describe a system, or a pair (system, overrides) such as
        ``(workspace, {"hints": {"lexical_operator": "phrase"}})``. One function alone is a variant
        of its own name.
    limit
        Hits per search, where neither the case nor the variant says otherwise.
    measures
        Names of the measures that carry verdicts; nDCG@10, RR@10 and R@10 unless given.
    timeout_s, deadline_s
        Seconds per search, and for the whole request.
    allow_unavailable
        Report a variant that lacks a capability as n/a instead of refusing the request.
    limits
        Larger bounds than the defaults.
    cache
        Folder that keeps what versioned systems answered: the same call goes on after a stop, and
        a changed one searches only what changed. What failed is searched again.
    executor
        Where searches run: ``local:8`` (threads), ``processes:4`` or ``dask:ADDRESS``; one after
        another unless given, so that no search disturbs another's time.
    prices
        What models cost, ``{"model": {"input_per_million": 0.02, "output_per_million": 0}}``, or
        the path of a TOML or JSON file of that shape.

    Raises
    ------
    BadInputError
        If the gold, a measure or an override is wrong; LIMIT_EXCEEDED past a bound.
    NotEvaluatedError
        If a system lacks a capability or its pinned state changed.
    """
    from evalnb.evaluation.costs import load_prices, parse_prices, priced
    from evalnb.evaluation.progress import progress_bar
    from evalnb.evaluation.request import EvaluationRequest
    from evalnb.evaluation.runner import run_evaluation
    from evalnb.wiring import explained, named_variants

    if isinstance(prices, str | Path):
        known = load_prices(Path(prices))
    else:
        known = parse_prices(prices or {}, where="prices")
    if limits is not None and not isinstance(limits, Limits):
        raise BadInputError(f"limits is {limits!r}, expected evalnb.Limits(searches=N)")
    folder = None if cache is None else checked_path(cache)
    if folder is not None and folder.exists() and not folder.is_dir():
        raise BadInputError("the cache is a folder, and a file stands there", where=str(folder))
    dataset = gold if isinstance(gold, GoldDataset) else load_gold(gold)
    found, variants = named_variants(systems)
    with explained():
        request = EvaluationRequest(
            split=split,
            variants=variants,
            measures=_names(measures),
            limit=limit,
            seed=seed,
            repetitions=repetitions,
            timeout_s=timeout_s,
            deadline_s=deadline_s,
            allow_unavailable=allow_unavailable,
        )
    with progress_bar() as progress:
        record = run_evaluation(
            dataset,
            found,
            request,
            limits=limits,
            cache=folder,
            executor=executor,
            progress=progress,
        )
    return Report(priced(record, known) if known else record)


def compare(
    report: Report | str | Path,
    *others: Report | str | Path,
    baseline: str,
    measures: Sequence[str] | None = None,
    margin: float | None = None,
    alpha: float = 0.05,
    seed: int = 0,
) -> Comparison:
    """Pair every variant with the baseline by case, and say which differences are real.

    Parameters
    ----------
    report, others
        One report, or several over the same cases, at hand or by path; a variant name that
        several reports share is told apart as ``name (2)``.
    baseline
        Name of the variant that the others are compared with.
    measures
        The hypotheses; the report's compared measures unless given. What a search costs can be
        compared too: latency_ms, calls, tokens, cost.
    margin
        Differences inside +-margin count as equivalent; without one nothing is called so.
    alpha
        Error rate over all hypotheses together.

    Raises
    ------
    NotFoundError
        If the baseline is no variant.
    """
    from dataclasses import replace

    from evalnb.comparison.paired import compare_frames
    from evalnb.evaluation.costs import QUANTITIES
    from evalnb.evaluation.frames import joined_scores_frame
    from evalnb.evaluation.report import differing

    records = [_report(given).record for given in (report, *others)]
    chosen = _names(measures) or list(
        dict.fromkeys(m for record in records for m in record.compared)
    )
    found = compare_frames(
        joined_scores_frame(records, costs=not set(QUANTITIES).isdisjoint(chosen)),
        baseline=baseline,
        measures=chosen,
        margin=margin,
        alpha=alpha,
        seed=seed,
    )
    queries = {case.case_id: case.request.query for record in records for case in record.cases}
    return Comparison(replace(found, notes=(*found.notes, *differing(records))), queries)


def score(
    qrels: str | Path | Mapping[str, Mapping[str, int]],
    run: str | Path | Mapping[str, Mapping[str, float]],
    measures: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Score one run against judgements, both TREC files or dicts of dicts.

    Returns
    -------
    DataFrame
        One row per query and measure, in the columns of the scores frame.
    """
    from evalnb.evaluation.frames import run_scores_frame

    return run_scores_frame(qrels, run, measures)


def fused(
    channels: Mapping[str, Searcher],
    *,
    rerank: Callable[..., Any] | Mapping[str, Any] | str | None = None,
    k: int = 60,
    weights: Mapping[str, float] | None = None,
    candidates: int = 100,
) -> ComposedSystem:
    """Compose one hybrid of your own channels by reciprocal rank fusion.

    Every channel's candidates stay in the report, so other fusions replay without searching.

    Parameters
    ----------
    channels
        Functions, search systems or their files, by channel name.
    rerank
        A function of the query and the fused hits that returns their scores or a new order;
        ``"maxsim"`` or ``"onnx:DIR"``; or a chat model, ``{"url": ..., "model": ...}``.
    k, weights
        Of the fusion: a channel's hit at rank r adds weight / (k + r).
    candidates
        How many hits each channel is asked for, at least the limit.
    """
    from evalnb import wiring

    return wiring.fused(channels, rerank=rerank, k=k, weights=weights, candidates=candidates)


def system(
    fn: Callable[..., Any], *, version: str | None = None, timeout_s: float | None = None
) -> FunctionSystem:
    """Make a function a search system with its own version key and time per search."""
    from evalnb.systems.function import FunctionSystem

    return FunctionSystem(fn, version=version, timeout_s=timeout_s)


def open_workspace(
    directory: str | Path,
    *,
    rerankers: Mapping[str, Callable[[str, Sequence[str]], Sequence[float]]] | None = None,
) -> Workspace:
    """Open an embedded workspace.

    Parameters
    ----------
    rerankers
        Functions that the hint ``reranker`` may name: called with the query and the texts of a
        pool, they return one score a text. A function's ``version`` pins what it does.

    Raises
    ------
    NotFoundError
        If there is none; ``evalnb ingest PATH --workspace DIR`` makes one.
    """
    from evalnb import wiring

    return wiring.open_workspace(checked_path(directory), rerankers=rerankers)


def load_report(path: str | Path) -> Report:
    """Read a saved report, or the report.json of a report folder."""
    from evalnb.evaluation.report import load_report_record

    return Report(load_report_record(checked_path(path)))


def _report(given: Report | str | Path) -> Report:
    if isinstance(given, str | Path):
        return load_report(given)
    if not isinstance(given, Report):
        raise BadInputError(
            f"expected a report, found {type(given).__name__}",
            remedy="pass what evalnb.evaluate returned, or the path of a saved report",
        )
    return given


def _names(measures: Sequence[str] | None) -> tuple[str, ...] | None:
    """Take one name for a list of one."""
    if measures is None:
        return None
    return (measures,) if isinstance(measures, str) else tuple(measures)
