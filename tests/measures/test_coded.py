"""Many rankings at once score as each does alone, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.measures.coded import CodedGold, CodedRankings, code_rankings
from evalnb.measures.judgements import Judgements
from evalnb.measures.names import Measure, parse_measure
from evalnb.measures.ranking import Score, place, score_ranking

CASES = [
    (Judgements({"a": 1, "b": 3}), "ab"),
    (Judgements({"a": 1, "z": 0}), "uza"),
    (Judgements({"a": 0}), "a"),
    (Judgements({"a": 1}), ""),
    (Judgements({"a": 2, "b": 1}, expected=frozenset("a")), "ba"),
    (Judgements({}, content=True), "u"),
    (Judgements({"a": 1}, content=True, enumerated=False), "a"),
]

# measure, value of each case
TABLE = [
    ("nDCG@10", [0.796708, 0.5, None, 0.0, 0.859719, None, None]),
    ("RR", [1.0, 0.333333, None, 0.0, 0.5, 0.0, 1.0]),
    ("Success@1", [1.0, 0.0, None, 0.0, 0.0, 0.0, 1.0]),
    ("R@1", [0.5, 0.0, None, 0.0, 0.0, None, None]),
    ("P@5", [0.4, 0.2, None, 0.0, 0.4, None, None]),
    ("AP", [1.0, 0.333333, None, 0.0, 0.5, None, None]),
    ("Rprec", [1.0, 0.0, None, 0.0, 0.0, None, None]),
    ("Bpref", [1.0, 0.0, None, 0.0, 1.0, None, None]),
    ("Judged@10", [1.0, 0.666667, 1.0, None, 1.0, None, None]),
]


@pytest.mark.parametrize(("name", "values"), TABLE)
def test_figures(name: str, values: list[float | None]) -> None:
    measure = parse_measure(name)
    judged = [each for each, _ in CASES]
    placed = [place(list(ids), each) for each, ids in CASES]
    scores = code_rankings(CodedGold(judged), placed).score(measure, measure.k).scores()
    found = [score.value for score in scores]
    assert found == [None if v is None else pytest.approx(v, abs=5e-7) for v in values]
    assert [s.status for s in scores] == ["undefined" if v is None else "ok" for v in values]


_IDS = [f"d{n}" for n in range(12)]
_GRADES = st.dictionaries(st.sampled_from(_IDS), st.integers(-2, 4))


@st.composite
def _judgements(draw: st.DrawFn) -> Judgements:
    grades = draw(_GRADES)
    expected = draw(st.frozensets(st.sampled_from(sorted(grades)))) if grades else frozenset()
    content = draw(st.booleans())
    return Judgements(
        grades, expected, content=content, enumerated=not content or draw(st.booleans())
    )


_RANKINGS = st.permutations(_IDS).flatmap(lambda ids: st.integers(0, 12).map(lambda n: ids[:n]))
_CUTS = st.none() | st.integers(1, 13)
_LEVELLED = ["R", "P", "RR", "Success", "AP", "Rprec", "Bpref"]
_MEASURES = (
    st.builds(Measure, st.sampled_from(_LEVELLED), rel=st.integers(1, 3))
    | st.builds(Measure, st.just("nDCG"), dcg=st.sampled_from(["log2", "exp-log2"]))
    | st.just(Measure("Judged"))
)


@given(
    st.lists(_judgements(), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 4), _RANKINGS), min_size=1, max_size=8),
    st.lists(st.tuples(_MEASURES, _CUTS), min_size=1, max_size=6),
)
def test_as_one_by_one(
    judged: list[Judgements],
    rankings: list[tuple[int, list[str]]],
    measures: list[tuple[Measure, int | None]],
) -> None:
    """Several rankings of one case, as of variants and repetitions, stand side by side."""
    rankings = [(case % len(judged), ids) for case, ids in rankings]
    cases = np.array([case for case, _ in rankings])
    placed = [place(ids, judged[case]) for case, ids in rankings]
    flat = code_rankings(CodedGold([judged[case] for case in cases]), placed)
    shared = CodedRankings(
        CodedGold(judged), cases, flat.n_ranked, flat.row, flat.ranks, flat.grades, flat.declared
    )
    for measure, k in measures:
        expected: list[Score] = [
            score_ranking(measure, found, judged[case], k)
            for found, case in zip(placed, cases, strict=True)
        ]
        assert flat.score(measure, k).scores() == expected
        assert shared.score(measure, k).scores() == expected


def test_deep_ranks() -> None:
    judged = Judgements({"a": 2, "b": 1})
    placed = place([*(f"u{n}" for n in range(3000)), "a", "b"], judged)
    for name in ("nDCG", "AP", "RR"):
        measure = parse_measure(name)
        expected = score_ranking(measure, placed, judged, None)
        (found,) = code_rankings(CodedGold([judged]), [placed]).score(measure, None).scores()
        assert found.value == pytest.approx(expected.value, abs=1e-15)
