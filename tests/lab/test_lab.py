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
