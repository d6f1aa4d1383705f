"""The same numbers as trec_eval, through pytrec_eval-terrier, wherever no departure is declared.

Scores that are equal only in 32 bits are left out: trec_eval 9 keeps 32, evalnb 64. Grades below 0
are left out of Bpref, where -1 and -2 have meanings of trec_eval's own.
"""

from __future__ import annotations

import random
import struct
import warnings

import pytest
import pytrec_eval
from hypothesis import example, given
from hypothesis import strategies as st

from evalnb.evaluation.many_runs import score_runs
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


N_QUERIES = 5_000
LIMIT = 1e-9
THEIRS = {
    "pytrec_eval": {
        "map": "AP", "recip_rank": "RR", "Rprec": "Rprec", "ndcg": "nDCG", "P_5": "P@5",
        "recall_5": "R@5", "ndcg_cut_5": "nDCG@5", "map_cut_5": "AP@5", "success_5": "Success@5",
    },
    "ir_measures": {
        name: name for name in
        ("AP", "RR", "Rprec", "nDCG", "P@5", "R@5", "nDCG@5", "AP@5", "Success@5")
    } | {"RR(rel=2)": "RR(rel=2)", "P(rel=2)@5": "P(rel=2)@5", "AP(rel=2)": "AP(rel=2)",
         "nDCG(gains={1:1,2:3,3:7,4:15})@5": "nDCG(dcg='exp-log2')@5"},
}  # fmt: skip


def _random_queries(seed: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Draw queries with tied scores, and with negative and missing grades."""
    chance, ids = random.Random(seed), [f"d{n}" for n in range(40)]
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for query in (f"q{n}" for n in range(N_QUERIES)):
        judged = chance.sample(ids, chance.randint(1, 20))
        qrels[query] = {key: chance.choice((-2, -1, 0, 0, 1, 1, 2, 3, 4)) for key in judged}
        qrels[query][judged[0]] = chance.choice((0, 1))  # pytrec_eval needs a grade of 0 or more
        found = chance.sample(ids, chance.randint(1, 30))
        spread = chance.choice((2, 5, 1000))  # scores that 32 bits hold
        run[query] = {key: chance.randrange(spread) / 4 for key in found}
    return qrels, run


@pytest.mark.parametrize("tool", THEIRS)
def test_thousands_of_queries(tool: str, record_property: pytest.RecordProperty) -> None:
    qrels, run = _random_queries(5)
    names = THEIRS[tool]
    expected = _pytrec_eval(qrels, run) if tool == "pytrec_eval" else _ir_measures(qrels, run)
    table = score_runs(qrels, {"run": run}, names.values()).values[0]
    worst = 0.0
    for theirs, column in zip(names, table.T, strict=True):
        for query, value in zip(qrels, column.tolist(), strict=True):
            own = 0.0 if value != value else value  # what is undefined is 0 there
            worst = max(worst, abs(own - expected[query][theirs]))
    print(f"{N_QUERIES} queries, {len(names)} measures, {tool}: worst difference {worst:.1e}")
    record_property("worst difference", worst)
    assert worst <= LIMIT


Expected = dict[str, dict[str, float]]


def _pytrec_eval(qrels: dict[str, dict[str, int]], run: Expected) -> Expected:
    families = {
        "map", "recip_rank", "Rprec", "ndcg", "P.5", "recall.5", "ndcg_cut.5", "map_cut.5",
        "success.5",
    }  # fmt: skip
    return pytrec_eval.RelevanceEvaluator(qrels, families).evaluate(run)  # type: ignore[no-any-return]


def _ir_measures(qrels: dict[str, dict[str, int]], run: Expected) -> Expected:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its dependencies warn while they are imported
        ir_measures = pytest.importorskip("ir_measures", reason="pip install ir_measures")
        measures = {name: ir_measures.parse_measure(name) for name in THEIRS["ir_measures"]}
        found: Expected = {query: {} for query in qrels}
        spelt = {measure: name for name, measure in measures.items()}
        for metric in ir_measures.iter_calc(list(measures.values()), qrels, run):
            found[metric.query_id][spelt[metric.measure]] = metric.value
    return found
