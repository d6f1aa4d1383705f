"""Retained candidates laid out in arrays, so that another fusion costs milliseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalnb.search.fusion import (
    DEFAULT_CANDIDATES,
    DEFAULT_NORMALISATION,
    DEFAULT_RERANK_DEPTH,
    RRF_K,
    distinct,
    fuse,
    normalise,
)
from evalnb.search.request import Hints
from evalnb.search.result import Candidates

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
NEAR = 1e-12  # sums this close may be one sum, rounded in another order


@dataclass(frozen=True, slots=True)
class Settings:
    """What is replayed: channels, fusion, reranking and the cut."""

    channels: tuple[str, ...]
    hints: Hints
    rerank: bool
    limit: int

    @property
    def pool(self) -> int:
        """How many candidates a live run would ask each channel for."""
        return max(self.limit, self.hints.candidates or DEFAULT_CANDIDATES)

    @property
    def depth(self) -> int:
        """How many of the fused list would be reranked."""
        return self.hints.rerank_depth or DEFAULT_RERANK_DEPTH


class FusedLists:
    """The candidates of one variant, case by case, ready to be fused in any way.

    Sums are taken in arrays; where two of them are so close that their rounding could decide, the
    case is fused exactly, as a live search does.

    Parameters
    ----------
    found
        Candidates by channel name, one mapping a case.
    """

    def __init__(self, found: Sequence[Mapping[str, Candidates]]) -> None:
        self.lists = [{name: distinct(c) for name, c in lists.items()} for lists in found]
        self._channels = tuple(dict.fromkeys(name for lists in self.lists for name in lists))
        self._parts: dict[tuple[Any, ...], Floats] = {}  # what other weights need again

    def top(self, settings: Settings, wanted: int) -> Ints:
        """Return the fused list of each case as far as it is wanted, best first.

        Returns
        -------
        Ints
            Positions in :attr:`columns`, -1 where a list has ended; shape (cases, wanted).
        """
        found = np.full((len(self.lists), wanted), -1)
        if len(settings.channels) == 1:
            for row, lists in enumerate(self.lists):
                ids = lists.get(settings.channels[0], Candidates()).ids[: settings.pool]
                self.put(found, row, ids)
            return found
        scores = self._fused(settings)
        width = min(wanted + 1, scores.shape[1])
        top = np.argpartition(-scores, width - 1, axis=1)[:, :width]
        values = np.take_along_axis(scores, top, axis=1)
        order = np.lexsort((top, -values), axis=1)
        top = np.take_along_axis(top, order, axis=1)
        values = np.take_along_axis(values, order, axis=1)
        with np.errstate(invalid="ignore"):  # between two absent ids
            gaps = np.abs(np.diff(values, axis=1))
        close = (gaps <= NEAR * np.abs(values[:, :-1])) & np.isfinite(values[:, 1:])
        exactly = (gaps == 0) & close
        # Equal sums are in the order of their ids, unless the cut may divide them.
        doubtful = (close & ~exactly).any(axis=1)
        if width < scores.shape[1]:
            doubtful |= close[:, -1]
        within = min(width, wanted)
        found[:, :within] = np.where(values > -np.inf, top, -1)[:, :within]
        for row in np.flatnonzero(doubtful).tolist():
            self.put(found, row, self._exactly(row, settings))
        return found

    def put(self, found: Ints, row: int, ids: Sequence[str]) -> None:
        """Write a case's ids into its row of positions."""
        places = self._places[row]
        codes = [places[key] for key in ids[: found.shape[1]]]
        found[row] = -1
        found[row, : len(codes)] = codes

    def ids(self, row: int, codes: Ints) -> list[str]:
        """Read a row of positions."""
        names = self.columns[row]
        return [names[at] for at in codes.tolist() if at >= 0]

    def _exactly(self, row: int, settings: Settings) -> tuple[str, ...]:
        lists = {
            name: _first(self.lists[row][name], settings.pool)
            for name in settings.channels
            if name in self.lists[row]
        }
        return fuse(lists, settings.hints).ids

    @cached_property
    def columns(self) -> list[list[str]]:
        """The ids of each case, ascending."""
        return [sorted({key for c in lists.values() for key in c.ids}) for lists in self.lists]

    @cached_property
    def _places(self) -> list[dict[str, int]]:
        return [{key: at for at, key in enumerate(ids)} for ids in self.columns]

    @cached_property
    def _ranks(self) -> dict[str, Floats]:
        """The rank of each id of each case in each channel, (cases, ids); infinite if absent."""
        width = max(1, *map(len, self.columns))
        ranks = {name: np.full((len(self.lists), width), np.inf) for name in self._channels}
        for row, (place_of, lists) in enumerate(zip(self._places, self.lists, strict=True)):
            for name, found in lists.items():
                places = [place_of[key] for key in found.ids]
                ranks[name][row, places] = np.arange(1, len(places) + 1)
        return ranks

    def _fused(self, settings: Settings) -> Floats:
        """Return the fused score of each id of each case; lowest where no channel has it."""
        weights = settings.hints.weights or {}
        weighed = {name: weight for name in settings.channels if (weight := weights.get(name, 1.0))}
        total = self._absent((*weighed, settings.pool)).copy()
        for name, weight in weighed.items():
            total += weight * self._part(name, settings)
        return total

    def _part(self, name: str, settings: Settings) -> Floats:
        """Return what a channel adds at weight 1."""
        hints = settings.hints
        by_score = hints.fusion == "weighted"
        k = RRF_K if hints.rrf_k is None else hints.rrf_k
        key = (name, settings.pool, by_score, hints.normalisation if by_score else k)
        if (found := self._parts.get(key)) is None:
            found = (
                self._by_score(name, settings)
                if by_score
                else 1 / (k + self._within(name, settings.pool))
            )
            self._parts[key] = found
        return found

    def _absent(self, key: tuple[Any, ...]) -> Floats:
        """Return minus infinity where no channel of a choice has an id, else 0."""
        if (found := self._parts.get(key)) is None:
            *names, pool = key
            present = [np.isfinite(self._within(name, pool)) for name in names]
            found = self._parts[key] = np.where(np.any(present, axis=0), 0.0, -np.inf)
        return found

    def _within(self, name: str, pool: int) -> Floats:
        """Return a channel's ranks; infinite where an id is absent or below the pool."""
        ranks = self._ranks[name]
        return np.where(ranks <= pool, ranks, np.inf)

    def _by_score(self, name: str, settings: Settings) -> Floats:
        """Return a channel's normalised scores, with its lowest, or 0, where an id is absent."""
        method = settings.hints.normalisation or DEFAULT_NORMALISATION
        table = np.zeros_like(self._ranks[name])
        for row, lists in enumerate(self.lists):
            kept = _first(lists.get(name, Candidates()), settings.pool)
            if not kept.ids:
                continue
            if None in kept.scores or not kept.scores:
                fuse({name: kept}, settings.hints)  # says which score is missing
            values = normalise([float(s) for s in kept.scores if s is not None], method)
            table[row] = min(0.0, *values)
            ranks = self._ranks[name][row]
            inside = ranks <= settings.pool
            table[row, inside] = np.array(values)[ranks[inside].astype(int) - 1]
        return table


def _first(found: Candidates, n: int) -> Candidates:
    if len(found.ids) <= n:
        return found
    return Candidates.model_construct(ids=found.ids[:n], scores=found.scores[:n])
