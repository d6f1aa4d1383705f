"""A draft holds what people did: on disk at once, shared by notebooks, undone by a line more."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from evalnb.errors import BadInputError, GoldError, LimitExceededError, NotFoundError
from evalnb.gold.agreement import FORBIDDEN
from evalnb.gold.dataset import load_gold_dir
from evalnb.gold.draft_events import ADJUDICATOR, Extract, Passage
from evalnb.gold.drafting import JOURNAL, Draft, open_draft
from evalnb.gold.exporting import export_gold
from evalnb.gold.loading import load_gold

TEXT = "😀 The fee is 12 euros."
HOSTILE = "</script><script>alert(1)</script>\u202e\u200b $x$ \x00\n" * 3


def passage(key: str, text: str = TEXT, *, placed: bool = True) -> Passage:
    place = {"revision_id": "rev_1", "start": 100} if placed else {}
    return Passage(id=key, extracts=(Extract(text=text, document=f"{key}.md", **place),))


@pytest.fixture
def draft(tmp_path: Path) -> Draft:
    opened = open_draft(tmp_path / "fees")
    case_id = opened.ask("what is the fee?", by="ada")
    opened.pool(case_id, [passage("a"), passage("b"), passage("c", placed=False)])
    return opened


def only_case(draft: Draft) -> str:
    (case_id,) = draft.state.cases
    return case_id


def reopened(draft: Draft) -> Draft:
    return open_draft(draft.folder)


def test_judgements_become_labels_and_provenance(draft: Draft) -> None:
    case_id = only_case(draft)
    draft.judge(case_id, "a", 1, by="ada")
    draft.judge(case_id, "a", 3, by="ada")  # the last word counts
    draft.judge(case_id, "b", FORBIDDEN, by="ada")
    draft.judge(case_id, "c", 0, by="ben")
    for found in (draft.dataset(), reopened(draft).dataset()):
        (case,) = found.cases
        assert case.request.query == "what is the fee?"
        assert case.expected.document_ids == ("a",)
        assert case.forbidden.document_ids == ("b",)
        assert case.document_relevance == {"a": 3, "c": 0}
        assert case.label_provenance is not None
        assert case.label_provenance.model_dump() == {
            "method": "human",
            "annotators": 2,
            "independent": False,
            "note": "",
        }


def test_undoing_is_by_person_goes_back_in_order_and_survives_reopening(draft: Draft) -> None:
    case_id = only_case(draft)
    draft.judge(case_id, "a", 1, by="ada")
    draft.judge(case_id, "a", 2, by="ada")
    draft.judge(case_id, "b", 2, by="ben")
    again = reopened(draft)
    undone = again.undo(by="ada")
    assert undone is not None
    assert undone.type == "judged"
    assert again.state.labels("ada") == {(case_id, "a"): 1}
    again.undo(by="ada")
    assert again.state.labels("ada") == {}
    assert again.state.labels("ben") == {(case_id, "b"): 2}
    undone = again.undo(by="ada")
    assert undone is not None
    assert undone.type == "asked"
    assert again.undo(by="ada") is None
    assert draft.refresh() == 3
    assert draft.state.cases == {}


def test_selected_words_become_a_span_in_codepoints_or_a_phrase(draft: Draft) -> None:
    case_id = only_case(draft)
    start = TEXT.index("12")
    assert draft.mark(case_id, "a", (0, start - 1, start + 8), by="ada") == "12 euros"
    draft.mark(case_id, "c", (0, start, start + 8), by="ada", as_phrase=True)
    draft.mark(case_id, "c", (0, 2, 9), by="ada", as_phrase=True)
    (case,) = reopened(draft).dataset().cases
    (span,) = case.spans
    assert (span.revision_id, span.start, span.end) == ("rev_1", 113, 121)
    assert span.quote == "12 euros"
    (content,) = case.content
    assert (content.document, content.content_contains) == ("c.md", ("12 euros", "The fee"))
    with pytest.raises(BadInputError, match="does not say where"):
        draft.mark(case_id, "c", (0, 0, 1), by="ada")
    for nothing in [(0, 3, 3), (0, 1, 2), (1, 0, 1), (0, 0, 99), (-1, 0, 1)]:
        with pytest.raises(BadInputError, match="nothing is selected"):
            draft.mark(case_id, "a", nothing, by="ada")


def test_two_people_disagree_and_the_adjudicator_settles_it(draft: Draft, tmp_path: Path) -> None:
    case_id = only_case(draft)
    for key, first, second in (("a", 2, 2), ("b", 1, 0), ("c", 0, 0)):
        draft.judge(case_id, key, first, by="ada")
        draft.judge(case_id, key, second, by="ben")
    found = draft.state.agreement("ada", "ben")
    assert (found.n, found.n_agreed) == (3, 2)
    assert found.kappa == pytest.approx(0.5)  # p_o = 2/3, p_e = (1*1 + 1*0 + 1*2) / 9
    (apart,) = draft.state.disputes()
    assert (apart.id, apart.first, apart.second) == ("b", 1, 0)
    with pytest.raises(GoldError, match=rf"in dispute: 1 \({case_id}: b\)"):
        draft.pin(tmp_path / "v1")
    draft.judge(case_id, "b", 1, by=ADJUDICATOR)
    assert draft.state.disputes() == ()
    assert draft.state.agreement("ada", "ben") == found  # what they said stays said
    (case,) = draft.pin(tmp_path / "v1").dataset.cases
    assert case.document_relevance == {"a": 2, "b": 1, "c": 0}
    assert case.label_provenance is not None
    assert case.label_provenance.annotators == 2
    with pytest.raises(NotFoundError, match="annotators: ada, ben"):
        draft.state.agreement("ada", "eve")


def test_a_new_version_says_what_it_changed(tmp_path: Path) -> None:
    previous = load_gold(
        [
            {
                "case_id": "old",
                "split": "test",
                "request": {"query": "who signs?"},
                "expected": {"document_ids": ["x"]},
            },
            {"case_id": "gone", "split": "test", "request": {"query": "why?"}},
        ]
    )
    draft = open_draft(tmp_path / "d", previous=previous)
    with pytest.raises(GoldError, match="nothing has changed"):
        draft.pin(tmp_path / "v2")
    draft.remove("gone", by="ada")
    draft.pool("old", [passage("x"), passage("y")])
    draft.judge("old", "x", 0, by="ada")
    draft.judge("old", "y", 2, by="ada")
    new = draft.ask("what is the fee?", by="ada", intent="lookup")
    pinned = open_draft(tmp_path / "d").pin(tmp_path / "v2")
    assert tuple(map(str, pinned.changes)) == (
        "gone: removed",
        "old: x: grade 1 -> grade 0",
        "old: y: not judged -> grade 2",
        "old: label_provenance changed",
        f"{new}: added: 'what is the fee?'",
    )
    assert load_gold_dir(tmp_path / "v2") == pinned.dataset
    draft.judge("old", "x", 1, by="ada")
    with pytest.raises(BadInputError, match="something else stands here"):
        draft.pin(tmp_path / "v2")


def test_it_goes_out_as_golden_json_and_as_a_workbook(draft: Draft, tmp_path: Path) -> None:
    case_id = only_case(draft)
    draft.judge(case_id, "a", 2, by="ada")
    draft.mark(case_id, "a", (0, 2, 9), by="ada", as_phrase=True)
    notes = export_gold(draft.dataset(), tmp_path / "golden.json")
    assert any("expected.document_ids" in note for note in notes)
    (case,) = json.loads((tmp_path / "golden.json").read_text())["cases"]
    assert case["expect"] == {"document": "a.md", "content_contains": ["The fee"]}
    export_gold(draft.dataset(), tmp_path / "gold.xlsx")
    (read,) = load_gold(tmp_path / "gold.xlsx").cases
    assert read.document_relevance == {"a": 2}


def test_families_and_splits(tmp_path: Path) -> None:
    draft = open_draft(tmp_path / "d")
    asked = [draft.ask(text, by="ada") for text in ("the fee now", "fee, the now", "who?", "why?")]
    (family,) = draft.suggest_families()
    assert family.case_ids == tuple(asked[:2])
    draft.group([family], seed=3)
    cases = {case.case_id: case for case in reopened(draft).dataset().cases}
    assert [cases[key].family_key for key in asked] == [asked[0], asked[0], None, None]
    assert cases[asked[0]].split == cases[asked[1]].split
    assert sorted(case.split for case in cases.values()) == ["development"] * 2 + ["test"] * 2
    draft.group([family], keep_apart=[family.key])
    assert all(case.family_key is None for case in draft.dataset())
    draft.group([family])
    draft.group([])
    assert all(case.family_key is None for case in draft.dataset())


def test_hostile_text_comes_back_as_it_went_in(tmp_path: Path) -> None:
    draft = open_draft(tmp_path / "d")
    query = HOSTILE.replace("\x00", "")
    case_id = draft.ask(query, by="ada")
    draft.pool(case_id, [passage("<b>", HOSTILE), passage("long", "x" * 1_000_000)])
    draft.judge(case_id, "<b>", 3, by="ada")
    state = reopened(draft).state
    assert state.cases[case_id].request.query == query
    assert state.passages[case_id]["<b>"].extracts[0].text == HOSTILE
    with pytest.raises(BadInputError, match="NUL"):
        draft.ask("a\x00b", by="ada")
    with pytest.raises(BadInputError, match="NUL"):
        draft.mark(case_id, "<b>", (0, 0, len(HOSTILE)), by="ada")


def test_asking_or_pooling_again_changes_nothing(draft: Draft) -> None:
    before = (draft.folder / JOURNAL).read_bytes()
    draft.ask("what is the fee?", by="ben")
    assert draft.pool(only_case(draft), [passage("b"), passage("a")]) == 0
    assert (draft.folder / JOURNAL).read_bytes() == before
    assert draft.pool(only_case(draft), [passage("b", "another text"), passage("z")]) == 1
    assert len(draft.state.passages[only_case(draft)]["b"].extracts) == 2


@pytest.mark.parametrize(
    ("label", "key", "message"),
    [
        (7, "a", "expected 0, 1, 2, 3 or 'forbidden'"),
        (True, "a", "label"),
        (1, "q", "'q' is no passage"),
    ],
)
def test_a_label_that_cannot_be_given(draft: Draft, label: int, key: str, message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        draft.judge(only_case(draft), key, label, by="ada")
    with pytest.raises(NotFoundError, match="no case is called"):
        draft.judge("nowhere", "a", 1, by="ada")


def test_a_semantic_question_needs_an_independent_draft(draft: Draft, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="independent = true"):
        draft.ask("fees?", by="ada", intent="paraphrase")
    other = open_draft(tmp_path / "e", independent=True, note="from the support inbox")
    case_id = other.ask("fees?", by="ada", intent="paraphrase")
    other.pool(case_id, [passage("a")])
    other.judge(case_id, "a", 1, by="ada")
    kept = open_draft(tmp_path / "e")
    assert kept.header == other.header
    denied = open_draft(tmp_path / "e", independent=False)  # provenance may be set right later
    with pytest.raises(GoldError, match=f"{case_id}: .*independent = true"):
        denied.dataset()
    open_draft(tmp_path / "e", independent=True).pin(tmp_path / "v1")


# What goes wrong with the disk, the process and the colleague


def test_two_notebooks_write_one_draft_and_see_each_other(draft: Draft) -> None:
    case_id, other = only_case(draft), reopened(draft)
    assert draft.judge(case_id, "a", 1, by="ada") == 0
    assert other.judge(case_id, "b", 2, by="ben") == 1
    assert draft.judge(case_id, "c", 3, by="ada") == 1
    assert other.refresh() == 1
    assert draft.dataset() == other.dataset() == reopened(draft).dataset()


WRITER = """
import sys
from evalnb.gold.drafting import open_draft
draft = open_draft(sys.argv[1])
(case_id,) = draft.state.cases
for n in range(int(sys.argv[3])):
    key, grade = "abc"[n % 3], n // 3 % 4
    draft.judge(case_id, key, grade, by=sys.argv[2])
    print(key, grade, flush=True)
"""


def start_writer(folder: Path, name: str, n: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(folder), name, str(n)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_processes_that_write_at_once_lose_nothing(draft: Draft) -> None:
    writers = [start_writer(draft.folder, name, 40) for name in ("ada", "ben", "eve")]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.close()
    draft.refresh()
    lines = [json.loads(line) for line in (draft.folder / JOURNAL).read_bytes().splitlines()]
    for name in ("ada", "ben", "eve"):
        said = [(e["id"], e["label"]) for e in lines if e["type"] == "judged" and e["by"] == name]
        assert said == [("abc"[n % 3], n // 3 % 4) for n in range(40)]
        assert len(draft.state.labels(name)) == 3


@pytest.mark.slow
@pytest.mark.soak
def test_killing_the_judge_loses_nothing_that_was_acknowledged(
    draft: Draft, effort: Callable[[int, int], int]
) -> None:
    case_id = only_case(draft)
    for round_ in range(effort(6, 100)):
        name = f"judge{round_}"
        writer = start_writer(draft.folder, name, 100_000)
        assert writer.stdout is not None
        first = writer.stdout.readline()
        time.sleep((round_ * 37 % 50) / 1000)
        writer.send_signal(signal.SIGKILL)
        acknowledged = [first, *writer.stdout.readlines()]
        writer.stdout.close()
        writer.wait()
        wanted = {}
        for line in (each for each in acknowledged if each.endswith("\n")):
            key, grade = line.split()
            wanted[case_id, key] = int(grade)
        again = reopened(draft)
        said = again.state.labels(name)
        # One judgement more may be on disk than was heard of, never one less.
        late = [key for key in said if said[key] != wanted.get(key)]
        assert wanted.keys() <= said.keys()
        assert len(late) <= 1
        again.judge(case_id, "a", 1, by="after")


@pytest.mark.parametrize("torn", [b"{", b'{"type":"judged"', b"\x00\x00", b"\xff" * 5000])
def test_a_torn_last_line_is_cut_off_by_the_next(draft: Draft, torn: bytes) -> None:
    before = (draft.folder / JOURNAL).read_bytes()
    (draft.folder / JOURNAL).write_bytes(before + torn)
    again = reopened(draft)
    again.judge(only_case(draft), "a", 2, by="ada")
    assert (draft.folder / JOURNAL).read_bytes().startswith(before + b'{"type":"judged"')
    assert reopened(draft).state.labels("ada") == {(only_case(draft), "a"): 2}


@pytest.mark.parametrize("room", [0, 1, 40])
def test_a_full_disk_is_said_and_the_journal_stays_whole(draft: Draft, room: int) -> None:
    case_id, journal = only_case(draft), draft.folder / JOURNAL
    before = journal.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + room, hard))
    try:
        with pytest.raises(BadInputError, match="not saved: File too large"):
            draft.judge(case_id, "a", 1, by="ada")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert journal.read_bytes() == before
    assert draft.state.labels("ada") == {}
    draft.judge(case_id, "a", 1, by="ada")
    assert reopened(draft).state.labels("ada") == {(case_id, "a"): 1}


def test_a_folder_that_cannot_be_written_is_said_at_once(draft: Draft, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"cannot be written|no such folder"):
        open_draft("/proc/self/draft")
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInputError):
        open_draft(tmp_path / "file")


def test_a_read_only_folder_is_said_at_once() -> None:
    # Nothing is read-only to root, so that somebody else tries; pytest's own folders are closed.
    with tempfile.TemporaryDirectory() as name:
        folder, me = Path(name) / "fees", os.geteuid()
        open_draft(folder)
        for path in (folder / JOURNAL, folder, Path(name)):
            path.chmod(0o444 if path.is_file() else 0o555)
        try:
            os.seteuid(me or 65534)
            for place in (folder, Path(name) / "new"):
                with pytest.raises(BadInputError, match="cannot be written: Permission denied"):
                    open_draft(place)
        finally:
            os.seteuid(me)
            Path(name).chmod(0o755)
            folder.chmod(0o755)


def test_a_journal_that_was_edited_is_refused(draft: Draft) -> None:
    journal = draft.folder / JOURNAL
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(lines[0])
    with pytest.raises(GoldError, match="became shorter"):
        draft.judge(only_case(draft), "a", 1, by="ada")
    journal.write_bytes(lines[0] + b"{}\n" + lines[1])
    with pytest.raises(GoldError, match=r"journal\.jsonl:2: no line of a draft"):
        reopened(draft)


def test_a_draft_is_opened_as_it_was_begun(draft: Draft) -> None:
    with pytest.raises(BadInputError, match="begun with kind 'document', not 'unit'"):
        open_draft(draft.folder, kind="unit")
    for wrong in ({"grades": ()}, {"grades": (-1,)}, {"kind": "source"}, {"dataset_id": "a b"}):
        with pytest.raises(BadInputError):
            open_draft(draft.folder / "new", **wrong)
    (draft.folder / JOURNAL).unlink()
    with pytest.raises(BadInputError, match="cannot be written: No such file"):
        draft.judge(only_case(draft), "a", 1, by="ada")


def test_a_journal_past_its_bound_is_refused(draft: Draft, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalnb.gold.journal.CASES_BYTES", 2_000)
    with pytest.raises(LimitExceededError, match="bytes of a journal"):
        draft.pool(only_case(draft), [passage("z", "x" * 2_000)])
