"""Small reports from the real runner, over functions whose answers are written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from evalnb.errors import SearchFailedError
from evalnb.evaluation.report import EvaluationReport
from evalnb.evaluation.request import EvaluationRequest, Variant
from evalnb.evaluation.runner import run_evaluation
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.show.reading import Reading, reading_of
from evalnb.systems.function import FunctionSystem

MakeReport = Callable[..., EvaluationReport]

# What a corpus may hold and a page must not obey or hide.
HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(2)> \" ' & $x_1$ {{ 7*7 }} "
    "\x1b[31mred\x07 pay\u202epal zero\u200bwidth e\u0301 東京 İstanbul"
)


def answering(answers: Mapping[str, Any]) -> Callable[[str], Any]:
    """Return a search function with one written answer per query; an exception is raised."""

    def search(query: str) -> Any:
        answer = answers.get(query, [])
        if isinstance(answer, Exception):
            raise answer
        return answer

    return search


@pytest.fixture(scope="session")
def make_report() -> MakeReport:
    """Return a function that evaluates cases against written answers."""

    def make(
        cases: Sequence[GoldCase],
        answers: Mapping[str, Mapping[str, Any]],
        *,
        name: str = "Questions",
        **request: Any,
    ) -> EvaluationReport:
        asked = EvaluationRequest(
            variants=tuple(Variant(name=variant, system=variant) for variant in answers),
            allow_unavailable=True,
            **request,
        )
        return run_evaluation(
            dataset_from_cases(tuple(cases), dataset_id="questions", name=name),
            {variant: FunctionSystem(answering(given)) for variant, given in answers.items()},
            asked,
        )

    return make


def case(case_id: str, query: str, *expected: str, **labels: Any) -> GoldCase:
    """Make a case that expects documents."""
    return GoldCase(
        case_id=case_id,
        split="development",
        request={"query": query},
        expected={"document_ids": list(expected)},
        **labels,
    )


def chunk(name: str, text: str, **more: Any) -> dict[str, Any]:
    """Make a returned chunk."""
    return {"id": name, "text": text, "document": name, **more}


@pytest.fixture(scope="session")
def reading(report: EvaluationReport) -> Reading:
    """Return the report as read by default; its comparison is computed once."""
    return reading_of(report)


@pytest.fixture(scope="session")
def report(make_report: MakeReport) -> EvaluationReport:
    """Return ten cases under three variants: one better, one that fails once, hostile text."""
    cases = [
        case("case-1", "where is the harbour", "harbour", forbidden={"document_ids": ["secret"]}),
        case("case/2 ü", HOSTILE, "lighthouse", intent="lookup", language="en"),
        case("case-3", "who keeps the light", "keeper", "log", document_relevance={"log": 3}),
        case("no-gold", "is anybody there"),
        *(case(f"more-{i}", f"question {i}", f"doc{i}") for i in range(6)),
    ]
    wrong = chunk("other", "nothing of the sort")
    right = chunk("harbour", "The harbour lies to the north.\nIt is deep.", score=0.5)
    today: dict[str, Any] = {
        "where is the harbour": [wrong, chunk("secret", "the code is 1234"), right],
        HOSTILE: [chunk("lighthouse", f"{HOSTILE} {'long ' * 200}")],
        "who keeps the light": [chunk("log", "kept by"), wrong],
    }
    better = today | {
        "where is the harbour": [right, wrong],
        **{f"question {i}": [chunk(f"doc{i}", f"answer {i}")] for i in range(6)},
    }
    broken = better | {
        HOSTILE: SearchFailedError("the provider said <b>no</b>"),
        "who keeps the light": [],
    }
    return make_report(
        cases, {"today": today, "better <i>": better, "broken": broken}, name="Harbour & co"
    )
