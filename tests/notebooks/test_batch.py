"""Many reports at once: side by side, gone on with, one that fails stops no other, an index."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from evalnb.cli.main import main
from evalnb.evaluation.report import EvaluationReport, save_report
from evalnb.evaluation.request import EvaluationRequest, Variant
from evalnb.evaluation.runner import run_evaluation
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.show.batch import Task, run_tasks
from evalnb.show.html import check_offline, page_facts
from evalnb.show.index import Entry, write_index
from evalnb.systems.function import FunctionSystem


def evaluated(name: str, *variants: str) -> EvaluationReport:
    cases = tuple(
        GoldCase(
            case_id=f"c{i}",
            split="development",
            request={"query": f"q{i}"},
            expected={"document_ids": [f"d{i}"]},
        )
        for i in range(8)
    )
    systems = {v: FunctionSystem(lambda query: [f"d{query[1:]}"]) for v in variants}
    return run_evaluation(
        dataset_from_cases(cases, dataset_id="d", name=name),
        systems,
        EvaluationRequest(variants=tuple(Variant(name=v, system=v) for v in variants)),
    )


@pytest.mark.slow
@pytest.mark.notebook
def test_many_reports_go_on_where_they_stopped(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two/reports"):
        (tmp_path / name).mkdir(parents=True)
        save_report(evaluated(f"Gold {name}", "today", "new"), tmp_path / name / "report.json")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "report.json").write_text("{}")
    paths = [str(tmp_path / name) for name in ("one", "broken", "two/reports")]
    out = tmp_path / "pages"
    command = ["report", *paths, "--out", str(out), "--notebook", "variant_report", "--jobs", "2"]
    assert main(command) == 2  # the broken one is bad input; the others are there
    said = capfd.readouterr()
    assert "BAD_INPUT: " in said.err
    assert "2 of 2: " in said.err
    pages = [out / name / "variant_report.html" for name in ("one", "reports")]
    assert all(page.is_file() for page in pages)
    index = (out / "index.html").read_text()
    check_offline(index)
    assert re.findall(r'href="([^"#]+)"', index) == [
        "one/variant_report.html",
        "reports/variant_report.html",
    ]
    assert "Keep today. new does no better and no worse on any of the 8 cases" in index
    assert page_facts(pages[0])["description"].startswith("Keep today.")

    before = pages[1].stat().st_mtime_ns
    pages[0].unlink()
    assert main(command) == 2
    assert "variant_report.html left as it was" in capfd.readouterr().err
    assert pages[0].is_file()
    assert pages[1].stat().st_mtime_ns == before


@pytest.mark.slow
@pytest.mark.notebook
def test_one_that_fails_stops_no_other(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    save_report(evaluated("Gold", "today"), good)
    bad.write_text("{}")
    tasks = [Task(path, tmp_path / path.stem, "case_drilldown") for path in (bad, good)]
    done = {each.task: each for each in run_tasks(tasks, jobs=1)}
    assert "did not finish" in str(done[tasks[0]].error)
    assert (tmp_path / "bad" / "failed" / "case_drilldown.ipynb").is_file()
    assert done[tasks[1]].error is None
    assert all(path.is_file() for path in tasks[1].written)


def test_what_decides_a_page_is_in_its_digest(tmp_path: Path) -> None:
    report = tmp_path / "r.json"
    report.write_text("{}")
    task = Task(report, tmp_path / "out", "variant_report")
    digests = [
        task.inputs(),
        Task(report, tmp_path / "out", "case_drilldown").inputs(),
        Task(report, tmp_path / "out", "variant_report", "today").inputs(),
        Task(report, tmp_path / "out" / "deeper", "variant_report").inputs(),
    ]
    report.write_text("{} ")
    digests.append(task.inputs())
    assert len(set(digests)) == 5
    report.write_text("{}")
    assert task.inputs() == digests[0]


def test_the_index_tells_what_failed_and_links_what_is_there(tmp_path: Path) -> None:
    record = evaluated("<b>Gold</b> & co", "today", "new")
    entries = [
        Entry.of(record, name=name, report=tmp_path / "r", folder=tmp_path / name)
        for name in ("a~2Fb", "<i>b</i>")
    ]
    (tmp_path / "a~2Fb").mkdir()
    (tmp_path / "a~2Fb" / "case_drilldown.html").write_text(
        '<meta name="description" content="Keep &lt;today&gt;.">'
    )
    entries[1].faults.append("variant_report.ipynb did not finish")
    page = write_index(entries, tmp_path / "index.html").read_text()
    check_offline(page)
    assert re.findall(r'href="([^"#]+)"', page) == ["a~2Fb/case_drilldown.html"]
    assert "<b>Gold" not in page
    assert "Keep &lt;today&gt;." in page
    assert '<td class="worse">variant_report.ipynb did not finish</td>' in page
    shutil.rmtree(tmp_path / "a~2Fb")
    assert "href" not in re.sub(
        'href="#', "", write_index(entries, tmp_path / "i.html").read_text()
    )


def test_a_folder_that_cannot_be_written_is_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    save_report(evaluated("Gold", "today"), tmp_path / "report.json")
    out = tmp_path / "report.json" / "pages"
    assert main(["report", str(tmp_path), "--out", str(out)]) == 2
    assert str(out) in capfd.readouterr().err
    task = Task(tmp_path / "report.json", out, "variant_report")
    (done,) = run_tasks([task])
    assert isinstance(done.error, OSError)
