"""The public verbs: they wire the layers together and hold no logic of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evalnb.errors import BadInputError
from evalnb.files import checked_path
from evalnb.gold.cases import GoldDataset
from evalnb.gold.loading import load_gold
from evalnb.limits import HYPOTHESES, Limits
from evalnb.views import Comparison, Report

if TYPE_CHECKING:
    import pandas as pd

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
    max_hypotheses: int = HYPOTHESES,
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
    max_hypotheses
        Bound of measures x candidates.

    Raises
    ------
    NotFoundError
        If the baseline is no variant.
    LimitExceededError
        If there are more hypotheses than the bound.
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
        max_hypotheses=max_hypotheses,
    )
    queries = {case.case_id: case.request.query for record in records for case in record.cases}
    return Comparison(replace(found, notes=(*found.notes, *differing(records))), queries)


def score(
    qrels: str | Path | Mapping[str, Mapping[str, int]],
    run: str | Path | Mapping[str, Mapping[str, float]],
    measures: Sequence[str] | None = None,
    *,
    ties: bool = False,
) -> pd.DataFrame:
    """Score one run against judgements, both TREC files or dicts of dicts.

    Returns
    -------
    DataFrame
        One row per query and measure, in the columns of the scores frame; with ``ties`` also the
        worst, expected and best value over all orders of equal scores.
    """
    from evalnb.evaluation.frames import run_scores_frame

    return run_scores_frame(qrels, run, measures, ties=ties)


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
    encoders: Mapping[str, Mapping[str, Any]] | None = None,
) -> Workspace:
    """Open an embedded workspace.

    Parameters
    ----------
    rerankers
        Functions that the hint ``reranker`` may name: called with the query and the texts of a
        pool, they return one score a text. A function's ``version`` pins what it does.
    encoders
        Endpoints that embed for the text index ``text:openai:NAME``, besides those of the
        workspace's settings: url, model, headers and the like, by name.

    Raises
    ------
    NotFoundError
        If there is none; ``evalnb ingest PATH --workspace DIR`` makes one.
    """
    from evalnb import wiring

    return wiring.open_workspace(checked_path(directory), rerankers=rerankers, encoders=encoders)


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
