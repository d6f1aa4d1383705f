"""Frames: fixed columns, types that do not depend on the data, labels that follow the measures."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from evalnb.errors import SearchFailedError
from evalnb.evaluation.frames import (
    AGGREGATE_COLUMNS,
    HIT_COLUMNS,
    SCORE_COLUMNS,
    aggregates_frame,
    hits_frame,
    joined_scores_frame,
    latency_frame,
    run_scores_frame,
    scores_frame,
)
from evalnb.evaluation.report import EvaluationReport
from evalnb.evaluation.request import EvaluationRequest, Variant
from evalnb.evaluation.runner import run_evaluation
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.search.result import Hit, Identities, QueryResult
from evalnb.systems.function import FunctionSystem

CONTRACT = {
    "scores": "variant, repetition, case_id, family_key, intent, language, split, weight, measure, "
    "k, kind, value, numerator, denominator, status, reason",
    "aggregates": "variant, slice, measure, k, kind, n, n_undefined, n_unavailable, mean, "
    "weighted_mean, micro, success_rate, mean_failed_zero, ci_low, ci_high, ci_method, note",
    "hits": "variant, repetition, case_id, rank, source_id, document_id, revision_id, unit_id, "
    "asset_id, definition_id, file_id, grade, forbidden, matched",
}


def gold_case(case_id: str, **labels: Any) -> GoldCase:
    return GoldCase(case_id=case_id, split="development", request={"query": case_id}, **labels)


def evaluated(cases: list[GoldCase], **answers: dict[str, Any]) -> EvaluationReport:
    def searching(given: dict[str, Any]) -> FunctionSystem:
        def search(query: str) -> Any:
            if isinstance(given.get(query), Exception):
                raise given[query]
            return given.get(query, [])

        return FunctionSystem(search)

    return run_evaluation(
        dataset_from_cases(tuple(cases), dataset_id="d"),
        {name: searching(given) for name, given in answers.items()},
        EvaluationRequest(
            variants=tuple(Variant(name=name, system=name) for name in answers),
            allow_unavailable=True,
        ),
    )


@pytest.fixture(scope="module")
def report() -> EvaluationReport:
    return evaluated(
        [
            gold_case("a", expected={"document_ids": ["x"]}, family_key="f", intent="lookup"),
            gold_case("b", expected={"document_ids": ["y"]}),
            gold_case("empty"),
        ],
        today={"a": ["x"], "b": SearchFailedError("down")},
    )


def test_columns_are_those_of_the_contract(report: EvaluationReport) -> None:
    frames = {
        "scores": scores_frame(report),
        "aggregates": aggregates_frame(report),
        "hits": hits_frame(report),
    }
    for name, frame in frames.items():
        assert list(frame.columns) == CONTRACT[name].split(", "), name


def test_types_do_not_depend_on_what_is_missing(report: EvaluationReport) -> None:
    bare = report.model_copy(update={"results": (), "aggregates": ()})
    for make, columns in (
        (scores_frame, SCORE_COLUMNS),
        (aggregates_frame, AGGREGATE_COLUMNS),
        (hits_frame, HIT_COLUMNS),
    ):
        full, empty = make(report), make(bare)
        assert list(empty.columns) == list(columns)
        numbers = {"k", "grade", "value", "numerator", "mean", "ci_low"} & set(columns)
        assert {n: full[n].dtype for n in numbers} == {n: empty[n].dtype for n in numbers}


def test_a_score_has_five_parts_and_the_case_s_facts(report: EvaluationReport) -> None:
    frame = scores_frame(report).set_index(["case_id", "measure"])
    found = frame.loc[("a", "RR@10")]
    assert found[["value", "numerator", "denominator", "status"]].tolist() == [1.0, 1.0, 1.0, "ok"]
    assert found[["family_key", "intent", "k", "kind"]].tolist() == ["f", "lookup", 10, "document"]
    assert frame.loc[("b", "RR@10"), "family_key"] == "b"  # a case without one is its own family
    assert frame.loc[("b", "RR@10"), "status"] == "unavailable"
    assert pd.isna(frame.loc[("b", "RR@10"), "value"])
    assert frame.loc[("empty", "RR@10"), "status"] == "undefined"


LABELS = [
    # ids of the hit, grade, forbidden, matched
    ({"document_id": "x", "unit_id": "u1"}, 1, False, True),
    ({"document_id": "graded"}, 2, False, False),  # judged, but no target of recall
    ({"document_id": "zero"}, 0, False, False),
    ({"document_id": "bad"}, 0, True, False),
    ({"document_id": "other", "source_id": "hidden"}, None, True, False),  # of a forbidden source
    ({"document_id": "other"}, None, False, False),
    ({"unit_id": "u9"}, None, False, False),
]


@pytest.mark.parametrize(("ids", "grade", "forbidden", "matched"), LABELS)
def test_a_hit_is_labelled_as_the_measures_count_it(
    ids: dict[str, str], grade: int | None, forbidden: bool, matched: bool
) -> None:
    gold = gold_case(
        "a",
        expected={"document_ids": ["x"]},
        document_relevance={"graded": 2, "zero": 0},
        forbidden={"document_ids": ["bad"], "source_ids": ["hidden"]},
    )
    hit = Hit(rank=1, kind="document", ids=Identities(**ids))
    frame = hits_frame(evaluated([gold], mine={"a": QueryResult(hits=(hit,))}))
    row = frame.iloc[0]
    assert (None if pd.isna(row["grade"]) else row["grade"]) == grade
    assert (bool(row["forbidden"]), bool(row["matched"])) == (forbidden, matched)


def test_content_is_matched_in_the_text() -> None:
    gold = gold_case("a", content=[{"document": "guide", "content_contains": ["to be FOUND"]}])
    answers = [("1", "words to be found here"), ("2", "nothing"), ("3", "")]
    chunks = [{"id": i, "text": text, "document": "The Guide"} for i, text in answers]
    frame = hits_frame(evaluated([gold], mine={"a": chunks}))
    assert frame["matched"].tolist() == [True, False, False]
    assert frame["grade"].tolist() == [1, pd.NA, pd.NA]


def test_reports_are_joined_without_mixing_variants(report: EvaluationReport) -> None:
    frame = joined_scores_frame([report, report, report])
    assert list(dict.fromkeys(frame["variant"])) == ["today", "today (2)", "today (3)"]
    assert len(frame) == 3 * len(scores_frame(report))
    assert joined_scores_frame([]).empty


def test_times_tell_the_warm_up_apart(report: EvaluationReport) -> None:
    times = latency_frame(report)
    assert list(times.columns) == ["variant", "repetition", "case_id", "latency_ms", "warm_up"]
    assert times["latency_ms"].isna().tolist() == [False, True, False]
    assert times["warm_up"].tolist() == [True, False, False]


def test_what_a_search_cost_can_stand_among_the_scores(report: EvaluationReport) -> None:
    frame = joined_scores_frame([report], costs=True)
    assert list(frame.columns) == list(SCORE_COLUMNS)
    times = frame[frame["measure"] == "latency_ms"]
    assert times["status"].tolist() == ["undefined", "unavailable", "ok"]  # the first is warm-up
    assert set(frame.loc[frame["measure"] == "cost", "status"]) == {"undefined", "unavailable"}


def test_a_run_has_the_columns_of_all_scores() -> None:
    frame = run_scores_frame(
        {"q1": {"a": 1, "z": 0}, "q2": {"b": 0}}, {"q1": {"u": 3.0, "z": 2.0, "a": 1.0}}, ["RR"]
    )
    assert list(frame.columns) == list(SCORE_COLUMNS)
    assert frame["case_id"].tolist() == ["q1", "q2"]
    assert frame["value"].iloc[0] == pytest.approx(1 / 3)
    assert frame["status"].tolist() == ["ok", "undefined"]
