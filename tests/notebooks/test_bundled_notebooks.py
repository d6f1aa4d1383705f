"""The notebooks that travel with evalnb: small, clean, documented, and they run."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import evalnb as ev
from evalnb.errors import NotebookError, NotFoundError
from evalnb.evaluation.report import EvaluationReport, save_report
from evalnb.evaluation.request import EvaluationRequest, Variant
from evalnb.evaluation.runner import run_evaluation
from evalnb.gold.bundled import REPORT_NOTEBOOKS
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.show import sections
from evalnb.show.batch import build_report_folder
from evalnb.show.export import export_html
from evalnb.show.notebooks import run_notebook
from evalnb.show.parameters import declared_parameters
from evalnb.systems.function import FunctionSystem

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
OURS = (
    *("01_quickstart", "02_write_gold", "03_tuning", "04_explore_cases"),
    *REPORT_NOTEBOOKS,
)
CODE_LINES = 60


def read(name: str) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads((FOLDER / f"{name}.ipynb").read_text())
    return notebook


def code_cells(notebook: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return (cell for cell in notebook["cells"] if cell["cell_type"] == "code")


@pytest.mark.parametrize("name", OURS)
def test_it_is_stripped_and_small(name: str) -> None:
    cells = list(code_cells(read(name)))
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
    lines = [line for cell in cells for line in cell["source"].splitlines() if line.strip()]
    assert len(lines) <= CODE_LINES
    loops = (ast.FunctionDef, ast.ClassDef, ast.For, ast.While, ast.Lambda, ast.AsyncFunctionDef)
    tree = ast.parse("\n".join(cell["source"] for cell in cells))
    assert not [node for node in ast.walk(tree) if isinstance(node, loops)]


@pytest.mark.parametrize("name", OURS)
def test_the_first_code_cell_declares_the_parameters(name: str) -> None:
    first, *others = code_cells(read(name))
    assert first["metadata"]["tags"] == ["parameters"]
    assert all("parameters" not in cell["metadata"].get("tags", []) for cell in others)
    tree = ast.parse(first["source"])
    assert all(isinstance(statement, ast.AnnAssign) for statement in tree.body)


@pytest.mark.parametrize("name", OURS)
def test_every_cell_stands_under_a_question(name: str) -> None:
    cells = read(name)["cells"]
    for before, cell in pairwise(cells):
        if cell["cell_type"] == "code" and "parameters" not in cell["metadata"].get("tags", []):
            words = before["source"] if before["cell_type"] == "markdown" else ""
            opening = before.get("metadata", {}).get("tags") == ["parameters"]
            assert "?" in words or opening, cell["source"]


@pytest.mark.parametrize("name", REPORT_NOTEBOOKS)
def test_report_notebooks_declare_what_is_promised(name: str) -> None:
    assert declared_parameters(read(name)) == {
        "report_path": str,
        "baseline": str,
        "measures": list[str],
        "case_ids": list[str],
        "max_cases": int,
    }


@pytest.fixture(scope="module")
def report() -> EvaluationReport:
    cases = tuple(
        GoldCase(
            case_id=f"c{i}",
            split="development",
            request={"query": f"q{i}"},
            expected={"document_ids": [f"d{i}"]},
            intent="lookup",
        )
        for i in range(6)
    )
    found = {"today": lambda query: ["x"], "new": lambda query: [f"d{query[1:]}"]}
    return run_evaluation(
        dataset_from_cases(cases, dataset_id="d"),
        {name: FunctionSystem(search) for name, search in found.items()},
        EvaluationRequest(variants=tuple(Variant(name=n, system=n) for n in found)),
    )


@pytest.mark.parametrize("name", REPORT_NOTEBOOKS)
def test_headings_and_questions_are_those_of_the_sections(
    name: str, report: EvaluationReport
) -> None:
    reading = sections.reading_of(report)
    said = [c["source"] for c in read(name)["cells"] if c["cell_type"] == "markdown"][1:]
    calls = [cell["source"] for cell in code_cells(read(name))][2:]
    assert len(said) == len(calls)
    for words, call in zip(said, calls, strict=True):
        function = getattr(sections, call.removeprefix("sections.").removesuffix("(reading)"))
        display = function(reading)
        assert words == f"## {display.title}\n\n{display.question}"


@pytest.mark.slow
@pytest.mark.notebook
def test_a_report_folder_holds_both_notebooks_and_their_pages(
    report: EvaluationReport, tmp_path: Path
) -> None:
    save_report(report, tmp_path / "report.json")
    written = build_report_folder(tmp_path, tmp_path, baseline="today")
    names = [f"{name}.{ending}" for name in REPORT_NOTEBOOKS for ending in ("ipynb", "html")]
    assert [path.name for path in written] == names
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names, "report.json"])
    reading = sections.reading_of(report, baseline="today")
    page = (tmp_path / "variant_report.html").read_text()
    for section in (sections.verdicts, sections.means, sections.cases, sections.provenance):
        assert section(reading).block() in page  # one rendering of everything
    assert 'report_path = "report.json"' in re.sub(r"</?span[^>]*>", "", page)
    assert str(tmp_path) not in page + (tmp_path / "variant_report.ipynb").read_text()


@pytest.mark.slow
@pytest.mark.notebook
def test_a_report_that_cannot_be_read_fails_and_is_kept_as_evidence(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no report here"):
        build_report_folder(tmp_path / "nowhere", tmp_path / "out")
    (tmp_path / "report.json").write_text("{}")
    with pytest.raises(NotebookError, match=r"variant_report\.ipynb did not finish: code cell 3 "):
        build_report_folder(tmp_path, tmp_path / "out")
    left = sorted(path.relative_to(tmp_path).as_posix() for path in (tmp_path / "out").rglob("*.*"))
    assert left == [f"out/failed/{name}.ipynb" for name in sorted(REPORT_NOTEBOOKS)]


@pytest.mark.slow
@pytest.mark.notebook
def test_the_quickstart_runs(tmp_path: Path) -> None:
    finished = run_notebook("01_quickstart", tmp_path, {"limit": 5})
    page = export_html(finished, tmp_path / "quickstart.html").read_text()
    assert "against any word" in page or "than any word" in page
    assert (tmp_path / "quickstart" / "report.html").is_file()
    assert (tmp_path / "quickstart" / "report.json").is_file()


@pytest.mark.slow
@pytest.mark.notebook
def test_the_gold_notebook_runs_and_runs_again(tmp_path: Path) -> None:
    run_notebook("02_write_gold", tmp_path)
    page = export_html(run_notebook("02_write_gold", tmp_path), tmp_path / "gold.html").read_text()
    assert "0 passages are new" in page  # the draft was gone on with
    assert "judged by me" in page
    assert "3 changes in a first version" in page
    assert (tmp_path / "my-gold" / "draft" / "journal.jsonl").read_text().count('"asked"') == 3


@pytest.mark.slow
@pytest.mark.notebook
def test_the_explorer_stands_in_an_exported_page_without_its_controls(tmp_path: Path) -> None:
    finished = run_notebook("04_explore_cases", tmp_path)
    page = export_html(finished, tmp_path / "cases.html").read_text()
    assert "Case 1 of 45: with-target-binding-fails · " in page
    assert page.count('<details class="case"') == 1
    assert 'alt="Ranks of ' in page
    assert "widget-view+json" not in page


@pytest.mark.slow
@pytest.mark.notebook
def test_the_tuning_notebook_takes_a_report_and_shows_without_controls(tmp_path: Path) -> None:
    cases = dataset_from_cases(
        tuple(
            GoldCase(
                case_id=f"c{i}",
                split="development",
                request={"query": f"q{i}"},
                expected={"document_ids": [f"d{i}"]},
            )
            for i in range(6)
        ),
        dataset_id="d",
    )
    channels = {"a": lambda query: ["x", f"d{query[1:]}"], "b": lambda query: [f"d{query[1:]}"]}
    report = ev.evaluate(cases, {"both": ev.fused(channels)}, measures=["RR@10"])
    given = {"report_path": str(report.save(tmp_path / "report.json")), "measure": "RR@10"}
    finished = run_notebook("03_tuning", tmp_path, given)
    page = export_html(finished, tmp_path / "tuning.html").read_text()
    assert "RR@10 1.000 with these settings, 1.000 as recorded" in page
    assert 'alt="RR@10: as recorded 1.000' in page
    assert "widget-view+json" not in page
