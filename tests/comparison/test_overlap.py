"""Overlap of results: tables worked by hand, then what holds for any two lists."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.comparison.overlap import jaccard, overlap_frame, rank_biased_overlap
from evalnb.errors import BadInputError, NotFoundError
from evalnb.evaluation.report import EvaluationReport
from evalnb.evaluation.request import EvaluationRequest, Variant
from evalnb.evaluation.runner import run_evaluation
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.systems.function import FunctionSystem


@pytest.mark.parametrize(
    ("one", "other", "k", "expected"),
    [
        ("abc", "abc", 10, 1.0),
        ("abc", "cba", 10, 1.0),  # a set has no order
        ("abc", "cba", 1, 0.0),
        ("abc", "bd", 2, 1 / 3),
        ("ab", "", 10, 0.0),
        ("", "", 10, None),
    ],
)
def test_jaccard(one: str, other: str, k: int, expected: float | None) -> None:
    assert jaccard(one, other, k) == expected


@pytest.mark.parametrize(
    ("one", "other", "p", "expected"),
    [
        ("abc", "abc", 0.9, 1.0),
        ("ab", "cd", 0.9, 0.0),
        ("ab", "ba", 0.9, 0.9),  # (1-p)/p (0 p + 2/2 p^2) + 2/2 p^2 = p
        ("ab", "ba", 0.5, 0.5),
        # X = 1, 1, 1 of (a,x,y) and (a,b,c): (1-p)/p (p + p^2/2 + p^3/3) + p^3/3
        ("axy", "abc", 0.5, 0.5 / 0.5 * (0.5 + 0.125 + 0.125 / 3) + 0.125 / 3),
        # a list of one against its own extension: all that is seen agrees
        ("a", "ab", 0.9, 1.0),
        ("a", "", 0.9, 0.0),
        ("", "", 0.9, None),
    ],
)
def test_rank_biased_overlap(one: str, other: str, p: float, expected: float | None) -> None:
    found = rank_biased_overlap(one, other, p)
    assert found == (None if expected is None else pytest.approx(expected))


LISTS = st.lists(st.integers(0, 12), unique=True, max_size=10).map(lambda ids: list(map(str, ids)))


@given(LISTS, LISTS, st.floats(0.05, 0.95))
def test_it_is_a_share_and_has_no_direction(one: list[str], other: list[str], p: float) -> None:
    found = rank_biased_overlap(one, other, p)
    assert found == rank_biased_overlap(other, one, p)
    assert found is None or -1e-9 <= found <= 1 + 1e-9
    if one:
        assert rank_biased_overlap(one, one, p) == pytest.approx(1)


@given(LISTS, LISTS, st.floats(0.05, 0.95))
def test_it_counts_as_its_definition_says(one: list[str], other: list[str], p: float) -> None:
    short, long = sorted((one, other), key=len)
    s, n = len(short), len(long)
    if not s:
        return
    shared = [len(set(short[:d]) & set(long[:d])) for d in range(n + 1)]
    total = sum(shared[d] / d * p**d for d in range(1, n + 1))
    total += sum(shared[s] * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1))
    expected = (1 - p) / p * total + ((shared[n] - shared[s]) / n + shared[s] / s) * p**n
    assert rank_biased_overlap(one, other, p) == pytest.approx(expected)


@pytest.mark.parametrize("p", [0.0, 1.0, -1, 2])
def test_a_wrong_p_is_refused(p: float) -> None:
    with pytest.raises(BadInputError, match="between 0 and 1"):
        rank_biased_overlap("a", "b", p)


def evaluated(**answers: dict[str, list[str]]) -> EvaluationReport:
    cases = tuple(
        GoldCase(
            case_id=query,
            split="development",
            request={"query": query},
            expected={"document_ids": ["a"]},
        )
        for query in ("q1", "q2")
    )
    return run_evaluation(
        dataset_from_cases(cases, dataset_id="d"),
        {name: FunctionSystem(given.__getitem__) for name, given in answers.items()},
        EvaluationRequest(variants=tuple(Variant(name=name, system=name) for name in answers)),
    )


def test_every_two_variants_are_averaged_over_the_cases_that_say_something() -> None:
    report = evaluated(
        one={"q1": ["a", "b"], "q2": []},
        two={"q1": ["b", "a"], "q2": []},
        three={"q1": ["a"], "q2": ["c"]},
    )
    frame = overlap_frame(report)
    rows = {(row.variant, row.other): (row.n, row.jaccard, row.rbo) for row in frame.itertuples()}
    assert rows["one", "two"] == (1, 1.0, pytest.approx(0.9))
    assert rows["one", "three"] == (2, 0.25, pytest.approx(0.5))
    assert set(frame["kind"]) == {"document"}
    against = overlap_frame(report, baseline="two")
    assert list(zip(against["variant"], against["other"], strict=True)) == [
        ("two", "one"),
        ("two", "three"),
    ]
    with pytest.raises(NotFoundError, match="variants: one, two, three"):
        overlap_frame(report, baseline="none")
