"""Judging and publishing: what a key does to the draft, and what is said."""

from __future__ import annotations

import json
import resource
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import evalnb as ev
from evalnb.errors import BadInputError, NotFoundError
from evalnb.gold.agreement import FORBIDDEN
from evalnb.gold.draft_events import ADJUDICATOR, Extract, Passage
from evalnb.gold.drafting import JOURNAL, Draft, open_draft
from evalnb.show import drafts
from evalnb.show.widgets.authoring import Judging, pool_report
from evalnb.show.widgets.passage import SHOWN, shown_runs
from evalnb.show.widgets.publishing import Publishing

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\u202egpj.exe\u200b"


@pytest.fixture
def draft(tmp_path: Path) -> Draft:
    opened = open_draft(tmp_path / "fees")
    case_id = opened.ask("what is the fee?", by="ada")
    opened.pool(case_id, [passage(key) for key in "abc"])
    return opened


def passage(key: str, text: str = "The fee is 12 euros.") -> Passage:
    return Passage(id=key, extracts=(Extract(text=text, document=f"{key}.md"),))


def heard(desk: Judging, key: str, selected: list[int] | None = None, token: int = 0) -> None:
    """Send what the browser sends."""
    shown = desk.passage.view["token"]
    desk._heard(None, {"key": key, "token": shown + token, "selected": selected}, None)


def test_keys_and_buttons_judge_and_the_next_unjudged_passage_follows(draft: Draft) -> None:
    desk = Judging(draft, by="ada")
    assert desk.line.text == (
        "Question 1 of 1, passage 1 of 3: not judged yet. 0 of 3 judged by ada."
    )
    heard(desk, "2")
    assert desk.line.text.startswith("Saved: 2. Question 1 of 1, passage 2 of 3: not judged yet.")
    desk.buttons["f"].click()
    desk.buttons["0"].click()
    assert desk.line.text.endswith("passage 3 of 3: you said 0. 3 of 3 judged by ada.")
    assert desk.buttons["0"].description == "✓ 0 not relevant"
    order = desk.frame()
    assert list(order["label"]) == [2, FORBIDDEN, 0]
    assert open_draft(draft.folder).state.labels("ada") == {
        (row.case_id, row.id): row.label for row in order.itertuples()
    }
    heard(desk, "n")
    assert "passage 1 of 3: you said 2" in desk.line.text
    heard(desk, "p")
    heard(desk, "u")
    assert desk.line.text.startswith("Undone. Question 1 of 1, passage 3 of 3: not judged yet.")
    assert list(desk.frame()["label"]) == [2, FORBIDDEN, None]


def test_a_key_for_a_passage_that_is_gone_judges_nothing(draft: Draft) -> None:
    desk = Judging(draft, by="ada")
    heard(desk, "2", token=-1)
    assert "too fast to count" in desk.line.text
    assert draft.state.labels("ada") == {}
    heard(desk, "x")
    assert draft.state.labels("ada") == {}


def test_what_goes_wrong_is_said_and_the_page_gets_an_answer(draft: Draft) -> None:
    desk = Judging(draft, by="ada")
    token = desk.passage.view["token"]
    heard(desk, "s")
    assert desk.line.text == "nothing is selected (select words first)"
    for selected in (["a", "b", "c"], [0, 0.5, 2], [0, True, 2]):
        desk.press("q", selected)  # type: ignore[arg-type]
        assert desk.line.text == "nothing is selected (select words first)"
    assert desk.passage.view["token"] > token
    heard(desk, "s", [0, 4, 7])
    assert "does not say where this text stands" in desk.line.text
    heard(desk, "u")
    heard(desk, "u")
    assert "nothing of yours to undo" in desk.line.text


def test_a_full_disk_is_said_and_the_passage_stays(draft: Draft) -> None:
    desk = Judging(draft, by="ada")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((draft.folder / JOURNAL).stat().st_size, hard))
    try:
        heard(desk, "2")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "not saved: File too large (make room" in desk.line.text
    assert list(desk.frame()["label"]) == [None] * 3
    heard(desk, "2")
    assert list(desk.frame()["label"]) == [2, None, None]


def test_selected_words_are_kept_and_marked(draft: Draft) -> None:
    desk = Judging(draft, by="ada")
    heard(desk, "q", [0, 11, 19])
    assert desk.line.text.startswith("Kept: “12 euros”. Question 1 of 1, passage 1 of 3")
    (runs,) = desk.passage.view["extracts"]
    assert [run["text"] for run in runs if run["mark"]] == ["12 euros"]
    desk.passage.selected = [0, 4, 7]  # a button takes the words that the mouse left selected
    desk.buttons["q"].click()
    (case,) = draft.dataset().cases
    assert case.content[0].content_contains == ("12 euros", "fee")
    assert desk.frame()["kept"].sum() == 2


def test_runs_cut_at_marks_and_at_hidden_characters_in_codepoints() -> None:
    runs = shown_runs("😀ab\u200bcd", [(1, 5)])
    assert [(r["start"], r["end"], r["text"], r["mark"], r["plain"]) for r in runs] == [
        (0, 1, "😀", False, True),
        (1, 3, "ab", True, True),
        (3, 4, "\\u200b", True, False),
        (4, 5, "c", True, True),
        (5, 6, "d", False, True),
    ]
    assert "".join(run["text"] for run in shown_runs("x" * 1_000_000)) == "x" * SHOWN
    assert shown_runs("") == []


def test_the_adjudicator_sees_what_is_in_dispute_and_who_said_what(draft: Draft) -> None:
    ada, ben = Judging(draft, by="ada"), Judging(draft, by="ben")
    judge = Judging(draft, by=ADJUDICATOR)
    assert judge.line.text == "Nothing is in dispute."
    for first, second in (("2", "2"), ("1", "0"), ("f", "0")):
        heard(ada, first)
        heard(ben, second)
    assert len(judge.queue()) == 2
    heard(judge, "n")
    assert "passage 1 of 2: not judged yet, ada said" in judge.line.text
    publishing = Publishing(draft, draft.folder.parent / "gold")
    assert "2 labels in dispute: settle them first." in publishing.line.text
    publishing.pin.click()
    assert "labels are in dispute: 2" in publishing.line.text
    assert publishing.pinned is None
    shown = drafts.agreement(draft)
    assert shown.text.startswith("ada and ben: 1 of 3 labels agree (33.3%); Cohen's kappa 0.250.")
    assert len(shown.frame()) == 2
    heard(judge, "1")
    heard(judge, "0")
    assert draft.state.disputes() == ()


def test_a_question_that_another_notebook_took_out_is_passed_over(draft: Draft) -> None:
    desk, other = Judging(draft, by="ada"), open_draft(draft.folder)
    other.remove(next(iter(other.state.cases)), by="ben")
    heard(desk, "2")
    assert desk.line.text == "Saved: 2. 1 line of another notebook came in. Nothing to judge yet."
    heard(desk, "2", token=-1)
    assert "too fast" in desk.line.text
    heard(desk, "2")
    assert desk.line.text == "there is nothing to judge"
    assert desk.passage.layout.display == "none"


def search(query: str) -> list[tuple[str, str]]:
    return [(f"d{at}", f"{word} {HOSTILE}") for at, word in enumerate(query.split())]


def other_search(query: str) -> list[tuple[str, str]]:
    return [*search(query)[:-3:-1], ("d9", "found by one alone")]


def test_reports_are_pooled_and_a_new_question_is_searched_for(tmp_path: Path) -> None:
    draft = open_draft(tmp_path / "d", kind="unit")
    draft.ask("what is it", by="ada")
    systems = {"today": search, "new": other_search}
    report = ev.evaluate(draft.dataset(), systems)
    assert pool_report(draft, report) == 4
    assert pool_report(draft, report) == 0
    desk = Judging(draft, by="ada", find=partial(ev.evaluate, systems=systems))
    desk.query.value = "one more"
    desk.press("")
    assert desk.line.text.startswith("Asked; 3 passages found. Question 2 of 2, passage 1 of 3")
    assert len(desk.queue()) == 7
    desk.press("")
    assert "there is no question yet" in desk.line.text
    with pytest.raises(BadInputError, match="none of the draft's questions"):
        pool_report(open_draft(tmp_path / "e"), report)


def test_what_would_move_the_decision_comes_first(tmp_path: Path) -> None:
    draft = open_draft(tmp_path / "d")
    for n in range(4):
        case_id = draft.ask(f"question {n}", by="ada")
        draft.pool(case_id, [passage(key) for key in ("same", "apart", "right")])
        draft.judge(case_id, "right", 1, by="ada")
    rankings = {
        "today": lambda _: ["right", "same", "x"],
        "new": lambda query: ["apart" if query.endswith("2") else "right", "same", "right"],
    }
    report = ev.evaluate(draft.dataset(), rankings)
    desk = Judging(draft, by="ben", report=report, baseline="today")
    case_id, key = desk.queue()[0]
    assert (draft.state.cases[case_id].request.query, key) == ("question 2", "apart")
    with pytest.raises(NotFoundError, match="is no variant"):
        Judging(draft, by="ben", report=report, baseline="nowhere")


def test_a_version_is_pinned_with_its_exports_and_what_changed(
    draft: Draft, tmp_path: Path
) -> None:
    desk = Judging(draft, by="ada")
    heard(desk, "q", [0, 11, 19])
    heard(desk, "2")
    shown = Publishing(draft, tmp_path / "gold")
    assert shown.line.text == "2 changes in a first version."
    assert list(shown.frame()["title"]) == ["", f"{desk.queue()[0][1]}.md"]
    shown.pin.click()
    assert shown.pinned is not None
    name = shown.pinned.path.name
    assert shown.line.text.startswith("Pinned: 1 case in ")
    assert sorted(path.name for path in (tmp_path / "gold").iterdir()) == [
        name,
        f"{name}.golden.json",
        f"{name}.xlsx",
    ]
    golden = json.loads((tmp_path / "gold" / f"{name}.golden.json").read_text())
    assert golden["cases"][0]["expect"]["content_contains"] == ["12 euros"]
    before = ev.load_gold(shown.pinned.path)
    following = open_draft(tmp_path / "next", dataset_id=before.dataset_id, previous=before)
    again = Publishing(following, tmp_path / "gold")
    assert again.line.text == "0 changes against the version before."
    again.pin.click()
    assert "nothing has changed since the version before" in again.line.text


def test_hostile_text_is_escaped_wherever_it_is_static(tmp_path: Path) -> None:
    draft = open_draft(tmp_path / "d")
    case_id = draft.ask(HOSTILE, by="ada")
    draft.pool(case_id, [passage("<script>", HOSTILE)])
    desk = Judging(draft, by="ada")
    heard(desk, "q", [0, 0, 8])
    heard(desk, "3")
    tools: list[Any] = [desk, Publishing(draft, tmp_path / "gold")]
    for tool in tools:
        bundle = tool._repr_mimebundle_()
        assert "application/vnd.jupyter.widget-view+json" in bundle
        written = [bundle["text/html"]]
        written += [part.value for part in tool.box.children if hasattr(part, "value")]
        for html in written:
            for forbidden in ("<script>", "<img", "\u202e", "\u200b"):
                assert forbidden not in html
    found = [drafts.agreement(draft), drafts.families(draft, draft.suggest_families())]
    assert not any("<script>" in display.html for display in found)


def test_families_are_shown_with_their_reasons(tmp_path: Path) -> None:
    draft = open_draft(tmp_path / "d")
    assert drafts.families(draft, ()).text == "No two questions seem to belong together."
    draft.ask("the fee now", by="ada")
    draft.ask("now the fee", by="ada")
    shown = drafts.families(draft, draft.suggest_families())
    assert list(shown.frame()["query"]) == ["the fee now", "now the fee"]
    assert "ask nearly the same" in shown.html
