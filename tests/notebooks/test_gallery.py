"""The gallery is the contract of charts and tools: all of them, each with its frame and words."""

from __future__ import annotations

import ast
import importlib
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evalnb.show import charts
from evalnb.show.export import export_html
from evalnb.show.notebooks import run_notebook

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "gallery.ipynb"
CELLS = {
    cell["id"]: "".join(cell["source"])
    for cell in json.loads(NOTEBOOK.read_text())["cells"]
    if cell["cell_type"] == "code"
}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Run the cells in their order and keep what each shows."""
    names: dict[str, Any] = {}
    displays = {}
    for key, source in CELLS.items():
        cell = ast.parse(source)
        if isinstance(cell.body[-1], ast.Expr):
            last = ast.Expression(cell.body.pop().value)
            exec(compile(cell, key, "exec"), names)
            displays[key] = eval(compile(last, key, "eval"), names)
        else:
            exec(compile(cell, key, "exec"), names)
        if key == "parameters":
            names["folder"] = str(tmp_path_factory.mktemp("gallery"))
    return displays


def test_every_chart_is_in_it() -> None:
    public = {name for name in charts.__all__ if name.startswith("plot_")}
    called = {name for name in public if f"charts.{name}(" in "\n".join(CELLS.values())}
    assert called == public


def test_everything_shown_has_a_frame_and_words(shown: dict[str, Any]) -> None:
    assert len(shown) >= 13
    for key, display in shown.items():
        frame = display.frame()
        assert isinstance(frame, pd.DataFrame), key
        if isinstance(display, charts.Chart):
            assert len(display.alt) > 40, key
            assert display.alt == str(display), key
            assert "nan" not in display.alt.lower(), key
            assert 'alt="' in display._repr_html_(), key
        else:
            bundle = display._repr_mimebundle_()
            assert {"text/html", "text/plain"} <= set(bundle), key


def test_no_figure_is_written_otherwise_than_in_tables(shown: dict[str, Any]) -> None:
    drawn = shown["differences"]
    said = [text.get_text() for ax in drawn.figure.axes for text in ax.texts]
    assert {"▲ better +0.120", "▼ worse -0.150", "? undecided +0.030"} <= set(said)
    assert "0.610 [0.500, 0.710]" in shown["means"].alt
    assert "share 0.340, alone 0.550, lost without it 0.100" in shown["channels"].alt


@pytest.mark.slow
@pytest.mark.notebook
@pytest.mark.browser
def test_its_page_fits_a_phone_and_has_no_fault(browser: Any, tmp_path: Path) -> None:
    page = export_html(run_notebook("gallery", tmp_path), tmp_path / "gallery.html")
    package = importlib.import_module("axe_playwright_python").__path__[0]
    tab = browser.new_page(viewport={"width": 390, "height": 844})
    tab.goto(page.as_uri())
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    tab.evaluate((Path(package) / "axe.min.js").read_text())
    found = tab.evaluate("axe.run().then((r) => r.violations.map((v) => [v.impact, v.id]))")
    tab.close()
    assert found == []
