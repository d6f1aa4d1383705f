"""Run files scored against judgements: rows, means, and what a reader has to be told."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evalnb as ev
from evalnb.errors import BadInputError, GoldError, NotEvaluatedError, UnknownMeasureError
from evalnb.evaluation.runfiles import DEFAULT_RUN_MEASURES, RunScores, score_run
from evalnb.gold.trec import parse_qrels, parse_run

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


def _values(scores: RunScores) -> dict[str, dict[str, float | None]]:
    found: dict[str, dict[str, float | None]] = {}
    for row in scores.rows:
        found.setdefault(row.query, {})[row.measure] = row.value
    return found


def _mean(scores: RunScores, measure: str) -> float | None:
    return next(mean.mean for mean in scores.means if mean.measure == measure)


def test_every_judged_query_counts_and_others_are_named() -> None:
    scores = score_run(
        {"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": {"a": 1.0}, "q9": {"c": 1.0}}, ["AP"]
    )
    assert _values(scores) == {"q1": {"AP": 1.0}, "q2": {"AP": 0.0}}
    assert (_mean(scores, "AP"), scores.means[0].n) == (0.5, 2)
    assert (scores.missing, scores.unjudged) == (("q2",), ("q9",))


def test_no_shared_query_is_an_error_that_names_both_sides() -> None:
    with pytest.raises(NotEvaluatedError) as caught:
        score_run({"11.1": {"d1": 1}, "12.1": {"d2": 1}}, {"11": {"d1": 1.0}, "12": {"d2": 1.0}})
    assert "2 judged (11.1, 12.1), 2 in the run (11, 12)" in str(caught.value)
    assert caught.value.exit_status == 3


@pytest.mark.parametrize(
    ("qrels", "run", "values", "mean", "n", "n_undefined"),
    [
        # nothing relevant: undefined, out of the mean
        ({"q1": {"a": 1}, "q2": {"a": 0, "b": 0}}, {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 2.0}},
         {"q1": 1.0, "q2": None}, 1.0, 1, 1),
        # an empty judgement set does not disturb its neighbours
        ({"q1": {"d1": 0, "d2": 1}, "q2": {}, "q3": {"d2": 1, "d3": 1}},
         {q: {"d1": 3.0, "d2": 2.0, "d3": 1.0} for q in ("q1", "q2", "q3")},
         {"q1": 0.5, "q2": None, "q3": 7 / 12}, 13 / 24, 2, 1),
        # nothing is defined at all
        ({"q1": {"a": 0}}, {"q1": {"a": 1.0}}, {"q1": None}, None, 0, 1),
    ],
)  # fmt: skip
def test_undefined_queries(
    qrels: Qrels,
    run: Run,
    values: dict[str, float | None],
    mean: float | None,
    n: int,
    n_undefined: int,
) -> None:
    scores = score_run(qrels, run, ["AP"])
    found = {query: row["AP"] for query, row in _values(scores).items()}
    assert found == {q: None if v is None else pytest.approx(v) for q, v in values.items()}
    counted = scores.means[0]
    assert (counted.n, counted.n_undefined) == (n, n_undefined)
    assert counted.mean == (None if mean is None else pytest.approx(mean))


def test_profile_trec_scores_undefined_as_0() -> None:
    qrels, run = {"q1": {"a": 1}, "q2": {"a": 0}}, {"q1": {"a": 1.0}, "q2": {"a": 1.0}}
    scores = score_run(qrels, run, ["R@10", "nDCG@10", "P@1"], profile="trec")
    assert [mean.mean for mean in scores.means] == [0.5, 0.5, 0.5]
    assert {mean.n_undefined for mean in scores.means} == {0}
    assert all("trec" in (row.reason or "") for row in scores.rows if row.query == "q2")


NUMBERS = [
    10000,
    0.5,
    np.float32(0.5),
    np.float64(0.5),
    np.int32(3),
    Decimal("0.25"),
    Fraction(1, 3),
    -1,
]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda n: type(n).__name__)
def test_any_finite_real_number_is_a_score(number: Any) -> None:
    scores = score_run({"q1": {"d1": 1}}, {"q1": {"d1": number, "d2": -(10**6)}}, ["RR"])
    assert _mean(scores, "RR") == 1.0


@pytest.mark.parametrize(
    "value",
    [True, np.True_, "1.0", None, float("nan"), float("inf"), Decimal("NaN"), 10**400, 1j, [1.0]],
    ids=repr,
)
def test_what_is_no_finite_real_number_is_refused(value: Any) -> None:
    with pytest.raises(BadInputError, match=r"query 'q1', document 'd2'.*finite real score"):
        score_run({"q1": {"d1": 1}}, {"q1": {"d1": 1.0, "d2": value}}, ["RR"])


@pytest.mark.parametrize("value", [True, 1.0, 0.5, "1", None, 101, np.float64(1)], ids=repr)
def test_a_grade_is_a_whole_number(value: Any) -> None:
    with pytest.raises(BadInputError, match=r"query 'q1', document 'd1'.*whole grade"):
        score_run({"q1": {"d1": value}}, {"q1": {"d1": 1.0}}, ["RR"])
    assert _mean(score_run({"q": {"d": np.int64(2)}}, {"q": {"d": 1.0}}, ["RR"]), "RR") == 1.0


@pytest.mark.parametrize("given", [None, 3, [("q", {"d": 1})], {"q"}], ids=repr)
def test_a_run_and_judgements_are_files_or_dicts(given: Any) -> None:
    for what, pair in (("qrels", (given, {})), ("run", ({"q": {"d": 1}}, given))):
        with pytest.raises(BadInputError, match=f"{what} is .*expected a path or a dict of dicts"):
            score_run(*pair, ["RR"])


@pytest.mark.parametrize(
    ("qrels", "run"),
    [
        ({7: {"d": 1}}, {"7": {"d": 1.0}}),
        ({"7": {1: 1}}, {"7": {"1": 1.0}}),
        ({"7": ["d"]}, {"7": {}}),
    ],
)
def test_ids_are_text(qrels: Any, run: Any) -> None:
    with pytest.raises(BadInputError):
        score_run(qrels, run, ["RR"])


@pytest.mark.parametrize(
    ("run", "n_tied"),
    [
        ({"d1": 1.0, "d2": 1.0, "d3": 1.0}, 3),
        ({"d1": 1.0, "d2": 0.5, "d3": 0.5}, 2),
        ({"d1": 3.0, "d2": 2.0, "d3": 1.0}, 0),
        ({"d1": 0.0, "d2": -0.0, "d3": 1.0}, 2),
    ],
)
def test_positions_that_share_a_score_are_counted(run: dict[str, float], n_tied: int) -> None:
    scores = score_run({"q": {"d3": 1}}, {"q": run}, ["AP"])
    assert (scores.n_positions, scores.n_tied) == (3, n_tied)


def test_a_self_match_stays_unless_dropped() -> None:
    qrels, run = {"q1": {"a": 1}}, {"q1": {"q1": 2.0, "a": 1.0}}
    assert _mean(score_run(qrels, run, ["RR"]), "RR") == 0.5
    dropped = score_run(qrels, run, ["RR"], drop_self=True)
    assert (_mean(dropped, "RR"), dropped.n_self) == (1.0, 1)
    assert run == {"q1": {"q1": 2.0, "a": 1.0}}


TIED = {"q1": {"a": 1.0, "b": 1.0, "q1": 1.0, "c": 0.5}, "q2": {"a": 2.0, "b": 1.0}}


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize(
    ("drop_self", "spread", "mean"),
    [
        (False, (1 / 3, 11 / 18, 1.0), (5 / 12, 5 / 9, 3 / 4)),
        (True, (1 / 2, 3 / 4, 1.0), (1 / 2, 5 / 8, 3 / 4)),
    ],
)
def test_what_ties_could_be(
    large: bool,
    drop_self: bool,
    spread: tuple[float, ...],
    mean: tuple[float, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    qrels = {"q1": {"a": 1, "c": 0}, "q2": {"b": 1}, "q3": {"a": 0}}
    run = tmp_path / "tied.run"
    rows = ((q, d, s) for q, found in TIED.items() for d, s in found.items())
    run.write_text("".join(f"{q} Q0 {d} 1 {s} t\n" for q, d, s in rows))
    monkeypatch.setattr("evalnb.evaluation.ranked_runs.LARGE_RUN", 0 if large else 1 << 30)
    scores = score_run(qrels, run, ["RR"], drop_self=drop_self, ties=True)
    assert scores.spreads[0] == pytest.approx(spread)
    assert scores.spreads[1:] == ((0.5, 0.5, 0.5), (None, None, None))
    assert scores.mean_spreads == (pytest.approx(mean),)
    plain = score_run(qrels, run, ["RR"], drop_self=drop_self)
    assert (plain.rows, plain.spreads, plain.mean_spreads) == (scores.rows, (), ())


def test_a_frame_with_ties_has_three_columns_more() -> None:
    qrels, run = {"q1": {"a": 1}, "q2": {"a": 0}}, {"q1": {"a": 1.0, "b": 1.0}, "q2": {"a": 1.0}}
    plain, frame = ev.score(qrels, run, ["RR"]), ev.score(qrels, run, ["RR"], ties=True)
    assert [*plain.columns, "worst", "expected", "best"] == [*frame.columns]
    assert frame[["worst", "expected", "best"]].values.tolist()[0] == [0.5, 0.75, 1.0]
    assert frame.loc[1, ["worst", "expected", "best"]].isna().all()


def test_a_level_reaches_what_has_one() -> None:
    scores = score_run({"q": {"a": 1, "b": 2}}, {"q": {"a": 2.0, "b": 1.0}},
                       ["P@1", "AP", "RR", "nDCG@10"], level=2)  # fmt: skip
    assert {mean.measure: round(mean.mean or 0, 6) for mean in scores.means} == {
        "P(rel=2)@1": 0.0, "AP(rel=2)": 0.5, "RR(rel=2)": 0.5, "nDCG@10": 0.859719,
    }  # fmt: skip


@pytest.mark.parametrize(
    "name", ["SpanCompleteness", "R@tokens=100", "unit:RR", "ForbiddenLeakage"]
)
def test_what_a_run_file_cannot_carry_is_refused(name: str) -> None:
    with pytest.raises(BadInputError, match="cannot be measured on a run file"):
        score_run({"q": {"a": 1}}, {"q": {"a": 1.0}}, [name])


def test_unknown_measures_are_refused_before_the_files_are_read(tmp_path: Path) -> None:
    with pytest.raises(UnknownMeasureError):
        score_run(tmp_path / "none.qrels", tmp_path / "none.run", ["ndgc@10"])


def test_files_by_path(tmp_path: Path) -> None:
    qrels, run = tmp_path / "x.qrels", tmp_path / "x.run"
    qrels.write_text("q1 0 2301.12900 2\nq1 0 0710 1\nq1 0 1e5 1\nq1 0 1e5 1\n")
    run.write_text(
        "q1 Q0 2301.12900 1 .9 s\nq1 Q0 0710 1 .8 s\nq1 Q0 1e5 3 .7 s\nq1 Q0 NA 4 .6 s\n"
    )
    scores = score_run(str(qrels), run)
    assert scores.measures == DEFAULT_RUN_MEASURES
    assert (_mean(scores, "AP"), _mean(scores, "R@100")) == (1.0, 1.0)
    assert scores.n_rank_contradictions == 1
    assert scores.notes == ("1 repeated row was merged",)
    assert scores.run == str(run)
    run.write_text("q1 Q0 a 1 nan s\n")
    with pytest.raises(GoldError, match=r"x\.run:1"):
        score_run(qrels, run)


def test_whole_lists_without_a_cutoff() -> None:
    qrels = {"q": {f"r{i}": 1 for i in range(30)}}
    run = {"q": {f"r{i}": float(-i) for i in range(20)}}
    scores = score_run(qrels, run, ["nDCG@20", "nDCG", "P", "R", "Success", "Judged"])
    assert [round(mean.mean or 0, 6) for mean in scores.means] == [
        1.0,
        0.768456,
        1.0,
        0.666667,
        1.0,
        1.0,
    ]
    assert [row.k for row in scores.rows] == [20, None, None, None, None, None]


def test_figures_printed_by_trec_eval(data_dir: Path) -> None:
    folder = data_dir / "runs" / "trec_eval"
    names = {
        "map": "AP", "Rprec": "Rprec", "bpref": "Bpref", "recip_rank": "RR", "ndcg": "nDCG",
        **{f"P_{k}": f"P@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)},
        **{f"recall_{k}": f"R@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)},
        **{f"ndcg_cut_{k}": f"nDCG@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)},
        **{f"map_cut_{k}": f"AP@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)},
        **{f"success_{k}": f"Success@{k}" for k in (1, 5, 10)},
    }  # fmt: skip
    checked = 0
    for printed, qrels, run, level in (
        ("out.test", "qrels.test", "results.test", 1),
        ("out.test.aq", "qrels.test", "results.test", 1),
        ("out.test.aql", "qrels.rel_level", "results.test", 2),
        ("out.comment.test", "qrels.comment.test", "results.comment.test", 1),
    ):
        scores = score_run(
            folder / qrels, folder / run, list(names.values()), level=level, profile="trec"
        )
        found = {(row.query, row.measure): row.value for row in scores.rows}
        found |= {("all", mean.measure): mean.mean for mean in scores.means}
        for line in (folder / printed).read_text().splitlines():
            their_name, query, value = line.split()
            name = next((m for m in scores.measures if _is(m, names.get(their_name))), None)
            if name is not None:
                assert found[query, name] == pytest.approx(float(value), abs=5.1e-5), line
                checked += 1
    assert checked > 300


def _is(measure: str, name: str | None) -> bool:
    return measure.replace("(rel=2)", "") == name


@pytest.mark.parametrize("name", ["cranfield", "adi", "payflow", "xquad_en"])
def test_recorded_runs_query_by_query(name: str, data_dir: Path) -> None:
    folder = data_dir / "baselines"
    names = {
        "map": "AP",
        "ndcg_cut_10": "nDCG@10",
        "recall_100": "R@100",
        "recip_rank": "RR",
        "P_10": "P@10",
    }
    scores = score_run(
        folder / f"{name}.qrels.txt",
        folder / f"{name}.bm25s.run.gz",
        list(names.values()),
        profile="trec",
    )
    found = _values(scores)
    header, *lines = (folder / f"{name}.perquery.tsv").read_text().splitlines()
    for line in lines:
        query, *figures = line.split("\t")
        for their_name, figure in zip(header.split("\t")[1:], figures, strict=True):
            assert found[query][names[their_name]] == pytest.approx(float(figure), abs=6e-7)
    assert len(found) == len(lines)


def test_published_figures_of_trec_dl_2019(data_dir: Path) -> None:
    folder = data_dir / "runs" / "dl19"
    qrels = parse_qrels(folder / "qrels.dl19-passage.txt")
    expected = json.loads((folder / "expected.json").read_text())["expected"]
    for path, figures in expected.items():
        scores = score_run(qrels, parse_run(folder / path), ["nDCG@10"])
        assert _mean(scores, "nDCG@10") == pytest.approx(figures["nDCG@10"], abs=5.1e-5), path


def test_figures_of_other_tools(data_dir: Path) -> None:
    folder = data_dir / "runs" / "ir_measures"
    entries = json.loads((folder / "expected_inline.json").read_text())
    names = {"Success", "P", "R", "AP", "RR", "nDCG", "Rprec", "Bpref", "Judged"}
    n_checked = 0
    for entry in entries:
        name, qrels, run = (entry[key] for key in ("measure", "qrels", "run"))
        if name.partition("@")[0].partition("(")[0].strip() not in names:
            continue
        if "gdeval" in entry["provider"]:  # it gains 2^grade - 1 and calls it nDCG
            name = name.replace("nDCG", "nDCG(dcg='exp-log2')")
        scores = score_run(
            parse_qrels(qrels.encode()), parse_run(run.encode()), [name], profile="trec"
        )
        found = {row.query: row.value for row in scores.rows}
        assert found == pytest.approx(entry["per_query"], abs=5.1e-5)
        n_checked += 1
    assert n_checked >= 7
    cwl = json.loads((folder / "expected_files.json").read_text())["cwl"]["expected"]
    for name in ("AP", "P@1", "P@5", "P@10", "P@20", "RR"):
        scores = score_run(folder / "cwl.qrels", folder / "cwl.run", [name])
        assert {row.query: row.value for row in scores.rows} == pytest.approx(cwl[name], abs=5.1e-5)
