"""Judging in a real JupyterLab: by keyboard, through a dead kernel, to a pinned version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalnb.gold.dataset import load_gold_dir
from evalnb.gold.drafting import open_draft

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HOSTILE = (
    "😀 <img src=x onerror=\"document.title='ran'\"> </script><script>document.title='ran'</script>"
    " \u202egpj.exe\u202c \u200b[a](javascript:document.title='ran') $\\href{javascript:1}{x}$ \x00"
    " The fee is 12 euros."
)
# What JupyterLab itself says when a kernel dies.
OF_A_DEATH = ("Canceled future", "Kernel died")
RESTARTED = "() => jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'"
SETUP = """
from evalnb.gold.draft_events import Extract, Passage
from evalnb.gold.drafting import open_draft
from evalnb.show.widgets.authoring import Judging
from evalnb.show.widgets.publishing import Publishing
draft = open_draft({folder!r})
case_id = draft.ask({query!r}, by="ada")
draft.pool(case_id, [
    Passage(id=f"<b>{{n}}</b>", extracts=[Extract(text={text!r} + str(n), document=f"<i>{{n}}.md",
            revision_id="rev", start=1000)]) for n in range(5)
]);
"""
JUDGE = "desk = Judging(draft, by='ada')\ndesk"
PUBLISH = "Publishing(draft, {folder!r})"


def cells(folder: Path) -> list[str]:
    setup = SETUP.format(
        folder=str(folder), query=f"what <b>is</b> the fee? {HOSTILE[:90]}", text=HOSTILE
    )
    return [setup, JUDGE, PUBLISH.format(folder=str(folder.parent / "gold"))]


def press(page: Any, key: str, said: str) -> str:
    page.page.locator(".evalnb-passage").focus()
    page.page.keyboard.press(key)
    return page.wait_for_state(said)


def select(page: Any, words: str) -> None:
    """Select words of the passage as a person does with the mouse: by the browser's selection."""
    page.page.evaluate(
        """(words) => {
          const runs = [...document.querySelectorAll(".evalnb-passage [data-start]")];
          const run = runs.find((each) => each.textContent.includes(words)).firstChild;
          const at = run.data.indexOf(words);
          getSelection().setBaseAndExtent(run, at, run, at + words.length);
        }""",
        words,
    )


def test_judge_kill_the_kernel_reopen_and_pin(lab: Any, tmp_path: Path) -> None:
    folder = tmp_path / "fees"
    page = lab.run(lab.write("judge.ipynb", cells(folder)))
    page.wait_for_state("Question 1 of 1, passage 1 of 5: not judged yet. 0 of 5 judged by ada.")
    press(page, "2", "Saved: 2. Question 1 of 1, passage 2 of 5")
    press(page, "f", "Saved: forbidden. Question 1 of 1, passage 3 of 5")
    press(page, "0", "Saved: 0. Question 1 of 1, passage 4 of 5")
    press(page, "u", "Undone. Question 1 of 1, passage 3 of 5: not judged yet. 2 of 5")
    select(page, "12 euros")
    press(page, "s", "Kept: “12 euros”.")
    select(page, "The fee")
    press(page, "q", "Kept: “The fee”.")
    page.page.get_by_role("button", name="1 relevant").click()
    page.wait_for_state("Saved: 1. Question 1 of 1, passage 4 of 5")
    page.page.keyboard.press("n")  # the focus is on the button: keys work all over the tool
    page.wait_for_state("Question 1 of 1, passage 5 of 5")
    page.page.keyboard.press("p")
    page.wait_for_state("Question 1 of 1, passage 4 of 5")
    before = open_draft(folder).state.labels("ada")
    assert sorted(map(str, before.values())) == ["1", "2", "forbidden"]

    page.kill_kernel()
    page.page.locator(".jp-Dialog", has_text="appears to have died").get_by_text("Ok").click()
    page.page.locator(".evalnb-passage").focus()
    page.page.keyboard.press("3")
    page.page.locator(".evalnb-saving", has_text="does not answer").wait_for()
    assert open_draft(folder).state.labels("ada") == before

    page.page.wait_for_function(RESTARTED)  # JupyterLab does that by itself
    page.run_all()
    page.wait_for_state("Question 1 of 1, passage 4 of 5: not judged yet. 3 of 5 judged by ada.")
    press(page, "3", "Saved: 3.")
    press(page, "0", "Saved: 0.")
    page.page.get_by_role("button", name="Look again").click()
    page.page.get_by_role("button", name="Pin this version").click()
    said = page.page.locator(".evalnb-state", has_text="Pinned: 1 case in")
    said.wait_for()
    (version,) = [path for path in (tmp_path / "gold").iterdir() if path.is_dir()]
    (case,) = load_gold_dir(version).cases
    assert sorted(case.document_grades().values()) == [0, 1, 2, 3]
    assert len(case.forbidden.document_ids) == 1
    (span,) = case.spans
    start = HOSTILE.index("12 euros")
    assert (span.quote, span.start, span.end) == ("12 euros", 1000 + start, 1008 + start)
    assert case.content[0].content_contains == ("The fee",)
    assert page.page.title() != "ran"
    page.said = [line for line in page.said if not any(known in line for known in OF_A_DEATH)]


def test_hostile_text_is_shown_as_typed_and_runs_nothing(lab: Any, tmp_path: Path) -> None:
    page = lab.run(lab.write("hostile.ipynb", cells(tmp_path / "fees")))
    page.wait_for_state("Question 1 of 1")
    shown = page.page.locator(".evalnb-passage p").inner_text()
    for typed in (
        "<img src=x onerror=",
        "</script><script>",
        "[a](javascript:",
        "\\href{",
        "\\u202e",
    ):
        assert typed in shown
    assert "\u202e" not in shown
    assert page.page.get_by_text("what <b>is</b> the fee?").first.is_visible()
    page.page.evaluate(  # the whole text: through escapes and a character of two UTF-16 units
        "() => getSelection().selectAllChildren(document.querySelector('.evalnb-passage'))"
    )
    press(page, "s", "NUL")  # a quote that gold cannot hold is refused in words
    select(page, "gpj.exe")
    press(page, "s", "Kept: “gpj.exe”.")
    assert page.page.locator(".evalnb-passage mark").inner_text() == "gpj.exe"
    for key in ("d", "d", "x", "Escape", "d", "d"):  # what deletes and cuts cells in JupyterLab
        page.page.keyboard.press(key)
    assert page.page.locator(".jp-CodeCell").count() == 3
    assert page.page.title() != "ran"
    (mark,) = open_draft(tmp_path / "fees").state.marks.popitem()[1]
    assert mark.span.start == 1000 + HOSTILE.index("gpj.exe")


@pytest.mark.parametrize("width", [1280, 390])
def test_it_fits_its_page(lab: Any, tmp_path: Path, width: int) -> None:
    page = lab.run(lab.write(f"fits{width}.ipynb", cells(tmp_path / "fees")), width=width)
    page.wait_for_state("Question 1 of 1")
    if width < 600:  # JupyterLab itself leaves no room beside its file browser there
        page.page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
    tool = page.page.locator(".evalnb-tool").first
    assert tool.evaluate("box => box.scrollWidth <= box.clientWidth + 1")
    for button in tool.get_by_role("button").all():
        assert button.evaluate("b => b.scrollWidth <= b.clientWidth + 1"), button.inner_text()
