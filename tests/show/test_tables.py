"""Aligned plain text: every number stands where it is expected."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evalnb.comparison.paired import compare_frames
from evalnb.errors import CapabilityError
from evalnb.evaluation.frames import aggregates_frame, scores_frame
from evalnb.evaluation.report import EvaluationReport
from evalnb.gold.cases import GoldCase
from evalnb.show.tables import (
    Cell,
    Column,
    Table,
    comparison_table,
    comparison_text,
    eval_retrieval_text,
    format_table,
    label_measures,
    means_table,
    report_text,
    row_notes,
    write_csv,
)

MakeReport = Callable[..., EvaluationReport]


def test_a_table_is_aligned_without_boxes() -> None:
    table = Table(
        (Column("name", right=False), Column("n"), Column("never")),
        ((Cell("東京"), Cell("7"), Cell("-")), (Cell("a"), Cell("1,200"), Cell(""))),
    )
    assert format_table(table) == "name      n\n東京      7\na     1,200"


QUERIES = (
    "What did revenue do in the third quarter?",
    "How profitable was the company recently?",
    "hava durumu raporu",
)

LEGS = """\
#   query                                     semantic   keyword    hybrid  hybrid_rerank
1   What did revenue do in the third quarter?        1      miss         1              1
2   How profitable was the company recently?         1      miss         1              1
3   hava durumu raporu                               1         1         1              1

Aggregate metrics (rank of first correct chunk):
mode            hit@1   hit@3   hit@5     MRR  evaluated
semantic         1.00    1.00    1.00   1.000          3
keyword          0.33    0.33    0.33   0.333          3
hybrid           1.00    1.00    1.00   1.000          3
hybrid_rerank    1.00    1.00    1.00   1.000          3"""


def golden(query: str, at: int) -> GoldCase:
    return GoldCase(
        case_id=f"c{at}",
        split="development",
        request={"query": query},
        content=[{"content_contains": "the answer"}],
    )


def legs(make_report: MakeReport, answers: dict[str, list[Any]]) -> EvaluationReport:
    return make_report(
        [golden(query, at) for at, query in enumerate(QUERIES)],
        {leg: dict(zip(QUERIES, given, strict=True)) for leg, given in answers.items()},
        measures=("RR", "Success@1", "Success@3", "Success@5"),
    )


def test_the_table_of_legs_is_laid_out_as_documented(make_report: MakeReport) -> None:
    right = [("x", "This is THE answer.")]
    wrong = [("y", "Something else.")]
    report = legs(
        make_report,
        {
            "semantic": [right] * 3,
            "keyword": [wrong, [], right],
            "hybrid": [right] * 3,
            "hybrid_rerank": [right] * 3,
        },
    )
    assert eval_retrieval_text(report) == LEGS


def test_a_leg_that_fails_is_not_a_miss_and_poisons_nothing(make_report: MakeReport) -> None:
    wrong, right = ("y", "no"), ("x", "the answer")
    failed = CapabilityError("no embeddings")
    report = legs(
        make_report,
        {
            "semantic": [failed] * 3,
            "keyword": [[wrong] * 0 + [("z", "no"), wrong, right], [], failed],
        },
    )
    lines = eval_retrieval_text(report).splitlines()
    assert [line.split()[-2:] for line in lines[1:4]] == [
        ["n/a", "3"],
        ["n/a", "miss"],
        ["n/a"] * 2,
    ]
    assert lines[7].split() == ["semantic", "n/a", "n/a", "n/a", "n/a", "0"]
    assert lines[8].split() == ["keyword", "0.00", "0.50", "0.50", "0.167", "2"]


def test_a_query_of_any_length_keeps_its_columns(make_report: MakeReport) -> None:
    queries = ["x" * 500, "東" * 60, "tab\tand\nbreak"]
    report = make_report(
        [golden(query, at) for at, query in enumerate(queries)],
        {"keyword": {query: [("x", "the answer")] for query in queries}},
        measures=("RR",),
    )
    lines = eval_retrieval_text(report).splitlines()
    assert all(line.endswith("       1") for line in lines[1:4])


def overall(report: EvaluationReport) -> pd.DataFrame:
    frame = aggregates_frame(report)
    return frame[frame["slice"] == "all"]


def test_means_stand_beside_their_counts(report: EvaluationReport) -> None:
    table = means_table(overall(report), baseline="today")
    heads = [column.header for column in table.columns]
    rows = [dict(zip(heads, (cell.text for cell in row), strict=True)) for row in table.rows]
    found = {(row["measure"], row["variant"]): row for row in rows}
    today = found["RR@10", "today (baseline)"]
    # First relevant at ranks 3, 1 and 1, and six misses: (1/3 + 1 + 1) / 9.
    assert (today["mean"], today["n"], today["N/A"], today["n/a"]) == ("0.259", "9", "1", "-")
    broken = found["RR@10", "broken"]
    assert (broken["n"], broken["n/a"]) == ("8", "1")
    assert broken["answered"] == "88.9 %"
    failed_zero = float(broken["mean if failures count 0"])
    assert failed_zero == pytest.approx(float(broken["mean"]) * 8 / 9, abs=1e-3)


def test_a_kind_is_named_where_a_measure_has_several() -> None:
    frame = pd.DataFrame(
        {
            "measure": ["RR@10", "RR@10", "R@10", "file:P@5"],
            "k": [10, 10, 10, 5],
            "kind": ["unit", "document", "unit", "file"],
        }
    )
    assert label_measures(frame) == ["unit:RR@10", "document:RR@10", "R@10", "file:P@5"]


def test_a_report_says_what_failed(report: EvaluationReport) -> None:
    text = report_text(report)
    assert "! broken: 1 of 10 searches failed and are n/a, not 0. SEARCH_FAILED: " in text
    assert "the provider said <b>no</b> (1x)" in text
    assert "nan" not in text.lower()
    assert all(line == line.rstrip() for line in text.splitlines())


def test_a_comparison_says_verdicts_first(report: EvaluationReport) -> None:
    comparison = compare_frames(scores_frame(report), baseline="today", measures=report.compared)
    text = comparison_text(comparison)
    step, first, *_ = text.splitlines()
    assert step.startswith("Switch to better <i>: it is better than today by nDCG@10 (+0.")
    assert first.startswith("▲ better <i> is better than today (nDCG@10 0.")
    assert "W/T/L" in text
    assert " nan" not in text
    assert "p = 0," not in text
    table = comparison_table(comparison.frame)
    assert len(table.rows) == len(comparison.frame)


def test_what_got_worse_is_listed_with_its_question_for_every_candidate(
    make_report: MakeReport,
) -> None:
    queries = [f"question {i}" for i in range(12)]
    cases = [
        GoldCase(
            case_id=f"c{at:02}",
            split="development",
            request={"query": query},
            expected={"document_ids": ["d"]},
        )
        for at, query in enumerate(queries)
    ]
    today: dict[str, Any] = {key: ["x", "d"] for key in queries}
    report = make_report(
        cases,
        {
            "today": today,
            "bad": {},
            "mixed": today | {"question 3": ["x", "y", "d"], "question 4": ["d"]},
            "good": {key: ["d"] for key in queries},
        },
        measures=("RR@10",),
    )
    comparison = compare_frames(scores_frame(report), baseline="today")
    asked = {case.case_id: case.request.query for case in report.cases}
    worse = comparison_text(comparison, asked).split("\n\n")[-1].splitlines()
    assert worse[0] == (
        "Worst first, by RR@10: bad 12 worse, 0 better; mixed 1 worse, 1 better; "
        "good 0 worse, 12 better."
    )
    assert worse[1].split()[:3] == ["candidate", "case", "question"]
    assert [line.split()[0] for line in worse[2:]] == ["bad"] * 5 + ["mixed"]
    assert worse[-1].split() == ["mixed", "c03", "question", "3", "0.500", "0.333", "-0.167"]
    assert "question" not in comparison_text(comparison).split("\n\n")[-1]


def test_a_terminal_is_told_nothing_it_would_obey(make_report: MakeReport) -> None:
    failed = CapabilityError("\x1b[2Jgone \u202ebackwards")
    report = legs(make_report, {"semantic": [failed] * 3, "keyword": [[]] * 3})
    text = report_text(report)
    assert "\\u001b[2Jgone \\u202ebackwards" in text
    assert text.replace("\n", "").isprintable()


def test_notes_that_rows_share_are_said_once() -> None:
    frame = pd.DataFrame(
        {
            "measure": ["RR", "RR"],
            "k": [10, 10],
            "kind": ["unit", "unit"],
            "candidate": ["a", "b"],
            "note": ["all alike; only a", "all alike"],
        }
    )
    assert row_notes(frame) == ["all alike", "RR (k = 10) a: only a"]


def test_csv_is_whole_and_no_formula(tmp_path: Path) -> None:
    frame = pd.DataFrame({"name": ["=1+1", "@x", "plain", "-5", None], "value": [-0.5, 1, 2, 3, 4]})
    path = write_csv(frame, tmp_path / "new" / "scores.csv")
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    assert [row[0] for row in rows] == ["name", "'=1+1", "'@x", "plain", "'-5", ""]
    assert rows[1][1] == "-0.5"
    assert [entry.name for entry in path.parent.iterdir()] == ["scores.csv"]
