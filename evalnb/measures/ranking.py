"""Measures of a ranked list: each from the ranks at which judged ids stand.

Every function takes the judged part of one ranking (:func:`place`) and the judgements. Ranks count
from 1 after duplicates are dropped; an unjudged id holds its rank and gains nothing; a negative
grade gains 0 and is not relevant. Reference: trec_eval 9.0.8 with ``-c``, in 64-bit arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from evalnb.measures.judgements import Judgements, discounted_gain
from evalnb.measures.names import Dcg, Measure

Status = Literal["ok", "undefined", "unavailable"]


class Score(NamedTuple):
    """A value, what it was divided from, and whether it is defined."""

    value: float | None
    numerator: float | None = None
    denominator: float | None = None
    status: Status = "ok"
    reason: str | None = None


def undefined(reason: str) -> Score:
    """Make the score of a case whose gold gives nothing to measure."""
    return Score(None, status="undefined", reason=reason)


def unavailable(reason: str) -> Score:
    """Make the score of a variant that lacks what the measure reads, or whose search failed."""
    return Score(None, status="unavailable", reason=reason)


NO_GOLD = undefined("no gold")
NOT_ENUMERATED = undefined("the units that match the content gold cannot be enumerated")
NOTHING_MATCHES = undefined("no unit matches the content gold")
NOTHING_RETURNED = undefined("nothing returned")


class Placed(NamedTuple):
    """The judged ids of one ranking: their ranks, ascending, and what is known of each.

    Attributes
    ----------
    n_ranked
        How many distinct ids the whole ranking holds.
    ranks, grades
        Rank and grade of each judged id, in rank order.
    declared
        Whether it may be a target at all: it is expected, or nothing is declared expected.
    """

    n_ranked: int
    ranks: Sequence[int]
    grades: Sequence[int]
    declared: Sequence[bool]

    def target_ranks(self, k: int | None, level: int) -> list[int]:
        """Return the ranks of the relevant ids down to the cutoff."""
        rows = zip(self.ranks, self.grades, self.declared, strict=True)
        if k is None:
            return [rank for rank, grade, target in rows if target and grade >= level]
        return [rank for rank, grade, target in rows if target and grade >= level and rank <= k]


def place(ids: Sequence[str], judged: Judgements) -> Placed:
    """Find the judged ids of a ranking of distinct ids.

    >>> place(["u", "z", "a"], Judgements({"a": 1, "z": 0}))
    Placed(n_ranked=3, ranks=[2, 3], grades=[0, 1], declared=[True, True])
    """
    grades = judged.grades
    ranks = [rank for rank, key in enumerate(ids, start=1) if key in grades]
    return placed_at(len(ids), ranks, [ids[rank - 1] for rank in ranks], judged)


def placed_at(
    n_ranked: int, ranks: Sequence[int], ids: Sequence[str], judged: Judgements
) -> Placed:
    """Put together what is known: the ascending ranks of judged ids, and the ids."""
    grades, expected = judged.grades, judged.expected
    declared = [key in expected for key in ids] if expected else [True] * len(ids)
    return Placed(n_ranked, ranks, [grades[key] for key in ids], declared)


def recall(placed: Placed, judged: Judgements, *, k: int | None = None, level: int = 1) -> Score:
    """How much of what is relevant stands in the top k: R@k.

    Relevant ids in the top k over all R relevant ids; the denominator is never capped by k.
    Undefined if R = 0. As trec_eval's ``recall_k``; BEIR's ``R_cap`` divides by min(k, R).

    >>> judged = Judgements({f"d{i}": 1 for i in range(10)})
    >>> recall(place(["d3", "d7"], judged), judged, k=2).value
    0.2
    """
    n = len(judged.targets(level))
    if not judged.enumerated or not n:
        return _no_targets(judged)
    return share(len(placed.target_ranks(k, level)), n)


def precision(placed: Placed, judged: Judgements, *, k: int | None = None, level: int = 1) -> Score:
    """How much of the top k is relevant: P@k.

    Judged ids graded at the level or above in the top k, over k itself, however few were
    returned; without a cutoff, over the number returned. Undefined if no judged grade reaches the
    level, where trec_eval's ``P_k`` is 0.

    >>> judged = Judgements({"a": 1})
    >>> precision(place(["a", "u"], judged), judged, k=5).value
    0.2
    """
    if not judged.enumerated or not judged.n_graded(level):
        return _no_targets(judged)
    rows = zip(placed.ranks, placed.grades, strict=True)
    n = sum(grade >= level and (k is None or rank <= k) for rank, grade in rows)
    return share(n, k or placed.n_ranked or 1)


def reciprocal_rank(
    placed: Placed, judged: Judgements, *, k: int | None = None, level: int = 1
) -> Score:
    """How early the first relevant id stands: RR@k; its mean is the MRR.

    1 / rank of the first relevant id if that rank is at most k, else 0. Undefined if R = 0; with
    content gold 0 instead, since a phrase that matches nowhere is a fault of the chunking. Without
    a cutoff trec_eval's ``recip_rank``.

    >>> judged = Judgements({"a": 1, "z": 0})
    >>> round(reciprocal_rank(place(["u", "z", "a"], judged), judged).value, 6)
    0.333333
    """
    if not _has_targets(judged, level):
        return NO_GOLD
    ranks = placed.target_ranks(k, level)
    return share(1.0 / ranks[0] if ranks else 0.0, 1)


def success(placed: Placed, judged: Judgements, *, k: int | None = None, level: int = 1) -> Score:
    """Whether any relevant id stands in the top k: Success@k, also called hit rate.

    1 or 0. Undefined if R = 0; with content gold 0 instead. As trec_eval's ``success_k``.

    >>> judged = Judgements({"a": 1})
    >>> success(place(["u", "a"], judged), judged, k=1).value
    0.0
    """
    if not _has_targets(judged, level):
        return NO_GOLD
    return share(1 if placed.target_ranks(k, level) else 0, 1)


def average_precision(
    placed: Placed, judged: Judgements, *, k: int | None = None, level: int = 1
) -> Score:
    """Precision at every relevant rank, averaged over all that is relevant: AP@k.

    Sum of P@i over the ranks i <= k of relevant ids, over R, whether or not they were returned.
    Undefined if R = 0. As trec_eval's ``map`` and ``map_cut_k``.

    >>> judged = Judgements({"a": -1, "b": 2, "c": 1})
    >>> round(average_precision(place(["a", "b", "c"], judged), judged).value, 6)
    0.583333
    """
    n = len(judged.targets(level))
    if not judged.enumerated or not n:
        return _no_targets(judged)
    ranks = placed.target_ranks(k, level)
    return share(sum(i / rank for i, rank in enumerate(ranks, start=1)), n)


def ndcg(placed: Placed, judged: Judgements, *, k: int | None = None, dcg: Dcg = "log2") -> Score:
    """How close the order comes to the best possible one, by grade: nDCG@k.

    Sum of gain / log2(rank + 1) over the top k, over the same sum of ALL judged grades sorted down
    and cut at k, not of those returned. Linear gain; ``exp-log2`` gains 2^grade - 1. A relevance
    level does not touch it. Undefined if the ideal is 0. As trec_eval's ``ndcg`` and ``ndcg_cut``.
    Reference: Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, 2002.

    >>> judged = Judgements({"a": 1, "b": 3})
    >>> round(ndcg(place(["a", "b"], judged), judged, k=10).value, 6)
    0.796708
    """
    ideal = judged.ideal(dcg, k)
    if not judged.enumerated or not ideal:
        return _no_targets(judged)
    rows = zip(placed.ranks, placed.grades, strict=True)
    gained = [row for row in rows if row[1] > 0 and (k is None or row[0] <= k)]
    found = discounted_gain(dcg, gained)
    return Score(min(1.0, found / ideal), found, ideal)


def judged_share(placed: Placed, judged: Judgements, *, k: int | None = None) -> Score:
    """How much of the top k anybody judged: Judged@k; low values make the others unreliable.

    Judged ids in the top k, whatever their grade, over min(k, number returned). Undefined if
    nothing is judged or nothing was returned. Not in trec_eval.

    >>> judged = Judgements({"a": 1, "z": 0})
    >>> round(judged_share(place(["u", "z", "a"], judged), judged, k=3).value, 6)
    0.666667
    """
    if not judged.enumerated or not judged.grades:
        return _no_targets(judged)
    if not placed.n_ranked:
        return NOTHING_RETURNED
    n = len(placed.ranks) if k is None else sum(rank <= k for rank in placed.ranks)
    return share(n, placed.n_ranked if k is None else min(k, placed.n_ranked))


def r_precision(
    placed: Placed, judged: Judgements, *, k: int | None = None, level: int = 1
) -> Score:
    """Precision at the rank R, the number of relevant ids: Rprec.

    Relevant ids in the top R over R. Undefined if R = 0. As trec_eval's ``Rprec``; takes no k.

    >>> judged = Judgements({"a": 1, "b": 1})
    >>> r_precision(place(["a", "u", "b"], judged), judged).value
    0.5
    """
    del k
    n = len(judged.targets(level))
    if not judged.enumerated or not n:
        return _no_targets(judged)
    return share(len(placed.target_ranks(n, level)), n)


def bpref(placed: Placed, judged: Judgements, *, k: int | None = None, level: int = 1) -> Score:
    """How often relevant ids stand before judged others, whatever is unjudged: Bpref.

    Each returned relevant id adds 1 - min(n, R) / min(N, R), n being the non-relevant ids (graded
    0 to below the level) before it and N all of them; over R. Negative grades are left out.
    Undefined if R = 0. As trec_eval's ``bpref``; takes no k.
    Reference: Buckley and Voorhees, Retrieval evaluation with incomplete information, 2004.

    >>> judged = Judgements({"a": 1, "b": 1, "y": 0, "z": 0})
    >>> bpref(place(["y", "a", "u", "b"], judged), judged).value
    0.5
    """
    del k
    n, n_other = len(judged.targets(level)), judged.n_graded(0, level)
    if not judged.enumerated or not n:
        return _no_targets(judged)
    total, before = 0.0, 0
    for grade, target in zip(placed.grades, placed.declared, strict=True):
        if grade >= level and target:
            total += 1.0 - (min(before, n) / min(n_other, n) if before else 0.0)
        elif 0 <= grade < level:
            before += 1
    return share(total, n)


_LEVELLED: dict[str, Callable[..., Score]] = {
    "R": recall,
    "P": precision,
    "RR": reciprocal_rank,
    "Success": success,
    "AP": average_precision,
    "Rprec": r_precision,
    "Bpref": bpref,
}


def score_ranking(measure: Measure, placed: Placed, judged: Judgements, k: int | None) -> Score:
    """Score one ranking by one ranking measure, at a cutoff already decided."""
    if measure.name == "nDCG":
        return ndcg(placed, judged, k=k, dcg=measure.dcg)
    if measure.name == "Judged":
        return judged_share(placed, judged, k=k)
    return _LEVELLED[measure.name](placed, judged, k=k, level=measure.rel)


def share(numerator: float, denominator: float) -> Score:
    """Divide: the score of a defined measure."""
    return Score(numerator / denominator, numerator, denominator)


def _has_targets(judged: Judgements, level: int) -> bool:
    return bool(judged.targets(level)) or (judged.content and level == 1)


def _no_targets(judged: Judgements) -> Score:
    if not judged.enumerated:
        return NOT_ENUMERATED
    return NOTHING_MATCHES if judged.content else NO_GOLD
