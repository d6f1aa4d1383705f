"""What a gold set can resolve: the smallest difference it would show, and how many families more.

Information beside a verdict, never a verdict.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

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

_FULL_ROWS, _FEWEST_SETS = 32, 100

SIMULATED_FAMILIES = 400
"""Beyond these the resolved difference shrinks with the root of the number of families."""

FLIPPED_FAMILIES = 32
"""Up to these a simulated set is flipped; beyond, a beta distribution differs by under 2 %."""

_MIN_VECTORS, _MAX_VECTORS = 1_000, 10_000
_CHUNK = 25  # sets at a time, so that their flips stay in cache
Singles = NDArray[np.float32]


class Resolution:
    """What sets of families like the observed ones would show.

    Families are drawn with replacement from the observed ones without their mean difference, and
    each set is scaled by sqrt(df / chi2) for what so few families leave unknown of their spread. A
    shift that all cases share is assumed; a change in a few cases needs more families.

    Parameters
    ----------
    sums, sizes
        (families,): S_f and n_f of the families that have pairs.
    level
        Error rate at which a difference has to show.
    seed
        Of the simulated sets and of their sign vectors.
    n_sets
        How many sets are simulated; see :func:`sets_for`.
    """

    def __init__(
        self, sums: Floats, sizes: Floats, *, level: float, seed: int = 0, n_sets: int = SETS
    ) -> None:
        self.sums, self.sizes, self.level, self.seed = sums, sizes, level, seed
        self.n_sets = n_sets
        self._errors = _centred_errors(sums, sizes)
        self._drawn = np.empty((0, n_sets), dtype=np.int_)
        self._found: dict[int, float] = {}

    def smallest_difference(self, n_families: int | None = None) -> float | None:
        """Return the difference that would show in four of five sets.

        Parameters
        ----------
        n_families
            Families of a set; as many as observed unless given.

        Returns
        -------
        float or None
            Null where the families agree, so that their spread is unknown, or are too few to show
            any difference at this level.
        """
        n = len(self.sums) if n_families is None else n_families
        simulated = min(n, SIMULATED_FAMILIES)
        shown = self._shown(simulated) * math.sqrt(simulated / n)
        # More digits than a simulation has would differ from one processor to the next.
        return float(f"{shown:.3g}") if math.isfinite(shown) else None

    def families_needed(self) -> int | None:
        """Return the fewest families, to two digits, that would show the observed difference.

        Null where no number of families is known to, or where there is no difference.
        """
        total = abs(float(self.sums.sum()))
        most = self._shown(SIMULATED_FAMILIES)
        if total <= TOLERANCE * np.abs(self.sums).sum() or math.isinf(most):
            return None
        wanted = total / float(self.sizes.sum())
        guess = SIMULATED_FAMILIES * (most / wanted) ** 2
        if most > wanted:
            return _two_digits(guess)
        low, high = fewest_resolvable(self.level), SIMULATED_FAMILIES
        while _two_digits(low) != _two_digits(high):
            n = min(max(math.floor(guess), low), high - 1)
            shown = self._shown(n)
            low, high = (low, n) if shown <= wanted else (n + 1, high)
            guess = n * (shown / wanted) ** 2 if math.isfinite(shown) else low
        return _two_digits(high)

    def _shown(self, n_families: int) -> float:
        """Return the shift that four of five sets show; infinite where too many show none."""
        if self._errors is None or self.level <= 0 or not resolvable(n_families, self.level):
            return math.inf
        if n_families not in self._found:
            self._found[n_families] = self._simulate(self._errors, n_families)
        return self._found[n_families]

    def _simulate(self, errors: Floats, n_families: int) -> float:
        rng = np.random.default_rng(self.seed)
        df = bell_mccaffrey_df(self.sizes)
        scale = np.sqrt(df / rng.chisquare(df, self.n_sets))
        # A larger set begins with the families of a smaller one.
        if len(self._drawn) < n_families:
            self._drawn = rng.integers(0, len(errors), (n_families, self.n_sets))
        drawn = self._drawn[:n_families]
        same = (self.sizes == self.sizes[0]).all()
        sizes = np.broadcast_to(self.sizes[0], drawn.shape) if same else self.sizes[drawn]
        if n_families <= FLIPPED_FAMILIES:
            low, high = _flipped_ends(errors[drawn], sizes, level=self.level, seed=self.seed)
        else:
            low, high = _beta_ends(errors[drawn], sizes, level=self.level)
        ends = np.concatenate([-scale * low, scale * high])
        return float(np.quantile(ends, POWER, method="lower"))


def sets_for(n_rows: int) -> int:
    """Return how many sets to simulate for each of so many rows.

    Past 32 rows fewer, so that hundreds of variants are resolved in the time of 32: 100 sets leave
    a resolved difference uncertain by some 6 %.
    """
    return max(_FEWEST_SETS, min(SETS, SETS * _FULL_ROWS // max(n_rows, 1)))


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


def _centred_errors(sums: Floats, sizes: Floats) -> Floats | None:
    """Return what the families differ by beyond their mean, as spread as the CR2 variance is.

    Null where they all agree.
    """
    n = sizes.sum()
    centred = sums - sums.sum() / n * sizes
    if len(sums) < 2 or np.abs(centred).max() <= TOLERANCE * np.abs(sums).sum():
        return None
    errors = centred / np.sqrt(1 - sizes / n)
    return np.asarray(errors - errors.sum() / n * sizes)


def _flipped_ends(sums: Floats, sizes: Floats, *, level: float, seed: int) -> tuple[Floats, Floats]:
    """Return the ends of every set's flip interval, from its flips.

    A vector and its opposite make the same two halves, so the last family is never flipped. Single
    precision: what it loses is far below what a simulation leaves open.
    """
    n_families, n_sets = sums.shape
    n_vectors = min(_MAX_VECTORS, max(_MIN_VECTORS, math.ceil(2 / level)))
    signs = _signs(n_families, n_vectors, seed)
    # Vectors that flip all or nothing bound nothing: they come first on both sides.
    rank = rank_of_level(level, signs.n_vectors, exhaustive=signs.exhaustive)
    rank -= signs.n_vectors - signs.bits.shape[1]
    if rank < 1:
        return np.full(n_sets, -np.inf), np.full(n_sets, np.inf)
    drawn, cases = (x.T.astype(np.float32) for x in (sums, sizes))
    flipped, flipped_sizes = drawn @ signs.bits, cases @ signs.bits
    total, n = drawn.sum(axis=1, keepdims=True), cases.sum(axis=1, keepdims=True)
    low, high = np.empty(n_sets), np.empty(n_sets)
    for start in range(0, n_sets, _CHUNK):
        some = slice(start, start + _CHUNK)
        low[some], high[some] = _ranked_ends(
            flipped[some], flipped_sizes[some], total[some], n[some], rank=rank
        )
    return low, high


class _Signs(NamedTuple):
    """Sign vectors: ``bits`` is (families, vectors) of those that divide the families in two."""

    bits: Singles
    n_vectors: int
    exhaustive: bool


@lru_cache(maxsize=8)  # the rows of a comparison share them
def _signs(n_families: int, n_vectors: int, seed: int) -> _Signs:
    exhaustive = 2 ** (n_families - 1) <= n_vectors
    if exhaustive:
        signs = subset_sums(np.eye(n_families, n_families - 1)).T
    else:
        blocks = sampled_blocks(n_families, seed, n_vectors=n_vectors)
        signs = np.concatenate([bits.copy() for _, bits in blocks])
    flips = signs.sum(axis=1)
    split = (flips > 0) & (flips < n_families)
    bits = np.ascontiguousarray(signs[split].T, dtype=np.float32)
    return _Signs(bits, len(signs), exhaustive)


def _ranked_ends(
    flipped: Singles, flipped_sizes: Singles, total: Singles, n: Singles, *, rank: int
) -> tuple[Singles, Singles]:
    halves = flipped / flipped_sizes, (total - flipped) / (n - flipped_sizes)
    lower, upper = np.minimum(*halves), np.maximum(*halves)
    last = upper.shape[1] - rank
    lower.partition(rank - 1, axis=1)
    upper.partition(last, axis=1)
    return lower[:, rank - 1], upper[:, last]


def _beta_ends(sums: Floats, sizes: Floats, *, level: float) -> tuple[Floats, Floats]:
    """Return the ends of every set's flip interval, its flips taken to be beta distributed.

    Pitman, "Significance tests which may be applied to samples from any populations" (1937):
    (sum s_f S_f)^2 / (F sum S_f^2) has mean 1 / F and second moment (3 - 2 K) / F^2 with
    K = sum S_f^4 / (sum S_f^2)^2. A shift of delta is at the end where that share stands at its
    quantile, which is a quadratic equation.
    """
    from scipy.special import betaincinv

    n_families, n_sets = sums.shape
    total, n = sums.sum(axis=0), sizes.sum(axis=0)
    squares = sums**2
    spread = squares.sum(axis=0)
    fourth = np.einsum("fs,fs->s", squares, squares)
    evenly = np.full(n_sets, 1 / n_families)
    kurtosis = np.divide(fourth, spread**2, out=evenly.copy(), where=spread > 0)
    kurtosis = np.clip(kurtosis, evenly, 0.99)
    mean, variance = 1 / n_families, (2 - 2 * kurtosis) / n_families**2
    weight = mean * (1 - mean) / variance - 1
    critical = n_families * betaincinv(mean * weight, (1 - mean) * weight, 1 - level)
    # (total - delta n)^2 = critical * sum (S_f - delta n_f)^2, solved for delta.
    a = n**2 - critical * np.einsum("fs,fs->s", sizes, sizes)
    b = total * n - critical * np.einsum("fs,fs->s", sums, sizes)
    c = total**2 - critical * spread
    root = np.sqrt(np.maximum(b**2 - a * c, 0.0))
    low = np.divide(b - root, a, out=np.full(n_sets, -np.inf), where=a > 0)
    high = np.divide(b + root, a, out=np.full(n_sets, np.inf), where=a > 0)
    return low, high


def _two_digits(count: float) -> int:
    return round(float(f"{count:.1e}")) if count >= 100 else math.ceil(count)
