"""Inputs on which tools disagree or broke, each with the outcome that is right here.

Named as in the collection that they come from: d1 to d19 are rows of its table of disagreements,
r01 and on its reported cases.
"""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalnb.api import compare, evaluate
from evalnb.errors import BadInputError, GoldError, NotEvaluatedError
from evalnb.evaluation.runfiles import RunScores, score_run
from evalnb.gold.cases import GoldCase, GoldDataset, dataset_from_cases
from evalnb.gold.labels import ContentExpectation, LabelledIds
from evalnb.gold.trec import Qrels, parse_qrels, parse_run, qrels_to_gold, rank_documents
from evalnb.measures.content import match_content
from evalnb.measures.scoring import plan_scoring, score_result
from evalnb.search.request import QueryRequest
from evalnb.search.result import Hit, Identities, QueryResult
from evalnb.workspace.system import open_workspace

D123 = {"d1": 1.0, "d2": 1.0, "d3": 1.0}
HUNDRED = {f"d{i:03}": 1.0 for i in range(100)}
TEN = {f"d{i}": 1 for i in range(10)}
THIRTY = {f"r{i:02}": 1 for i in range(30)}
TWENTY = {f"r{i:02}": float(-i) for i in range(20)}

# name, grades, run of one query, measure, value
ONE_QUERY = [
    ("d1", {"d3": 1}, D123, "RR", 1.0),
    ("d1", {"d3": 1}, D123, "RR@3", 1.0),
    ("d1", {"d3": 1}, D123, "nDCG@3", 1.0),
    ("d2", {"d1": 1}, D123, "RR", 0.333333),
    ("d2", {"d1": 1}, D123, "RR@3", 0.333333),
    ("d3", {"d050": 1}, HUNDRED, "RR", 0.02),
    ("d6", {"a": 0}, {"a": 1.0}, "RR", None),
    ("d7", {"a": 1, "z": 0}, {"u": 3, "z": 2, "a": 1}, "RR", 0.333333),
    ("d7", {"a": 1, "z": 0}, {"u": 3, "z": 2, "a": 1}, "Judged@3", 0.666667),
    ("d8", {"a": 1, "b": 3}, {"a": 2, "b": 1}, "nDCG@10", 0.796708),
    ("d9", TEN, {"d0": 2, "d1": 1}, "nDCG@3", 0.765361),
    ("d9", TEN, {"d0": 2, "d1": 1}, "nDCG", 0.358954),
    ("d10", {"a": 1, "b": 2}, {"a": 2, "b": 1}, "nDCG@10", 0.859719),
    ("d10", {"a": 1, "b": 2}, {"a": 2, "b": 1}, "RR(rel=2)", 0.5),
    ("d12", {"a": 1}, {"a": 2, "b": 1}, "P@5", 0.2),
    ("d13", TEN, {"d0": 2, "d1": 1}, "R@2", 0.2),
    ("d14", {"a": 1, "b": 1}, {"a": 1}, "AP", 0.5),
    ("d15", {"a": 1}, {f"u{i:02}": 99 - i for i in range(12)} | {"a": 1}, "RR", 0.076923),
    ("d15", {"a": 1}, {f"u{i:02}": 99 - i for i in range(12)} | {"a": 1}, "RR@10", 0.0),
    ("d16", {"q": 1}, {"q": 2, "a": 1}, "RR", 1.0),
    ("d19", {"b": 1}, {"a": 16777217, "b": 16777216}, "P@1", 0.0),
    ("r07", {"a": 0, "b": 1, "c": 0}, {"b": 1.0, "a": 1.0}, "nDCG", 1.0),
    ("r07", {"a": 0, "b": 1, "c": 0}, {"b": 1.0, "c": 1.0}, "nDCG", 0.63093),
    ("r08", {"d3": 1}, D123, "AP", 1.0),
    ("r10", {"b": 1}, {"a": 16777217, "b": 16777216}, "AP", 0.5),
    ("r12", {"a": 1, "ghost": 1}, {"a": 2.0, "b": 1.0}, "R@10", 0.5),
    ("r12", {"a": 1, "ghost": 1}, {"a": 2.0, "b": 1.0}, "AP", 0.5),
    ("r12", {"a": 1, "ghost": 1}, {"a": 2.0, "b": 1.0}, "nDCG@10", 0.613147),
    ("r17", {"a": 1, "b": 2}, {"a": 2.0, "b": 1.0}, "P(rel=2)@1", 0.0),
    ("r17", {"a": 1, "b": 2}, {"a": 2.0, "b": 1.0}, "AP(rel=2)", 0.5),
    ("r17", {"a": 1, "b": 2}, {"a": 2.0, "b": 1.0}, "nDCG", 0.859719),
    ("r18", THIRTY, TWENTY, "nDCG@20", 1.0),
    ("r18", THIRTY, TWENTY, "nDCG", 0.768456),
]  # fmt: skip


@pytest.mark.parametrize(("name", "grades", "run", "measure", "value"), ONE_QUERY)
def test_one_query(
    name: str, grades: dict[str, int], run: dict[str, float], measure: str, value: float | None
) -> None:
    scores = score_run({"q": grades}, {"q": run}, [measure])
    found = scores.rows[0].value
    assert found == (None if value is None else pytest.approx(value, abs=5e-7)), name


def _means(scores: RunScores) -> list[float | None]:
    return [None if mean.mean is None else round(mean.mean, 6) for mean in scores.means]


def _files(qrels: str, run: str, *measures: str) -> RunScores:
    return score_run(
        parse_qrels(qrels.encode(), name="q.txt"), parse_run(run.encode(), name="r.txt"), measures
    )


def test_d04_a_judged_query_that_the_run_lacks_counts_as_0() -> None:
    scores = score_run({"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": {"a": 1.0}}, ["RR"])
    assert (_means(scores), scores.missing) == ([0.5], ("q2",))


def test_d05_r03_a_query_without_judgements_is_named_and_not_scored() -> None:
    scores = score_run(
        {"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": {"a": 1.0}, "q9": {"c": 1.0}}, ["AP", "RR"]
    )
    assert (_means(scores), scores.unjudged) == ([0.5, 0.5], ("q9",))
    assert {row.query for row in scores.rows} == {"q1", "q2"}


def test_d11_r22_a_duplicate_document_in_a_run_names_topic_id_and_lines() -> None:
    run = "t1 Q0 p7 1 9.0 s\nt1 Q0 p7 2 8.0 s\nt1 Q0 p3 3 7.0 s\n"
    with pytest.raises(GoldError, match=r"r\.txt:2: query 't1' has document 'p7' on line 1 and"):
        _files("t1 0 p3 1\n", run, "AP")


def test_d17_nothing_is_rounded_before_the_mean() -> None:
    qrels = {f"q{i}": {"a": 1} for i in range(3)}
    run = {f"q{i}": {"a": 0.0} | {f"u{j}": 1.0 + j for j in range(2)} for i in range(3)}
    assert score_run(qrels, run, ["RR"]).means[0].mean == pytest.approx(1 / 3, abs=1e-15)


def test_r01_a_sharp_sign_stands_in_ids() -> None:
    scores = _files(
        "t1 0 web_07#2_55 1\nt1 0 web_07#9_12 0\n# second assessor starts here\n"
        "t2 0 web_31#0_1 2\n",
        "t1 Q0 web_07#9_12 1 2.0 s\nt1 Q0 web_07#2_55 2 1.0 s\nt2 Q0 web_31#0_1 1 1.0 s\n",
        "AP",
        "nDCG@10",
    )
    assert [round(row.value or 0, 6) for row in scores.rows] == [0.5, 0.63093, 1.0, 1.0]
    assert _means(scores) == [0.75, 0.815465]


def test_r02_no_shared_topic_fails_and_names_both_sides() -> None:
    with pytest.raises(NotEvaluatedError, match=r"11\.1, 12\.1.*11, 12"):
        _files("11.1 0 d1 1\n12.1 0 d2 1\n", "11 Q0 d1 1 1.0 s\n12 Q0 d2 1 1.0 s\n", "AP")


@pytest.mark.parametrize(
    "qrels",
    [
        "q1 0 d1 0.2\nq1 0 d2 1.5\nq1 0 d3 0\n",
        "q1 0 h 0.5\nq1 0 e 0.125\nq1 0 s 0.0625\nq1 0 z 0\n",
    ],
)
def test_r04_r05_a_fractional_grade_is_refused_with_its_line(qrels: str) -> None:
    with pytest.raises(GoldError, match=r"q\.txt:1: grade '0\.\d' is not a whole number"):
        _files(qrels, "q1 Q0 d1 1 1.0 s\n", "nDCG")


def test_r06_whole_and_32_bit_numbers_are_scores() -> None:
    from decimal import Decimal

    run = {"q1": {"d1": 10000, "d2": np.float32(0.5), "d3": Decimal("0.25")}}
    scores = score_run({"q1": {"d1": 1}}, run, ["RR"])  # type: ignore[dict-item]
    assert _means(scores) == [1.0]


def test_r08_ties_are_counted() -> None:
    scores = score_run({"q1": {"d3": 1}}, {"q1": D123}, ["AP"])
    assert (scores.n_tied, scores.n_positions) == (3, 3)


def test_r12_a_judged_document_that_the_corpus_lacks_is_named(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path / "ws", create=True)
    texts = {"a": "apples", "b": "apples and many other words"}
    documents = [{"path": key, "text": text} for key, text in texts.items()]
    workspace.ingest_corpus({"sources": [{"key": "s", "documents": documents}]})
    gold = _gold({"apples": {"a": 1, "ghost": 1}})
    report = evaluate(gold, {"ws": workspace}, measures=["R@10", "AP", "nDCG@10"]).record
    assert "document ids judged but not in the corpus: 1 (ghost)" in report.notes
    values = [s.value for r in report.results for s in r.scores if s.measure in report.measures]
    assert values[:3] == pytest.approx([0.5, 0.5, 0.613147], abs=1e-6)


def test_r14_an_empty_judgement_set_leaves_its_neighbours_alone() -> None:
    run = {q: {"d1": 3.0, "d2": 2.0, "d3": 1.0} for q in ("q1", "q2", "q3")}
    qrels: dict[str, dict[str, int]] = {
        "q1": {"d1": 0, "d2": 1},
        "q2": {},
        "q3": {"d2": 1, "d3": 1},
    }
    scores = score_run(qrels, run, ["AP", "nDCG"])
    values = [None if row.value is None else round(row.value, 6) for row in scores.rows]
    assert values == [0.5, 0.63093, None, None, 0.583333, 0.693426]
    assert (_means(scores)[0], scores.means[0].n, scores.means[0].n_undefined) == (0.541667, 2, 1)


def test_r15_queries_with_nothing_relevant_leave_the_mean() -> None:
    run = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 2.0, "b": 1.0}}
    qrels = {"q1": {"a": 1}, "q2": {"a": 0, "b": 0}}
    scores = score_run(qrels, run, ["R@10", "AP", "nDCG", "P@1"])
    assert _means(scores) == [1.0] * 4
    assert {(mean.n, mean.n_undefined) for mean in scores.means} == {(1, 1)}
    assert _means(score_run(qrels, run, ["R@10", "P@1"], profile="trec")) == [0.5, 0.5]


@pytest.mark.parametrize(
    ("same", "notes"),
    [("q1 0 a 1\nq1 0 a 1\n", ("1 repeated row was merged",)), ("q1 0 a 1\n", ())],
)
def test_r23_equal_rows_are_one_judgement(same: str, notes: tuple[str, ...]) -> None:
    scores = _files(same, "q1 Q0 a 1 1.0 s\n", "AP")
    assert (_means(scores), scores.notes) == ([1.0], notes)


def test_r23_conflicting_rows_name_both_lines_and_grades() -> None:
    with pytest.raises(GoldError, match=r"q\.txt:2: .* graded 0 here and 1 on line 1"):
        _files("q1 0 a 1\nq1 0 a 0\n", "q1 Q0 a 1 1.0 s\n", "AP")


def test_r24_one_order_for_equal_scores() -> None:
    ids = [f"d{i:02}" for i in range(20)]
    shuffled = (np.random.default_rng(seed).permutation(ids).tolist() for seed in range(100))
    tops = {tuple(rank_documents(dict.fromkeys(order, 1.0))[:5]) for order in shuffled}
    assert tops == {("d19", "d18", "d17", "d16", "d15")}
    for order in permutations(["a", "b", "c"]):
        run = "".join(f"q Q0 {key} 1 1.0 s\n" for key in order)
        assert _means(_files("q 0 b 1\n", run, "RR")) == [0.5]


def test_r25_the_rank_column_is_not_used_but_counted() -> None:
    scores = _files("q1 0 b 1\n", "q1 Q0 a 0 0.2 s\nq1 Q0 b 0 0.9 s\n", "RR")
    assert (_means(scores), scores.n_rank_contradictions) == ([1.0], 1)


def test_r28_a_byte_order_mark_is_no_part_of_the_first_id() -> None:
    qrels = bytes.fromhex("efbbbf7131203020643120310a7132203020643220310a")
    assert list(parse_qrels(qrels).grades) == ["q1", "q2"]


def test_r32_a_number_that_is_none_is_named_and_never_written(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"id": "1", "text": "pruning", "doi": NaN}\n')
    workspace = open_workspace(tmp_path / "ws", create=True)
    with pytest.raises(BadInputError, match=r"corpus\.jsonl:1: doi: nan is not a finite number"):
        workspace.ingest([path])
    with pytest.raises(GoldError, match=r"query 'q1', document 'd2'|d2|nan"):
        _files("q1 0 d1 1", "q1 Q0 d1 1 1.0 s\nq1 Q0 d2 2 nan s")
    report = evaluate(_gold({"q": {}, "r": {"a": 1}}), lambda query: ["a"])
    saved = report.save(tmp_path / "report.json").read_text()
    assert '"value":null' in saved
    json.dumps(json.loads(saved), allow_nan=False)


def test_r33_ids_that_look_like_numbers_stay_text() -> None:
    scores = _files(
        "q1\t0\t2301.12900\t2\nq1\t0\t0710\t1\nq1\t0\t1e5\t1\n",
        "q1 Q0 2301.12900 1 .9 s\nq1 Q0 0710 2 .8 s\nq1 Q0 1e5 3 .7 s\nq1 Q0 NA 4 .6 s\n",
        "R@10",
        "AP",
    )
    assert _means(scores) == [1.0, 1.0]


def test_f50_a_pointer_in_place_of_data() -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 250287\n"
    with pytest.raises(GoldError, match="Git LFS pointer to 250287 bytes"):
        _files(pointer, "q1 Q0 a 1 1.0 s\n", "AP")


@pytest.mark.parametrize("row", ["     1     28\t0\t0.000000\r\n", "1   17   0   0.000000   \r\n"])
def test_f54_another_layout_is_not_read_as_grades(row: str) -> None:
    with pytest.raises(GoldError, match=r"q\.txt:1: grade '0\.000000' is not a whole number"):
        _files(row, "1 Q0 28 1 1.0 s\n", "AP")


def _gold(judged: dict[str, dict[str, int]]) -> GoldDataset:
    cases = (
        GoldCase(case_id=q, split="development", request={"query": q}, document_relevance=grades)
        for q, grades in judged.items()
    )
    return dataset_from_cases(tuple(cases), dataset_id="known")


def _live(case: dict[str, Any], hits: list[Hit], *measures: str) -> dict[str, float | None]:
    gold = GoldCase(case_id="c", split="development", request=QueryRequest(query="q"), **case)
    plan = plan_scoring([gold], measures)
    rows = score_result(gold, QueryResult(hits=tuple(hits)), plan, limit=10)
    return {row.measure: row.value for row in rows}


def _documents(*ids: str) -> list[Hit]:
    return [Hit(rank=n, ids=Identities(document_id=key)) for n, key in enumerate(ids, start=1)]


def test_r20_an_empty_list_is_a_result_that_scores_0() -> None:
    expected = {"expected": LabelledIds(document_ids=("n2",))}
    names = ("Success@5", "RR", "AP", "R@10", "nDCG@10")
    assert _live(expected, [], *names) == dict.fromkeys(names, 0.0)


def test_r21_a_repeated_id_keeps_its_first_place() -> None:
    expected = {"expected": LabelledIds(document_ids=("id1",))}
    names = ("Success@1", "RR", "AP", "nDCG@10", "P@2")
    found = _live(expected, _documents("id1", "id1", "id2"), *names)
    assert found == {"Success@1": 1.0, "RR": 1.0, "AP": 1.0, "nDCG@10": 1.0, "P@2": 0.5}
    twice = {"expected": LabelledIds(document_ids=("id1", "id1"))}
    assert set(_live(twice, _documents("id1"), "R@5", "AP", "nDCG@5").values()) == {1.0}
    gold = qrels_to_gold(Qrels("q", {"q1": {"id1": 1}}))
    report = evaluate(gold, {"fused": lambda query: ["id1", "id1", "id2"]})
    assert report.record.results[0].duplicates_dropped == 1


def test_d18_identical_systems_differ_by_nothing() -> None:
    gold = qrels_to_gold(Qrels("q", {f"q{n}": {"a": 1} for n in range(8)}))
    report = evaluate(gold, {name: lambda query: ["b", "a"] for name in ("one", "two")})
    frame = compare(report, baseline="one").frame()
    for column, value in (("diff", 0.0), ("p_value", 1.0), ("wins", 0), ("losses", 0), ("ties", 8)):
        assert set(frame[column]) == {value}, column


def test_r35_composed_letters_and_ligatures_match_and_spans_are_the_originals() -> None:
    chunk = "Sürdürülebilirlik and Eﬃcient models"
    decomposed = "Su\u0308rdu\u0308ru\u0308lebilirlik"
    for phrase in (decomposed, "Efficient models"):
        case = GoldCase(
            case_id="c",
            split="development",
            request=QueryRequest(query="q"),
            content=(ContentExpectation(content_contains=(phrase,)),),
        )
        spans = match_content(case, None, chunk)
        assert spans is not None
        assert [chunk[a:b] for a, b in spans] in (["Sürdürülebilirlik"], ["Eﬃcient models"])


def test_r38_an_empty_chunk_matches_nothing() -> None:
    case = {"content": (ContentExpectation(content_contains=("revenue grew",)),)}
    empty = [Hit(rank=1, ids=Identities(document_id="d", unit_id="d"), text="", document_name="d")]
    assert _live(case, empty, "RR", "Success@5") == {"RR": 0.0, "Success@5": 0.0}
    with pytest.raises(ValueError, match="empty phrase"):
        ContentExpectation(content_contains=("",))
