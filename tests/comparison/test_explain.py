"""Explained figures: each rule's value worked by hand."""

from __future__ import annotations

import pytest

import evalnb as ev
from evalnb.comparison.explain import Explanation, deciding, explain_case
from evalnb.errors import BadInputError, NotFoundError, UnknownMeasureError
from evalnb.gold.cases import GoldCase, dataset_from_cases


def explained(returned: list[str], measure: str, **labels: object) -> Explanation:
    case = GoldCase.model_validate(
        {"case_id": "q", "split": "development", "request": {"query": "q"}, **labels}
    )
    gold = dataset_from_cases((case,), dataset_id="one")
    report = ev.evaluate(gold, {"mine": lambda query: returned})
    (found,) = explain_case(report.record, "q", measure)
    return found


def values(found: Explanation) -> dict[str, float | None]:
    return {r.rule: None if r.value is None else round(r.value, 6) for r in found.readings}


GRADED = {"document_relevance": {"a": 1, "b": 3}}
TEN = {"document_relevance": {f"d{n}": 1 for n in range(10)}}
EXPLAINED = [
    (["a", "b"], "nDCG@10", GRADED, {"evalnb": 0.796708, "exponential gain": 0.70981}),
    (["d0", "d1"], "nDCG@3", TEN, {"evalnb": 0.765361, "uncut ideal": 0.358954}),
    (["d0", "d1"], "R@2", TEN, {"evalnb": 0.2, "capped recall": 1.0}),
    (["d0", "d1"], "P@5", TEN, {"evalnb": 0.4, "of what came back": 1.0}),
    (
        ["b", "a"],
        "R@1",
        {"expected": {"document_ids": ["a"]}, "document_relevance": {"a": 2, "b": 1}},
        {"evalnb": 0.0, "trec_eval": 0.5},
    ),
    (["q", "a"], "RR@10", {"document_relevance": {"a": 1}}, {"evalnb": 0.5, "drop-self": 1.0}),
]


@pytest.mark.parametrize(("returned", "measure", "labels", "expected"), EXPLAINED)
def test_values(
    returned: list[str], measure: str, labels: dict[str, object], expected: dict[str, float]
) -> None:
    found = explained(returned, measure, **labels)
    assert values(found).items() >= expected.items()
    assert {r.rule for r in deciding(found)} >= expected.keys() - {"evalnb"}


def test_repeats_keep_their_rank_elsewhere() -> None:
    chunks = [("x", "one"), ("x", "two"), ("a", "three")]
    case = GoldCase(
        case_id="q", split="development", request={"query": "q"}, document_relevance={"a": 1}
    )
    report = ev.evaluate(dataset_from_cases((case,), dataset_id="one"), lambda query: chunks)
    (found,) = explain_case(report.record, "q", "RR@10")
    assert values(found) == {
        "evalnb": 0.5,
        "trec_eval": 0.5,
        "repeats keep their rank": 0.333333,
    }


def test_what_it_is_made_of() -> None:
    found = explained(["u", "a"], "nDCG@10", document_relevance={"a": 1, "z": 2})
    assert [(hit.rank, hit.id, hit.grade, hit.target) for hit in found.hits] == [
        (1, "u", None, False),
        (2, "a", 1, True),
    ]
    assert found.missed == ("z",)


def test_unknown_names_are_refused() -> None:
    report = ev.evaluate(
        dataset_from_cases(
            (GoldCase(case_id="q", split="development", request={"query": "q"}),), dataset_id="one"
        ),
        lambda query: ["a"],
    ).record
    with pytest.raises(NotFoundError, match="no case 'p'"):
        explain_case(report, "p", "RR")
    with pytest.raises(UnknownMeasureError):
        explain_case(report, "q", "RRR")
    with pytest.raises(BadInputError, match="no measure of a ranking"):
        explain_case(report, "q", "LocatorValidity")
