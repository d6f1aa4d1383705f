"""What unjudged results could change, by hand."""

from __future__ import annotations

import pytest

import evalnb as ev
from evalnb.comparison.holes import judge_next, unjudged_bounds
from evalnb.errors import BadInputError, NotFoundError
from evalnb.evaluation.report import EvaluationReport
from evalnb.gold.cases import GoldCase, dataset_from_cases

FOUND = {
    "today": {"q1": ["a", "u"], "q2": ["x", "b"]},
    "new": {"q1": ["u", "a"], "q2": ["x", "b"]},
}


@pytest.fixture(scope="module")
def report() -> EvaluationReport:
    cases = (
        GoldCase(
            case_id=q,
            split="development",
            request={"query": q},
            document_relevance={key: 1, "z": 0},
        )
        for q, key in (("q1", "a"), ("q2", "b"))
    )
    systems = {name: found.get for name, found in FOUND.items()}
    return ev.evaluate(
        dataset_from_cases(tuple(cases), dataset_id="two"), systems, measures=["RR@10", "P@2"]
    ).record


def test_bounds(report: EvaluationReport) -> None:
    today, new = unjudged_bounds(report, "RR@10")
    # today: q1 is 1 either way; q2 is 1/2, or 1 if x is relevant
    assert (today.mean, today.if_relevant) == (0.75, 1.0)
    assert (new.mean, new.if_relevant) == (0.5, 1.0)
    assert (today.n, today.n_unjudged) == (2, 2)
    # q1 keeps its only target; q2 gains a second one and finds it
    assert unjudged_bounds(report, "R@1")[0].if_relevant == 0.75


def test_the_judgement_that_decides_comes_first(report: EvaluationReport) -> None:
    first, second = judge_next(report, baseline="today", measure="RR@10")
    # u would lift new from 1/2 to 1 and leave today at 1; x lifts both alike
    assert (first.case_id, first.id, first.effect) == ("q1", "u", 0.5)
    assert first.ranks == {"today": 2, "new": 1}
    assert (second.id, second.effect) == ("x", 0.0)
    assert judge_next(report, baseline="today", n=1)[0].id == "u"


def test_wrong_names_are_refused(report: EvaluationReport) -> None:
    with pytest.raises(NotFoundError, match="is no variant"):
        judge_next(report, baseline="other")
    with pytest.raises(BadInputError, match="n must not be negative"):
        judge_next(report, baseline=report.variants[0].name, n=-1)
    with pytest.raises(BadInputError, match="does not change with judgements"):
        unjudged_bounds(report, "Judged@10")
