"""Many hypotheses at once: how often the best of them would look this good by chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evalnb.comparison.signs import TOLERANCE, Flips, Floats, rank_of_level, share_of_vectors


def standardised_flips(flips: Flips, row: int, shift: float = 0.0) -> tuple[Floats, float]:
    """Return t = |sum s_f S_f| / sqrt(sum S_f^2) of one hypothesis under every vector.

    Parameters
    ----------
    shift
        What is taken off every case's difference first.

    Returns
    -------
    t, slack
        (vectors,), and what two values of t may differ by and still be equal; both 0 where the
        shift leaves no difference.
    """
    size = float(np.abs(flips.sums[row]).sum())
    sums = flips.sums[row] - shift * flips.sizes[row]
    if np.abs(sums).sum() <= TOLERANCE * size:
        return np.zeros(flips.n_vectors), 0.0
    scale = 1 / float(np.sqrt((sums**2).sum()))
    # sum s_f S_f is the whole minus twice the flipped part.
    t = flips.flipped_sums[row] * -2.0
    if shift:
        t += 2 * shift * flips.flipped_sizes(row)
    t += sums.sum()
    np.abs(t, out=t)
    t *= scale
    return t, TOLERANCE * size * scale


def max_t(flips: Flips, rows: NDArray[np.int_]) -> tuple[Floats, Floats]:
    """Return step-down and single-step p-values of the largest t of several hypotheses.

    Westfall and Young, "Resampling-based multiple testing" (1993), algorithm 2.8: a vector's
    largest t among the hypotheses that look no better than the one tested, so that clear cases do
    not hide others; and its largest among all of them.

    Returns
    -------
    step_down, single
        (rows,).
    """
    observed = np.abs(flips.sums[rows].sum(axis=1)) / np.sqrt((flips.sums[rows] ** 2).sum(axis=1))
    largest, thresholds = np.zeros(flips.n_vectors), np.empty(len(rows))
    step_down, single = np.empty(len(rows)), np.empty(len(rows))

    def reached(i: int) -> float:
        count = int((largest >= thresholds[i]).sum())
        return share_of_vectors(count, flips.n_vectors, exhaustive=flips.exhaustive)

    best_first = np.argsort(-observed, kind="stable")
    for i in best_first[::-1]:
        t, slack = standardised_flips(flips, rows[i])
        np.maximum(largest, t, out=largest)
        thresholds[i] = observed[i] - slack
        step_down[i] = reached(i)
    step_down[best_first] = np.maximum.accumulate(step_down[best_first])
    for i in best_first:
        single[i] = reached(i)
    return step_down, single


def simultaneous_ranks(flips: Flips, rows: NDArray[np.int_], *, alpha: float) -> list[int]:
    """Return the ranks of several hypotheses for intervals that all hold together.

    c is the value that the largest t of all hypotheses exceeds with probability alpha; a hypothesis
    exceeds it more seldom, and that share is its own level. Both the data as they are and the data
    without their mean differences give such a level; the smaller one is taken.
    """
    base = rank_of_level(alpha, flips.n_vectors, exhaustive=flips.exhaustive)
    means = flips.sums[rows].sum(axis=1) / flips.sizes[rows].sum(axis=1)
    fewest = np.full(len(rows), flips.n_vectors)
    for shifts in (np.zeros(len(rows)), means):
        largest = np.zeros(flips.n_vectors)
        for row, shift in zip(rows, shifts, strict=True):
            np.maximum(largest, standardised_flips(flips, row, shift)[0], out=largest)
        critical = np.partition(largest, len(largest) - base)[len(largest) - base]
        for i, (row, shift) in enumerate(zip(rows, shifts, strict=True)):
            t, slack = standardised_flips(flips, row, shift)
            # A constant difference leaves nothing to exceed c; the other version speaks for it.
            if slack:
                fewest[i] = min(fewest[i], int((t > critical + slack).sum()))
    return [1 + int(count) for count in fewest]


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
