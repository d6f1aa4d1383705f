"""Closed forms over tied results against every order, one by one."""

from __future__ import annotations

from itertools import groupby, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.measures.judgements import Judgements
from evalnb.measures.names import Measure, parse_measure
from evalnb.measures.ranking import place, score_ranking
from evalnb.measures.ties import Spread, score_ties, tied_groups

# judgements, (id, score) in rank order, measure, worst, expected, best; all worked by hand
FIGURES = [
    ({"a": 1}, [("c", 1), ("b", 1), ("a", 1)], "RR", 1 / 3, 11 / 18, 1.0),
    ({"a": 1}, [("c", 1), ("b", 1), ("a", 1)], "RR@2", 0.0, 0.5, 1.0),
    ({"a": 1}, [("c", 1), ("b", 1), ("a", 1)], "Success@1", 0.0, 1 / 3, 1.0),
    ({"a": 1, "b": 1}, [("c", 1), ("b", 1), ("a", 1)], "Success@1", 0.0, 2 / 3, 1.0),
    ({"a": 1, "b": 1}, [("c", 1), ("b", 1), ("a", 1)], "AP", 7 / 12, 29 / 36, 1.0),
    ({"a": 1, "b": 1}, [("c", 2), ("b", 1), ("a", 1)], "AP", 7 / 12, 7 / 12, 7 / 12),
    ({"a": 1}, [("c", 2), ("b", 1), ("a", 1)], "P@2", 0.0, 0.25, 0.5),
    ({"a": 1}, [("c", 2), ("b", 1), ("a", 1)], "Judged@2", 0.0, 0.25, 0.5),
    ({"a": 1}, [("b", 1), ("a", 1)], "nDCG@2", 0.630930, 0.815465, 1.0),
    ({"a": 1}, [("b", 1), ("a", 1)], "R@1", 0.0, 0.5, 1.0),
    ({"a": 1, "z": 0}, [("z", 1), ("a", 1)], "Bpref", 0.0, 0.5, 1.0),
    ({"a": 1}, [("b", 2), ("a", 1)], "RR", 0.5, 0.5, 0.5),
    ({"a": 1}, [("b", None), ("a", None)], "RR", 0.5, 0.5, 0.5),
    ({"a": 0}, [("b", 1), ("a", 1)], "RR", None, None, None),
    ({"a": 1}, [], "RR", 0.0, 0.0, 0.0),
]


@pytest.mark.parametrize(("grades", "hits", "name", "worst", "expected", "best"), FIGURES)
def test_figures(
    grades: dict[str, int],
    hits: list[tuple[str, float]],
    name: str,
    worst: float | None,
    expected: float | None,
    best: float | None,
) -> None:
    found = _spread(parse_measure(name), hits, Judgements(grades))
    wanted = (worst, expected, best)
    assert found == tuple(None if w is None else pytest.approx(w, abs=5e-7) for w in wanted)


def _spread(measure: Measure, hits: list[tuple[str, float]], judged: Judgements) -> Spread:
    placed = place([key for key, _ in hits], judged)
    ties = tied_groups(score for _, score in hits)
    ties = [ties[rank - 1] for rank in placed.ranks]
    return score_ties(measure, placed, ties, judged, measure.k)


_IDS = "abcdefg"
_HITS = st.permutations(_IDS).flatmap(
    lambda ids: st.lists(st.sampled_from([3.0, 2.0, 1.0]), max_size=6).map(
        lambda scores: list(zip(ids, sorted(scores, reverse=True), strict=False))
    )
)
_GRADES = st.dictionaries(st.sampled_from(_IDS), st.integers(-2, 3), max_size=6)
_CUT = st.none() | st.integers(1, 7)
_MEASURES = (
    st.builds(
        Measure, st.sampled_from(["R", "P", "RR", "Success", "AP"]), rel=st.integers(1, 2), k=_CUT
    )
    | st.builds(Measure, st.sampled_from(["Rprec", "Bpref"]), rel=st.integers(1, 2))
    | st.builds(Measure, st.just("nDCG"), dcg=st.sampled_from(["log2", "exp-log2"]), k=_CUT)
    | st.builds(Measure, st.just("Judged"), k=_CUT)
)


@given(_MEASURES, _HITS, _GRADES, st.booleans())
def test_every_order(
    measure: Measure, hits: list[tuple[str, float]], grades: dict[str, int], some: bool
) -> None:
    expected = frozenset(key for key in grades if key < "d") if some else frozenset()
    judged = Judgements(grades, expected)
    groups = [[key for key, _ in group] for _, group in groupby(hits, key=lambda hit: hit[1])]
    values = []
    for order in product(*(permutations(group) for group in groups)):
        ids = [key for group in order for key in group]
        values.append(score_ranking(measure, place(ids, judged), judged, measure.k).value)
    found = _spread(measure, hits, judged)
    if values[0] is None:
        assert found == (None, None, None)
    else:
        wanted = (min(values), sum(values) / len(values), max(values))
        assert found == pytest.approx(wanted, abs=1e-12)
