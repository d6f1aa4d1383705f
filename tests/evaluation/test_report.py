"""Reading a report: what is said where none stands, or one that contradicts itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import evalnb as ev
from evalnb.errors import BadInputError, EvalnbError, NotFoundError
from evalnb.evaluation.report import load_report_record


def test_the_reports_of_folders_below_are_named(tmp_path: Path) -> None:
    for name in ("today", "tomorrow", "other"):
        (tmp_path / name).mkdir()
    for name in ("tomorrow", "today"):
        (tmp_path / name / "report.json").write_text("{}")
    with pytest.raises(NotFoundError) as refused:
        load_report_record(tmp_path)
    assert refused.value.remedy == f"below it: {tmp_path / 'today'}, {tmp_path / 'tomorrow'}"
    with pytest.raises(NotFoundError, match="no report here") as refused:
        load_report_record(tmp_path / "other")
    assert refused.value.remedy == "evalnb evaluate ... --out DIR writes one"


def edited(path: Path, edit: Callable[[dict[str, Any]], object]) -> Path:
    report = ev.evaluate(
        pd.DataFrame({"query": ["one", "two"], "expected": ["a", "b"]}),
        {"old": lambda query: ["a"], "new": ev.fused({"words": lambda query: ["b", "a"]})},
    )
    content = json.loads(report.save(path).read_bytes())
    edit(content)
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda r: r["results"].pop(), "1 of 4 results are missing: variant 'new'"),
        (lambda r: r["results"].append(r["results"][0]), "repetition 0 stands twice"),
        (lambda r: r["results"][0].update(case_id="gone"), "is of no variant, case or repetition"),
        (lambda r: r["cases"].clear(), "is of no variant, case or repetition"),
        (lambda r: r["cases"].append(r["cases"][0]), "the case '.*' stands twice"),
        (lambda r: r["variants"].append(r["variants"][0]), "the variant 'old' stands twice"),
        (lambda r: r["results"][1].update(repetition=3), "is of no variant, case or repetition"),
        (lambda r: r["results"][1]["scores"].pop(), "does not have every score once"),
        (lambda r: r.update(compared=[]), "what is compared are not measures"),
        (lambda r: r.update(compared=["nDCG@77"]), "what is compared are not measures"),
        (lambda r: r["results"][2]["result"]["hits"].reverse(), "do not stand by their ranks"),
        (lambda r: r["id_documents"].__setitem__(0, 9), "documents that are not listed"),
        (
            lambda r: r["ids"].clear(),
            "the candidates of 'words' of variant 'new', case '.*', repetition 0 do not fit",
        ),
    ],
)
def test_a_report_that_contradicts_itself_is_refused(
    tmp_path: Path, edit: Callable[[dict[str, Any]], object], says: str
) -> None:
    path = edited(tmp_path / "report.json", edit)
    with pytest.raises(BadInputError, match=says) as refused:
        load_report_record(path)
    assert refused.value.where == str(path)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{}".encode("utf-16"), "not UTF-8 text"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 250287\n", "Git LFS"),
    ],
)
def test_what_stands_in_place_of_a_report_is_named(
    tmp_path: Path, content: bytes, says: str
) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(content)
    with pytest.raises(EvalnbError, match=says):
        load_report_record(path)
