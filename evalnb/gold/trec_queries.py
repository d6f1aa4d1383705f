"""Whole queries of a run as columns: how their rows rank, and what a reader has to be told."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from evalnb.gold.trec_columns import (
    DOCUMENT,
    QUERY,
    RANK,
    SCORE,
    Columns,
    Flags,
    Floats,
    Ints,
    Scattered,
    Unusual,
    Words,
    hash_texts,
    mix,
)
from evalnb.limits import ID_BYTES

if TYPE_CHECKING:
    from evalnb.gold.trec_scan import Scan


class Queries:
    """Whole queries of one chunk: their rows, and the order in which they rank."""

    def __init__(
        self,
        rows: Columns,
        starts: Ints,
        scan: Scan,
        judged: Mapping[str, Mapping[str, int]],
    ) -> None:
        self.rows, self.starts, self.scan, self.judged = rows, starts, scan, judged
        texts = rows.texts(QUERY, starts)
        self.ids = [text.decode() for text in texts]
        sizes = np.diff(np.append(starts, len(rows)))
        for query, size in zip(self.ids, sizes.tolist(), strict=True):
            if query.startswith("#"):
                raise Unusual  # a comment
            if query in scan.n_ranked:
                raise Scattered
            scan.n_ranked[query] = size
        self.sizes = sizes
        documents = rows.hashes(DOCUMENT, bound=ID_BYTES)
        self.pairs = documents ^ np.repeat(mix(hash_texts(texts)), sizes)
        self.order: Ints | None = None  # None is the order of the file
        self._ties: dict[int, list[bytes]] = {}

    def read_rows(self) -> None:
        """Check the rows, bring them into rank order and count what a reader is told."""
        if _repeats(self.pairs.astype(np.uint32)) and _repeats(self.pairs):
            raise Unusual  # all but certainly a document twice
        self._sort()
        self._count_ties()
        self._count_contradictions(self.rows.whole_numbers(RANK))

    def _sort(self) -> None:
        """Order the rows by score, up to ties; nearly every file is in that order already."""
        rises, self.equal = self.rows.steps(SCORE) or _steps(self.rows.decimals(SCORE))
        rises[self.starts[1:] - 1] = False
        if rises.any():
            scores = self.rows.decimals(SCORE)
            falling = np.argsort(-scores)
            place = self._place()[falling].astype(
                np.uint16 if len(self.ids) < 1 << 16 else np.int64
            )
            self.order = falling[np.argsort(place, kind="stable")]  # 16 bits take no comparisons
            _, self.equal = _steps(scores[self.order])
        self.equal[self.starts[1:] - 1] = False

    def _place(self) -> Ints:
        """Return the position of each row's query."""
        place: Ints = np.repeat(np.arange(len(self.starts)), self.sizes)
        return place

    def _count_ties(self) -> None:
        self.tied = np.append(self.equal, False)
        self.tied[1:] |= self.equal
        if self.tied.any():
            counts = np.add.reduceat(self.tied, self.starts, dtype=np.int64)
            self.scan.n_tied += int(counts[[query in self.judged for query in self.ids]].sum())

    def _count_contradictions(self, ranks: Words) -> None:
        """Count the rows that some row of a higher score does not precede by its rank."""
        if self.order is not None:
            ranks = ranks[self.order]
        rises = ranks[1:] > ranks[:-1]
        rises[self.starts[1:] - 1] = True
        if not rises.all():
            small = np.unique(ranks, return_inverse=True)[1]
            placed = small + (self._place() << 32)  # a later query's ranks are all higher
            lowest = np.maximum.accumulate(placed)
            above = self.first_equal - 1
            inside = above >= np.repeat(self.starts, self.sizes)
            self.scan.n_rank_contradictions += int((inside & (placed <= lowest[above])).sum())

    @cached_property
    def first_equal(self) -> Ints:
        """For each position, the first one that shares its score."""
        at = np.arange(len(self.rows))
        at[1:][self.equal] = 0
        first: Ints = np.maximum.accumulate(at)
        return first

    def find(self, rows: Ints) -> None:
        """Note the ranks of the judged documents, and of those that have their query's id."""
        at = rows
        if self.order is not None:
            position = np.empty_like(self.order)
            position[self.order] = np.arange(len(position))
            at = position[rows]
        places = np.searchsorted(self.starts, rows, side="right") - 1
        ranks = at - self.starts[places] + 1
        texts = self.rows.texts(DOCUMENT, rows)
        ties: dict[int, tuple[int, int]] = {}
        for n in np.flatnonzero(self.tied[at]).tolist():  # among equal scores by id, descending
            first = int(self.first_equal[at[n]])
            group = self._tie(first)
            ranks[n] += first - at[n] + group.index(texts[n])
            ties[n] = first - int(self.starts[places[n]]), len(group)
        for n, tie in ties.items():
            query, document = self.ids[places[n]], texts[n].decode()
            if document in self.judged.get(query, ()):
                self.scan.ties.setdefault(query, {})[document] = tie
        for place, rank, text in zip(places.tolist(), ranks.tolist(), texts, strict=True):
            query, document = self.ids[place], text.decode()
            if document in self.judged.get(query, ()):
                self.scan.found.setdefault(query, []).append((rank, document))
            if document == query and query in self.judged:
                self.scan.self_ranks[query] = rank

    def _tie(self, first: int) -> list[bytes]:
        """Return the documents that share the score at a position, in rank order."""
        if first not in self._ties:
            after = int(np.searchsorted(self.first_equal, first, side="right"))
            rows = np.arange(first, after) if self.order is None else self.order[first:after]
            self._ties[first] = sorted(self.rows.texts(DOCUMENT, rows), reverse=True)
        return self._ties[first]


def _repeats(hashes: Words | npt.NDArray[np.uint32]) -> bool:
    ordered = np.sort(hashes)
    return bool((ordered[1:] == ordered[:-1]).any())


def _steps(scores: Floats) -> tuple[Flags, Flags]:
    """Say where scores rise from row to row, and where they stay."""
    return scores[1:] > scores[:-1], scores[1:] == scores[:-1]
