"""Gates: each form, what it asks of, and what it does where nothing can be said."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree

import pytest

import evalnb as ev
from evalnb.errors import BadInputError, NotFoundError, UnknownMeasureError
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.show.gates import gates_junit, gates_markdown, gates_text
from evalnb.testing import assert_gates

N = 20
FORBIDDEN = {"document_ids": ["secret"]}


def gold() -> ev.GoldDataset:
    cases = (
        GoldCase.model_validate(
            {
                "case_id": f"c{n}",
                "split": "development",
                "request": {"query": str(n)},
                "expected": {"document_ids": [f"d{n}"]},
                "forbidden": FORBIDDEN,
            }
        )
        for n in range(N)
    )
    return dataset_from_cases(tuple(cases), dataset_id="twenty")


def ranks(rank_of: Callable[[int], int], *, also: str = "x9") -> Callable[[str], list[str]]:
    """Return a search that has case n's document at rank_of(n)."""

    def search(query: str) -> list[str]:
        found = ["x1", "x2", also]
        found.insert(rank_of(int(query)) - 1, f"d{query}")
        return found

    return search


def fails(query: str) -> list[str]:
    if query == "3":
        raise RuntimeError("down")
    return [f"d{query}"]


@pytest.fixture(scope="module")
def report() -> ev.Report:
    systems = {
        "base": ranks(lambda n: 2),
        "better": ranks(lambda n: 1),
        "mixed": ranks(lambda n: 1 if n % 2 else 3),
        "worse": ranks(lambda n: 2 if n > 2 else 3, also="secret"),
        "failing": fails,
        "same": ranks(lambda n: 2),
    }
    return ev.evaluate(gold(), systems, measures=["RR@10"])


GATES = {
    # gate: outcomes of better, mixed, worse, failing, same
    "RR@10 >= 0.5": "passed passed failed failed passed",
    "mrr@10>=.5": "passed passed failed failed passed",
    "RR@10 == 1": "passed failed failed failed failed",
    "every RR@10 >= 0.5": "passed failed failed failed passed",
    "regressed<=2": "passed failed failed failed passed",
    "regressed(RR@10) <= 10": "passed passed passed failed passed",
    "must-pass c3": "passed passed passed failed passed",
    "ForbiddenLeakage <= 0": "passed passed failed failed passed",
    "RR@10 > baseline": "passed undecided undecided undecided undecided",
    "RR@10 > baseline - 0.02": "passed undecided undecided undecided passed",
    "RR@10 > baseline + 0.9": "failed failed undecided undecided failed",
    "latency_p95 <= 60000": "passed passed passed failed passed",
    "every latency_ms < 60000": "passed passed passed failed passed",
}


@pytest.mark.parametrize("gate", GATES)
def test_outcomes(report: ev.Report, gate: str) -> None:
    results = report.gates(gate, baseline="base")
    found = " ".join(result.outcome for result in results)
    assert [result.candidate for result in results] == [
        "better",
        "mixed",
        "worse",
        "failing",
        "same",
    ]
    assert found == GATES[gate], gates_text(results)
    expected = "in general" if "baseline" in gate else "on this set"
    assert {result.scope for result in results} == {expected}


def test_the_cases_that_fail_are_named(report: ev.Report) -> None:
    (_, _, worse, _, _) = report.gates("regressed<=2", baseline="base")
    assert worse.cases == ("c0", "c1", "c2")
    assert worse.detail == "3 cases got worse by RR@10: c0, c1, c2"


def test_where_nothing_is_forbidden_that_is_said() -> None:
    one = [{"query": str(n), "expected": f"d{n}"} for n in range(N)]
    report = ev.evaluate(one, {"base": ranks(lambda n: 2), "new": ranks(lambda n: 1)})
    (found,) = report.gates("every ForbiddenLeakage <= 0", baseline="base")
    assert (found.outcome, found.detail) == ("passed", "no case says what is forbidden")


WRONG = [
    ("", BadInputError, "is no gate"),
    ("nDCG@10", BadInputError, "is no gate"),
    ("RR@10 => 1", BadInputError, "is no gate"),
    ("RR@10 >= high", BadInputError, "is no gate"),
    ("regresed<=2", UnknownMeasureError, "'regresed'; did you mean 'regressed'"),
    ("regressed>=2", BadInputError, "is no gate"),
    ("nDGC@10 >= .5", UnknownMeasureError, "nDCG"),
    ("AP@10 >= .5", NotFoundError, "no scores of 'AP@10'"),
    ("must-pass c99", NotFoundError, "no case 'c99'"),
    ("RR@10 < baseline", BadInputError, "asks for a worse RR@10"),
    ("RR@10 >= 1e400", BadInputError, "is no gate"),
]


def test_a_list_of_gates_is_refused(report: ev.Report) -> None:
    with pytest.raises(BadInputError, match=r"found a list, expected a text .pass each gate as an"):
        assert_gates(report, ["regressed<=2"], baseline="base")  # type: ignore[arg-type]


@pytest.mark.parametrize(("gate", "error", "message"), WRONG)
def test_a_gate_with_a_slip_is_refused(
    report: ev.Report, gate: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        report.gates(gate, baseline="base")


def test_one_variant_alone_has_levels_only() -> None:
    alone = ev.evaluate(gold(), ranks(lambda n: 1), measures=["RR@10"])
    (result,) = alone.gates("RR@10 >= 1")
    assert result.outcome == "passed"
    with pytest.raises(BadInputError, match="compares with a baseline, and there is none"):
        alone.gates("regressed<=2")


def test_files_hold_every_gate(report: ev.Report) -> None:
    results = report.gates("regressed<=2", "RR@10 > baseline", baseline="base")
    suite = ElementTree.fromstring(gates_junit(results)).find("testsuite")
    assert suite is not None
    assert suite.attrib | {"name": ""} == {
        "name": "",
        "tests": "10",
        "failures": "3",
        "skipped": "4",
        "errors": "0",
    }
    table = gates_markdown(results).splitlines()
    assert len(table) == 12
    assert table[2].startswith("| ✓ passed | regressed\\<=2 | on this set | better |")


def test_hostile_names_stay_text() -> None:
    name = "</testcase>]]>&|`x` <img src=x> $x$"
    report = ev.evaluate(gold(), {name: ranks(lambda n: 3)}, measures=["RR@10"])
    results = report.gates("RR@10 >= 1")
    case = ElementTree.fromstring(gates_junit(results)).find(".//testcase")
    assert case is not None
    assert case.attrib["classname"] == name
    assert "<img" not in gates_markdown(results).replace("\\<img", "")
    assert "\\$x\\$" in gates_markdown(results)  # no formula


def test_a_test_suite_asserts_gates(report: ev.Report) -> None:
    better = ev.evaluate(gold(), {"b": ranks(lambda n: 1)}, measures=["RR@10"])
    assert_gates(better, "RR@10 >= 1")
    with pytest.raises(AssertionError, match="✗ failed: regressed<=2"):
        assert_gates(report, "regressed<=2", baseline="base")
    pair = ev.evaluate(
        gold(), {"base": ranks(lambda n: 2), "same": ranks(lambda n: 2)}, measures=["RR@10"]
    )
    with pytest.raises(AssertionError, match=r"\? undecided: RR@10 > baseline"):
        assert_gates(pair, "RR@10 > baseline", baseline="base")
    with pytest.warns(UserWarning, match="undecided"):
        assert_gates(pair, "RR@10 > baseline", baseline="base", undecided="warn")
    with pytest.raises(BadInputError, match="undecided is 'fail' or 'warn', not 'wran'"):
        assert_gates(pair, "RR@10 > baseline", baseline="base", undecided="wran")  # type: ignore[arg-type]
    with pytest.raises(BadInputError, match="no gate"):
        assert_gates(pair)
