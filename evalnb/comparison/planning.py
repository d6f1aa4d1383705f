"""Before a run, what a gold set can show; of a published figure, what it can mean."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from evalnb.comparison.flips import fewest_resolvable
from evalnb.comparison.power import Resolution
from evalnb.errors import BadInputError
from evalnb.gold.cases import GoldCase

# Standard deviations of paired differences. Quartiles over the 45 pairs of ten runs on TREC DL 19:
# nDCG@10 .10, .20, .23 and RR@10 .15, .26, .30; RR@10 of one right answer each spreads .34 to .47.
SPREADS = (0.10, 0.20, 0.40)
FAMILY_CORRELATION = 0.2  # what differences of one family are taken to share


@dataclass(frozen=True, slots=True)
class Prospect:
    """What a gold set would show under one spread.

    Attributes
    ----------
    spread
        Standard deviation of a case's paired difference.
    resolves
        The difference that would show four times in five; null where no difference can.
    families_needed
        Families that would show the wanted difference as often; null where none are known to.
    """

    spread: float
    resolves: float | None
    families_needed: int | None


def prospects(
    cases: Iterable[GoldCase],
    *,
    difference: float = 0.02,
    spreads: Iterable[float] = SPREADS,
    alpha: float = 0.05,
    seed: int = 0,
) -> list[Prospect]:
    """Say what cases can show before anything is run on them.

    Differences are taken to be normal with the given spread, and to correlate by
    :data:`FAMILY_CORRELATION` within a family.

    Parameters
    ----------
    difference
        The difference that is wanted to show.

    Raises
    ------
    BadInputError
        If there is no case, or an argument is out of its range.
    """
    counts = Counter(case.family_key or case.case_id for case in cases)
    if not counts:
        raise BadInputError("there is no case")
    _check_range("the difference", difference, 0, 1)
    _check_range("alpha", alpha, 0, 1)
    sizes = np.array([counts[key] for key in sorted(counts)], dtype=np.float64)
    found = []
    for spread in spreads:
        _check_range("a spread", spread, 0, 1)
        sums = _typical_sums(sizes, spread, seed=seed) + difference * sizes
        resolution = Resolution(sums, sizes, level=alpha, seed=seed)
        needed = resolution.families_needed() if len(sizes) > 1 else None
        found.append(Prospect(spread, resolution.smallest_difference(), needed))
    return found


def _typical_sums(sizes: np.ndarray, spread: float, *, seed: int) -> np.ndarray:
    """Return sums of families at the quantiles of a normal distribution: typical, not drawn."""
    from scipy.special import ndtri

    n = len(sizes)
    quantiles = ndtri((np.arange(n) + 0.5) / n)
    mixed = np.random.default_rng(seed).permutation(quantiles)  # sizes may be sorted
    scale = spread * np.sqrt(sizes * (1 + (sizes - 1) * FAMILY_CORRELATION))
    sums = mixed * scale
    return np.asarray(sums - sums.sum() / sizes.sum() * sizes)


@dataclass(frozen=True, slots=True)
class Audit:
    """What a published pair of means can mean.

    Attributes
    ----------
    difference
        The second mean minus the first.
    largest_spread
        The difference is beyond chance only if paired differences have at most this standard
        deviation; null where so few cases show nothing at all.
    fewest_changed
        At least so many cases changed: each can change by no more than 1.
    best_p
        For measures of 0 and 1, the smallest p that any assignment of the changes gives.
    intervals
        By spread, the 95 % interval of the difference.
    """

    n: int
    difference: float
    largest_spread: float | None
    fewest_changed: int
    best_p: float
    intervals: dict[float, tuple[float, float]]


def audit(
    n: int, baseline: float, mean: float, *, spreads: Iterable[float] = SPREADS, alpha: float = 0.05
) -> Audit:
    """Say what two means over the same n independent cases, and nothing else, can mean.

    Parameters
    ----------
    n
        Cases; of cases in families, give the number of families.
    baseline, mean
        Means of a measure in [0, 1].

    Raises
    ------
    BadInputError
        If n is below 1, a mean lies outside [0, 1], or a spread is not between 0 and 1.
    """
    from scipy.stats import t

    if n < 1:
        raise BadInputError(f"n has to be at least 1, is {n}")
    for name, value in (("the baseline's mean", baseline), ("the mean", mean)):
        if not 0 <= value <= 1:
            raise BadInputError(f"{name} has to lie in [0, 1], is {value}")
    _check_range("alpha", alpha, 0, 1)
    spreads = tuple(spreads)
    for spread in spreads:
        _check_range("a spread", spread, 0, 1)
    difference = mean - baseline
    changed = math.ceil(abs(difference) * n - 1e-9)
    critical = float(t.ppf(1 - alpha / 2, n - 1)) if n > 1 else math.inf
    able = n >= fewest_resolvable(alpha)
    return Audit(
        n=n,
        difference=difference,
        largest_spread=abs(difference) * math.sqrt(n) / critical if able else None,
        fewest_changed=changed,
        best_p=min(1.0, 2.0 ** (1 - changed)),
        intervals={
            spread: (
                difference - critical * spread / math.sqrt(n),
                difference + critical * spread / math.sqrt(n),
            )
            for spread in spreads
            if able
        },
    )


def _check_range(name: str, value: float, low: float, high: float) -> None:
    if not low < value < high:
        raise BadInputError(f"{name} has to lie between {low} and {high}, is {value}")
