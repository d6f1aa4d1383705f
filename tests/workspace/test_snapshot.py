"""Snapshots and ids: the same corpus gives the same ones, and what is pinned stays."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evalnb.errors import BadInputError, CapabilityError, NotFoundError
from evalnb.search.request import QueryRequest
from evalnb.search.result import Identities
from evalnb.search.system import SearchContext
from evalnb.workspace.store import Store
from evalnb.workspace.system import Workspace, open_workspace


def corpus(*documents: dict[str, object], key: str = "s") -> dict[str, object]:
    return {"sources": [{"key": key, "documents": list(documents)}]}


def counts(workspace: Workspace) -> dict[str, int]:
    tables = ("documents", "revisions", "extractions", "units", "chunks", "identifiers", "members")
    with Store(workspace.folder) as store:
        return {
            table: store.db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in tables
        }


def ids(workspace: Workspace) -> list[str]:
    session = workspace.open(SearchContext())
    try:
        return [unit.unit_id for unit in session.units()]
    finally:
        session.close()


def texts(workspace: Workspace, snapshot_id: str | None = None) -> list[str]:
    session = workspace.open(SearchContext(snapshot_id=snapshot_id))
    try:
        return sorted(unit.text for unit in session.units())
    finally:
        session.close()


FIRST = {"path": "a.md", "text": "first `code_name`"}
OTHER = {"path": "b.md", "text": "other"}


def digest(prefix: str, *parts: str | int) -> str:
    """Spell the rule of ids out: SHA-256 of the compact JSON array, 32 hex digits of it."""
    array = json.dumps(list(parts), separators=(",", ":"), ensure_ascii=False)
    return prefix + hashlib.sha256(array.encode()).hexdigest()[:32]


def test_ids_follow_the_rule(workspace: Workspace) -> None:
    text = FIRST["text"]
    workspace.ingest_corpus(corpus(FIRST, key="laws"))
    record = f'{{"identifiers":[],"text":{json.dumps(text)},"title":null}}'
    source = digest("src_", "source", "laws")
    document = digest("doc_", "document", source, "a.md")
    revision = digest("rev_", "revision", document, hashlib.sha256(record.encode()).hexdigest())
    extraction = digest("ext_", "extraction", revision, "record@1")
    unit = digest("unit_", "unit", extraction, 0, len(text))
    session = workspace.open(SearchContext())
    (hit,) = session.ask(QueryRequest(query="first")).hits
    assert hit.span is not None
    assert hit.span.extraction_id == extraction
    assert hit.ids == Identities(
        source_id=source,
        document_id=document,
        revision_id=revision,
        unit_id=unit,
        file_id=digest("file_", "file", source, revision, "a.md"),
    )


def test_a_files_revision_is_its_bytes(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbffirst\r\n")
    workspace.ingest([tmp_path / "a.txt"])
    session = workspace.open(SearchContext())
    (hit,) = session.ask(QueryRequest(query="first")).hits
    document = digest("doc_", "document", digest("src_", "source", "default"), "a.txt")
    content = hashlib.sha256(b"\xef\xbb\xbffirst\r\n").hexdigest()
    assert hit.ids.revision_id == digest("rev_", "revision", document, content)


def test_ingesting_again_changes_nothing(workspace: Workspace) -> None:
    first = workspace.ingest_corpus(corpus(FIRST, OTHER))
    before = counts(workspace)
    again = workspace.ingest_corpus(corpus(OTHER, FIRST))
    assert (again.ingested.new, again.ingested.updated, again.ingested.unchanged) == (0, 0, 2)
    assert again.snapshot == first.snapshot
    assert counts(workspace) == before


def test_the_order_of_ingest_does_not_matter(tmp_path: Path) -> None:
    one = open_workspace(tmp_path / "one", create=True)
    one.ingest_corpus(corpus(FIRST, OTHER))
    two = open_workspace(tmp_path / "two", create=True)
    two.ingest_corpus(corpus(OTHER))
    two.ingest_corpus(corpus(FIRST))
    assert ids(one) == ids(two)
    assert one.snapshot().snapshot_id == two.snapshot().snapshot_id
    assert one.open(SearchContext()).cut() == two.open(SearchContext()).cut()


def test_another_process_gives_the_same_ids(tmp_path: Path) -> None:
    one = open_workspace(tmp_path / "one", create=True)
    one.ingest_corpus(corpus(FIRST, OTHER))
    script = (
        "import json, sys; from evalnb.workspace.system import open_workspace\n"
        "w = open_workspace(sys.argv[1], create=True)\n"
        "print(w.ingest_corpus(json.loads(sys.argv[2])).snapshot.snapshot_id)"
    )
    command = [
        sys.executable,
        "-c",
        script,
        str(tmp_path / "two"),
        json.dumps(corpus(FIRST, OTHER)),
    ]
    told = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONHASHSEED": "7"},
    )
    assert told.stdout.strip() == one.snapshot().snapshot_id


def test_a_new_revision_is_seen_and_the_old_snapshot_stays(workspace: Workspace) -> None:
    old = workspace.ingest_corpus(corpus(FIRST, OTHER)).snapshot
    done = workspace.ingest_corpus(corpus(FIRST | {"text": "second"}))
    assert (done.ingested.updated, done.ingested.new) == (1, 0)
    assert texts(workspace) == ["other", "second"]
    assert texts(workspace, old.snapshot_id) == ["first `code_name`", "other"]


def test_going_back_is_the_old_snapshot_again(workspace: Workspace) -> None:
    old = workspace.ingest_corpus(corpus(FIRST)).snapshot
    workspace.ingest_corpus(corpus(FIRST | {"text": "second"}))
    again = workspace.ingest_corpus(corpus(FIRST))
    assert again.snapshot == old
    assert again.ingested.updated == 1
    assert texts(workspace) == ["first `code_name`"]


def test_dated_revisions_stay_members(workspace: Workspace) -> None:
    workspace.ingest_corpus(corpus(FIRST | {"text": "undated and replaced"}))
    workspace.ingest_corpus(
        corpus(
            FIRST | {"text": "dated", "effective_from": "2020-01-01"},
            FIRST | {"text": "newest"},
        )
    )
    assert texts(workspace) == ["dated", "newest"]


def test_new_dates_are_a_new_snapshot_but_no_new_revision(workspace: Workspace, ask) -> None:
    document = FIRST | {"effective_from": "2020-01-01"}
    old = workspace.ingest_corpus(corpus(document)).snapshot
    done = workspace.ingest_corpus(corpus(document | {"effective_to": "2020-12-31"}))
    assert done.ingested.updated == 1
    assert done.snapshot.snapshot_id != old.snapshot_id
    assert done.snapshot.units_sha256 == old.units_sha256  # so the index is shared
    day = dt.date(2021, 6, 1)
    assert len(ask(workspace, "first", as_of=day).hits) == 0
    assert len(ask(workspace, "first", as_of=day, snapshot_id=old.snapshot_id).hits) == 1


def test_chunkings_of_one_corpus_live_side_by_side(workspace: Workspace, ask) -> None:
    text = " ".join(f"word{n} filler filler filler" for n in range(60))
    whole = workspace.ingest_corpus(corpus({"path": "a", "text": text})).snapshot
    cut = workspace.ingest_corpus(
        corpus({"path": "a", "text": text}), settings={"chunk_size": 200, "chunk_overlap": 0}
    ).snapshot
    assert (whole.n_units, cut.n_units > 5) == (2, True)
    assert workspace.settings.chunk_size == 200
    assert counts(workspace)["extractions"] == 1
    for snapshot in (whole, cut):
        (hit,) = ask(workspace, "word30", snapshot_id=snapshot.snapshot_id).hits
        assert "word30" in hit.text
    workspace.activate(whole.snapshot_id)
    assert len(ask(workspace, "word30").hits[0].text) > 200


def test_a_unit_that_two_chunkings_share_has_one_id(workspace: Workspace) -> None:
    workspace.ingest_corpus(corpus(FIRST))
    first = ids(workspace)
    workspace.ingest_corpus(corpus(FIRST), settings={"chunk_size": 500})
    assert ids(workspace) == first
    assert counts(workspace)["units"] == 1
    assert counts(workspace)["chunks"] == 2


def test_identifiers_of_shared_units_do_not_change(workspace: Workspace, ask) -> None:
    text = "See rule ISO 9001 there. " + "Filler words follow. " * 10
    document = {"path": "a", "text": text, "identifiers": ["ISO 9001", "X-1"]}
    whole = workspace.ingest_corpus(corpus(document)).snapshot
    cut = workspace.ingest_corpus(
        corpus(document), settings={"chunk_size": 13, "chunk_overlap": 0}
    ).snapshot
    found = {
        (identifier, snapshot.snapshot_id): len(
            ask(
                workspace,
                "x",
                snapshot_id=snapshot.snapshot_id,
                exact_identifiers=(identifier,),
                exact_only=True,
                limit=100,
            ).hits
        )
        for identifier in ("ISO 9001", "X-1")
        for snapshot in (whole, cut)
    }
    assert found == {
        ("ISO 9001", whole.snapshot_id): 1,
        ("ISO 9001", cut.snapshot_id): 2,  # a border runs through it: both parts are found
        ("X-1", whole.snapshot_id): 1,
        ("X-1", cut.snapshot_id): cut.n_units,  # it stands nowhere, so it names the document
    }


def test_a_title_is_not_repeated_without_bound(workspace: Workspace) -> None:
    title = "long " * 10_000
    workspace.ingest_corpus(corpus({"path": "a", "title": title, "text": "words"}))
    (hit,) = workspace.open(SearchContext()).ask(QueryRequest(query="words")).hits
    assert hit.metadata["title"] == title[:500]


def test_a_snapshot_made_by_hand_is_not_active(workspace: Workspace) -> None:
    active = workspace.ingest_corpus(corpus(FIRST)).snapshot
    workspace.configure({"chunk_size": 500})
    made = workspace.create_snapshot()
    assert made.snapshot_id != active.snapshot_id
    assert workspace.snapshot() == active
    assert workspace.activate(made.snapshot_id) == made == workspace.snapshot()
    assert [s.snapshot_id for s in workspace.snapshots()] == [active.snapshot_id, made.snapshot_id]


def test_unknown_snapshots(workspace: Workspace) -> None:
    with pytest.raises(NotFoundError, match="no active snapshot"):
        workspace.snapshot()
    with pytest.raises(NotFoundError, match=r"no snapshot 'snap_x'.*evalnb snapshot list"):
        workspace.activate("snap_x")
    with pytest.raises(NotFoundError, match="no snapshot 'snap_x'"):
        workspace.open(SearchContext(snapshot_id="snap_x"))


def test_an_empty_corpus_finds_nothing(workspace: Workspace, ask) -> None:
    done = workspace.ingest_corpus(corpus())
    assert done.snapshot.n_units == 0
    assert ask(workspace, "anything").hits == ()


def test_blank_documents_are_named(workspace: Workspace) -> None:
    done = workspace.ingest_corpus(corpus({"path": "blank", "text": " \n"}, OTHER))
    assert [(s.name, s.reason) for s in done.ingested.skipped] == [("blank", "it holds no text")]
    assert done.snapshot.n_documents == 1


def test_a_wrong_corpus_leaves_the_workspace_as_it_was(workspace: Workspace, ask) -> None:
    before = workspace.ingest_corpus(corpus(FIRST)).snapshot
    wrong = {"sources": [{"key": "s", "documents": [OTHER, {"path": ""}]}]}
    with pytest.raises(BadInputError):
        workspace.ingest_corpus(wrong, settings={"language": "tr"})
    assert workspace.snapshot() == before
    assert workspace.settings.language is None
    assert len(ask(workspace, "first").hits) == 1


def test_the_language_chooses_the_index(workspace: Workspace, ask) -> None:
    done = workspace.ingest_corpus(
        corpus({"path": "a", "text": "KIZLARIN kitapları"}), settings={"language": "tr"}
    )
    assert done.index == "lexical:stem-tr"
    assert len(ask(workspace, "kızlar kitap").hits) == 1
    workspace.configure({"language": "en"})
    with pytest.raises(CapabilityError, match="no index lexical:stem-en"):
        ask(workspace, "kitap")
    workspace.index()
    assert ask(workspace, "kitap").hits == ()


def test_without_an_index_the_search_says_how_to_build_it(workspace: Workspace, ask) -> None:
    done = workspace.ingest_corpus(corpus(FIRST), build=False)
    assert done.index is None
    with pytest.raises(CapabilityError, match="evalnb index lexical:plain --workspace"):
        ask(workspace, "first")
    assert workspace.index() is True
    assert workspace.index() is False
    assert len(ask(workspace, "first").hits) == 1
