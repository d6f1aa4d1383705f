"""Exact search over vectors: one pass over memory a query, restricted before anything is cut."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from evalnb.workspace.eligibility import Eligibility

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]

OWNERS = ("source", "document", "revision", "modality")
_BLOCKS_PER_WANTED = 8
_LENGTH_TOLERANCE = 1e-3


def save_array(path: Path, array: npt.NDArray[Any]) -> None:
    """Write an array; a full disk is said as every other write says it."""
    try:
        np.save(path, array, allow_pickle=False)
    except OSError as error:
        if error.errno is not None:
            raise
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from error


def create_matrix(
    path: Path, shape: tuple[int, int]
) -> np.memmap[tuple[int, ...], np.dtype[np.float32]]:
    """Map a new matrix whose place on the disk is taken: a full one would kill the process."""
    matrix = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
    if hasattr(os, "posix_fallocate") and matrix.size:
        with path.open("r+b") as file:
            try:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(path)) from error
    return matrix


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors of length 1, and which one each unit has.

    Attributes
    ----------
    matrix
        Shape (dimensions, vectors): a query then runs along whole rows, near the speed of memory,
        where one vector a row would take twice as long.
    columns
        The vector of each unit. Units whose vectors are equal share one, so that their scores are
        equal to the last bit.
    """

    matrix: Floats
    columns: Ints

    def check(self, n_units: int, dimensions: int) -> None:
        """Refuse parts that do not fit, and vectors that are not of length 1 or 0.

        Raises
        ------
        ValueError
            With the first thing that is wrong.
        """
        kind, shape = self.matrix.dtype, self.matrix.shape
        if kind != np.float32 or shape[:-1] != (dimensions,):
            raise ValueError(
                f"the vectors are {kind} of shape {shape}, not {dimensions} of float32"
            )
        if self.columns.shape != (n_units,) or (
            n_units and not 0 <= self.columns.min() <= self.columns.max() < shape[1]
        ):
            raise ValueError("the units do not fit the vectors")
        lengths = np.einsum("ij,ij->j", self.matrix, self.matrix)
        if not np.isfinite(lengths).all():
            raise ValueError("the vectors hold NaN or infinity")
        if (np.abs(lengths[lengths != 0] - 1) > _LENGTH_TOLERANCE).any():
            raise ValueError("the vectors are not of length 1")

    def scores(self, query: Floats) -> Floats:
        """Return the cosine of every unit with a query of length 1."""
        scores: Floats = query @ self.matrix
        if len(self.columns) == len(scores):  # then each unit has its own, in order
            return scores
        return scores[self.columns]


@dataclass(frozen=True, slots=True)
class Owners:
    """What each unit belongs to: codes of shape (4, units), and the codes' values."""

    codes: Ints
    values: tuple[dict[str, int], ...]

    def admitted(self, eligible: Eligibility) -> Mask | None:
        """Return which units may be returned; None if all may."""
        rules = [(field, allowed, True) for field, allowed in eligible.filters.items()]
        if eligible.lapsed:
            rules.append(("revision", eligible.lapsed, False))
        if not rules:
            return None
        admitted = np.ones(self.codes.shape[1], dtype=np.bool_)
        for field, named, admits in rules:
            place = OWNERS.index(field)
            known = self.values[place]
            table = np.full(len(known), not admits)
            table[[known[value] for value in named if value in known]] = admits
            admitted &= table[self.codes[place]]
        return admitted


def best_places(
    scores: Floats, limit: int, *, admitted: Mask | None = None
) -> npt.NDArray[np.intp]:
    """Return the places of the highest scores, best first; equal ones in the order of places.

    Parameters
    ----------
    scores
        One finite score a place.
    admitted
        Which places count; all unless given.

    Examples
    --------
    >>> best_places(np.array([0.1, 0.9, 0.5, 0.9], dtype=np.float32), 3)
    array([1, 3, 2])
    """
    if admitted is not None:
        scores = np.where(admitted, scores, np.float32(-np.inf))
    near = np.flatnonzero(scores >= _low_bound(scores, limit))
    order = np.argsort(-scores[near], kind="stable")[:limit]
    return near[order]


def _low_bound(scores: Floats, limit: int) -> np.float32:
    """Return a finite number that at least ``limit`` scores reach, where so many are finite.

    The ``limit``-th best of the maxima of many blocks is one: each block holds one such score.
    """
    lowest = np.finfo(np.float32).min
    size = len(scores) // (_BLOCKS_PER_WANTED * limit)
    if size < 2:
        return lowest
    blocks = scores[: len(scores) // size * size].reshape(-1, size)
    maxima = blocks.max(axis=1)
    return max(lowest, np.partition(maxima, -limit)[-limit])
