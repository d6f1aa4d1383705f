"""A lexical index that is missing, damaged or another one's is said, never searched."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import tantivy

from evalnb.errors import CapabilityError, LimitExceededError, SearchFailedError
from evalnb.workspace import lexical_index
from evalnb.workspace.indexes import index_inputs
from evalnb.workspace.lexical_index import guarded
from evalnb.workspace.system import Workspace, open_workspace

CORPUS = {
    "sources": [
        {"key": "s", "documents": [{"path": str(n), "text": f"word{n} common"} for n in range(20)]}
    ]
}


@pytest.fixture
def filled(workspace: Workspace) -> Workspace:
    workspace.ingest_corpus(CORPUS)
    return open_workspace(workspace.folder)  # what one process verified is not verified again


def index_of(workspace: Workspace) -> Path:
    (folder,) = (workspace.folder / "indexes" / "lexical:plain").iterdir()
    return folder


def largest(folder: Path) -> Path:
    return max(folder.glob("*.*"), key=lambda path: path.stat().st_size)


def truncate(folder: Path) -> None:
    path = largest(folder)
    path.write_bytes(path.read_bytes()[:-1])


def flip(folder: Path) -> None:
    path = largest(folder)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    # In its place, not over it: a file that shrinks under an open index ends the process.
    damaged = path.with_suffix(".damaged")
    damaged.write_bytes(data)
    damaged.replace(path)


def edit_manifest(change: Callable[[dict], object]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        path = folder / "manifest.json"
        manifest = json.loads(path.read_text())
        change(manifest)
        path.write_text(json.dumps(manifest))

    return edit


DAMAGE: dict[str, Callable[[Path], object]] = {
    "gone": shutil.rmtree,
    "empty": lambda folder: [path.unlink() for path in folder.iterdir()],
    "truncated": truncate,
    "one bit": flip,
    "a file less": lambda folder: largest(folder).unlink(),
    "units less": lambda folder: (folder / "units.bin").write_bytes(b""),
    "no manifest": lambda folder: (folder / "manifest.json").unlink(),
    "half a manifest": lambda folder: (folder / "manifest.json").write_text('{"format": '),
    "a list": lambda folder: (folder / "manifest.json").write_text("[]"),
    "foreign": edit_manifest(lambda manifest: manifest.update(units_sha256="0" * 64)),
    "another name": edit_manifest(lambda manifest: manifest.update(name="lexical:stem-en")),
    "no files": edit_manifest(lambda manifest: manifest.update(files={})),
    "odd files": edit_manifest(lambda manifest: manifest["files"].update({"meta.json": 7})),
    "a path outside": edit_manifest(
        lambda manifest: manifest["files"].update({"../../../config.json": {"bytes": 1}})
    ),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damage_is_said_and_mended(filled: Workspace, ask, damage) -> None:
    damage(index_of(filled))
    with pytest.raises(CapabilityError, match="evalnb index lexical:plain --workspace"):
        ask(filled, "common")
    assert filled.index() is True
    assert len(ask(filled, "common").hits) == 10


def test_a_copied_index_of_another_corpus_is_refused(
    filled: Workspace, tmp_path: Path, ask
) -> None:
    other = open_workspace(tmp_path / "other", create=True)
    other.ingest_corpus({"sources": [{"key": "s", "documents": [{"path": "x", "text": "common"}]}]})
    mine = index_of(filled)
    shutil.rmtree(mine)
    shutil.copytree(index_of(other), mine)
    with pytest.raises(CapabilityError, match=r"is damaged: manifest\.json says identity"):
        ask(filled, "common")


def test_a_copied_index_of_the_same_corpus_is_good(filled: Workspace, tmp_path: Path, ask) -> None:
    other = open_workspace(tmp_path / "other", create=True)
    other.ingest_corpus(CORPUS, build=False)
    shutil.copytree(filled.folder / "indexes", other.folder / "indexes")
    assert ask(other, "word7").hits == ask(filled, "word7").hits


def test_two_builds_answer_alike(filled: Workspace, tmp_path: Path, ask) -> None:
    other = open_workspace(tmp_path / "other", create=True)
    other.ingest_corpus(CORPUS)
    assert index_of(other).name == index_of(filled).name
    assert ask(other, "common word3") == ask(filled, "common word3")


def test_an_open_session_survives_a_rebuild(filled: Workspace, ask) -> None:
    before = ask(filled, "common")
    flip(index_of(filled))
    assert open_workspace(filled.folder).index() is True
    assert ask(filled, "common") == before


def test_what_a_stopped_build_left_is_cleared(filled: Workspace) -> None:
    stale = filled.folder / "indexes" / ".building-1"
    stale.mkdir()
    (stale / "file").touch()
    filled.index("lexical:stem-en")
    assert not list((filled.folder / "indexes").glob(".*"))


def test_a_failed_build_publishes_nothing(
    filled: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("evalnb.workspace.index_folders._fsync", full)
    with pytest.raises(OSError, match="No space left"):
        filled.index("lexical:stem-en")
    assert [path.name for path in (filled.folder / "indexes").iterdir()] == ["lexical:plain"]


def test_a_corpus_past_one_segment_is_refused(
    filled: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [
        {"path": str(n), "text": " ".join(f"{'long' * 15}{n}x{m}" for m in range(40_000))}
        for n in range(4)
    ]
    corpus = {"sources": [{"key": "s", "documents": documents}]}
    filled.ingest_corpus(corpus, settings={"chunk_size": 1_000_000}, build=False)
    monkeypatch.setattr(lexical_index, "_HEAP_FLOOR", 15_000_000)  # the least tantivy takes
    monkeypatch.setattr(lexical_index, "_HEAP_PER_BYTE", 0)
    with pytest.raises(LimitExceededError, match="do not fit one index segment"):
        filled.index("lexical:stem-en")


def test_a_panic_is_an_error_and_an_interrupt_is_not(filled: Workspace) -> None:
    index = filled._read_index(index_inputs("lexical:plain", filled.snapshot()))
    with (
        pytest.raises(SearchFailedError, match="lexical:plain failed inside tantivy"),
        guarded("lexical:plain"),
    ):
        index.searcher.search(tantivy.Query.all_query(), 0)
    with pytest.raises(KeyboardInterrupt), guarded("lexical:plain"):
        raise KeyboardInterrupt
