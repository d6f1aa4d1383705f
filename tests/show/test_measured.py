"""Why a measure has no value: the gold, the searches, or the other variant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from evalnb.comparison.paired import compare_frames
from evalnb.errors import SearchFailedError
from evalnb.evaluation.frames import scores_frame
from evalnb.evaluation.report import EvaluationReport
from evalnb.gold.cases import GoldCase
from evalnb.show.measured import covered, split_measured
from evalnb.show.reading import reading_of
from evalnb.show.tables import comparison_text, report_text

MakeReport = Callable[..., EvaluationReport]
DOWN = SearchFailedError("the host is down")


def asked(*labelled: bool) -> list[GoldCase]:
    return [
        GoldCase(
            case_id=f"c{at}",
            split="development",
            request={"query": f"q{at}"},
            expected={"document_ids": ["d"]} if known else {},
        )
        for at, known in enumerate(labelled)
    ]


def answers(*given: Any) -> dict[str, Any]:
    return {f"q{at}": answer for at, answer in enumerate(given)}


def lines(report: EvaluationReport) -> Sequence[str]:
    return reading_of(report).measured[1]


def test_what_the_gold_defines_nowhere_is_a_line_and_not_a_block(report: EvaluationReport) -> None:
    measured, silent = reading_of(report).measured
    assert silent == ("N/A (no gold) for any case: LocatorValidity, ForbiddenCandidates.",)
    assert "LocatorValidity" not in set(measured["measure"])
    assert list(dict.fromkeys(measured["measure"]))[:3] == ["nDCG@10", "RR@10", "R@10"]


@pytest.mark.parametrize("labelled", [(True, True), (True, True, False)])
def test_failing_everywhere_is_not_the_golds_doing(
    make_report: MakeReport, labelled: Sequence[bool]
) -> None:
    report = make_report(
        asked(*labelled), {"mine": answers(DOWN, DOWN, ["d"])}, measures=("RR@10", "R@10")
    )
    found = [line for line in lines(report) if "RR@10" in line]
    assert len(found) == 1
    assert found[0].startswith("n/a for every case that has gold: RR@10, R@10")
    assert found[0].endswith("the host is down")
    assert found[0] in report_text(report)


def test_a_case_that_failed_does_not_make_an_undefined_measure_fail(
    make_report: MakeReport,
) -> None:
    report = make_report(asked(True, True), {"mine": answers(DOWN, ["d"])}, measures=("RR@10",))
    (line,) = lines(report)
    assert line.startswith("N/A (no gold) for any case: ")
    assert "LocatorValidity" in line


def test_without_any_gold_nothing_failed(make_report: MakeReport) -> None:
    report = make_report(asked(False), {"mine": answers(DOWN)}, measures=("RR@10",))
    found = [line for line in lines(report) if "RR@10" in line]
    assert [line.partition(":")[0] for line in found] == ["N/A (no gold) for any case"]


def test_a_comparison_says_which_side_failed(make_report: MakeReport) -> None:
    report = make_report(
        asked(True, True, False),
        {"up": answers(["d"], ["d"], []), "down": answers(DOWN, DOWN, [])},
        measures=("RR@10",),
    )
    scores = scores_frame(report)
    for baseline, who in (("up", "down"), ("down", "the baseline down")):
        text = comparison_text(compare_frames(scores, baseline=baseline, measures=("RR@10",)))
        assert f"no verdict: {who} failed on all 2 cases\n" in text
        assert "n/a for every case that has gold: RR@10: SEARCH_FAILED: the host is down" in text
        assert "no gold" not in text
        assert "No case changed" not in text


def test_measures_that_are_not_shared_are_said_to_be_so(make_report: MakeReport) -> None:
    report = make_report(asked(True), {"one": answers(["d"]), "two": answers(["d"])})
    scores = scores_frame(report)
    shared = scores[(scores["variant"] == "one") | (scores["measure"] != "RR@10")]
    comparison = compare_frames(shared, baseline="one", measures=("RR@10", "R@10"))
    measured, silent = split_measured(covered(comparison))
    assert set(measured["measure"]) == {"R@10"}
    assert silent == (
        "No case has a score under both variants: RR@10: are both of one gold set, and one cutoff?",
    )
