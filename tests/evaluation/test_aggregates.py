"""Means by hand: repetitions first, then cases, each mean beside its counts."""

from __future__ import annotations

import pytest

from evalnb.evaluation.aggregates import aggregate
from evalnb.evaluation.report import CaseResult
from evalnb.gold.cases import GoldCase
from evalnb.measures.scoring import ScoreRow
from evalnb.search.request import Controls, QueryRequest
from evalnb.search.result import QueryResult


def make(case_id, *rows, measure="RR@10", **fields):
    """One case with one score per repetition: a number, a pair, or a status."""
    case = GoldCase(
        case_id=case_id, split="development", request=QueryRequest(query=case_id), **fields
    )
    results = []
    for repetition, row in enumerate(rows):
        if isinstance(row, str):
            score = ScoreRow(measure=measure, status=row, reason="why")
        else:
            top, bottom = row if isinstance(row, tuple) else (row, 1.0)
            score = ScoreRow(
                measure=measure,
                status="ok",
                value=top / bottom,
                numerator=float(top),
                denominator=float(bottom),
            )
        results.append(
            CaseResult(
                variant="v",
                repetition=repetition,
                case_id=case_id,
                seed=0,
                request=case.request,
                controls=Controls(),
                result=QueryResult(),
                scores=(score,),
            )
        )
    return case, results


def rows_of(*made):
    cases = tuple(case for case, _ in made)
    results = tuple(result for _, found in made for result in found)
    return {row.slice: row for row in aggregate(cases, results)}


def test_undefined_and_unavailable_stay_out_of_the_mean():
    row = rows_of(make("a", 1.0), make("b", 0.5), make("c", "undefined"), make("d", "unavailable"))
    mean = row["all"]
    assert (mean.mean, mean.n, mean.n_undefined, mean.n_unavailable) == (0.75, 2, 1, 1)
    assert mean.success_rate == pytest.approx(2 / 3)
    assert mean.mean_failed_zero == pytest.approx(0.5)


def test_nothing_to_average_is_null_and_not_zero():
    mean = rows_of(make("a", "undefined"))["all"]
    assert (mean.mean, mean.success_rate, mean.mean_failed_zero) == (None, None, None)


def test_repetitions_are_averaged_before_cases_and_the_worst_status_wins():
    mean = rows_of(make("a", 1.0, 0.0), make("b", 1.0, "unavailable"), make("c", 1.0, 1.0))["all"]
    assert (mean.mean, mean.n, mean.n_unavailable) == (0.75, 2, 1)


def test_weights_stand_beside_the_mean_not_in_it():
    mean = rows_of(make("a", 1.0, weight=3.0), make("b", 0.0))["all"]
    assert (mean.mean, mean.weighted_mean) == (0.5, 0.75)
    assert rows_of(make("a", 1.0))["all"].weighted_mean is None


def test_evidence_is_also_summed_over_all_cases():
    made = (
        make("a", (1, 10), measure="SpanCompleteness"),
        make("b", (2, 2), measure="SpanCompleteness"),
    )
    mean = rows_of(*made)["all"]
    assert (mean.mean, mean.micro) == (pytest.approx(0.55), 0.25)
    assert rows_of(make("a", 1.0))["all"].micro is None


def test_a_failure_counted_as_zero_would_be_the_best_leakage():
    mean = rows_of(
        make("a", (1, 2), measure="ForbiddenLeakage"),
        make("b", "unavailable", measure="ForbiddenLeakage"),
    )["all"]
    assert (mean.mean, mean.mean_failed_zero) == (0.5, None)


def test_slices_follow_intent_language_and_tags():
    rows = rows_of(
        make("a", 1.0, intent="identifier", language="en", tags={"area": "x"}), make("b", 0.0)
    )
    assert list(rows) == ["all", "intent=identifier", "language=en", "tag:area=x"]
    assert rows["intent=identifier"].mean == 1.0


def test_a_note_says_how_many_searches_it_concerns():
    noted = ScoreRow(measure="R@10", status="ok", value=1.0, reason="the limit is below")
    plain = ScoreRow(measure="R@10", status="ok", value=1.0)
    case, (first, second) = make("a", 1.0, 1.0)

    def note(*rows):
        results = [
            r.model_copy(update={"scores": (row,)})
            for r, row in zip((first, second), rows, strict=True)
        ]
        return aggregate((case,), tuple(results))[0].note

    assert note(noted, noted) == "the limit is below"
    assert note(noted, plain) == "the limit is below in 1 of 2 searches"
    assert note(plain, plain) == ""
