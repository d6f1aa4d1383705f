"""Many hypotheses at once: how often the best of them would look this good by chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evalnb.comparison.signs import TOLERANCE, Flips, Floats, rank_of_level, share_of_vectors


def standardised_flips(flips: Flips, shifts: Floats | None = None) -> tuple[Floats, Floats]:
    """Return t = |sum s_f S_f| / sqrt(sum S_f^2) under every vector.

    Parameters
    ----------
    shifts
        (hypotheses,): what is taken off every case's difference first, if anything.

    Returns
    -------
    t, slack
        (hypotheses, vectors) and (hypotheses,): two values of t closer than the slack are equal.
        A hypothesis that its shift leaves without any difference has t and slack 0.
    """
    shifted, t = flips.sums, flips.flipped_sums.copy()
    size = np.abs(flips.sums).sum(axis=1)
    if shifts is not None:
        shifted = shifted - shifts[:, None] * flips.sizes
        shifted[np.abs(shifted).sum(axis=1) <= TOLERANCE * size] = 0.0
        t -= shifts[:, None] * flips.flipped_sizes
    norm = np.sqrt((shifted**2).sum(axis=1))
    scale = np.divide(1.0, norm, out=np.zeros_like(norm), where=norm > 0)
    # sum s_f S_f is the whole minus twice the flipped part.
    t *= -2.0
    t += shifted.sum(axis=1)[:, None]
    np.abs(t, out=t)
    t *= scale[:, None]
    return t, TOLERANCE * size * scale


def max_t(t: Floats, observed: Floats, slack: Floats, *, exhaustive: bool) -> tuple[Floats, Floats]:
    """Return step-down and single-step p-values of the largest t of several hypotheses.

    Westfall and Young, "Resampling-based multiple testing" (1993), algorithm 2.8: a vector's
    largest t among the hypotheses that look no better than the one tested, so that clear cases do
    not hide others; and its largest among all of them.

    Parameters
    ----------
    t
        (hypotheses, vectors).
    observed, slack
        (hypotheses,): t of the data, and what counts as equal to it.
    """
    n_vectors = t.shape[1]
    order = np.argsort(-observed, kind="stable")
    maxima = np.maximum.accumulate(t[order[::-1]], axis=0)[::-1]
    thresholds = (observed - slack)[order]

    def shares(counts: NDArray[np.int_]) -> list[float]:
        return [share_of_vectors(int(c), n_vectors, exhaustive=exhaustive) for c in counts]

    step_down, single = np.empty(len(t)), np.empty(len(t))
    counts = (maxima >= thresholds[:, None]).sum(axis=1)
    step_down[order] = np.maximum.accumulate(shares(counts))
    single[order] = shares((maxima[0] >= thresholds[:, None]).sum(axis=1))
    return step_down, single


def simultaneous_ranks(flips: Flips, *, alpha: float) -> list[int]:
    """Return each hypothesis's rank for intervals that all hold together.

    c is the value that the largest t of all hypotheses exceeds with probability alpha; a hypothesis
    exceeds it more seldom, and that share is its own level. Both the data as they are and the data
    without their mean differences give such a level; the smaller one is taken.
    """
    base = rank_of_level(alpha, flips.n_vectors, exhaustive=flips.exhaustive)
    counts = []
    for shifts in (None, flips.sums.sum(axis=1) / flips.sizes.sum(axis=1)):
        t, slack = standardised_flips(flips, shifts)
        largest = t.max(axis=0)
        critical = np.partition(largest, len(largest) - base)[len(largest) - base]
        above = (t > (critical + slack)[:, None]).sum(axis=1)
        # A constant difference leaves nothing to exceed c; the other version speaks for it.
        counts.append(np.where(slack > 0, above, flips.n_vectors))
    return [1 + int(count) for count in np.minimum(*counts)]


def holm(p: Floats) -> Floats:
    """Adjust p-values by Holm (1979): the error rate over all of them.

    >>> holm(np.array([0.01, 0.04, 0.03])).round(6).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    steps = np.arange(len(p), 0, -1) * p[order]
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def benjamini_hochberg(p: Floats) -> Floats:
    """Adjust p-values by Benjamini and Hochberg (1995): the share of false finds.

    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03])).round(6).tolist()
    [0.03, 0.04, 0.04]
    """
    order = np.argsort(p, kind="stable")[::-1]
    steps = len(p) / np.arange(len(p), 0, -1) * p[order]
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.minimum.accumulate(steps), 1.0)
    return adjusted
