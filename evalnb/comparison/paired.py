"""Compare variants case by case: which differences are real, and which cases changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from evalnb.comparison.case_scores import ABSENT, OK, UNAVAILABLE, CaseScores, average_cases
from evalnb.comparison.intervals import mean_interval
from evalnb.comparison.notes import record_notes
from evalnb.comparison.pairs import Pairs, pair_cases
from evalnb.comparison.power import Resolution
from evalnb.comparison.rows import COMPARISON_COLUMNS, Adjustment, Hypothesis, comparison_rows
from evalnb.comparison.traits import OPERATIONAL, measure_traits
from evalnb.errors import BadInputError, NotFoundError
from evalnb.evaluation.request import REPORTED_MEASURES
from evalnb.limits import HYPOTHESES, check_limit
from evalnb.measures.names import parse_measure
from evalnb.wording import listed, near_names

if TYPE_CHECKING:
    import pandas as pd

CHANGED_COLUMNS = (
    "candidate",
    "measure",
    "k",
    "kind",
    "case_id",
    "family_key",
    "baseline_value",
    "value",
    "diff",
)
COVERAGE_COLUMNS = (
    "candidate",
    "measure",
    "k",
    "kind",
    "n_unavailable",
    "n_candidate_unavailable",
    "n_baseline_unavailable",
    "n_undefined",
    "reason",
)
MEAN_COLUMNS = ("variant", "measure", "k", "kind", "ci_low", "ci_high", "ci_method")
_TYPES = (
    dict.fromkeys(("k", "n_needed"), "Int64")
    | dict.fromkeys(("n", "n_families", "wins", "ties", "losses"), "int64")
    | dict.fromkeys((name for name in COVERAGE_COLUMNS if name.startswith("n_")), "int64")
    | dict.fromkeys(("mean", "baseline_mean", "baseline_value", "value", "diff"), "float64")
    | dict.fromkeys(("ci_low", "ci_high", "p_value", "p_adjusted", "mde"), "float64")
)


@dataclass(frozen=True)
class ComparisonRecord:
    """Every candidate against one baseline.

    Attributes
    ----------
    frame
        One row per measure and candidate, in the columns of :data:`COMPARISON_COLUMNS`.
    changed
        The cases whose value changed, worst first within each measure and candidate, in the columns
        of :data:`CHANGED_COLUMNS`. Exact for this gold set; it needs no test.
    coverage
        Which cases were left out and why: one row for each of the frame, in the same order, in the
        columns of :data:`COVERAGE_COLUMNS`. ``reason`` is why most of those are unavailable.
    baseline, alpha, seed
        As compared.
    notes
        What holds for every row.
    resolutions
        By row, what simulates mde and n_needed; null without pairs.
    """

    frame: pd.DataFrame
    changed: pd.DataFrame
    coverage: pd.DataFrame
    baseline: str
    alpha: float
    seed: int
    notes: tuple[str, ...] = ()
    resolutions: tuple[Resolution | None, ...] = ()

    def resolved(self) -> ComparisonRecord:
        """Return the record with mde, and n_needed where the question is open."""
        rows = [
            {
                "mde": found and found.smallest_difference(),
                "n_needed": found.families_needed() if found and p > self.alpha else None,
            }
            for found, p in zip(self.resolutions, self.frame["p_adjusted"], strict=True)
        ]
        return replace(self, frame=self.frame.assign(**_frame(("mde", "n_needed"), rows)))


def compare_frames(
    scores: pd.DataFrame | CaseScores,
    *,
    baseline: str,
    measures: Sequence[str] | None = None,
    margin: float | None = None,
    alpha: float = 0.05,
    seed: int = 0,
    adjustment: Adjustment = "maxT",
    resolution: bool = True,
    max_hypotheses: int = HYPOTHESES,
) -> ComparisonRecord:
    """Pair every variant with the baseline by case, and say which differences are real.

    Parameters
    ----------
    scores
        The scores frame of one report or of several joined, or what :func:`average_cases` made of
        it.
    baseline
        Name of the variant that all others are compared with.
    measures
        The hypotheses, in any spelling; unless given, all measures of the frame but those that a
        report carries besides.
    margin
        Differences inside +-margin are of no account; without one nothing is called equivalent.
    alpha
        Error rate over all hypotheses of a group together.
    seed
        Of the sampled sign vectors and of the simulated resolution.
    adjustment
        Step-down maxT, Holm or Benjamini-Hochberg.
    resolution
        Also simulate mde and n_needed, which takes most of the time and can be had later from
        :meth:`ComparisonRecord.resolved`.
    max_hypotheses
        Bound of measures x candidates.

    Raises
    ------
    NotFoundError
        If the baseline or a measure is not in the scores.
    BadInputError
        If there is nothing to compare with, or the scores or an argument are wrong.
    LimitExceededError
        If there are more hypotheses than the bound.
    """
    _check_arguments(alpha=alpha, margin=margin, seed=seed, adjustment=adjustment)
    cases = scores if isinstance(scores, CaseScores) else average_cases(scores)
    at, chosen = _position(cases, baseline), _chosen_keys(cases, measures)
    check_limit(
        "hypotheses (measures x candidates)",
        len(chosen) * (len(cases.variants) - 1),
        max_hypotheses,
        argument="max_hypotheses=N or --max-hypotheses, or compare fewer measures or variants",
    )
    hypotheses = _hypotheses(cases, at, chosen)
    found = comparison_rows(
        hypotheses, cases, alpha=alpha, margin=margin, seed=seed, adjustment=adjustment
    )
    record = ComparisonRecord(
        frame=_frame(COMPARISON_COLUMNS, [row for row, _ in found]),
        changed=_changed_frame(hypotheses, cases),
        coverage=_frame(COVERAGE_COLUMNS, [_coverage(each.pairs, cases) for each in hypotheses]),
        baseline=baseline,
        alpha=alpha,
        seed=seed,
        notes=record_notes(cases, seed=seed),
        resolutions=tuple(resolution for _, resolution in found),
    )
    return record.resolved() if resolution else record


def mean_intervals(scores: pd.DataFrame | CaseScores, *, alpha: float = 0.05) -> pd.DataFrame:
    """Return the interval of every variant's mean under every measure, over its ok cases.

    Parameters
    ----------
    scores
        A scores frame, a slice of one, or what :func:`average_cases` made of it.

    Returns
    -------
    DataFrame
        Columns ``variant, measure, k, kind, ci_low, ci_high, ci_method``; empty ends where the
        values give no interval.
    """
    cases = scores if isinstance(scores, CaseScores) else average_cases(scores)
    rows = []
    for v, variant in enumerate(cases.variants):
        for i, key in enumerate(cases.keys):
            if (cases.statuses[v, i] == ABSENT).all():
                continue
            ok = cases.statuses[v, i] == OK
            traits = measure_traits(key.measure)
            found = mean_interval(
                cases.values[v, i, ok],
                cases.families[ok],
                binary=traits.binary,
                bounds=(0.0, 1.0) if traits.bounded else (0.0, math.inf),
                alpha=alpha,
            )
            ends = {"ci_low": found.low, "ci_high": found.high, "ci_method": found.method}
            rows.append({"variant": variant, **key._asdict(), **ends})
    return _frame(MEAN_COLUMNS, rows)


def _check_arguments(
    *, alpha: float, margin: float | None, seed: int, adjustment: Adjustment
) -> None:
    for name, value in (("alpha", alpha), ("margin", margin), ("seed", seed)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, Real)):
            raise BadInputError(f"{name} is {value!r}, expected a number", where=name)
    if not isinstance(seed, Integral):
        raise BadInputError(f"the seed must be a whole number, is {seed}", where="seed")
    if not 0 < alpha < 1:
        raise BadInputError(f"alpha must lie between 0 and 1, is {alpha}", where="alpha")
    if margin is not None and not 0 < margin < math.inf:
        raise BadInputError(f"the margin must be above 0, is {margin}", where="margin")
    if seed < 0:
        raise BadInputError(f"the seed must not be negative, is {seed}", where="seed")
    if adjustment not in get_args(Adjustment):
        raise BadInputError(
            f"there is no adjustment {adjustment!r}",
            where="adjustment",
            remedy=f"one of {', '.join(get_args(Adjustment))}",
        )


def _position(cases: CaseScores, baseline: str) -> int:
    if not isinstance(baseline, str):
        raise BadInputError(
            f"the baseline is {baseline!r}, expected a variant's name",
            where="baseline",
            remedy=f"one of {listed(cases.variants)}",
        )
    if baseline not in cases.variants:
        raise NotFoundError(
            f"the baseline {baseline!r} is no variant{near_names(baseline, cases.variants)}",
            where="baseline",
            remedy=f"variants: {listed(cases.variants)}",
        )
    if len(cases.variants) == 1:
        raise BadInputError(
            f"there is no other variant to compare {baseline!r} with",
            remedy="evaluate at least two variants",
        )
    return cases.variants.index(baseline)


def _hypotheses(cases: CaseScores, baseline: int, keys: Sequence[int]) -> list[Hypothesis]:
    present = (cases.statuses != ABSENT).any(axis=2)
    found = []
    for i in keys:
        traits = measure_traits(cases.keys[i].measure)
        for candidate in range(len(cases.variants)):
            elsewhere = [j for j in _other_cutoffs(cases, i) if present[candidate, j]]
            # A candidate with another k has a row of its own there, which is not paired either.
            if candidate == baseline or (elsewhere and not present[candidate, i]):
                continue
            pairs = pair_cases(
                cases, candidate=candidate, baseline=baseline, key=i, bounded=traits.bounded
            )
            found.append(Hypothesis(pairs, traits))
    return found


def _other_cutoffs(cases: CaseScores, key: int) -> list[int]:
    measure, _, kind = cases.keys[key]
    return [
        i
        for i, other in enumerate(cases.keys)
        if i != key and (other.measure, other.kind) == (measure, kind)
    ]


def _chosen_keys(cases: CaseScores, measures: Sequence[str] | None) -> list[int]:
    if measures is None:
        chosen = [i for i, key in enumerate(cases.keys) if _carries_verdict(key.measure)]
        return chosen or list(range(len(cases.keys)))
    chosen = []
    for text in measures:
        named = [i for i, key in enumerate(cases.keys) if _names(text, key.measure, key.kind)]
        if not named:
            present = dict.fromkeys(key.measure for key in cases.keys)
            raise NotFoundError(
                f"there are no scores of {text!r}",
                where="measures",
                remedy=f"measures: {', '.join(present)}",
            )
        chosen += named
    return list(dict.fromkeys(chosen))


def _carries_verdict(name: str) -> bool:
    if name in REPORTED_MEASURES or name in OPERATIONAL:
        return False
    return not parse_measure(name).informational


def _names(text: str, measure: str, kind: str | None) -> bool:
    if text in OPERATIONAL or measure in OPERATIONAL:
        return text == measure
    asked = parse_measure(text)
    if str(asked) == measure:
        return True
    return asked.kind == kind and str(replace(asked, kind=None)) == measure


def _changed_frame(hypotheses: Sequence[Hypothesis], cases: CaseScores) -> pd.DataFrame:
    import pandas as pd

    case_ids, family_keys = np.array(cases.case_ids, object), np.array(cases.family_keys, object)
    columns: dict[str, list[NDArray[Any]]] = {name: [] for name in CHANGED_COLUMNS}
    for hypothesis in hypotheses:
        pairs = hypothesis.pairs
        moved = np.flatnonzero(pairs.differences)
        gains = hypothesis.traits.direction * pairs.differences[moved]
        worst_first = moved[np.argsort(gains, kind="stable")]
        found = pairs.cases[worst_first]
        same = {"candidate": cases.variants[pairs.candidate], **cases.keys[pairs.key]._asdict()}
        for name, value in same.items():
            columns[name].append(np.full(len(found), value, dtype=object))
        columns["case_id"].append(case_ids[found])
        columns["family_key"].append(family_keys[cases.families[found]])
        columns["baseline_value"].append(pairs.baseline_values[worst_first])
        columns["value"].append(pairs.values[worst_first])
        columns["diff"].append(pairs.differences[worst_first])
    joined = {name: np.concatenate(parts) for name, parts in columns.items()}
    return pd.DataFrame(
        {name: pd.Series(v, dtype=_TYPES.get(name, "object")) for name, v in joined.items()}
    )


def _coverage(pairs: Pairs, cases: CaseScores) -> dict[str, Any]:
    failed = {
        side: int((cases.statuses[side, pairs.key] == UNAVAILABLE).sum())
        for side in (pairs.candidate, pairs.baseline)
    }
    worst = max(failed, key=failed.__getitem__)
    return {
        "candidate": cases.variants[pairs.candidate],
        **cases.keys[pairs.key]._asdict(),
        "n_unavailable": pairs.n_unavailable,
        "n_candidate_unavailable": failed[pairs.candidate],
        "n_baseline_unavailable": failed[pairs.baseline],
        "n_undefined": pairs.n_undefined,
        "reason": next(iter(cases.failures.get((worst, pairs.key), ())), ""),
    }


def _frame(columns: Sequence[str], rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Build a frame whose types do not depend on what is missing in it."""
    import pandas as pd

    return pd.DataFrame(
        {
            name: pd.Series([row[name] for row in rows], dtype=_TYPES.get(name, "object"))
            for name in columns
        }
    )
