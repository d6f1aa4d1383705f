"""The same numbers as trec_eval, through pytrec_eval-terrier, wherever no departure is declared.

Scores that are equal only in 32 bits are left out: trec_eval 9 keeps 32, evalnb 64. Grades below 0
are left out of Bpref, where -1 and -2 have meanings of trec_eval's own.
"""

from __future__ import annotations

import struct

import pytest
import pytrec_eval
from hypothesis import example, given
from hypothesis import strategies as st

from evalnb.gold.trec import rank_documents
from evalnb.measures.judgements import Judgements
from evalnb.measures.names import parse_measure
from evalnb.measures.ranking import place, score_ranking

CUTOFFS = (1, 2, 3, 5, 10)
NAMES = {
    "map": "AP",
    "recip_rank": "RR",
    "Rprec": "Rprec",
    "bpref": "Bpref",
    "ndcg": "nDCG",
    **{f"P_{k}": f"P@{k}" for k in CUTOFFS},
    **{f"recall_{k}": f"R@{k}" for k in CUTOFFS},
    **{f"ndcg_cut_{k}": f"nDCG@{k}" for k in CUTOFFS},
    **{f"map_cut_{k}": f"AP@{k}" for k in CUTOFFS},
    **{f"success_{k}": f"Success@{k}" for k in CUTOFFS},
}
FAMILIES = {
    "map", "recip_rank", "Rprec", "bpref", "ndcg",
    *(f"{name}.{','.join(map(str, CUTOFFS))}"
      for name in ("P", "recall", "ndcg_cut", "map_cut", "success")),
}  # fmt: skip


def _distinct_in_32_bits(scores: dict[str, float]) -> bool:
    kept = {struct.pack("f", score): score for score in scores.values()}
    return len(kept) == len(set(scores.values()))


_IDS = st.sampled_from([f"d{i}" for i in range(12)] + ["a", "Z", "é", "日本", "\U0001f600", "d1#2"])
_SCORES = st.integers(-3, 3).map(float) | st.floats(-1e6, 1e6, width=32)
_RUNS = st.dictionaries(_IDS, _SCORES, min_size=1).filter(_distinct_in_32_bits)
_QRELS = st.dictionaries(_IDS, st.integers(0, 3), min_size=1)


@given(_QRELS, _RUNS, st.integers(1, 3))
@example({"d3": 1}, {"d1": 1.0, "d2": 1.0, "d3": 1.0}, 1)
@example({"d1": 1}, {"d1": 1.0, "d2": 1.0, "d3": 1.0}, 1)
def test_every_shared_measure(grades: dict[str, int], run: dict[str, float], level: int) -> None:
    theirs = pytrec_eval.RelevanceEvaluator({"q": grades}, FAMILIES, relevance_level=level)
    expected = theirs.evaluate({"q": run})["q"]
    judged = Judgements(grades)
    placed = place(rank_documents(run), judged)
    for their_name, name in NAMES.items():
        measure = parse_measure(name).at_level(level)
        score = score_ranking(measure, placed, judged, measure.k)
        # Departure: what nothing relevant leaves undefined is 0 there.
        value = 0.0 if score.status == "undefined" else score.value
        assert value == pytest.approx(expected[their_name], abs=1e-12), name


# pytrec_eval reads outside its memory where every grade is negative.
@given(
    st.dictionaries(_IDS, st.integers(-2, 3)).filter(lambda q: any(g >= 0 for g in q.values())),
    _RUNS,
)
def test_negative_grades(grades: dict[str, int], run: dict[str, float]) -> None:
    names = {key: name for key, name in NAMES.items() if key not in {"bpref"}}
    theirs = pytrec_eval.RelevanceEvaluator({"q": grades}, FAMILIES - {"bpref"})
    expected = theirs.evaluate({"q": run})["q"]
    judged = Judgements(grades)
    placed = place(rank_documents(run), judged)
    for their_name, name in names.items():
        measure = parse_measure(name)
        value = score_ranking(measure, placed, judged, measure.k).value or 0.0
        assert value == pytest.approx(expected[their_name], abs=1e-12), name


def test_64_bits_where_trec_eval_has_32() -> None:
    grades, run = {"b": 1}, {"a": 16777217.0, "b": 16777216.0}
    judged = Judgements(grades)
    placed = place(rank_documents(run), judged)
    names = ("P@1", "AP")
    ours = [score_ranking(m := parse_measure(n), placed, judged, m.k).value for n in names]
    theirs = pytrec_eval.RelevanceEvaluator({"q": grades}, {"P.1", "map"}).evaluate({"q": run})["q"]
    assert ours == [0.0, 0.5]
    assert (theirs["P_1"], theirs["map"]) == (1.0, 1.0)
