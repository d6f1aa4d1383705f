"""One rendering of everything: every section has data, words and HTML, whatever the report."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import evalnb as ev
from evalnb.comparison.paired import compare_frames
from evalnb.errors import BadInputError, NotFoundError
from evalnb.evaluation.frames import scores_frame
from evalnb.evaluation.report import (
    EvaluationReport,
    Integrity,
    InvalidLocator,
    save_report,
)
from evalnb.gold.cases import GoldCase
from evalnb.search.result import QueryResult, Usage
from evalnb.show import sections
from evalnb.show.findings import findings_of, notices_of
from evalnb.show.html import check_offline, page_html
from evalnb.show.reading import Reading
from evalnb.show.tables import comparison_text

MakeReport = Callable[..., EvaluationReport]

FUNCTIONS = [
    getattr(sections, name)
    for name in sections.__all__
    if inspect.signature(getattr(sections, name)).return_annotation == "Display"
]


def simple(make_report: MakeReport, n_cases: int, n_variants: int) -> EvaluationReport:
    cases = [
        GoldCase(
            case_id=f"c{i}",
            split="development",
            request={"query": f"q{i}"},
            expected={"document_ids": [f"d{i}"]},
        )
        for i in range(n_cases)
    ]
    # Variant v puts the right document at rank v + 1.
    answers = {
        f"variant {v}": {f"q{i}": [f"x{j}" for j in range(v)] + [f"d{i}"] for i in range(n_cases)}
        for v in range(n_variants)
    }
    return make_report(cases, answers)


def check_sections(reading: Reading) -> None:
    for section in FUNCTIONS:
        display = section(reading)
        assert isinstance(display.frame(), pd.DataFrame), display.key
        assert str(display), display.key
        beginning = '<div class="evalnb">\n' if display.html else '<div class="evalnb empty">'
        assert display._repr_html_().startswith(beginning), display.key
        assert " nan" not in str(display).lower(), display.key
    shown = sections.all_sections(reading)
    assert all(display.html for display in shown)
    check_offline(page_html(sections.title(reading), shown))


def test_every_section_has_data_words_and_html(reading: Reading) -> None:
    check_sections(reading)


@pytest.mark.parametrize(("n_cases", "n_variants"), [(3, 1), (1, 2)])
def test_so_it_has_for_the_smallest_reports(
    n_cases: int, n_variants: int, make_report: MakeReport
) -> None:
    check_sections(sections.reading_of(simple(make_report, n_cases, n_variants)))


def test_so_it_has_for_no_cases_at_all(report: EvaluationReport) -> None:
    bare = report.model_copy(update={"cases": (), "results": (), "aggregates": ()})
    check_sections(sections.reading_of(bare))


def test_times_that_were_not_recorded_are_not_drawn(reading: Reading) -> None:
    observed = reading.report.observed.model_copy(update={"latency_ms": ()})
    timeless = reading.report.model_copy(update={"observed": observed})
    display = sections.latency(replace(reading, report=timeless))
    assert str(display) == "Neither times nor usage were recorded."


def test_a_display_is_frozen_and_its_frame_a_copy(reading: Reading) -> None:
    display = sections.means(reading)
    frame = display.frame()
    frame["mean"] = 0.0
    assert not display.frame().equals(frame)
    with pytest.raises(AttributeError):
        display.title = "other"  # type: ignore[misc]


def test_the_verdict_comes_first_and_in_words(reading: Reading) -> None:
    display = sections.verdicts(reading)
    step, first, *_ = str(display).splitlines()
    assert step.startswith("Switch to better <i>: it is better than today by nDCG@10 (+")
    assert first.startswith("▲ better <i> is better than today (nDCG@10 ")
    assert '<p class="step">Switch to better &lt;i&gt;' in display.html
    assert "! broken: 1 of 10 searches failed" in str(display)
    assert '<li class="better"><p class="headline"><span class="better">▲</span>' in display.html
    assert "better &lt;i&gt; is better than today" in display.html


def test_headlines_speak_of_a_measure_that_could_be_compared(make_report: MakeReport) -> None:
    # A function's units cannot be enumerated: nDCG and R are undefined, RR is not.
    cases = [
        GoldCase(
            case_id=f"c{i}",
            split="development",
            request={"query": f"q{i}"},
            content=[{"content_contains": f"needle{i}"}],
        )
        for i in range(6)
    ]
    found = {f"q{i}": [("a", f"needle{i}")] for i in range(6)}
    report = make_report(cases, {"today": {}, "new": found})
    comparison = compare_frames(
        scores_frame(report), baseline="today", measures=("nDCG@10", "RR@10")
    )
    (finding,) = findings_of(comparison)
    assert finding.headline == "new is better than today (RR@10 0.000 → 1.000)"
    reading = sections.reading_of(report)
    assert "N/A (no gold) for any case: nDCG@10, R@10" in str(sections.means(reading))
    assert str(sections.changes(reading)).startswith("Worst first, by RR@10")


def test_one_variant_shows_what_it_missed(make_report: MakeReport) -> None:
    report = make_report(
        [
            GoldCase(
                case_id=name,
                split="development",
                request={"query": name},
                expected={"document_ids": ["d"]},
            )
            for name in ("found", "lost")
        ],
        {"only": {"found": ["d"]}},
    )
    reading = sections.reading_of(report)
    assert reading.comparison is None
    assert "nothing to compare" in str(sections.verdicts(reading))
    missed = sections.changes(reading)
    assert missed.title == "What was missed"
    assert list(missed.frame()["case_id"]) == ["lost"]
    assert "1 of 2 questions found nothing relevant." in str(missed)


def test_very_many_variants_are_summed_up(make_report: MakeReport) -> None:
    reading = sections.reading_of(simple(make_report, 4, 34))
    verdict = sections.verdicts(reading)
    assert "33 variants below: 33 unresolvable." in str(verdict)
    means = sections.means(reading)
    assert "Drawn: the 30 largest; the table has all." in means.html
    assert means.html.count("<tr><td>nDCG@10</td>") == 34
    assert "found by <b>10</b> of 34 variants" in sections.cases(reading).html


def test_not_all_cases_shown_is_said(reading: Reading) -> None:
    some = replace(reading, case_ids=reading.case_ids[:2])
    display = sections.cases(some)
    assert "2 of 10 cases are shown." in str(display)
    assert display.html.count("<details") == 2
    # A changed case that is not on the page is named without a dead link.
    changes = sections.changes(some)
    assert 0 < changes.html.count('href="#case-') < len(changes.frame()["case_id"].unique())


@pytest.mark.parametrize(
    ("given", "error", "finding"),
    [
        ({"baseline": "x"}, NotFoundError, "'x' is no variant .*today"),
        ({"case_ids": ["x"]}, NotFoundError, "no case 'x' .*case-1"),
        ({"measures": ["nDGC@10"]}, BadInputError, "nDCG"),
        ({"max_cases": -1}, BadInputError, "max_cases"),
    ],
)
def test_a_wrong_wish_is_named(
    given: dict[str, Any], error: type[Exception], finding: str, report: EvaluationReport
) -> None:
    with pytest.raises(error, match=finding):
        sections.reading_of(report, **given)


def test_measures_are_read_in_any_spelling(report: EvaluationReport) -> None:
    reading = sections.reading_of(report, measures=["hit@1", "mrr@10"])
    assert reading.measures == ("Success@1", "RR@10")
    assert set(sections.differences(reading).frame()["measure"]) == {"Success@1", "RR@10"}


def test_what_makes_numbers_doubtful_comes_first(report: EvaluationReport) -> None:
    bad = InvalidLocator(variant="today", repetition=0, case_id="case-1", reason="text differs")
    doubtful = report.model_copy(
        update={"integrity": Integrity(ok=False, invalid=(bad,)), "limits": {"searches": 5_000}}
    )
    notices = list(notices_of(doubtful))
    assert notices[0].alarm
    assert notices[0].text.endswith("today, case-1: text differs")
    assert "The limit searches was raised to 5,000." in [notice.text for notice in notices]
    shown = str(sections.verdicts(sections.reading_of(doubtful)))
    assert "! Integrity failed" in shown


def test_usage_is_tabulated_beside_its_n(make_report: MakeReport) -> None:
    gold = GoldCase(
        case_id="c", split="development", request={"query": "q"}, expected={"document_ids": ["d"]}
    )
    result = QueryResult(usage=Usage(calls=2, tokens=300))
    display = sections.latency(sections.reading_of(make_report([gold], {"mine": {"q": result}})))
    row = display.frame().iloc[0]
    assert row[["n_calls", "calls", "n_tokens", "tokens"]].tolist() == [1, 2.0, 1, 300.0]
    assert (row["n_timed"], row["n_warm_up"], row["n_cost"]) == (0, 1, 0)
    assert ">warm-up</th>" in display.html


def test_a_saved_report_reads_the_same(reading: Reading, tmp_path: Path) -> None:
    save_report(reading.report, tmp_path / "report.json")
    saved = sections.read_report(tmp_path)
    for section in (sections.opening, sections.means, sections.slices, sections.provenance):
        assert section(saved).html == section(reading).html


def test_provenance_pins_the_run(report: EvaluationReport) -> None:
    text = str(sections.provenance(sections.reading_of(report)))
    assert report.dataset.version_sha in text
    assert all(variant.config_id in text for variant in report.variants)
    assert "seed 0, 1 repetition" in text


def test_a_comparison_stands_alone(report: EvaluationReport) -> None:
    comparison = compare_frames(scores_frame(report), baseline="today")
    page = page_html("x", sections.comparison_sections(comparison))
    check_offline(page)
    assert 'href="#case-' not in page
    assert "better &lt;i&gt; is better than today" in sections.comparison_html(comparison)
    assert "better &lt;i&gt; is better than today" in sections.report_html(report)


def test_a_comparison_of_reports_knows_their_questions(
    report: EvaluationReport, tmp_path: Path
) -> None:
    compared = ev.compare(ev.Report(report), baseline="better <i>", measures=["RR@10"])
    asked = "who keeps the light"
    assert asked in str(compared)
    assert asked in compared._repr_html_()
    assert asked in compared.to_html(tmp_path / "compared.html").read_text()
    assert asked not in comparison_text(compared.record)
