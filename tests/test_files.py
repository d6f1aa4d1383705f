"""Bounded reads and whole writes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evalnb.errors import BadInputError, GoldError, LimitExceededError, NotFoundError
from evalnb.files import (
    checked_path,
    clear_unfinished,
    decode_text,
    read_bounded,
    safe_file_name,
    write_file,
    write_folder,
)


def test_a_file_of_the_bound_passes_and_one_byte_more_does_not(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 10)
    assert read_bounded(path, bound=10, what="a file") == b"x" * 10
    with pytest.raises(LimitExceededError, match="bytes of a file: 10 is past the limit of 9"):
        read_bounded(path, bound=9, what="a file")


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, finding in (("", "found a folder, expected gold"), ("pipe", "not a regular file")):
        with pytest.raises(BadInputError, match=finding):
            read_bounded(tmp_path / name, bound=9, what="gold")
    with pytest.raises(NotFoundError, match="near it: pipe"):
        read_bounded(tmp_path / "pip", bound=9, what="gold")


@pytest.mark.parametrize("given", [None, 3, b"a", ["a"]])
def test_what_is_no_path(given: object) -> None:
    with pytest.raises(BadInputError, match="expected a path, found"):
        checked_path(given)


@pytest.mark.parametrize("given", ["", "a\0b"])
def test_a_text_that_is_no_path(given: str) -> None:
    with pytest.raises(BadInputError, match="is no path"):
        checked_path(given)


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    for write in (lambda path: write_file(path, b"x"), lambda path: write_folder(path, {"b": b""})):
        with pytest.raises(BadInputError, match="a file stands where its folder has to be"):
            write(tmp_path / "a" / "b")


def test_a_path_that_the_system_refuses_to_look_up(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="cannot be looked up: File name too long"):
        read_bounded(tmp_path / ("a" * 5_000), bound=9, what="gold")


def test_a_file_is_not_written_in_place_of_a_pipe_or_a_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name, found in (("pipe", "not a regular file"), ("folder", "a folder")):
        with pytest.raises(BadInputError, match=f"what stands there is {found}"):
            write_file(tmp_path / name, b"x")
    assert (tmp_path / "pipe").is_fifo()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["folder", "pipe"]


def test_a_link_stays_one(tmp_path: Path) -> None:
    for name in ("there", "not there yet"):
        (tmp_path / "there").write_bytes(b"old")
        link = tmp_path / f"link to {name}"
        link.symlink_to(name)
        write_file(link, b"new")
        assert link.is_symlink()
        assert (tmp_path / name).read_bytes() == b"new"


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b"\n"])
@pytest.mark.parametrize("host", [b"https://git-lfs", b"http://git-lfs", b"http://hawser"])
def test_a_pointer_in_a_file_s_place(tmp_path: Path, start: bytes, host: bytes) -> None:
    text = start + b"version %s.github.com/spec/v1\r\noid sha256:00\r\nsize 250287\r\n" % host
    (tmp_path / "a").write_bytes(text)
    with pytest.raises(GoldError, match="a Git LFS pointer to 250287 bytes"):
        read_bounded(tmp_path / "a", bound=999, what="gold")


@pytest.mark.parametrize("content", [b"", b" \n\t", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n"])
def test_an_empty_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(GoldError, match="the file is empty"):
        read_bounded(tmp_path / "a", bound=9, what="gold")


@pytest.mark.parametrize("encoding", ["klingon", "rot13", "utf\x00-8", None, 8])
def test_what_is_no_encoding(encoding: object) -> None:
    with pytest.raises(BadInputError, match="no text encoding is called"):
        decode_text(b"a", where="f", encoding=encoding)  # type: ignore[arg-type]


def test_text_is_decoded_strictly() -> None:
    assert decode_text("\ufeffa\ufeff".encode(), where="f") == (
        "a\ufeff",
        ("a leading byte order mark was dropped",),
    )
    with pytest.raises(GoldError) as caught:
        decode_text(b"a\r\nbc\xff", where="f", first_line=7)
    assert caught.value.where == "f:8"
    assert "byte 0xff (byte 3 of the line)" in caught.value.message
    with pytest.raises(GoldError, match="f:2: the text holds a NUL"):
        decode_text(b"a\n\x00", where="f")
    with pytest.raises(GoldError, match="not valid UTF-16"):
        decode_text(b"\xff\xfea", where="f", encoding="utf-16")
    with pytest.raises(GoldError, match="not valid IDNA"):
        decode_text(b"xn--\xff", where="f", encoding="idna")


def test_a_write_replaces_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.json"
    write_file(path, b"1")
    write_file(path, b"22")
    assert path.read_bytes() == b"22"
    assert path.stat().st_mode & 0o777 == 0o644
    assert os.listdir(path.parent) == ["a.json"]


def test_a_failed_write_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    write_file(path, b"1")

    def fail(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output"):
        write_file(path, b"22")
    with pytest.raises(OSError, match="Input/output"):
        write_folder(tmp_path / "folder", {"a": b"1"})
    assert path.read_bytes() == b"1"
    assert os.listdir(tmp_path) == ["a.json"]


def test_a_folder_is_written_whole_into_an_empty_one_alone(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write_folder(tmp_path / "empty", {"a": b"1", "b": b"2"})
    assert sorted(os.listdir(tmp_path / "empty")) == ["a", "b"]
    with pytest.raises(OSError, match="not empty"):
        write_folder(tmp_path / "empty", {"c": b"3"})
    assert os.listdir(tmp_path) == ["empty"]


def test_names_become_files_without_collisions() -> None:
    names = [
        "a/b",
        "a_b",
        "a~2Fb",
        "../../../tmp/owned",
        ".hidden",
        "",
        "x" * 300,
        "x" * 301,
        "a\\b",
    ]
    encoded = [safe_file_name(name) for name in names]
    assert len(set(encoded)) == len(names)
    assert all("/" not in name and name not in {"", ".", ".."} for name in encoded)
    assert all(len(name) <= 200 for name in encoded)


def test_what_killed_writers_left_is_cleared(tmp_path: Path) -> None:
    (tmp_path / ".evalnb-file").write_text("half")
    (tmp_path / ".evalnb-folder" / "deep").mkdir(parents=True)
    (tmp_path / "report.json").write_text("whole")
    clear_unfinished(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_where_no_file_can_be_made_the_wanted_one_is_named() -> None:
    if not Path("/proc/self").exists():
        pytest.skip("there is no folder that refuses everybody here")
    with pytest.raises(OSError, match="No such file") as refused:
        write_file(Path("/proc/report.html"), b"x")
    assert refused.value.filename == "/proc/report.html"
