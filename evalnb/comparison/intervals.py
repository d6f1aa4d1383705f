"""Intervals: of a difference, from the same sign flips as its test; of one mean."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalnb.comparison.signs import TOLERANCE, Flips, Floats


def flip_interval(flips: Flips, row: int, *, rank: int) -> tuple[float, float]:
    """Invert one hypothesis's sign-flip test in closed form.

    A vector splits the families in two halves, and does not reject a shift of delta per case
    exactly when delta lies between the means of the halves. The interval holds every delta that
    enough vectors do not reject.

    Parameters
    ----------
    rank
        j: the ends are the j-th smallest lower and the j-th largest upper mean of the halves.

    Returns
    -------
    tuple of float
        Infinite where a vector that flips all or nothing decides the end.
    """
    total, n = flips.sums[row].sum(), flips.sizes[row].sum()
    sums, sizes = flips.flipped_sums[row], flips.flipped_sizes(row)
    with np.errstate(divide="ignore", invalid="ignore"):
        flipped, kept = sums / sizes, (total - sums) / (n - sizes)
    one_sided = (sizes == 0) | (sizes == n)
    lower = np.where(one_sided, -np.inf, np.minimum(flipped, kept))
    upper = np.where(one_sided, np.inf, np.maximum(flipped, kept))
    low = np.partition(lower, rank - 1)[rank - 1]
    high = np.partition(upper, len(upper) - rank)[len(upper) - rank]
    scale = float(np.abs(flips.sums[row]).sum() / n)
    return _settle(float(low), scale), _settle(float(high), scale)


def _settle(end: float, scale: float) -> float:
    """Drop the digits that a matrix product does not repeat at another number of threads."""
    if not math.isfinite(end) or scale == 0:
        return end
    if abs(end) <= TOLERANCE * scale:
        return 0.0
    return round(end, 9 - math.floor(math.log10(scale)))


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """An interval of one mean. ``low`` and ``high`` are null where the values give none.

    ``size`` is what its width rests on: effective cases for Clopper-Pearson, degrees of freedom
    for t.
    """

    low: float | None
    high: float | None
    method: str | None
    size: float | None


NO_INTERVAL = MeanInterval(None, None, None, None)


def mean_interval(
    values: ArrayLike,
    families: Sequence[Hashable] | NDArray[np.int_] | None = None,
    *,
    binary: bool = False,
    bounds: tuple[float, float] | None = None,
    alpha: float = 0.05,
) -> MeanInterval:
    """Return the interval of a mean over cases that come in families.

    Parameters
    ----------
    values
        (cases,): the defined values, repetitions averaged.
    families
        (cases,): each case's family; null where each case is its own.
    binary
        Whether the measure is declared 0/1; values in between (averaged
        repetitions) fall back to t.
    bounds
        The range of the measure, which clips the interval.

    Returns
    -------
    MeanInterval
        Clopper-Pearson for 0/1 values, on an effective number of cases (Korn and Graubard 1998)
        where families hold several; otherwise t with the CR2 variance and the degrees of freedom of
        Bell and McCaffrey (2002). Without an end where all values agree or there is one family.

    Examples
    --------
    >>> found = mean_interval([1, 1, 0, 1], binary=True)
    >>> round(found.low, 4), round(found.high, 4), found.method
    (0.1941, 0.9937, 'Clopper-Pearson')
    """
    y = np.asarray(values, dtype=np.float64)
    if not len(y):
        return NO_INTERVAL
    codes = np.arange(len(y))
    if families is not None:
        codes = np.unique(np.asarray(families), return_inverse=True)[1]
    sizes = np.bincount(codes).astype(np.float64)
    sums = np.bincount(codes, weights=y).astype(np.float64)
    if binary and np.isin(y, (0.0, 1.0)).all():
        return _binary_interval(sums, sizes, alpha)
    return _t_interval(sums, sizes, float(np.abs(y).max()), bounds, alpha)


def _binary_interval(sums: Floats, sizes: Floats, alpha: float) -> MeanInterval:
    n, n_families = float(sizes.sum()), len(sizes)
    mean = float(sums.sum() / n)
    if n == n_families:
        return _clopper_pearson_mean(mean, n, alpha, "Clopper-Pearson")
    method = "Clopper-Pearson, effective n"
    if mean in (0.0, 1.0):
        return _clopper_pearson_mean(mean, float(n_families), alpha, method)
    if n_families < 2:
        return NO_INTERVAL
    variance = n_families / (n_families - 1) * float(((sums - mean * sizes) ** 2).sum()) / n**2
    widening = (_t_quantile(n - 1, alpha) / _t_quantile(n_families - 1, alpha)) ** 2
    # Families that all have the same mean tell nothing against independent cases.
    effective = min(n, mean * (1 - mean) / variance * widening) if variance else n
    return _clopper_pearson_mean(mean, effective, alpha, method)


def _clopper_pearson_mean(mean: float, n: float, alpha: float, method: str) -> MeanInterval:
    low, high = clopper_pearson(mean * n, n, alpha=alpha)
    return MeanInterval(low, high, method, n)


def clopper_pearson(successes: float, n: float, *, alpha: float) -> tuple[float, float]:
    """Return the two-sided limits of a share; the counts may be effective, so not whole.

    >>> low, high = clopper_pearson(0, 43, alpha=0.05)
    >>> low, round(high, 4)
    (0.0, 0.0822)
    """
    from scipy.special import betaincinv

    low = betaincinv(successes, n - successes + 1, alpha / 2) if successes > 0 else 0.0
    high = betaincinv(successes + 1, n - successes, 1 - alpha / 2) if successes < n else 1.0
    return float(low), float(high)


def _t_interval(
    sums: Floats,
    sizes: Floats,
    largest: float,
    bounds: tuple[float, float] | None,
    alpha: float,
) -> MeanInterval:
    n, n_families = float(sizes.sum()), len(sizes)
    if n_families < 2:
        return NO_INTERVAL
    mean = float(sums.sum() / n)
    error = math.sqrt(float(((sums - mean * sizes) ** 2 / (1 - sizes / n)).sum())) / n
    if error <= 1e-12 * largest:
        return NO_INTERVAL
    df = bell_mccaffrey_df(sizes)
    half = _t_quantile(df, alpha) * error
    low, high = mean - half, mean + half
    if bounds is not None:
        low, high = max(low, bounds[0]), min(high, bounds[1])
    return MeanInterval(low, high, "t" if n == n_families else "t, CR2", df)


def bell_mccaffrey_df(sizes: Floats) -> float:
    """Return the degrees of freedom of the CR2 variance of a mean, cases independent.

    Bell and McCaffrey, "Bias reduction in standard errors for linear regression with multi-stage
    samples", Survey Methodology 28 (2002): (sum of eigenvalues)^2 / sum of their squares, of the
    quadratic form that the variance is. Families of one case each give n - 1.

    >>> round(bell_mccaffrey_df(np.ones(10)), 9)
    9.0
    """
    n = sizes.sum()
    weighted = sizes**2 / (1 - sizes / n)
    squares = (sizes**2).sum() / n**4 + (weighted.sum() ** 2 - (weighted**2).sum()) / n**6
    return float(1 / n**2 / squares)


def _t_quantile(df: float, alpha: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(df, 1 - alpha / 2))
