"""Variants that differ in exactly one control, and what that control changes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.comparison.multiplicity import holm
from evalnb.comparison.paired import compare_frames
from evalnb.comparison.rows import COMPARISON_COLUMNS
from evalnb.errors import BadInputError
from evalnb.evaluation.frames import scores_frame
from evalnb.evaluation.report import AnyReport, EvaluationReport, record_of
from evalnb.search.request import Controls

if TYPE_CHECKING:
    import pandas as pd

ABLATION_COLUMNS = ("control", "before", "after", *COMPARISON_COLUMNS)
OF_RERANKING = ("rerank", "reranker", "rerank_depth")


@dataclass(frozen=True, slots=True)
class Ablation:
    """Two variants of one system that differ in one control.

    The baseline is the one without reranking, with fewer channels, or the earlier one.
    """

    candidate: str
    baseline: str
    control: str
    before: Any
    after: Any


def ablations(report: AnyReport) -> tuple[Ablation, ...]:
    """Pair the variants of one system whose executed controls differ in exactly one place.

    A mode is only a name for channels and reranking; a reranker and its depth count with reranking,
    since they do nothing without it.
    """
    report = record_of(report)
    ran = {result.variant: result.controls for result in reversed(report.results)}
    flat = {
        variant.name: (variant.system, _flat(ran[variant.name]))
        for variant in report.variants
        if variant.name in ran and ran[variant.name].channels
    }
    found = []
    for (first, (system, one)), (second, (other_system, two)) in combinations(flat.items(), 2):
        changed = [name for name in one if one[name] != two[name]]
        if system == other_system and len(changed) == 1:
            found.append(_directed(first, second, changed[0], one, two))
    return tuple(found)


def _flat(controls: Controls) -> dict[str, Any]:
    values: dict[str, Any] = controls.model_dump(exclude={"hints", "mode"})
    values |= controls.hints.model_dump()
    values["channels"] = tuple(sorted(controls.channels))
    if controls.rerank:
        values["rerank"] = tuple(values[name] for name in OF_RERANKING[1:])
    return {name: v for name, v in values.items() if name not in OF_RERANKING[1:]}


def _directed(
    first: str, second: str, control: str, one: Mapping[str, Any], two: Mapping[str, Any]
) -> Ablation:
    before, after = one[control], two[control]
    backwards = (control == "rerank" and after is False) or (
        control == "channels" and set(after) < set(before)
    )
    if backwards:
        return Ablation(first, second, control, after, before)
    return Ablation(second, first, control, before, after)


def compare_pair(
    scores: pd.DataFrame, *, candidate: str, baseline: str, measure: str, resolution: bool = True
) -> dict[str, Any] | None:
    """Test one pair by one measure, by itself; None where nothing can be paired."""
    pair = scores[scores["variant"].isin([candidate, baseline])]
    try:
        found = compare_frames(pair, baseline=baseline, measures=[measure], resolution=resolution)
    except BadInputError:
        return None
    row = {str(name): value for name, value in found.frame.iloc[0].items()}
    return row if row["n"] else None


def ablation_frame(
    report: AnyReport, measure: str | None = None, *, pairs: Sequence[Ablation] | None = None
) -> pd.DataFrame:
    """Compare pairs by one measure; all of :func:`ablations` unless given.

    ``p_adjusted`` is Holm's over the pairs, and the verdict follows it; intervals are of each pair
    by itself. What the set can resolve is not simulated.

    Returns
    -------
    DataFrame
        In the columns of :data:`ABLATION_COLUMNS`, one row a pair.
    """
    import pandas as pd

    report = record_of(report)
    name = measure or next(iter(report.compared), "nDCG@10")
    rows = list(_rows(report, name, ablations(report) if pairs is None else pairs))
    if rows:
        adjusted = holm(np.array([row["p_value"] for row in rows]))
        for row, p in zip(rows, adjusted, strict=True):
            decided = row["verdict"] in ("better", "worse")
            row |= {"p_adjusted": float(p), "adjustment": "holm" if len(rows) > 1 else "none"}
            if decided and p > 0.05:
                row |= {"leaning": row["verdict"], "verdict": "undecided"}
    return pd.DataFrame(rows, columns=list(ABLATION_COLUMNS))


def _rows(
    report: EvaluationReport, measure: str, pairs: Sequence[Ablation]
) -> Iterator[dict[str, Any]]:
    if not pairs:
        return
    scores = scores_frame(report)
    for pair in pairs:
        row = compare_pair(
            scores,
            candidate=pair.candidate,
            baseline=pair.baseline,
            measure=measure,
            resolution=False,
        )
        if row is not None:
            changed = {"before": _shown(pair.before), "after": _shown(pair.after)}
            yield {"control": pair.control, **changed, **row}


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
