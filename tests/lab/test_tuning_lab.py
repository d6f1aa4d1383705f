"""Tuning in a real JupyterLab: by keyboard, on a phone, with hostile names."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

# The keyword channel is right for even questions, the semantic one for odd ones.
SYSTEM = """
import evalnb as ev
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.show.widgets.tuning import Tuning

def channel(right):
    def search(query):
        n = int(query.split()[-1])
        found = [f"wrong{n}", f"other{n}", f"right{n}"]
        found = found[::-1] if n % 2 == right else found
        return [(key, 1.0 - 0.1 * at) for at, key in enumerate(found)]
    return search

NAMES = KEYWORD, SEMANTIC
cases = tuple(
    GoldCase(
        case_id=f"q{n}", split="development", request={"query": f"{QUESTION} {n}"},
        expected={"document_ids": [f"right{n}"]},
    )
    for n in range(12)
)
hybrid = ev.fused({KEYWORD: channel(0), SEMANTIC: channel(1)}, weights={SEMANTIC: 0.5})
gold = dataset_from_cases(cases, dataset_id="q")
report = ev.evaluate(gold, {"hybrid": hybrid}, measures=["RR@10"])
"""
HOSTILE = "</script><img src=x onerror=alert(1)> ' &"


def names(keyword: str = "keyword", semantic: str = "semantic", question: str = "which") -> str:
    return f"KEYWORD, SEMANTIC, QUESTION = {keyword!r}, {semantic!r}, {question!r}"


def opened(lab: Any, name: str, *, first: str = "", **options: Any) -> Any:
    cells = [first or names(), SYSTEM]
    cells.append(f"tool = Tuning(report, system=hybrid, keep='{name}/variants.json')\ntool")
    page = lab.run(lab.write(f"{name}.ipynb", cells), **options)
    page.wait_for_state("identical; 0 better, 0 worse of 12 cases.")
    return page


def picture(page: Any) -> str:
    return str(page.page.locator(".evalnb-tool img.chart").get_attribute("src"))


def weight(page: Any, channel: int) -> Any:
    """Return the handle of a channel's weight; the first slider is that of k."""
    return page.page.locator(".evalnb-tool .noUi-handle").nth(1 + channel)


def test_slider_toggle_and_keep_by_keyboard(lab: Any) -> None:
    page = opened(lab, "keyboard")
    before = picture(page)
    weight(page, 1).focus()
    for _ in range(5):
        page.page.keyboard.press("ArrowRight")
    page.wait_for_state("+0.333 [0.111, 0.556], better; 6 better, 0 worse of 12 cases.")
    assert picture(page) != before
    assert page.page.locator(".evalnb-tool tbody tr").count() == 6

    before = picture(page)
    page.page.get_by_label("keyword", exact=True).focus()
    page.page.keyboard.press("Space")
    page.wait_for_state("6 better, 6 worse of 12 cases.")
    assert picture(page) != before

    page.page.locator(".evalnb-tool input[placeholder=tuned]").fill("only semantic")
    page.page.keyboard.press("Tab")
    page.page.keyboard.press("Enter")
    page.wait_for_state("Kept as only semantic in keyboard/variants.json.")
    (kept,) = json.loads((lab.folder / "keyboard" / "variants.json").read_text())["variants"]
    assert kept["name"] == "only semantic"
    assert kept["overrides"]["channels"] == ["semantic"]

    page.page.get_by_role("button", name="As recorded").press("Enter")
    page.wait_for_state("identical")


def test_cases_that_need_it_are_searched_live(lab: Any) -> None:
    page = opened(lab, "live")
    page.page.get_by_label("rerank").press("Space")
    page.wait_for_state("12 cases need a live search.")
    named = page.page.get_by_text("no rerank score: q0, q1, q2, q3, q4, q5 and 6 more")
    named.wait_for()
    page.page.get_by_label("rerank").press("Space")
    page.wait_for_state("identical")
    page.page.get_by_role("button", name="Search live").press("Enter")
    page.wait_for_state("12 cases. Searched live.")


@pytest.mark.parametrize("width", [390, 1280])
def test_hostile_names_are_text_and_nothing_is_cut_off(lab: Any, width: int) -> None:
    first = names(HOSTILE, "s" * 200, f"{HOSTILE} pay\u202epal")
    page = opened(lab, f"hostile{width}", first=first, width=width)
    dialogs: list[str] = []
    page.page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    weight(page, 1).focus()
    for _ in range(5):
        page.page.keyboard.press("ArrowRight")
    page.wait_for_state("6 better, 0 worse")
    text = page.page.locator(".evalnb-tool").inner_text()
    assert "<img src=x onerror=alert(1)>" in text
    assert "pay\\u202epal" in text
    assert page.page.locator(".evalnb-tool img:not(.chart)").count() == 0
    assert dialogs == []
    beyond = page.page.evaluate(
        """() => [...document.querySelectorAll(".evalnb-tool *")]
            .filter((e) => !e.closest(".scroll") && e.getBoundingClientRect().width
                && e.getBoundingClientRect().right > innerWidth)
            .map((e) => e.className)"""
    )
    assert beyond == []


@pytest.mark.notebook
def test_the_bundled_notebook_runs_by_itself(lab: Any) -> None:
    page = lab.run("03_tuning.ipynb")
    page.wait_for_state("with these settings")
    page.page.locator(".evalnb-tool .noUi-handle").first.focus()
    page.page.keyboard.press("ArrowLeft")
    page.wait_for_state("7 cases need a live search.")
