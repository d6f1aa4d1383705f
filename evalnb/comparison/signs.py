"""Sign vectors over families, and what is left of the differences under each.

A paired difference is as likely to be +d as -d when nothing changed. A sign vector flips some
families and keeps the others, and the sums over the flipped ones are all that a test, an interval
or a multiplicity adjustment needs. Every hypothesis of a comparison
reads the same vectors, so one matrix product serves them all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EXHAUSTIVE_FAMILIES = 16
"""Up to this many families every sign vector is taken: 65,536 of them, and p is exact."""

SAMPLED_VECTORS = 10_000
"""Vectors drawn beyond that; the standard error of a p of .05 is then .002."""

TOLERANCE = 1e-10
"""Relative to the sum of |S_f|: sums closer than this are equal, whatever order they ran in."""

_BLOCK_BYTES = 32 << 20  # smaller blocks cost a matrix product more than they save in cache


@dataclass(frozen=True, slots=True)
class Flips:
    """The differences of every hypothesis, and what the sign vectors make of them.

    Attributes
    ----------
    sums, sizes
        (hypotheses, families): S_f, the sum of a family's differences, and n_f, its pairs; both 0
        where it has none.
    flipped_sums
        (hypotheses, vectors): sum of S_f over the families that a vector flips.
    distinct_sizes, which
        (kinds of sizes, vectors) and (hypotheses,): the same of n_f, once for all hypotheses over
        the same cases, and which of them a hypothesis has.
    exhaustive
        Whether the vectors are all there are, the unflipped one among them.
    """

    sums: Floats
    sizes: Floats
    flipped_sums: Floats
    distinct_sizes: Floats
    which: NDArray[np.int_]
    exhaustive: bool

    @property
    def n_vectors(self) -> int:
        """How many sign vectors there are."""
        return int(self.flipped_sums.shape[1])

    def flipped_sizes(self, row: int) -> Floats:
        """Return (vectors,): the pairs of the families that a vector flips, of one hypothesis."""
        return np.asarray(self.distinct_sizes[self.which[row]])


def flip_signs(sums: Floats, sizes: Floats, *, seed: int) -> Flips:
    """Apply the same sign vectors to every hypothesis.

    Parameters
    ----------
    sums, sizes
        (hypotheses, families). The columns are all the families of the request, sorted, so that a
        vector means the same everywhere.
    seed
        Of the sampled vectors; exhaustive ones need none.
    """
    distinct: dict[bytes, int] = {}
    which = np.array([distinct.setdefault(row.tobytes(), len(distinct)) for row in sizes])
    first = np.unique(which, return_index=True)[1]
    weights = np.concatenate([sums, sizes[first]])
    exhaustive = weights.shape[1] <= EXHAUSTIVE_FAMILIES
    products = subset_sums(weights) if exhaustive else _sampled_products(weights, seed)
    return Flips(sums, sizes, products[: len(sums)], products[len(sums) :], which, exhaustive)


def subset_sums(values: Floats) -> Floats:
    """Sum every subset of the last axis: (..., n) to (..., 2^n).

    Bit f of an index says whether value f is in. Each value doubles the sums there are, which costs
    two additions per sum where a matrix product costs n.

    >>> subset_sums(np.array([1.0, 2.0, 4.0])).tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    """
    n = values.shape[-1]
    sums = np.zeros((*values.shape[:-1], 2**n))
    for bit in range(n):
        half = 2**bit
        np.add(sums[..., :half], values[..., bit, None], out=sums[..., half : 2 * half])
    return sums


def _sampled_products(weights: Floats, seed: int) -> Floats:
    columns = np.ascontiguousarray(weights.T)
    products = np.empty((len(weights), SAMPLED_VECTORS))
    for start, bits in sampled_blocks(len(columns), seed):
        products[:, start : start + len(bits)] = (bits @ columns).T
    return products


def sampled_blocks(
    n_families: int, seed: int, *, n_vectors: int = SAMPLED_VECTORS
) -> Iterator[tuple[int, Floats]]:
    """Yield the sampled sign matrix in blocks of rows, each with the number of its first row.

    Bit ``f mod 64`` of word ``b * W + f div 64`` of ``PCG64(seed).random_raw`` is family f's sign
    in vector b, with W = ceil(families / 64). A block is overwritten by the next one.
    """
    words = -(-n_families // 64)
    rows_per_block = max(1, min(n_vectors, _BLOCK_BYTES // (8 * n_families)))
    generator = np.random.PCG64(seed)
    buffer = np.empty((rows_per_block, n_families))
    for start in range(0, n_vectors, rows_per_block):
        rows = min(rows_per_block, n_vectors - start)
        raw = generator.random_raw(rows * words).astype("<u8", copy=False)
        packed = raw.view(np.uint8).reshape(rows, 8 * words)
        bits = np.unpackbits(packed, axis=1, count=n_families, bitorder="little")
        np.copyto(buffer[:rows], bits)
        yield start, buffer[:rows]


def rank_of_level(level: float, n_vectors: int, *, exhaustive: bool) -> int:
    """Return j, the smallest count of vectors whose share exceeds a level.

    The unflipped vector is one of the exhaustive ones and is added to the sampled ones.

    >>> rank_of_level(0.05, 256, exhaustive=True), rank_of_level(0.05, 10_000, exhaustive=False)
    (13, 500)
    """
    if exhaustive:
        return math.floor(level * n_vectors) + 1
    return max(1, math.floor(level * (n_vectors + 1)))


def level_of_rank(rank: int, n_vectors: int, *, exhaustive: bool) -> float:
    """Return the level whose rank is j, the highest p that still counts as rejected."""
    return (rank - 1) / n_vectors if exhaustive else rank / (n_vectors + 1)


def share_of_vectors(count: int, n_vectors: int, *, exhaustive: bool) -> float:
    """Return the p-value of a count of vectors at least as extreme as the data."""
    return count / n_vectors if exhaustive else (count + 1) / (n_vectors + 1)
