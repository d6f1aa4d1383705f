"""The sign-flip test of many hypotheses: p-values, adjustments and intervals from one product."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evalnb.comparison.intervals import flip_interval
from evalnb.comparison.multiplicity import max_t, simultaneous_ranks
from evalnb.comparison.signs import (
    EXHAUSTIVE_FAMILIES,
    TOLERANCE,
    Flips,
    Floats,
    flip_signs,
    level_of_rank,
    rank_of_level,
    share_of_vectors,
    subset_sums,
)


@dataclass(frozen=True, slots=True)
class FlipTests:
    """The results, one entry per hypothesis.

    Attributes
    ----------
    p, p_step_down, p_single
        Of the hypothesis alone, and adjusted for its group in two ways.
    low, high
        Ends of the interval of the difference, simultaneous where the group has several
        hypotheses; NaN where there is none.
    level
        Error rate that the interval grants the hypothesis.
    exact, simultaneous
        Whether the interval counts every sign vector, and whether it holds with all others.
    """

    p: Floats
    p_step_down: Floats
    p_single: Floats
    low: Floats
    high: Floats
    level: Floats
    exact: NDArray[np.bool_]
    simultaneous: NDArray[np.bool_]

    @classmethod
    def alone(cls, p: Floats, *, alpha: float, exact: bool) -> FlipTests:
        """Start from unadjusted tests without intervals."""
        return cls(
            p=p,
            p_step_down=p.copy(),
            p_single=p.copy(),
            low=np.full(len(p), np.nan),
            high=np.full(len(p), np.nan),
            level=np.full(len(p), alpha),
            exact=np.full(len(p), exact),
            simultaneous=np.zeros(len(p), dtype=np.bool_),
        )


def flip_tests(
    sums: Floats,
    sizes: Floats,
    *,
    groups: NDArray[np.int_] | None = None,
    alpha: float = 0.05,
    seed: int = 0,
) -> FlipTests:
    """Test every hypothesis by flipping the signs of its families' differences.

    Parameters
    ----------
    sums, sizes
        (hypotheses, families): each family's sum of differences S_f and its number of pairs n_f,
        both 0 where it has none. Every hypothesis has a pair; the columns are all families of the
        request, sorted by key.
    groups
        (hypotheses,): which hypotheses are adjusted together; all of them unless given.
    alpha
        Error rate of a group.
    seed
        Of the sampled sign vectors, used beyond 16 families.

    Notes
    -----
    Assumes that a family's difference is as likely to be +d as -d where nothing changed. What all
    cases of a repetition share is invisible to it.
    """
    labels = np.zeros(len(sums), dtype=np.int_) if groups is None else groups
    flips = flip_signs(sums, sizes, seed=seed)
    p = np.array([_p_value(flips, row) for row in range(len(sums))])
    found = FlipTests.alone(p, alpha=alpha, exact=flips.exhaustive)
    changed = (sums != 0).any(axis=1)
    for label in np.unique(labels[changed]):
        rows = np.flatnonzero(changed & (labels == label))
        if len(rows) > 1:
            _test_together(found, rows, flips, alpha)
        else:
            _test_alone(found, rows[0], flips, alpha)
    unresolvable = [not resolvable(int(n), alpha) for n in (sums != 0).sum(axis=1)]
    found.low[unresolvable] = found.high[unresolvable] = np.nan
    return found


def resolvable(n_changed: int, level: float) -> bool:
    """Return whether flipping so many families can reject at a level at all.

    >>> resolvable(5, 0.05), resolvable(6, 0.05)
    (False, True)
    """
    return 2.0 ** (1 - n_changed) <= level


def fewest_resolvable(level: float) -> int:
    """Return how many families must change before a level can be reached."""
    return max(1, 1 - math.floor(math.log2(level)))


def _p_value(flips: Flips, row: int) -> float:
    changed = flips.sums[row][flips.sums[row] != 0]
    flipped, exhaustive = flips.flipped_sums[row], flips.exhaustive
    if not exhaustive and len(changed) <= EXHAUSTIVE_FAMILIES:
        flipped, exhaustive = subset_sums(changed), True
    total, slack = float(changed.sum()), TOLERANCE * float(np.abs(changed).sum())
    count = int((np.abs(total - 2 * flipped) >= abs(total) - slack).sum())
    return share_of_vectors(count, len(flipped), exhaustive=exhaustive)


def _test_alone(found: FlipTests, row: int, flips: Flips, alpha: float) -> None:
    at, paired = row, flips.sizes[row] > 0
    if not flips.exhaustive and paired.sum() <= EXHAUSTIVE_FAMILIES:
        own = slice(row, row + 1)
        flips = flip_signs(flips.sums[own, paired], flips.sizes[own, paired], seed=0)
        at, found.exact[row] = 0, True
    rank = rank_of_level(alpha, flips.n_vectors, exhaustive=flips.exhaustive)
    rejected = bool(found.p[row] <= alpha)
    found.low[row], found.high[row] = _interval(flips, at, rank=rank, rejected=rejected)


def _test_together(found: FlipTests, rows: NDArray[np.int_], flips: Flips, alpha: float) -> None:
    step_down, single = max_t(flips, rows)
    found.p_step_down[rows] = np.maximum(found.p[rows], step_down)
    found.p_single[rows] = np.maximum(found.p[rows], single)
    found.simultaneous[rows] = True
    for row, rank in zip(rows, simultaneous_ranks(flips, rows, alpha=alpha), strict=True):
        level = level_of_rank(rank, flips.n_vectors, exhaustive=flips.exhaustive)
        # So few families that none may reject: what more of them would be granted at least.
        found.level[row] = level or alpha / len(rows)
        rejected = bool(found.p_single[row] <= alpha)
        found.low[row], found.high[row] = _interval(flips, row, rank=rank, rejected=rejected)


def _interval(flips: Flips, row: int, *, rank: int, rejected: bool) -> tuple[float, float]:
    low, high = flip_interval(flips, row, rank=rank)
    if math.isinf(low) or math.isinf(high):
        return math.nan, math.nan
    # Sampled ends may miss by a vector what the test, often exact, says of 0.
    return (low, high) if rejected else (min(low, 0.0), max(high, 0.0))
