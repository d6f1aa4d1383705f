"""What a gold set can resolve: the smallest difference it would show, and how many families more.

Information beside a verdict, never a verdict.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from evalnb.comparison.flips import fewest_resolvable, resolvable
from evalnb.comparison.intervals import bell_mccaffrey_df
from evalnb.comparison.signs import (
    TOLERANCE,
    Floats,
    rank_of_level,
    sampled_blocks,
    subset_sums,
)

POWER = 0.8
SETS = 2_000
"""Simulated sets of families."""

SIMULATED_FAMILIES = 400
"""Beyond these the resolved difference shrinks with the root of the number of families."""

FLIPPED_FAMILIES = 32
"""Up to these a simulated set is flipped; beyond, a beta distribution differs by under 2 %."""

_MIN_VECTORS, _MAX_VECTORS = 1_000, 10_000
_CHUNK = 100  # sets at a time, so that their flips stay in cache


def smallest_difference(
    sums: Floats,
    sizes: Floats,
    *,
    level: float,
    n_families: int | None = None,
    seed: int = 0,
) -> float | None:
    """Return the difference that would show in four of five sets of families like these.

    Parameters
    ----------
    sums, sizes
        (families,): S_f and n_f of the families that have pairs.
    level
        Error rate at which a difference has to show.
    n_families
        Families of a set; as many as observed unless given.
    seed
        Of the simulated sets and of their sign vectors.

    Returns
    -------
    float or None
        Null where the families agree, so that their spread is unknown, or are too few to show any
        difference at this level.

    Notes
    -----
    Families are drawn with replacement from the observed ones without their mean difference, and
    each set is scaled by sqrt(df / chi2) for what so few families leave unknown of their spread. A
    shift that all cases share is assumed; a change in a few cases needs more families.
    """
    n = len(sums) if n_families is None else n_families
    simulated = min(n, SIMULATED_FAMILIES)
    sets = _draw_sets(sums, sizes, simulated, seed)
    if sets is None:
        return None
    shown = _shown(*sets, level=level, seed=seed) * math.sqrt(simulated / n)
    # More digits than a simulation has would differ from one processor to the next.
    return float(f"{shown:.3g}") if math.isfinite(shown) else None


def families_needed(sums: Floats, sizes: Floats, *, level: float, seed: int = 0) -> int | None:
    """Return the fewest families, to two digits, that would show the observed difference.

    Parameters and assumptions are those of :func:`smallest_difference`; null where it is, or where
    there is no difference.
    """
    sets = _draw_sets(sums, sizes, SIMULATED_FAMILIES, seed)
    total = abs(float(sums.sum()))
    if sets is None or total <= TOLERANCE * np.abs(sums).sum():
        return None
    wanted = total / float(sizes.sum())
    most = _shown(*sets, level=level, seed=seed)
    if math.isinf(most):
        return None
    guess = SIMULATED_FAMILIES * (most / wanted) ** 2
    if most > wanted:
        return _two_digits(guess)
    low, high = fewest_resolvable(level), SIMULATED_FAMILIES
    while _two_digits(low) != _two_digits(high):
        n = min(max(math.floor(guess), low), high - 1)
        shown = _shown(sets[0][:, :n], sets[1][:, :n], level=level, seed=seed)
        low, high = (low, n) if shown <= wanted else (n + 1, high)
        guess = n * (shown / wanted) ** 2 if math.isfinite(shown) else low
    return _two_digits(high)


def family_dependence(
    differences: Floats, families: NDArray[np.int_]
) -> tuple[float, float] | None:
    """Return the design effect and the intra-family correlation of paired differences.

    Parameters
    ----------
    differences, families
        (cases,): d_c, and the number of its family.

    Returns
    -------
    tuple of float or None
        How many times the variance of the mean difference exceeds that of independent cases, and
        the one-way ANOVA estimate of the correlation within a family; null where every case is its
        own family, where there is one family, or where all differences agree.
    """
    codes = np.unique(families, return_inverse=True)[1]
    sizes = np.bincount(codes).astype(np.float64)
    n, n_families = len(differences), len(sizes)
    mean = differences.mean() if n else 0.0
    spread = float(((differences - mean) ** 2).sum())
    if n_families in (n, 1) or spread <= (TOLERANCE * np.abs(differences).sum()) ** 2:
        return None
    sums = np.bincount(codes, weights=differences)
    squares = float(((sums - mean * sizes) ** 2).sum())
    effect = n_families / (n_families - 1) * squares / (n * spread / (n - 1))
    between = float((sizes * (sums / sizes - mean) ** 2).sum())
    between_mean, within_mean = between / (n_families - 1), (spread - between) / (n - n_families)
    typical = (n - float((sizes**2).sum()) / n) / (n_families - 1)
    correlation = (between_mean - within_mean) / (between_mean + (typical - 1) * within_mean)
    return effect, correlation


def _draw_sets(
    sums: Floats, sizes: Floats, n_families: int, seed: int
) -> tuple[Floats, Floats] | None:
    """Draw sets of families: (sets, families) of S_f and of n_f; null where all families agree."""
    n = sizes.sum()
    centred = sums - sums.sum() / n * sizes
    if len(sums) < 2 or np.abs(centred).max() <= TOLERANCE * np.abs(sums).sum():
        return None
    errors = centred / np.sqrt(1 - sizes / n)  # as spread as the CR2 variance is
    errors -= errors.sum() / n * sizes
    rng = np.random.default_rng([seed, n_families])
    drawn = rng.integers(0, len(sums), (SETS, n_families))
    df = bell_mccaffrey_df(sizes)
    scale = np.sqrt(df / rng.chisquare(df, (SETS, 1)))
    same = (sizes == sizes[0]).all()
    return errors[drawn] * scale, np.broadcast_to(sizes[0], drawn.shape) if same else sizes[drawn]


def _shown(sums: Floats, sizes: Floats, *, level: float, seed: int) -> float:
    """Return the shift that four of five sets show; infinite where too many never show any."""
    n_families = sums.shape[1]
    if level <= 0 or not resolvable(n_families, level):
        return math.inf
    if n_families <= FLIPPED_FAMILIES:
        low, high = _flipped_ends(sums, sizes, level=level, seed=seed)
    else:
        low, high = _beta_ends(sums, sizes, level=level)
    return float(np.quantile(np.concatenate([-low, high]), POWER, method="lower"))


def _flipped_ends(sums: Floats, sizes: Floats, *, level: float, seed: int) -> tuple[Floats, Floats]:
    """Return the ends of every set's flip interval, from its flips.

    A vector and its opposite make the same two halves, so the last family is never flipped.
    """
    n_families = sums.shape[1]
    n_vectors = min(_MAX_VECTORS, max(_MIN_VECTORS, math.ceil(2 / level)))
    exhaustive = 2 ** (n_families - 1) <= n_vectors
    if exhaustive:
        signs = np.append(
            subset_sums(np.eye(n_families - 1)), np.zeros((1, 2 ** (n_families - 1))), axis=0
        )
    else:
        blocks = sampled_blocks(n_families, seed, n_vectors=n_vectors)
        signs = np.ascontiguousarray(np.concatenate([bits.copy() for _, bits in blocks]).T)
    rank = rank_of_level(level, signs.shape[1], exhaustive=exhaustive)
    flipped = sums @ signs
    same = sizes.strides == (0, 0)
    flipped_sizes = sizes[:1, :1] * signs.sum(axis=0) if same else sizes @ signs
    flipped_sizes = np.broadcast_to(flipped_sizes, flipped.shape)
    total, n = sums.sum(axis=1)[:, None], sizes.sum(axis=1)[:, None]
    low, high = np.empty(len(sums)), np.empty(len(sums))
    for start in range(0, len(sums), _CHUNK):
        some = slice(start, start + _CHUNK)
        low[some], high[some] = _ranked_ends(
            flipped[some], flipped_sizes[some], total[some], n[some], rank=rank
        )
    return low, high


def _ranked_ends(
    flipped: Floats, flipped_sizes: Floats, total: Floats, n: Floats, *, rank: int
) -> tuple[Floats, Floats]:
    with np.errstate(divide="ignore", invalid="ignore"):
        halves = flipped / flipped_sizes, (total - flipped) / (n - flipped_sizes)
    one_sided = (flipped_sizes == 0) | (flipped_sizes == n)
    lower, upper = np.minimum(*halves), np.maximum(*halves)
    np.copyto(lower, -np.inf, where=one_sided)
    np.copyto(upper, np.inf, where=one_sided)
    last = upper.shape[1] - rank
    low = np.partition(lower, rank - 1, axis=1)[:, rank - 1]
    return low, np.partition(upper, last, axis=1)[:, last]


def _beta_ends(sums: Floats, sizes: Floats, *, level: float) -> tuple[Floats, Floats]:
    """Return the ends of every set's flip interval, its flips taken to be beta distributed.

    Pitman, "Significance tests which may be applied to samples from any populations" (1937):
    (sum s_f S_f)^2 / (F sum S_f^2) has mean 1 / F and second moment (3 - 2 K) / F^2 with
    K = sum S_f^4 / (sum S_f^2)^2. A shift of delta is at the end where that share stands at its
    quantile, which is a quadratic equation.
    """
    from scipy.special import betaincinv

    n_families = sums.shape[1]
    total, n = sums.sum(axis=1), sizes.sum(axis=1)
    squares = sums**2
    spread = squares.sum(axis=1)
    fourth = np.einsum("ij,ij->i", squares, squares)
    evenly = np.full(len(sums), 1 / n_families)
    kurtosis = np.divide(fourth, spread**2, out=evenly.copy(), where=spread > 0)
    kurtosis = np.clip(kurtosis, evenly, 0.99)
    mean, variance = 1 / n_families, (2 - 2 * kurtosis) / n_families**2
    weight = mean * (1 - mean) / variance - 1
    critical = n_families * betaincinv(mean * weight, (1 - mean) * weight, 1 - level)
    # (total - delta n)^2 = critical * sum (S_f - delta n_f)^2, solved for delta.
    a = n**2 - critical * np.einsum("ij,ij->i", sizes, sizes)
    b = total * n - critical * np.einsum("ij,ij->i", sums, sizes)
    c = total**2 - critical * spread
    root = np.sqrt(np.maximum(b**2 - a * c, 0.0))
    low = np.divide(b - root, a, out=np.full(len(sums), -np.inf), where=a > 0)
    high = np.divide(b + root, a, out=np.full(len(sums), np.inf), where=a > 0)
    return low, high


def _two_digits(count: float) -> int:
    return round(float(f"{count:.1e}")) if count >= 100 else math.ceil(count)
