"""The case explorer in a real JupyterLab: choose, filter, compare, and walk on by keyboard."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HOSTILE = "<img src=x onerror='window.ran=1'> <script>window.ran=1</script> pay\\u202epal"
CELLS = [
    f"""
import evalnb as ev
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.show.widgets.explorer import CaseExplorer

hostile = "{HOSTILE}"
cases = tuple(
    GoldCase(
        case_id=f"c{{n}}",
        split="development",
        request={{"query": f"question {{n}} {{hostile}}"}},
        document_relevance={{f"d{{n}}": 1, "d9": 1}},
        intent="lookup" if n % 2 else hostile,
        tags={{"team": "a"}},
    )
    for n in range(4)
)
name = lambda n: {{"id": f"d{{n}}", "document": f"d{{n}}", "text": f"text {{n}} {{hostile}}",
                  "metadata": {{"url": "https://example.org/a" if n else "javascript:x"}}}}
keyword = lambda query: [name(n) for n in range(6)]
semantic = lambda query: [name(n) for n in (3, 1, 0)]
systems = {{
    "today": ev.fused({{"keyword": keyword}}),
    "both": ev.fused({{"keyword": keyword, "semantic": semantic}}),
    "third": lambda query: [],
}}
report = ev.evaluate(dataset_from_cases(cases, dataset_id="mine"), systems, limit=3)
""",
    "explorer = CaseExplorer(report, baseline='today')\nexplorer",
]


def test_it_is_walked_through_by_hand_and_keyboard(lab: Any) -> None:
    opened = lab.run(lab.write("explorer.ipynb", CELLS))
    page, tool = opened.page, opened.page.locator(".evalnb-tool")
    opened.wait_for_state("Case 1 of 4")
    assert tool.locator(".sides > section").count() == 2
    assert tool.locator("img.chart").count() == 2
    assert tool.locator(".hits a[href='https://example.org/a']").count() > 0
    assert page.locator("a[href^='javascript']").count() == 0

    listed = tool.get_by_label("Cases", exact=True)
    listed.focus()
    page.keyboard.press("ArrowDown")
    opened.wait_for_state("Case 2 of 4: c1")
    page.keyboard.press("Tab")  # to the variants
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Previous (p)"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    opened.wait_for_state("Case 3 of 4: c2")
    page.keyboard.press("n")
    opened.wait_for_state("Case 4 of 4: c3")
    tool.get_by_label("Cases", exact=True).focus()
    page.keyboard.press("p")
    opened.wait_for_state("Case 3 of 4: c2")

    tool.get_by_label("Side by side").select_option(["today", "both", "third"])
    opened.wait_for_state("3 variants side by side")
    assert tool.locator(".sides h3").all_inner_texts() == [
        "today (baseline)",
        "both",
        "third",
    ]

    tool.get_by_label("Variant", exact=True).select_option("third")
    tool.get_by_label("State", exact=True).select_option("missed")
    opened.wait_for_state("Case 1 of 4")
    tool.get_by_label("Intent", exact=True).select_option("lookup")
    opened.wait_for_state("Case 1 of 2 that fit (4 cases in all): c1")
    tool.get_by_label("Words", exact=True).fill("question 3")
    opened.wait_for_state("Case 1 of 1 that fit (4 cases in all): c3")
    tool.get_by_label("Words", exact=True).fill("nothing like it")
    opened.wait_for_state("None of 4 cases fits the filters.")
    assert page.evaluate("window.ran") is None


def test_the_notebook_runs_and_fits_a_phone(lab: Any) -> None:
    opened = lab.run("04_explore_cases.ipynb", width=390, height=844)
    opened.wait_for_state("Case 1 of 45: ")
    wide = opened.page.locator(".evalnb-tool").first
    assert wide.evaluate("tool => tool.scrollWidth - tool.clientWidth") <= 1
    opened.page.get_by_role("button", name="Next (n)").click()
    opened.wait_for_state("Case 2 of 45: ")
