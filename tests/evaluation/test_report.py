"""Reading a report: what is said where none stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalnb.errors import NotFoundError
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
