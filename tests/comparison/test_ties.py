"""What equal scores could make of a report's means, by hand."""

from __future__ import annotations

import pytest

import evalnb as ev
from evalnb.comparison.ties import tied_means
from evalnb.errors import BadInputError
from evalnb.gold.cases import GoldCase, dataset_from_cases

TIED = {"q1": [("x", 2.0), ("u", 1.0), ("a", 1.0)], "q2": [("a", 3.0), ("u", 2.0)]}


@pytest.fixture(scope="module")
def report() -> ev.Report:
    cases = (
        GoldCase(
            case_id=q, split="development", request={"query": q}, document_relevance={"a": grade}
        )
        for q, grade in (("q1", 1), ("q2", 1), ("q3", 0))
    )
    systems = {
        "scored": lambda query: TIED.get(query, []),
        "in order": lambda query: [key for key, _ in TIED.get(query, [])],
    }
    return ev.evaluate(
        dataset_from_cases(tuple(cases), dataset_id="three"), systems, measures=["RR@10"]
    )


def test_means(report: ev.Report) -> None:
    scored, ordered = tied_means(report, "RR@10")
    assert (scored.variant, scored.n, scored.n_tied) == ("scored", 2, 1)
    # q1: second or third, q2: first whatever the order
    assert scored.spread == pytest.approx(((1 / 3 + 1) / 2, (5 / 12 + 1) / 2, (1 / 2 + 1) / 2))
    # ids without scores are in the order that was meant
    assert (ordered.variant, ordered.n, ordered.n_tied) == ("in order", 2, 0)
    assert ordered.spread == pytest.approx(((1 / 3 + 1) / 2,) * 3)


def test_what_reads_no_ranking_is_refused(report: ev.Report) -> None:
    with pytest.raises(BadInputError, match="reads no ranking"):
        tied_means(report, "ForbiddenLeakage")
