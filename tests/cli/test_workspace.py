"""``evalnb ingest``, ``index``, ``snapshot``, ``search`` and ``config`` as a person uses them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from evalnb.cli.main import main
from evalnb.workspace.store import write_lock

Run = Callable[..., tuple[int, str, str]]

GUIDE = """# Payments

How payments work.

## Refunds

A refund gives money back. Call `refund_api`.

## Fees

The fee is two percent.
"""


@pytest.fixture
def evalnb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Return a function that runs a command in an own folder: status, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    Path("docs").mkdir()
    Path("docs/guide.md").write_text(GUIDE)
    Path("docs/notes.txt").write_text("Refunds take three days.")
    Path("docs/photo.jpg").write_bytes(b"\xff\xd8\x00")

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main([*arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return run


@pytest.fixture
def ingested(evalnb: Run) -> Run:
    assert evalnb("ingest", "docs", "--workspace", "ws")[0] == 0
    return evalnb


def test_ingest_says_what_came_in(evalnb: Run) -> None:
    status, out, err = evalnb("ingest", "docs", "--workspace", "ws", "--language", "en")
    assert status == 0
    counts, active, index = out.splitlines()
    assert counts == "2 new, 0 updated, 0 unchanged, 1 skipped"
    assert active.startswith("active snapshot snap_")
    assert active.endswith(": 2 documents, 4 units")
    assert index == "index lexical:stem-en"
    assert err == "skipped photo.jpg: binary, not text\n"


def test_ingest_again_changes_nothing(ingested: Run) -> None:
    first = json.loads(ingested("ingest", "docs", "--workspace", "ws", "--json")[1])
    assert (first["new"], first["unchanged"]) == (0, 2)
    assert first["skipped"] == [{"name": "photo.jpg", "reason": "binary, not text"}]
    Path("docs/notes.txt").write_text("Refunds take two days.")
    second = json.loads(ingested("ingest", "docs", "--workspace", "ws", "--json")[1])
    assert (second["updated"], second["unchanged"]) == (1, 1)
    assert second["snapshot_id"] != first["snapshot_id"]


def test_search(ingested: Run) -> None:
    status, out, err = ingested("search", "refund money", "--workspace", "ws", "--limit", "1")
    assert (status, err) == (0, "")
    first, second = out.splitlines()
    rank, score, document = first.split()
    assert (rank, document) == ("1", "guide.md")
    assert float(score) > 0
    assert second == "     ## Refunds A refund gives money back. Call `refund_api`."


def test_search_as_json_is_a_result(ingested: Run) -> None:
    _, out, _ = ingested("search", "fee", "--workspace", "ws", "--json")
    (hit,) = json.loads(out)["hits"]
    assert hit["text"] == "## Fees\n\nThe fee is two percent."
    assert hit["metadata"]["heading"] == "Payments > Fees"


def test_nothing_found_is_no_error(ingested: Run) -> None:
    assert ingested("search", "zebra", "--workspace", "ws") == (0, "", "no hits\n")


def test_operators_identifiers_and_trace(ingested: Run) -> None:
    every = ("search", "money gives", "--workspace", "ws")
    assert "guide.md" in ingested(*every, "--operator", "all")[1]
    assert ingested(*every, "--operator", "phrase")[1] == ""
    exact = ("--identifier", "refund_api", "--exact-only", "--trace")
    status, out, err = ingested("search", "x", "--workspace", "ws", *exact)
    assert status == 0
    assert "## Refunds" in out
    assert err.splitlines()[0] == "lexical: lexical:plain, any: x -> 0 candidates"


def test_search_inside_documents_and_sources(ingested: Run) -> None:
    ingested("ingest", "docs/notes.txt", "--workspace", "ws", "--source", "faq")
    inside = ingested("search", "refunds", "--workspace", "ws", "--document", "guide.md")[1]
    assert "notes.txt" not in inside
    faq = ingested("search", "refunds", "--workspace", "ws", "--source", "faq")[1]
    assert "guide.md" not in faq
    assert "notes.txt" in faq
    status, _, err = ingested("search", "refunds", "--workspace", "ws", "--source", "fag")
    assert status == 2
    assert "no knowledge base 'fag'; did you mean 'faq'?" in err


FAILURES = [
    (("search", "x", "--workspace", "nowhere"), 2, "NOT_FOUND: nowhere: there is no workspace"),
    (("search", " ", "--workspace", "ws"), 2, "BAD_INPUT: query: the query is empty"),
    (("search", "x", "--workspace", "ws", "--limit", "0"), 2, "BAD_INPUT: limit: expected"),
    (("search", "x", "--workspace", "ws", "--as-of", "soon"), 2, "BAD_INPUT: as_of: expected"),
    (("search", "x", "--workspace", "ws", "--exact-only"), 2, "BAD_INPUT: exact_only without"),
    (("search", "x", "--workspace", "ws", "--language", "fi"), 3, "CAPABILITY_UNAVAILABLE"),
    (("search", "x", "--workspace", "ws", "--snapshot", "snap_x"), 2, "NOT_FOUND"),
    (("ingest", "dogs", "--workspace", "ws"), 2, "NOT_FOUND: dogs: no such file or folder (near"),
    (("ingest", "docs", "--workspace", "ws", "--chunk-size", "0"), 2, "BAD_INPUT: chunk_size: "),
    (("ingest", "docs", "--workspace", "ws", "--chunker", "magic"), 2, "BAD_INPUT: chunker: "),
    (("ingest", "docs", "--workspace", "ws", "--language", "12"), 2, "BAD_INPUT: language: "),
    (("index", "lexical:stem-xx", "--workspace", "ws"), 2, "BAD_INPUT: no lexical index is"),
    (("config", "set", "limits", "5", "--workspace", "ws"), 2, "BAD_INPUT: limits: unknown key"),
    (("config", "set", "limit", "many", "--workspace", "ws"), 2, "BAD_INPUT: limit: expected"),
    (("config", "get", "limits", "--workspace", "ws"), 2, "NOT_FOUND: no setting is called"),
    (("snapshot", "activate", "snap_x", "--workspace", "ws"), 2, "NOT_FOUND"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "status", "message"), FAILURES)
def test_failures(ingested: Run, arguments: tuple[str, ...], status: int, message: str) -> None:
    found, out, err = ingested(*arguments)
    assert (found, out) == (status, "")
    assert err.startswith(message)
    assert "Traceback" not in err


def test_a_busy_workspace(ingested: Run) -> None:
    with write_lock(Path("ws")):
        status, _, err = ingested("ingest", "docs", "--workspace", "ws")
        assert ingested("search", "fee", "--workspace", "ws")[0] == 0
    assert status == 3
    assert err.startswith("WORKSPACE_BUSY: ws: another process is changing the workspace")


def test_index(ingested: Run) -> None:
    built = ("index", "lexical:stem-en", "--workspace", "ws")
    assert ingested(*built)[1] == "lexical:stem-en: built\n"
    assert ingested(*built)[1] == "lexical:stem-en: was there already\n"
    found = ingested("search", "refunding", "--workspace", "ws", "--language", "en")[1]
    assert "guide.md" in found
    assert ingested("index", "--workspace", "ws")[1] == "lexical:plain: was there already\n"


def test_no_index_unless_wanted(evalnb: Run) -> None:
    _, out, _ = evalnb("ingest", "docs", "--workspace", "ws", "--no-index")
    assert out.splitlines()[-1] == "no index built; see: evalnb index"
    status, _, err = evalnb("search", "fee", "--workspace", "ws")
    assert status == 3
    assert "build it with: evalnb index lexical:plain --workspace ws" in err


def test_snapshots(ingested: Run) -> None:
    first = json.loads(ingested("snapshot", "list", "--workspace", "ws", "--json")[1])[0]
    assert first["active"]
    ingested("config", "set", "chunker", "size", "--workspace", "ws")
    made = ingested("snapshot", "create", "--workspace", "ws")[1].split()[0]
    listed = ingested("snapshot", "list", "--workspace", "ws")[1].splitlines()
    assert [line.split()[0] for line in listed] == ["*", made]
    assert ingested("snapshot", "activate", made, "--workspace", "ws")[0] == 0
    after = json.loads(ingested("snapshot", "list", "--workspace", "ws", "--json")[1])
    assert [s["active"] for s in after] == [False, True]


def test_settings(ingested: Run) -> None:
    assert ingested("config", "get", "limit", "--workspace", "ws")[1] == "10\n"
    assert ingested("config", "set", "limit", "1", "--workspace", "ws")[1] == "limit = 1\n"
    assert len(ingested("search", "refund fee", "--workspace", "ws")[1].splitlines()) == 2
    ingested("config", "set", "hints.lexical_operator", "all", "--workspace", "ws")
    assert ingested("search", "fee zebra", "--workspace", "ws")[2] == "no hits\n"
    ingested("config", "set", "hints.lexical_operator", "null", "--workspace", "ws")
    assert "guide.md" in ingested("search", "fee zebra", "--workspace", "ws")[1]
    assert json.loads(ingested("config", "get", "--workspace", "ws")[1])["limit"] == 1


def test_records(evalnb: Run) -> None:
    Path("corpus.jsonl").write_text('{"_id": "d1", "title": "Fees", "text": "Two percent."}\n')
    assert evalnb("ingest", "corpus.jsonl", "--workspace", "ws")[0] == 0
    assert "d1" in evalnb("search", "fees", "--workspace", "ws")[1]
    Path("corpus.jsonl").write_text('{"_id": "d1", "txt": ""}\n')
    status, _, err = evalnb("ingest", "corpus.jsonl", "--workspace", "ws")
    assert status == 2
    assert err.startswith("BAD_INPUT: corpus.jsonl:1: txt: unknown key")


def test_a_file_name_is_one_line(evalnb: Run) -> None:
    Path("docs/a\nindex b.md").write_text("x")
    err = evalnb("ingest", "docs", "--workspace", "ws")[2]
    assert "skipped a\\nindex b.md: its path cannot be a name" in err


def test_a_terminal_is_not_obeyed(evalnb: Run) -> None:
    Path("docs/evil.txt").write_text("\x1b[2J evil \u202e text")
    evalnb("ingest", "docs", "--workspace", "ws")
    out = evalnb("search", "evil", "--workspace", "ws")[1]
    assert "\x1b" not in out
    assert "\\u001b[2J evil" in out


def test_an_ingest_without_a_language_says_what_that_means(tmp_path, capsys):
    (tmp_path / "a.md").write_text("Running boats.")
    arguments = ["ingest", str(tmp_path / "a.md"), "--workspace", str(tmp_path / "ws")]
    assert main(arguments) == 0
    assert "no language is set" in capsys.readouterr().err
    assert main([*arguments, "--language", "en"]) == 0
    assert "no language is set" not in capsys.readouterr().err
