"""Folders may be hostile: what cannot be read is named, and everything else comes in."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from evalnb.errors import BadInputError, NotFoundError
from evalnb.workspace.ingest import reading
from evalnb.workspace.ingest.reading import FoundFile, Skipped, UnreadableError, read_file
from evalnb.workspace.ingest.run import read_paths
from evalnb.workspace.system import open_workspace


def outcome(*paths: Path) -> tuple[list[str], dict[str, str]]:
    """Return the names that were read, and the reasons of those that were not."""
    names, reasons = [], {}
    for item in read_paths(paths, source_key="default"):
        if isinstance(item, Skipped):
            reasons[item.name] = item.reason
        else:
            names.append(item[1].path)
    return names, reasons


def test_a_folder_is_walked_in_name_order(tmp_path: Path) -> None:
    for name in ("b.md", "a/z.txt", "a/b/c.html", "Makefile", "ş.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text")
    names, reasons = outcome(tmp_path)
    assert names == ["Makefile", "a/b/c.html", "a/z.txt", "b.md", "ş.txt"]
    assert reasons == {}


def test_a_single_file_has_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "report.txt").write_text("text")
    assert outcome(tmp_path / "deep" / "report.txt")[0] == ["report.txt"]


def test_what_is_skipped_is_named(tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("text")
    (tmp_path / ".git").mkdir()
    (tmp_path / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    (tmp_path / "latin.txt").write_bytes("şirket".encode("iso-8859-9"))
    (tmp_path / "data.json").write_text("{}")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF")
    (tmp_path / "pointer.md").write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 250287\n"
    )
    (tmp_path / "link.txt").symlink_to(tmp_path / "good.txt")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "dangling.txt").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(tmp_path / "socket.txt"))
        names, reasons = outcome(tmp_path)
    assert names == ["good.txt"]
    assert reasons == {
        ".git": "hidden",
        "image.png": "binary, not text",
        "latin.txt": "line 1: byte 0xfe (byte 1 of the line) is not valid UTF-8; save it as UTF-8",
        "data.json": "data, not a document; name it to ingest records",
        "broken.pdf": reasons["broken.pdf"],
        "pointer.md": reasons["pointer.md"],
        "link.txt": "a link; name its target to ingest it",
        "loop": "a link; name its target to ingest it",
        "dangling.txt": "a link; name its target to ingest it",
        "pipe.txt": "not a regular file",
        "socket.txt": reasons["socket.txt"],  # the system's own words
    }
    assert reasons["broken.pdf"].startswith("damaged PDF")
    assert reasons["pointer.md"].startswith("this is a Git LFS pointer to 250287 bytes")


def test_utf16_that_says_so_is_read(tmp_path: Path) -> None:
    (tmp_path / "notepad.txt").write_bytes("şirket".encode("utf-16"))
    assert outcome(tmp_path)[0] == ["notepad.txt"]


def test_names_that_are_no_text(tmp_path: Path) -> None:
    os.mkdir(os.fsencode(tmp_path) + b"/\xff")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff/a.txt")).write_text("text")
    (tmp_path / "new\nline.txt").write_text("text")
    names, reasons = outcome(tmp_path)
    assert names == []
    assert len(reasons) == 2
    assert all("its path cannot be a name" in reason for reason in reasons.values())


def test_decomposed_names_are_composed(tmp_path: Path) -> None:
    (tmp_path / "s\u0327.txt").write_text("one")
    assert outcome(tmp_path) == (["ş.txt"], {})
    (tmp_path / "ş.txt").write_text("two")
    names, reasons = outcome(tmp_path)
    assert names == ["ş.txt"]
    (reason,) = reasons.values()
    assert "has this name already" in reason


def test_two_folders_with_one_name(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "readme.md").write_text(folder)
    names, reasons = outcome(tmp_path / "a", tmp_path / "b", tmp_path / "a" / "readme.md")
    assert names == ["readme.md", "readme.md"]  # the third one is the first one again
    first = tmp_path / "a" / "readme.md"
    assert reasons == {"readme.md": f"{first} has this name already; use another --source"}


def test_a_workspace_inside_the_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    open_workspace(tmp_path / "kb", create=True)
    assert outcome(tmp_path) == (["a.txt"], {"kb": "a workspace of evalnb"})


def test_folders_without_end(tmp_path: Path) -> None:
    folder = tmp_path
    for _ in range(6):
        folder = folder / ("d" * 100)
        folder.mkdir()
    names, reasons = outcome(tmp_path)
    assert names == []
    assert list(reasons.values()) == ["its path is longer than 512 bytes"]


def test_a_source_key_is_a_name(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="the source key cannot be used: an id must not be"):
        list(read_paths([tmp_path], source_key=""))


def test_a_corpus_in_a_folder_is_read_as_records(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "title": "", "text": "one"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "?"}\n')
    names, reasons = outcome(tmp_path)
    assert names == ["d1"]
    assert list(reasons) == ["queries.jsonl"]


def test_a_named_file_of_other_data_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text('{"name": "not a corpus"}')
    with pytest.raises(BadInputError, match="name: unknown key"):
        outcome(path)


def test_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    with pytest.raises(NotFoundError, match="near it: docs"):
        outcome(tmp_path / "doc")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_no_permission(tmp_path: Path) -> None:
    (tmp_path / "shut").mkdir()
    (tmp_path / "secret.txt").write_text("text")
    (tmp_path / "secret.txt").chmod(0)
    (tmp_path / "shut").chmod(0)
    try:
        _, reasons = outcome(tmp_path)
    finally:
        (tmp_path / "shut").chmod(0o700)
    assert reasons == {
        "secret.txt": "Permission denied",
        "shut/": "unreadable folder: Permission denied",
    }


class TestReadFile:
    def test_a_bound(self, tmp_path: Path) -> None:
        path = tmp_path / "a"
        path.write_bytes(b"12345")
        assert read_file(path, bound=5) == b"12345"
        with pytest.raises(UnreadableError, match="5 bytes are past the limit of 4"):
            read_file(path, bound=4)

    def test_a_file_that_vanished(self, tmp_path: Path) -> None:
        with pytest.raises(UnreadableError, match="No such file"):
            read_file(tmp_path / "gone")

    def test_a_file_that_never_holds_still(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "log"
        path.write_bytes(b"line\n")
        looked = os.fstat

        def write_and_look(descriptor: int) -> os.stat_result:
            with path.open("ab") as log:
                log.write(b"line\n")
            return looked(descriptor)

        monkeypatch.setattr(reading.os, "fstat", write_and_look)
        with pytest.raises(UnreadableError, match="it changed while it was read"):
            read_file(path)

    def test_a_file_that_changed_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "log"
        path.write_bytes(b"old")
        looked, changes = os.fstat, iter([b"newer"])

        def change_once(descriptor: int) -> os.stat_result:
            before = looked(descriptor)
            for content in changes:
                path.write_bytes(content)
            return before

        monkeypatch.setattr(reading.os, "fstat", change_once)
        assert read_file(path) == b"newer"


def test_found_files_keep_their_place_on_the_disk(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    assert list(reading.find_files(tmp_path)) == [FoundFile(tmp_path / "a.txt", "a.txt")]


def test_what_is_gone_from_a_folder_stays_until_it_is_pruned(tmp_path: Path) -> None:
    folder = tmp_path / "kb"
    folder.mkdir()
    for name in ("a.md", "b.md", "c.md"):
        (folder / name).write_text(f"text of {name}")
    workspace = open_workspace(tmp_path / "ws", create=True)
    first = workspace.ingest([folder])
    (folder / "a.md").unlink()
    (folder / "b.md").write_bytes(b"\x00 no text any more")  # unreadable is not gone
    kept = workspace.ingest([folder])
    assert (kept.ingested.absent, kept.snapshot.n_documents) == (1, 3)
    pruned = workspace.ingest([folder], prune=True)
    assert (pruned.ingested.absent, pruned.ingested.withdrawn) == (0, 1)
    assert pruned.snapshot.n_documents == 2
    assert workspace.ingest([folder], prune=True).snapshot == pruned.snapshot
    (folder / "a.md").write_text("text of a.md")
    (folder / "b.md").write_text("text of b.md")
    back = workspace.ingest([folder], prune=True)
    assert (back.ingested.updated, back.snapshot) == (1, first.snapshot)


def test_pruning_one_source_leaves_the_others(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path / "ws", create=True)
    for key in ("one", "two"):
        (tmp_path / key).mkdir()
        (tmp_path / key / "doc.md").write_text(key)
        workspace.ingest([tmp_path / key], source=key)
    (tmp_path / "one" / "doc.md").unlink()
    done = workspace.ingest([tmp_path / "one"], source="one", prune=True)
    assert (done.ingested.withdrawn, done.snapshot.n_documents) == (1, 1)


def test_a_folder_that_cannot_be_read_is_not_pruned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.scandir

    def refuse(folder: Path) -> object:  # root, as in a container, may read everything
        if Path(folder).name == "sub":
            raise PermissionError(13, "Permission denied")
        return real(folder)

    (tmp_path / "kb" / "sub").mkdir(parents=True)
    (tmp_path / "kb" / "sub" / "a.md").write_text("text")
    workspace = open_workspace(tmp_path / "ws", create=True)
    workspace.ingest([tmp_path / "kb"])
    monkeypatch.setattr(reading.os, "scandir", refuse)
    with pytest.raises(BadInputError, match="nobody knows what is gone"):
        workspace.ingest([tmp_path / "kb"], prune=True)
