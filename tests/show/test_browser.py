"""The page in a real browser: offline, filtered, linked into, and on a phone."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalnb.evaluation.report import EvaluationReport
from evalnb.show.html import page_html, write_page
from evalnb.show.markup import case_anchor
from evalnb.show.reading import Reading
from evalnb.show.sections import all_sections, title

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(reading: Reading, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "report.html"
    return write_page(path, page_html(title(reading), all_sections(reading))).as_uri()


class Tab:
    """A page with everything that it said and asked for."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.page = browser.new_page(**options)
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append("dialog"), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(address)

    def shown(self) -> list[str]:
        return self.page.eval_on_selector_all(
            "details.case:not([hidden])", "cases => cases.map((c) => c.id)"
        )


@pytest.fixture
def tab(browser: Any, address: str) -> Iterator[Tab]:
    opened = Tab(browser, address, viewport={"width": 1280, "height": 900})
    yield opened
    opened.page.close()


def test_no_request_leaves_and_nothing_foreign_runs(tab: Tab, address: str) -> None:
    tab.page.get_by_role("button", name="Open or close all").click()
    assert all(url == address or url.startswith("data:image/svg+xml") for url in tab.asked)
    assert tab.said == []
    images = tab.page.eval_on_selector_all("img", "all => all.map((i) => i.naturalWidth)")
    assert len(images) >= 8
    assert all(width > 0 for width in images)


def test_the_filter_finds_words_and_states(tab: Tab, report: EvaluationReport) -> None:
    page = tab.page
    assert len(tab.shown()) == len(report.cases)
    page.get_by_role("searchbox").fill("HARBOUR LIES")
    assert tab.shown() == ["case-case-1"]
    assert page.locator(".filter output").inner_text() == f"1 of {len(report.cases)} shown"
    page.get_by_role("searchbox").fill("")
    page.get_by_label("State").select_option("miss")
    missed = tab.shown()
    assert "case-case-3" in missed
    assert "case-case-1" not in missed
    page.get_by_label("Variant").select_option(label="by broken")
    assert tab.shown() == ["case-case-3"]
    page.get_by_label("Variant").select_option("")
    page.get_by_label("State").select_option("regressed")
    assert tab.shown() == ["case-case-3"]
    page.get_by_label("State").select_option("failed")
    assert tab.shown() == [case_anchor("case/2 ü")]


def test_a_deep_link_opens_its_case(browser: Any, address: str) -> None:
    anchor = case_anchor("case/2 ü")
    tab = Tab(browser, f"{address}#{anchor}")
    assert tab.page.eval_on_selector("details[open]", "open => open.id") == anchor
    assert tab.page.locator("details[open] summary").is_visible()
    tab.page.get_by_label("State").select_option("forbidden")
    assert not tab.page.locator(f"[id='{anchor}']").is_visible()
    tab.page.evaluate("hash => { location.hash = hash }", "")
    tab.page.evaluate("hash => { location.hash = hash }", anchor)
    tab.page.wait_for_selector(f"[id='{anchor}']:not([hidden])")
    tab.page.close()


def test_a_link_in_the_list_of_changes_opens_its_case(tab: Tab) -> None:
    tab.page.locator("#changes a").first.click()
    opened = tab.page.wait_for_selector("details.case[open]")
    assert opened.get_attribute("id").startswith("case-")


def test_it_works_by_keyboard(tab: Tab) -> None:
    tab.page.locator("[id='case-case-1'] summary").focus()
    tab.page.keyboard.press("Enter")
    assert tab.page.locator("[id='case-case-1']").get_attribute("open") is not None
    tab.page.keyboard.press("Shift+Tab")
    assert tab.page.evaluate("document.activeElement.tagName") in {"SUMMARY", "BUTTON"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_scrolls_down_only(browser: Any, address: str, scheme: str) -> None:
    tab = Tab(browser, address, viewport={"width": 390, "height": 844}, color_scheme=scheme)
    tab.page.get_by_role("button", name="Open or close all").click()
    width = tab.page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390
    ink, paper = tab.page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    assert abs(brightness(ink) - brightness(paper)) > 180
    tab.page.close()


def brightness(colour: str) -> float:
    parts = [float(part) for part in colour[colour.index("(") + 1 : -1].split(",")]
    return sum(parts[:3]) / 3


def test_a_table_is_sorted_by_its_headers_and_by_keyboard(tab: Tab) -> None:
    table = tab.page.locator("#means table").first
    names = table.locator("tbody tr td:nth-child(2)")
    head = table.locator("th").nth(1)
    before = names.all_inner_texts()
    head.get_by_role("button").focus()
    tab.page.keyboard.press("Enter")
    assert names.all_inner_texts() == sorted(before, key=str.lower)
    assert head.get_attribute("aria-sort") == "ascending"
    tab.page.keyboard.press("Space")
    assert names.all_inner_texts() == sorted(before, key=str.lower, reverse=True)
    means = table.locator("th").filter(has_text="mean").first
    means.get_by_role("button").click()
    assert head.get_attribute("aria-sort") is None
    values = [float(text) for text in table.locator("tbody tr td:nth-child(3)").all_inner_texts()]
    assert values == sorted(values)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_no_fault(browser: Any, address: str, axe: str, width: int, scheme: str) -> None:
    tab = Tab(browser, address, viewport={"width": width, "height": 900}, color_scheme=scheme)
    tab.page.get_by_role("button", name="Open or close all").click()
    tab.page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    tab.page.evaluate(axe)
    found = tab.page.evaluate(
        "axe.run().then((r) => r.violations.map((v) => [v.impact, v.id, v.nodes[0].html]))"
    )
    assert found == []
    tab.page.close()


@pytest.fixture(scope="module")
def axe() -> str:
    found = importlib.util.find_spec("axe_playwright_python")
    assert found is not None, "pip install -e '.[dev]' brings it"
    assert found.submodule_search_locations is not None
    return (Path(found.submodule_search_locations[0]) / "axe.min.js").read_text()


def test_without_script_it_still_reads(browser: Any, address: str) -> None:
    tab = Tab(browser, address, java_script_enabled=False)
    assert not tab.page.locator(".filter").is_visible()
    tab.page.locator("[id='case-case-1'] summary").click()
    assert tab.page.get_by_text("The harbour lies to the north.").first.is_visible()
    tab.page.close()
