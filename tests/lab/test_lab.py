"""``evalnb lab`` in a real browser: our notebooks, our kernel, and nothing asked for outside."""

from __future__ import annotations

import sys
from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_notebook_runs_in_our_kernel(lab: Any) -> None:
    cells = [
        "import sys, ipywidgets as w, evalnb\nprint(sys.executable)",
        "from evalnb.show.widgets.parts import StateLine, tool_box, Together\n"
        "line = StateLine('ready <b>&')\n"
        "moved = Together(lambda: line.say(f'k is {slider.value}'))\n"
        "slider = w.IntSlider(description='k')\n"
        "slider.observe(moved, 'value')\n"
        "tool_box(line.part, slider)",
    ]
    page = lab.run(lab.write("kernel.ipynb", cells))
    assert page.page.get_by_text(sys.executable).first.is_visible()
    assert page.wait_for_state("ready") == "ready <b>&"
    page.page.locator(".noUi-handle").focus()
    page.page.keyboard.press("ArrowRight")
    assert page.wait_for_state("k is 1") == "k is 1"


def test_nobody_asks_for_news_or_offers_extensions(lab: Any) -> None:
    page = lab.run(lab.write("quiet.ipynb", ["1"]))
    page.page.wait_for_timeout(2_000)
    assert page.page.get_by_text("Jupyter news").count() == 0
    assert page.page.locator(".Toastify__toast").count() == 0
    assert {"01_quickstart.ipynb", "03_tuning.ipynb"} <= {p.name for p in lab.folder.iterdir()}
