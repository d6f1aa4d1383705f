"""Fusion of ranked lists: figures worked by hand, then what has to hold for any list."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.errors import BadInputError, CapabilityError
from evalnb.search.fusion import (
    distinct,
    fuse,
    normalise,
    reciprocal_rank_fusion,
    weighted_fusion,
)
from evalnb.search.request import Hints
from evalnb.search.result import Candidates


def listed(ids, scores=()):
    return Candidates(ids=tuple(ids), scores=tuple(scores))


def table(fused):
    return {key: round(score, 6) for key, score in zip(fused.ids, fused.scores, strict=True)}


RRF = [
    # channels, k, weights, fused ids in order with their scores
    # r25: y stands second in its list, whatever a rank field said: 1/62
    ({"a": "xy"}, 60, None, {"x": 0.016393, "y": 0.016129}),
    ({"a": "xy", "b": "yz"}, 60, None, {"y": 0.032522, "x": 0.016393, "z": 0.016129}),
    ({"a": "xy", "b": "yx"}, 60, None, {"x": 0.032522, "y": 0.032522}),  # a tie: by id
    ({"a": "yx", "b": "xy"}, 60, None, {"x": 0.032522, "y": 0.032522}),
    ({"a": "x", "b": "y"}, 1, {"b": 3.0}, {"y": 1.5, "x": 0.5}),
    ({"a": "x", "b": "y"}, 0, None, {"x": 1.0, "y": 1.0}),
    ({"a": "xy", "b": "z"}, 60, {"b": 0.0}, {"x": 0.016393, "y": 0.016129}),  # 0 leaves it out
    ({"a": "xxy"}, 60, None, {"x": 0.016393, "y": 0.016129}),  # the duplicate holds no rank
    ({"a": "", "b": "x"}, 60, None, {"x": 0.016393}),
    ({"a": ""}, 60, None, {}),
    ({}, 60, None, {}),
]


@pytest.mark.parametrize(("channels", "k", "weights", "expected"), RRF)
def test_reciprocal_rank_fusion(channels, k, weights, expected):
    lists = {name: listed(ids) for name, ids in channels.items()}
    fused = reciprocal_rank_fusion(lists, k=k, weights=weights)
    assert list(table(fused).items()) == list(expected.items())


def test_ranks_are_positions_whatever_the_scores_say():
    assert reciprocal_rank_fusion({"a": listed("xy", (0.1, 0.9))}).ids == ("x", "y")


NORMALISED = [
    ([], "min-max", []),
    ([3.0, 1.0, 2.0], "none", [3.0, 1.0, 2.0]),
    ([3.0, 1.0, 2.0], "min-max", [1.0, 0.0, 0.5]),
    ([-1.0, -3.0], "min-max", [1.0, 0.0]),
    ([4.0, 2.0, 0.0], "z-score", [1.224745, 0.0, -1.224745]),  # deviation sqrt(8/3)
    ([4.0, 1.0, -2.0], "max", [1.0, 0.25, -0.5]),
    ([-1.0, -4.0], "max", [-0.25, -1.0]),
    ([4.0, 2.0, 1.0], "sum", [0.75, 0.25, 0.0]),
    # constant lists, and so lists of one element
    ([7.0], "none", [7.0]),
    ([7.0], "min-max", [1.0]),
    ([0.0, 0.0], "min-max", [1.0, 1.0]),
    ([-2.0, -2.0], "z-score", [1.0, 1.0]),
    ([-2.0], "max", [1.0]),
    ([0.0], "max", [1.0]),
    ([5.0] * 4, "sum", [0.25] * 4),
    # floats at their ends
    ([1e308, -1e308, 0.0], "min-max", [1.0, 0.0, 0.5]),
    ([1e308, -1e308], "z-score", [1.0, -1.0]),
    ([1e308, 1e308, 0.0], "sum", [0.5, 0.5, 0.0]),
    ([5e-324, 0.0], "min-max", [1.0, 0.0]),
]


@pytest.mark.parametrize(("scores", "method", "expected"), NORMALISED)
def test_normalisation(scores, method, expected):
    assert normalise(scores, method) == pytest.approx(expected, abs=1e-6)


WEIGHTED = [
    # bm25 x 9 y 6 z 3 and dense z .8 x .4; y is absent from dense
    ("min-max", None, {"x": 1.0, "z": 1.0, "y": 0.5}),
    ("min-max", {"dense": 3.0}, {"z": 3.0, "x": 1.0, "y": 0.5}),
    ("none", None, {"x": 9.4, "y": 6.0, "z": 3.8}),
    ("max", None, {"x": 1.5, "z": 1.333333, "y": 0.666667}),
    ("sum", None, {"z": 1.0, "x": 0.666667, "y": 0.333333}),
    # z-scores: 1.224745 0 -1.224745 and 1 -1; y counts as dense's last, -1, not as its mean 0
    ("z-score", None, {"x": 0.224745, "z": -0.224745, "y": -1.0}),
    ("min-max", {"bm25": 0.0}, {"z": 1.0, "x": 0.0}),
]


@pytest.mark.parametrize(("normalisation", "weights", "expected"), WEIGHTED)
def test_weighted_fusion(normalisation, weights, expected):
    lists = {"bm25": listed("xyz", (9, 6, 3)), "dense": listed("zx", (0.8, 0.4))}
    fused = weighted_fusion(lists, weights=weights, normalisation=normalisation)
    assert list(table(fused).items()) == list(expected.items())


def test_what_was_not_found_is_never_better_than_what_was_found_last():
    lists = {"logits": listed("xy", (-1, -5)), "other": listed("z", (1,))}
    fused = weighted_fusion(lists, normalisation="none")
    assert table(fused) == {"x": -1.0, "z": -4.0, "y": -5.0}


def test_an_empty_channel_changes_nothing():
    lists = {"bm25": listed("xy", (2, 1)), "dense": listed("")}
    assert table(weighted_fusion(lists)) == {"x": 1.0, "y": 0.0}


def test_a_duplicate_counts_at_its_first_position():
    assert table(weighted_fusion({"a": listed("xyx", (3, 2, 1))})) == {"x": 1.0, "y": 0.0}
    assert distinct(listed("aba")).ids == ("a", "b")


def test_a_missing_score_is_refused_by_channel_and_id():
    for scores in [(), (1.0, None)]:
        lists = {"bm25": Candidates(ids=("x", "y"), scores=scores)}
        with pytest.raises(CapabilityError, match=r"'bm25' gives no score for '[xy]'.*rrf"):
            weighted_fusion(lists)
        assert reciprocal_rank_fusion(lists).ids == ("x", "y")


def test_the_hints_choose_the_fusion():
    lists = {"bm25": listed("xy", (9, 1)), "dense": listed("yx", (0.9, 0.8))}
    assert table(fuse(lists, Hints())) == {"x": 0.032522, "y": 0.032522}
    assert fuse(lists, Hints(rrf_k=1)).scores[0] == pytest.approx(1 / 2 + 1 / 3)
    assert table(fuse(lists, Hints(fusion="weighted"))) == {"x": 1.0, "y": 1.0}
    hints = Hints(fusion="weighted", normalisation="none", weights={"dense": 0.0})
    assert table(fuse(lists, hints)) == {"x": 9.0, "y": 1.0}


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda a: reciprocal_rank_fusion(a, k=-1), "at least 0, found -1"),
        (lambda a: reciprocal_rank_fusion(a, k=math.nan), "found nan"),
        (lambda a: reciprocal_rank_fusion(a, weights={"a": -1.0}), "weight of 'a'.*-1.0"),
        (lambda a: weighted_fusion(a, weights={"a": math.inf}), "weight of 'a'.*inf"),
        (lambda a: weighted_fusion(a, weights={"a": 0.0}), "every weight is 0: a"),
        (lambda a: weighted_fusion(a, normalisation="minmax"), "'minmax'.*min-max"),
        (lambda a: weighted_fusion(a, normalisation="none", weights={"a": 1e308}), "too large"),
        (lambda a: normalise([1.0, math.inf], "max"), "finite"),
    ],
)
def test_what_cannot_be_computed_is_refused(call, says):
    with pytest.raises(BadInputError, match=says):
        call({"a": listed("x", (1e10,))})


SCORES = st.floats(allow_nan=False, allow_infinity=False, width=64)
LISTS = st.lists(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), SCORES), max_size=8), min_size=1, max_size=4
)


@given(LISTS, st.randoms(use_true_random=False))
def test_the_order_of_the_channels_changes_nothing(lists, shuffle):
    channels = {
        f"c{number}": Candidates(ids=tuple(k for k, _ in pairs), scores=tuple(s for _, s in pairs))
        for number, pairs in enumerate(lists)
    }
    names = list(channels)
    shuffle.shuffle(names)
    other = {name: channels[name] for name in names}
    assert reciprocal_rank_fusion(channels) == reciprocal_rank_fusion(other)
    assert weighted_fusion(channels) == weighted_fusion(other)


@given(st.lists(SCORES, min_size=1), st.sampled_from(["min-max", "z-score", "max", "sum"]))
def test_normalising_is_finite_in_its_range_and_keeps_the_order(scores, method):
    values = normalise(scores, method)
    low = {"min-max": 0, "max": -1, "sum": 0}.get(method, -math.inf)
    assert all(low <= value < math.inf for value in values)
    if method != "z-score":
        assert max(values) <= 1
    by_score = [value for _, value in sorted(zip(scores, values, strict=True))]
    assert all(first <= second + 1e-12 for first, second in pairwise(by_score))
