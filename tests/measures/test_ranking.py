"""Figures worked by hand, then what must hold for any ranking."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.measures.judgements import Judgements
from evalnb.measures.names import Measure, parse_measure
from evalnb.measures.ranking import Score, place, score_ranking

TEN = {f"d{i}": 1 for i in range(10)}
THIRTY = {f"r{i}": 1 for i in range(30)}
MIXED = {"a": -1, "b": 2, "c": 1}

# judgements, ranking, measure, value
FIGURES = [
    ({"a": 1, "b": 3}, "ab", "nDCG@10", 0.796708),
    ({"a": 1, "b": 3}, "ab", "nDCG(dcg='exp-log2')@10", 0.709810),
    (TEN, ["d3", "d7"], "nDCG@3", 0.765361),
    (TEN, ["d3", "d7"], "R@2", 0.2),
    (TEN, ["d3", "d7"], "P@5", 0.4),
    (TEN, ["d3", "d7"], "nDCG", 0.358954),
    (MIXED, "abc", "nDCG@3", 0.669672),
    (MIXED, "abc", "AP", 0.583333),
    (MIXED, "abc", "RR", 0.5),
    (MIXED, "abc", "R@2", 0.5),
    (MIXED, "abc", "P@3", 0.666667),
    ({"a": 1, "b": 2}, "ab", "nDCG@10", 0.859719),
    ({"a": 1, "b": 2}, "ab", "RR(rel=2)", 0.5),
    ({"a": 1, "b": 2}, "ab", "R(rel=2)@2", 1.0),
    ({"a": 1, "b": 2}, "ab", "P(rel=2)@1", 0.0),
    ({"a": 1, "b": 2}, "ab", "AP(rel=2)", 0.5),
    ({"a": 1, "z": 0}, "uza", "RR", 0.333333),
    ({"a": 1, "z": 0}, "uza", "Judged@3", 0.666667),
    ({"a": 1, "z": 0}, "uza", "Judged@1", 0.0),
    ({"a": 1}, "", "nDCG@10", 0.0),
    ({"a": 1}, "", "RR", 0.0),
    ({"a": 1}, "", "R@10", 0.0),
    ({"a": 1}, "", "P@10", 0.0),
    ({"a": 1}, "", "P", 0.0),
    ({"a": 1}, "", "AP", 0.0),
    ({"a": 1}, "", "Success@5", 0.0),
    ({"a": 1}, "", "Rprec", 0.0),
    ({"a": 1}, "", "Bpref", 0.0),
    ({"a": 1}, "", "Judged@10", None),
    ({"a": 0}, "a", "R@1", None),
    ({"a": 0}, "a", "P@1", None),
    ({"a": 0}, "a", "RR", None),
    ({"a": 0}, "a", "Success@1", None),
    ({"a": 0}, "a", "AP", None),
    ({"a": 0}, "a", "nDCG", None),
    ({"a": 0}, "a", "Rprec", None),
    ({"a": 0}, "a", "Bpref", None),
    ({"a": 0}, "a", "Judged@10", 1.0),
    ({}, "a", "Judged@10", None),
    ({"a": 1}, "a", "RR(rel=2)", None),
    ({"a": 1}, ["u1", "u2", "a"], "P@5", 0.2),
    ({"a": 1}, [f"u{i}" for i in range(12)] + ["a"], "RR", 0.076923),
    ({"a": 1}, [f"u{i}" for i in range(12)] + ["a"], "RR@10", 0.0),
    ({"a": 1, "b": 1}, "aub", "Rprec", 0.5),
    ({"a": 1, "b": 1, "y": 0, "z": 0}, "yaub", "Bpref", 0.5),
    ({"a": 1, "b": 1, "y": 0, "z": 0}, "ayzb", "Bpref", 0.5),
    ({"a": 1, "b": 1, "y": -1, "z": 0}, "yazb", "Bpref", 0.5),
    (THIRTY, [f"r{i}" for i in range(20)], "nDCG@20", 1.0),
    (THIRTY, [f"r{i}" for i in range(20)], "nDCG", 0.768456),
    (TEN, ["d0", "u"], "P@5", 0.2),
    (TEN, ["d0", "u"], "P", 0.5),
    ({"a": 1, "ghost": 1}, "ab", "R@10", 0.5),
    ({"a": 1, "ghost": 1}, "ab", "AP", 0.5),
    ({"a": 1, "ghost": 1}, "ab", "nDCG@10", 0.613147),
]  # fmt: skip


def _score(grades: dict[str, int], ids: str | list[str], name: str, **more: object) -> Score:
    measure, judged = parse_measure(name), Judgements(grades, **more)  # type: ignore[arg-type]
    return score_ranking(measure, place(list(ids), judged), judged, measure.k)


@pytest.mark.parametrize(("grades", "ids", "name", "value"), FIGURES)
def test_figures(grades: dict[str, int], ids: str, name: str, value: float | None) -> None:
    score = _score(grades, ids, name)
    assert score.value == (None if value is None else pytest.approx(value, abs=5e-7))
    assert score.status == ("undefined" if value is None else "ok")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("R@1", 0.0),
        ("RR", 0.5),
        ("P@1", 1.0),
        ("AP", 0.5),
        ("Success@1", 0.0),
        ("nDCG@2", 0.859719),
    ],
)
def test_a_judged_id_that_is_not_expected_gains_but_is_no_target(name: str, value: float) -> None:
    score = _score({"a": 2, "b": 1}, "ba", name, expected=frozenset("a"))
    assert score.value == pytest.approx(value, abs=5e-7)


@pytest.mark.parametrize(
    ("name", "numerator", "denominator"),
    [
        ("R@2", 1, 3),
        ("P@4", 2, 4),
        ("RR", 0.5, 1),
        ("Success@1", 0, 1),
        ("AP", 1 / 2 + 2 / 4, 3),
        ("Judged@10", 3, 4),
        ("Rprec", 1, 3),
        ("nDCG@2", 1 / 1.584962500721156, 1 + 1 / 1.584962500721156),
    ],
)
def test_numerators_and_denominators(name: str, numerator: float, denominator: float) -> None:
    score = _score({"a": 1, "b": 1, "c": 1, "z": 0}, "uazb", name)
    assert (score.numerator, score.denominator) == pytest.approx((numerator, denominator))


@pytest.mark.parametrize(
    ("name", "value"),
    [("RR", 0.0), ("Success@5", 0.0), ("R@5", None), ("nDCG@5", None), ("RR(rel=2)", None)],
)
def test_content_that_matches_nothing_anywhere_is_a_miss(name: str, value: float | None) -> None:
    assert _score({}, "uv", name, content=True).value == value


@pytest.mark.parametrize("name", ["R@5", "P@5", "AP", "nDCG@5", "Judged@5", "Rprec", "Bpref"])
def test_what_needs_the_whole_corpus_is_undefined_without_it(name: str) -> None:
    score = _score({"a": 1}, "a", name, content=True, enumerated=False)
    assert (score.status, score.value) == ("undefined", None)
    assert "cannot be enumerated" in (score.reason or "")


_IDS = [f"d{i}" for i in range(8)]
_GRADES = st.dictionaries(st.sampled_from(_IDS), st.integers(-2, 4))
_RANKINGS = st.permutations(_IDS).flatmap(lambda ids: st.integers(0, 8).map(lambda n: ids[:n]))
_AT_K = st.sampled_from(["nDCG", "RR", "R", "P", "AP", "Success", "Judged"])
_MEASURES = st.builds(Measure, _AT_K, k=st.integers(1, 9)) | st.sampled_from(
    [Measure("Rprec"), Measure("Bpref"), Measure("nDCG", dcg="exp-log2", k=5), Measure("AP")]
)


def _value(measure: Measure, ids: list[str], grades: dict[str, int]) -> float | None:
    judged = Judgements(grades)
    return score_ranking(measure, place(ids, judged), judged, measure.k).value


@given(_MEASURES, _RANKINGS, _GRADES)
def test_values_lie_in_the_declared_range(
    measure: Measure, ids: list[str], grades: dict[str, int]
) -> None:
    value = _value(measure, ids, grades)
    assert value is None or 0.0 <= value <= 1.0
    assert not measure.binary or value in (None, 0.0, 1.0)


@given(st.sampled_from(["RR", "R", "AP", "Success"]), _RANKINGS, _GRADES, st.integers(1, 8))
def test_a_deeper_cutoff_never_lowers(
    name: str, ids: list[str], grades: dict[str, int], k: int
) -> None:
    shallow, deep = (_value(Measure(name, k=cut), ids, grades) for cut in (k, k + 1))
    assert (shallow is None) == (deep is None)
    assert shallow is None or deep is None or shallow <= deep


@given(st.sampled_from(["nDCG", "RR", "R", "AP", "Success", "Rprec"]), _GRADES)
def test_the_best_order_of_everything_judged_is_1(name: str, grades: dict[str, int]) -> None:
    best = sorted(grades, key=lambda key: -grades[key])
    assert _value(Measure(name), best, grades) in (None, 1.0)


@given(_AT_K, _RANKINGS, _GRADES, st.integers(1, 8))
def test_what_stands_past_the_cutoff_changes_nothing(
    name: str, ids: list[str], grades: dict[str, int], k: int
) -> None:
    measure = Measure(name, k=k)
    assert _value(measure, ids, grades) == _value(measure, [*ids[:k], *ids[k:][::-1]], grades)


@given(st.sampled_from(["nDCG", "P", "AP", "R"]), _GRADES, st.data())
def test_a_better_hit_higher_up_never_hurts(
    name: str, grades: dict[str, int], data: st.DataObject
) -> None:
    ids = data.draw(st.permutations(_IDS))
    at = data.draw(st.integers(0, 6))
    if max(grades.get(ids[at + 1], 0), 0) > max(grades.get(ids[at], 0), 0):
        better = [*ids[:at], ids[at + 1], ids[at], *ids[at + 2 :]]
        before, after = (_value(Measure(name, k=5), order, grades) for order in (ids, better))
        assert before is None or after is None or before <= after
