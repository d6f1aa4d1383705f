"""Where ``evalnb report`` puts several reports."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import evalnb as ev
from evalnb.cli.main import main
from evalnb.cli.report import _readable
from evalnb.show.batch import Done, Task
from evalnb.show.index import write_index


@pytest.fixture
def report(tmp_path: Path) -> Path:
    (tmp_path / "gold.csv").write_text("query,expected\none,a\n")
    return ev.evaluate(tmp_path / "gold.csv", {"old": lambda query: ["a"]}).save(tmp_path / "a")


def test_reports_of_one_name_get_a_folder_each(report: Path, tmp_path: Path) -> None:
    places = [tmp_path / name for name in ("x/a", "a-2", "index.html.json")]
    for place in places:
        place.parent.mkdir(exist_ok=True)
        shutil.copy(report, place)
    paths = [str(path) for path in (report, *places)]
    out = tmp_path / "out"
    assert main(["report", *paths, "--out", str(out), "--runs"]) == 0
    found = {path.name: len(list(path.iterdir())) for path in out.iterdir()}
    assert sorted(found) == ["a", "a-2", "a-2-2", "index.html-2"]
    assert len(set(found.values())) == 1


def test_the_index_lists_what_could_not_be_read(report: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"format": ')
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "variant_report.html").write_text("of an earlier report")
    entries, unread, errors = _readable([broken, report], tmp_path, "")
    assert ([entry.name for entry in entries], errors) == (["a"], [2])
    page = write_index([*entries, *unread], tmp_path / "index.html").read_text()
    assert '<td class="worse">not a whole JSON document' in page
    assert "broken/variant_report.html" not in page


def test_a_full_disk_in_one_report_stops_no_other(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def run_tasks(tasks: list[Task], **_: object) -> Iterator[Done]:
        full, good = tasks
        yield Done(full, error=OSError(errno.ENOSPC, "No space left on device", "one.ipynb"))
        yield Done(good)

    monkeypatch.setattr("evalnb.show.batch.run_tasks", run_tasks)
    other = shutil.copy(report, tmp_path / "other.json")
    out = tmp_path / "out"
    command = ["report", str(report), str(other), "--out", str(out), "--notebook", "case_drilldown"]
    assert main(command) == 3
    said = capfd.readouterr()
    assert "NOT_EVALUATED: one.ipynb: No space left on device" in said.err
    assert f"{out}/other/case_drilldown.html\n{out}/index.html\n" in said.out
    assert '<td class="worse">No space left on device' in (out / "index.html").read_text()


@pytest.mark.parametrize("place", ["gold.csv", "gold.csv/pages"])
def test_a_file_in_place_of_the_folder_is_named(
    report: Path, tmp_path: Path, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(report), "--out", str(tmp_path / place), "--runs"]) == 2
    assert f"{place}: a file stands where its folder has to be" in capsys.readouterr().err
