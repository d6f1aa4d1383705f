"""The list of cases: what each row says, what the filters keep, how it is sorted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import evalnb as ev
from evalnb.evaluation.report import EvaluationReport
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.show.case_list import LIST_COLUMNS, CaseList
from evalnb.show.reading import reading_of

MakeReport = Callable[..., EvaluationReport]


@pytest.fixture(scope="module")
def listed(report: EvaluationReport) -> CaseList:
    return CaseList(reading_of(report))


def chosen(listed: CaseList, variant: str, **filters: Any) -> list[str]:
    return list(listed.chosen(variant, **filters)["case_id"])


def test_a_row_says_how_a_case_ended(listed: CaseList) -> None:
    frame = listed.frame("better <i>").set_index("case_id")
    assert tuple(listed.frame("today").columns) == LIST_COLUMNS
    harbour = frame.loc["case-1"]
    assert (harbour["state"], harbour["rank"], harbour["baseline_rank"]) == ("hit", 1, 3)
    assert (harbour["moved"], harbour["verdict"], harbour["forbidden"]) == ("up", "better", False)
    assert harbour["difference"] > 0
    assert (frame.loc["no-gold", "state"], frame.loc["more-0", "moved"]) == ("", "newly found")
    lost = listed.frame("broken").set_index("case_id")
    assert lost.loc["case/2 ü", "state"] == "failed"
    assert (lost.loc["case/2 ü", "moved"], lost.loc["case/2 ü", "lost"]) == ("", "search failed")
    assert lost.loc["case-3", "moved"] == "no longer found"
    assert set(listed.frame("today")["moved"]) == {""}


FILTERS: list[tuple[str, dict[str, str], list[str]]] = [
    ("today", {"state": "forbidden"}, ["case-1"]),
    ("today", {"state": "miss"}, [f"more-{n}" for n in range(6)]),
    ("broken", {"state": "failed"}, ["case/2 ü"]),
    ("better <i>", {"state": "regressed"}, []),
    ("better <i>", {"state": "improved", "moved": "up"}, ["case-1"]),
    ("broken", {"moved": "no longer found"}, ["case-3"]),
    ("broken", {"lost": "search failed"}, ["case/2 ü"]),
    ("broken", {"lost": "not returned"}, ["case-3"]),
    ("today", {"intent": "lookup"}, ["case/2 ü"]),
    ("today", {"text": "WHERE harbour"}, ["case-1"]),
    ("today", {"text": "secret"}, ["case-1"]),  # a word of its labels
    ("today", {"text": "x" * 10_000}, []),
]


@pytest.mark.parametrize(("variant", "filters", "expected"), FILTERS)
def test_filters(
    listed: CaseList, variant: str, filters: dict[str, str], expected: list[str]
) -> None:
    assert chosen(listed, variant, **filters) == expected


def test_orders(listed: CaseList) -> None:
    assert chosen(listed, "broken")[:3] == ["case-1", "case/2 ü", "case-3"]
    assert chosen(listed, "broken", order="worst change first")[0] == "case-3"
    assert chosen(listed, "broken", order="best change first")[0].startswith("more-")
    assert chosen(listed, "broken", order="worst change first")[-1].startswith("more-")
    worst = chosen(listed, "today", order="worst rank first")
    assert worst[-1] in {"case-3", "case/2 ü"}
    assert worst.index("more-0") < worst.index("case-1")


def test_tags_choose(make_report: MakeReport) -> None:
    cases = [
        GoldCase(case_id=f"c{n}", split="development", request={"query": f"q{n}"}, tags=tags)
        for n, tags in enumerate([{"team": "a"}, {"team": "b", "hard": "yes"}, {}])
    ]
    found = CaseList(reading_of(make_report(cases, {"mine": {}})))
    assert found.tags == ["hard=yes", "team=a", "team=b"]
    assert chosen(found, "mine", tag="team=b") == ["c1"]
    assert list(found.frame("mine")["tags"]) == ["team=a", "team=b, hard=yes", ""]


def test_a_report_without_cases(report: EvaluationReport) -> None:
    empty = CaseList(reading_of(report.model_copy(update={"cases": (), "results": ()})))
    assert list(empty.frame("today").columns) == list(LIST_COLUMNS)
    assert chosen(empty, "today", state="miss", text="a", order="worst change first") == []


def test_where_channels_lost_it() -> None:
    case = GoldCase(
        case_id="c", split="development", request={"query": "q"}, document_relevance={"z": 1}
    )
    gold = dataset_from_cases((case,), dataset_id="one")
    report = ev.evaluate(gold, {"mine": ev.fused({"keyword": lambda query: ["a", "b"]})})
    found = CaseList(reading_of(report.record))
    assert chosen(found, "mine", lost="in no channel's candidates") == ["c"]
