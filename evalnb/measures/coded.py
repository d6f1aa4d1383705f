"""Ranking measures of many rankings at once, over arrays; any list of them in one pass.

The same numbers as :mod:`evalnb.measures.ranking`, whose functions say what each measure means, to
the last bit: sums run in the order of the ranks. A ranking is known by its judged positions only,
so what a measure costs grows with them, not with the depth of the rankings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalnb.measures.judgements import Judgements
from evalnb.measures.names import Dcg, Measure
from evalnb.measures.ranking import (
    NO_GOLD,
    NOT_ENUMERATED,
    NOTHING_MATCHES,
    NOTHING_RETURNED,
    Placed,
    Score,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

UNDEFINED = (NO_GOLD, NOTHING_MATCHES, NOT_ENUMERATED, NOTHING_RETURNED)
_OK, _NO_GOLD, _NOTHING_MATCHES, _NOT_ENUMERATED, _NOTHING_RETURNED = range(-1, 4)
_LOG2 = np.array([log2(rank + 1) for rank in range(1024)])


class CodedGold:
    """Judgements of many cases: one entry for each judged id, case by case.

    Every expected id has a grade, as :func:`~evalnb.measures.judgements.judgements` sees to.

    Attributes
    ----------
    starts
        The first entry of each case, and the end of the last; shape (cases + 1,).
    grades, declared
        The grade of each entry, and whether it may be a target; see
        :class:`~evalnb.measures.ranking.Placed`.
    content, enumerated
        As in :class:`~evalnb.measures.judgements.Judgements`, of each case.
    """

    def __init__(self, judged: Sequence[Judgements]) -> None:
        sizes = [len(each.grades) for each in judged]
        self.starts: Ints = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        n = int(self.starts[-1])
        grades = chain.from_iterable(each.grades.values() for each in judged)
        self.grades: Ints = np.fromiter(grades, np.int64, n)
        self.declared: Flags = np.ones(n, np.bool_)
        for at, each in enumerate(judged):
            if each.expected:
                flags = [key in each.expected for key in each.grades]
                self.declared[self.starts[at] : self.starts[at + 1]] = flags
        self.content: Flags = np.array([each.content for each in judged], np.bool_)
        self.enumerated: Flags = np.array([each.enumerated for each in judged], np.bool_)
        self._case: Ints = np.repeat(np.arange(len(sizes)), sizes)

    def __len__(self) -> int:
        """Count the cases."""
        return len(self.starts) - 1

    @property
    def n_judged(self) -> Ints:
        """How many ids are judged; shape (cases,)."""
        return np.diff(self.starts)

    def n_graded(self, low: int, high: int | None = None, *, targets: bool = False) -> Ints:
        """Count the ids, or targets only, graded at least ``low`` and below ``high``."""
        wanted = self.grades >= low
        if high is not None:
            wanted &= self.grades < high
        if targets:
            wanted &= self.declared
        return np.bincount(self._case[wanted], minlength=len(self))

    @cached_property
    def _best(self) -> tuple[Ints, Ints, Ints]:
        """The cases, ranks and grades of all gains in the best possible order."""
        gains = self.grades > 0
        case, grades = self._case[gains], self.grades[gains]
        order = np.lexsort((-grades, case))
        return case, _places(case), grades[order]

    def ideal(self, dcg: Dcg, k: int | None) -> Floats:
        """Return the discounted gain of the best possible order; shape (cases,)."""
        case, ranks, grades = self._best
        if k is not None:
            case, ranks, grades = (column[ranks <= k] for column in (case, ranks, grades))
        return _summed(case, _discounted(dcg, ranks, grades), len(self))


class CodedScores(NamedTuple):
    """One measure of many rankings.

    Attributes
    ----------
    values, numerators, denominators
        NaN where it is undefined; shape (rankings,).
    why
        Why it is undefined, as a position in ``UNDEFINED``; -1 where it is not.
    """

    values: Floats
    numerators: Floats
    denominators: Floats
    why: NDArray[np.int8]

    def scores(self) -> list[Score]:
        """Return one score for each ranking."""
        columns = (column.tolist() for column in self)
        return [
            UNDEFINED[why] if why >= 0 else Score(value, numerator, denominator)
            for value, numerator, denominator, why in zip(*columns, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class CodedRankings:
    """Rankings of any variants, repetitions and cases, by what was judged.

    Attributes
    ----------
    gold
        The judgements of all cases.
    case
        The case of each ranking; shape (rankings,).
    n_ranked
        How many distinct ids each ranking holds; shape (rankings,).
    row, ranks, grades, declared
        Of each judged position its ranking, rank, grade, and whether it may be a target; shape
        (judged,). Rankings ascend, and within one the ranks.
    """

    gold: CodedGold
    case: Ints
    n_ranked: Ints
    row: Ints
    ranks: Ints
    grades: Ints
    declared: Flags

    @classmethod
    def at_entries(
        cls, gold: CodedGold, case: Ints, *, n_ranked: Ints, row: Ints, ranks: Ints, entries: Ints
    ) -> CodedRankings:
        """Look up what the gold says of each judged position, given its entry there."""
        grades, declared = gold.grades[entries], gold.declared[entries]
        return cls(gold, case, n_ranked, row, ranks, grades, declared)

    def score(self, measure: Measure, k: int | None) -> CodedScores:
        """Score every ranking by one ranking measure, at a cutoff already decided."""
        return _MEASURES[measure.name](self, measure, k)

    def graded(self, k: int | None, level: int, *, targets: bool = True) -> Flags:
        """Say which positions down to the cutoff are graded so, or are targets as well."""
        wanted = self.grades >= level
        if k is not None:
            wanted &= self.ranks <= k
        return wanted & self.declared if targets else wanted

    def count(self, positions: Flags) -> Ints:
        """Count positions in each ranking."""
        return np.bincount(self.row[positions], minlength=len(self.case))

    def sum(self, positions: Flags, terms: Floats) -> Floats:
        """Sum one term a position over each ranking, in the order of the ranks."""
        return _summed(self.row[positions], terms, len(self.case))

    def divided(
        self, numerators: Ints | Floats, denominators: Ints | Floats, found: Ints | Floats
    ) -> CodedScores:
        """Divide where a case's gold has something to find, and all its ids are known."""
        gold = self.gold
        why = np.where(gold.content, _NOTHING_MATCHES, _NO_GOLD).astype(np.int8)
        why[found > 0] = _OK
        why[~gold.enumerated] = _NOT_ENUMERATED
        return _divided(numerators, denominators, why[self.case])


def code_rankings(gold: CodedGold, placed: Sequence[Placed]) -> CodedRankings:
    """Lay out one ranking for each case of the gold."""
    sizes = [len(each.ranks) for each in placed]
    n, case = sum(sizes), np.arange(len(placed))
    flat = chain.from_iterable
    return CodedRankings(
        gold,
        case,
        np.array([each.n_ranked for each in placed], np.int64),
        np.repeat(case, sizes),
        np.fromiter(flat(each.ranks for each in placed), np.int64, n),
        np.fromiter(flat(each.grades for each in placed), np.int64, n),
        np.fromiter(flat(each.declared for each in placed), np.bool_, n),
    )


def _recall(found: CodedRankings, measure: Measure, k: int | None) -> CodedScores:
    n = found.gold.n_graded(measure.rel, targets=True)
    return found.divided(found.count(found.graded(k, measure.rel)), n[found.case], n)


def _precision(found: CodedRankings, measure: Measure, k: int | None) -> CodedScores:
    hits = found.count(found.graded(k, measure.rel, targets=False))
    n = np.maximum(found.n_ranked, 1) if k is None else np.full_like(found.n_ranked, k)
    return found.divided(hits, n, found.gold.n_graded(measure.rel))


def _reciprocal_rank(found: CodedRankings, measure: Measure, k: int | None) -> CodedScores:
    row, ranks = (column[found.graded(k, measure.rel)] for column in (found.row, found.ranks))
    first = np.ones(len(row), np.bool_)
    first[1:] = row[1:] != row[:-1]
    inverse = np.zeros(len(found.case))
    inverse[row[first]] = 1.0 / ranks[first]
    return _one_found(found, measure, inverse)


def _success(found: CodedRankings, measure: Measure, k: int | None) -> CodedScores:
    hits = found.count(found.graded(k, measure.rel)) > 0
    return _one_found(found, measure, hits.astype(np.float64))


def _one_found(found: CodedRankings, measure: Measure, values: Floats) -> CodedScores:
    """Score what one relevant id decides: a phrase that matches nowhere is a miss."""
    gold = found.gold
    defined = gold.n_graded(measure.rel, targets=True) > 0
    if measure.rel == 1:
        defined |= gold.content
    why = np.where(defined, _OK, _NO_GOLD).astype(np.int8)
    return _divided(values, np.ones_like(values), why[found.case])


def _average_precision(found: CodedRankings, measure: Measure, k: int | None) -> CodedScores:
    n, hits = found.gold.n_graded(measure.rel, targets=True), found.graded(k, measure.rel)
    precisions = _places(found.row[hits]) / found.ranks[hits]
    return found.divided(found.sum(hits, precisions), n[found.case], n)


def _ndcg(found: CodedRankings, measure: Measure, k: int | None) -> CodedScores:
    ideal = found.gold.ideal(measure.dcg, k)
    gains = found.graded(k, 1, targets=False)
    terms = _discounted(measure.dcg, found.ranks[gains], found.grades[gains])
    scores = found.divided(found.sum(gains, terms), ideal[found.case], ideal)
    return scores._replace(values=np.minimum(scores.values, 1.0))


def _judged_share(found: CodedRankings, _: Measure, k: int | None) -> CodedScores:
    inside = np.ones(len(found.row), np.bool_) if k is None else found.ranks <= k
    n = found.n_ranked if k is None else np.minimum(found.n_ranked, k)
    scores = found.divided(found.count(inside), np.maximum(n, 1), found.gold.n_judged)
    why = np.where((scores.why == _OK) & (n == 0), _NOTHING_RETURNED, scores.why).astype(np.int8)
    return _divided(scores.numerators, scores.denominators, why)


def _r_precision(found: CodedRankings, measure: Measure, _: int | None) -> CodedScores:
    n = found.gold.n_graded(measure.rel, targets=True)
    hits = found.graded(None, measure.rel) & (found.ranks <= n[found.case][found.row])
    return found.divided(found.count(hits), n[found.case], n)


def _bpref(found: CodedRankings, measure: Measure, _: int | None) -> CodedScores:
    gold, level = found.gold, measure.rel
    n, n_other = gold.n_graded(level, targets=True), gold.n_graded(0, level)
    others = (found.grades >= 0) & (found.grades < level)
    before: Ints = np.cumsum(others) - others
    before -= before[_starts(found.row)]
    hits = found.graded(None, level)
    case = found.case[found.row[hits]]
    most = np.maximum(np.minimum(n_other, n), 1)[case]
    terms = 1.0 - np.minimum(before[hits], n[case]) / most
    return found.divided(found.sum(hits, terms), n[found.case], n)


_MEASURES: dict[str, Callable[[CodedRankings, Measure, int | None], CodedScores]] = {
    "R": _recall,
    "P": _precision,
    "RR": _reciprocal_rank,
    "Success": _success,
    "AP": _average_precision,
    "nDCG": _ndcg,
    "Judged": _judged_share,
    "Rprec": _r_precision,
    "Bpref": _bpref,
}


def _divided(
    numerators: Ints | Floats, denominators: Ints | Floats, why: NDArray[np.int8]
) -> CodedScores:
    defined = why == _OK
    above, below = (np.where(defined, part, np.nan) for part in (numerators, denominators))
    return CodedScores(above / below, above, below, why)


def _summed(groups: Ints, terms: Floats, n: int) -> Floats:
    return np.bincount(groups, terms, minlength=n).astype(np.float64, copy=False)


def _starts(groups: Ints) -> Ints:
    """Return for each position where its run of equal groups, which ascend, begins."""
    sizes = np.bincount(groups)
    return np.repeat(np.cumsum(sizes) - sizes, sizes)


def _places(groups: Ints) -> Ints:
    """Count 1, 2, 3 ... within each run of equal groups, which ascend."""
    return np.arange(1, len(groups) + 1) - _starts(groups)


def _discounted(dcg: Dcg, ranks: Ints, grades: Ints) -> Floats:
    gains = grades.astype(np.float64) if dcg == "log2" else np.ldexp(1.0, grades) - 1.0
    shallow = int(ranks.max(initial=0)) < len(_LOG2)
    discounts: Floats = _LOG2[ranks] if shallow else np.log2(ranks + 1.0)
    return gains / discounts
