"""What a measure could be, and is on average, over the orders of results with equal scores.

Equal scores say nothing of the order, so a figure may owe something to how ids are spelt. Worst and
best are over every order of each tied group; expected is the mean over all of them, each as likely,
and exact. Reference: McSherry and Najork, Computing information retrieval performance measures
efficiently in the presence of tied scores, 2008.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import comb, fsum
from typing import NamedTuple

from evalnb.measures.judgements import Judgements, discounted_gain
from evalnb.measures.names import Measure
from evalnb.measures.ranking import Placed, score_ranking


class Spread(NamedTuple):
    """One measure over all orders of tied results; null where it is undefined."""

    worst: float | None
    expected: float | None
    best: float | None


class Tie(NamedTuple):
    """The tied group of a position: how many stand above it, and how many are in it."""

    above: int
    size: int


@dataclass(frozen=True, slots=True)
class _Group:
    """One tied group: the (grade, may be a target) of what is judged in it."""

    tie: Tie
    members: tuple[tuple[int, bool], ...]

    def inside(self, k: int | None) -> int:
        """Count the positions down to the cutoff."""
        above, size = self.tie
        return size if k is None else max(0, min(k - above, size))

    def targets(self, level: int) -> int:
        return sum(grade >= level and declared for grade, declared in self.members)


def tied_groups(scores: Iterable[float | None]) -> list[Tie]:
    """Return the group of each position, from the scores in rank order; no score ties with none.

    >>> tied_groups([3.0, 2.0, 2.0, None])
    [Tie(above=0, size=1), Tie(above=1, size=2), Tie(above=1, size=2), Tie(above=3, size=1)]
    """
    found: list[Tie] = []
    keys = (n if score is None else (score,) for n, score in enumerate(scores))
    for _, group in groupby(keys):
        size = len(list(group))
        found += [Tie(len(found), size)] * size
    return found


def score_ties(
    measure: Measure, placed: Placed, ties: Sequence[Tie], judged: Judgements, k: int | None
) -> Spread:
    """Score a ranking over all orders of its tied results.

    Parameters
    ----------
    measure, placed, judged, k
        As for :func:`~evalnb.measures.ranking.score_ranking`.
    ties
        The tied group of each judged position.

    Examples
    --------
    >>> from evalnb.measures.ranking import place
    >>> judged = Judgements({"a": 1})
    >>> placed = place(["c", "b", "a"], judged)
    >>> spread = score_ties(Measure("RR"), placed, [Tie(0, 3)], judged, None)
    >>> [round(value, 6) for value in spread]
    [0.333333, 0.611111, 1.0]
    """
    score = score_ranking(measure, placed, judged, k)
    if score.value is None or not score.denominator or all(tie.size == 1 for tie in ties):
        return Spread(score.value, score.value, score.value)
    rows = zip(ties, placed.grades, placed.declared, strict=True)
    groups = [
        _Group(tie, tuple((grade, declared) for _, grade, declared in members))
        for tie, members in groupby(rows, key=lambda row: row[0])
    ]
    ends = (
        score_ranking(measure, _arranged(measure, placed.n_ranked, groups, best), judged, k).value
        for best in (False, True)
    )
    worst, best = ends
    expected = _EXPECTED[measure.name](measure, groups, judged, k) / score.denominator
    return Spread(worst, min(1.0, expected), best)


def mean_spread(spreads: Iterable[Spread]) -> Spread:
    """Average worst, expected and best values over the rankings where they are defined."""
    known = [spread for spread in spreads if spread.best is not None]
    columns = zip(*known, strict=True) if known else ((), (), ())
    return Spread(*(fsum(column) / len(known) if known else None for column in columns))


def _arranged(measure: Measure, n_ranked: int, groups: Sequence[_Group], best: bool) -> Placed:
    """Put what the measure counts first in each group, or last."""
    ranks: list[int] = []
    rows: list[tuple[int, bool]] = []
    for group in groups:
        above, size = group.tie
        members = sorted(group.members, key=lambda row: _worth(measure, *row), reverse=best)
        first = above if best else above + size - len(members)
        ranks += range(first + 1, first + 1 + len(members))
        rows += members
    return Placed(n_ranked, ranks, [grade for grade, _ in rows], [target for _, target in rows])


def _worth(measure: Measure, grade: int, declared: bool) -> int:
    """Say what a judged result adds to the measure, to order results by."""
    if measure.name == "Judged":
        return 1
    if measure.name == "nDCG":
        return max(grade, 0)
    return int(grade >= measure.rel and (declared or measure.name == "P"))


# Each of these returns the expected numerator. The denominator is the same for every order.


def _counted(groups: Sequence[_Group], counts: Iterator[int], k: int | None) -> float:
    """Each member is as likely at any position of its group."""
    return sum(n * g.inside(k) / g.tie.size for g, n in zip(groups, counts, strict=True))


def _targets(measure: Measure, groups: Sequence[_Group], _: Judgements, k: int | None) -> float:
    return _counted(groups, (g.targets(measure.rel) for g in groups), k)


def _graded(measure: Measure, groups: Sequence[_Group], _: Judgements, k: int | None) -> float:
    counts = (sum(grade >= measure.rel for grade, _ in g.members) for g in groups)
    return _counted(groups, counts, k)


def _judged(_: Measure, groups: Sequence[_Group], __: Judgements, k: int | None) -> float:
    return _counted(groups, (len(g.members) for g in groups), k)


def _r_precision(
    measure: Measure, groups: Sequence[_Group], judged: Judgements, _: int | None
) -> float:
    return _targets(measure, groups, judged, len(judged.targets(measure.rel)))


def _success(measure: Measure, groups: Sequence[_Group], _: Judgements, k: int | None) -> float:
    """Only the first group with targets matters: those after it begin past the cutoff, or late."""
    for group in groups:
        if n := group.targets(measure.rel):
            size, inside = group.tie.size, group.inside(k)
            return 1.0 - comb(size - n, inside) / comb(size, inside)
    return 0.0


def _reciprocal_rank(
    measure: Measure, groups: Sequence[_Group], _: Judgements, k: int | None
) -> float:
    """Sum 1 / rank over the positions where the first target of the first such group may stand."""
    for group in groups:
        if n := group.targets(measure.rel):
            (above, size), total = group.tie, 0.0
            chance = n / size
            for place in range(1, min(group.inside(k), size - n + 1) + 1):
                total += chance / (above + place)
                if place < size:
                    chance *= (size - place - n + 1) / (size - place)
            return total
    return 0.0


def _average_precision(
    measure: Measure, groups: Sequence[_Group], _: Judgements, k: int | None
) -> float:
    """At each position: the chance of a target there, times the targets expected down to it."""
    total, before = 0.0, 0
    for group in groups:
        if n := group.targets(measure.rel):
            above, size = group.tie
            others = (n - 1) / max(size - 1, 1)  # the chance of another at each place above
            for place in range(1, group.inside(k) + 1):
                total += n / size * (before + 1 + others * (place - 1)) / (above + place)
            before += n
    return total


def _ndcg(measure: Measure, groups: Sequence[_Group], _: Judgements, k: int | None) -> float:
    total = 0.0
    for group in groups:
        gain = sum(discounted_gain(measure.dcg, [(1, g)]) for g, _ in group.members if g > 0)
        above, size = group.tie
        places = range(above + 1, above + 1 + group.inside(k))
        if gain:
            total += gain * discounted_gain("log2", ((rank, 1) for rank in places)) / size
    return total


def _bpref(measure: Measure, groups: Sequence[_Group], judged: Judgements, _: int | None) -> float:
    """Of the others in its group, any number stands before a target, each as likely."""
    level = measure.rel
    n = len(judged.targets(level))
    most = max(1, min(n, judged.n_graded(0, level)))
    total, before = 0.0, 0
    for group in groups:
        others = sum(0 <= grade < level for grade, _ in group.members)
        lost = sum(min(before + more, n) for more in range(others + 1)) / (others + 1)
        total += group.targets(level) * (1.0 - lost / most)
        before += others
    return total


_EXPECTED: dict[str, Callable[[Measure, Sequence[_Group], Judgements, int | None], float]] = {
    "R": _targets,
    "P": _graded,
    "RR": _reciprocal_rank,
    "Success": _success,
    "AP": _average_precision,
    "nDCG": _ndcg,
    "Judged": _judged,
    "Rprec": _r_precision,
    "Bpref": _bpref,
}
