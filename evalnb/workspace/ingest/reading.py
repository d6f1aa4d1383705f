"""Files on disk: which of a folder are read, and how one is read that may be hostile."""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evalnb.errors import GoldError
from evalnb.files import missing_path, refuse_lfs_pointer
from evalnb.limits import FILE_BYTES, ID_BYTES
from evalnb.search.request import check_id
from evalnb.workspace.store import FILE_NAME as WORKSPACE_FILE

UNREADABLE_FOLDER = "unreadable folder"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file to read, with the name that it has inside the workspace."""

    path: Path
    name: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was not ingested, and why."""

    name: str
    reason: str


class UnreadableError(Exception):
    """One file cannot be ingested; the others can."""


def find_files(root: Path) -> Iterator[FoundFile | Skipped]:
    """Walk a folder in name order, or take a single file.

    Links are not followed: they would reach outside the folder, or around in circles.

    Raises
    ------
    NotFoundError
        If the root is not there.
    """
    if not root.exists():
        raise missing_path(root)
    if not root.is_dir():
        yield _named(root, root.name)
        return
    yield from _walk(root, "")


def _walk(folder: Path, prefix: str) -> Iterator[FoundFile | Skipped]:
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        yield Skipped(prefix or str(folder), f"{UNREADABLE_FOLDER}: {error.strerror}")
        return
    for entry in found:
        name = prefix + entry.name
        if entry.name.startswith("."):
            yield Skipped(_shown(name), "hidden")
        elif entry.is_symlink():
            yield Skipped(_shown(name), "a link; name its target to ingest it")
        elif not entry.is_dir(follow_symlinks=False):
            yield _named(Path(entry.path), name)
        elif (Path(entry.path) / WORKSPACE_FILE).exists():
            yield Skipped(_shown(name), "a workspace of evalnb")
        elif len(os.fsencode(name)) > ID_BYTES:
            yield Skipped(_shown(name), f"its path is longer than {ID_BYTES} bytes")
        else:
            yield from _walk(Path(entry.path), name + "/")


def _named(path: Path, name: str) -> FoundFile | Skipped:
    # The same folder has to give the same ids on systems that decompose file names.
    composed = unicodedata.normalize("NFC", name)
    try:
        return FoundFile(path, check_id(composed))
    except ValueError as error:
        return Skipped(_shown(name), f"its path cannot be a name: {error}")


def _shown(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode()


def read_file(path: Path, *, bound: int = FILE_BYTES) -> bytes:
    """Read a regular file whole, as it was at one moment.

    Raises
    ------
    UnreadableError
        With the reason: no access, no regular file, too large, or still being written.
    """
    for _ in range(2):  # a writer that has just finished deserves a second look
        data = _read_once(path, bound)
        if data is not None:
            _refuse_pointer(data)
            return data
    raise UnreadableError("it changed while it was read")


def _refuse_pointer(data: bytes) -> None:
    try:
        refuse_lfs_pointer(data, where="")
    except GoldError as error:
        raise UnreadableError(f"{error.message}; {error.remedy}") from error


def _read_once(path: Path, bound: int) -> bytes | None:
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC  # opening a pipe must not wait for a writer
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            before = os.fstat(file.fileno())
            if not stat.S_ISREG(before.st_mode):
                raise UnreadableError("not a regular file")
            if before.st_size > bound:
                raise UnreadableError(
                    f"{before.st_size:,} bytes are past the limit of {bound:,}; divide it"
                )
            data = file.read(bound + 1)
            after = os.fstat(file.fileno())
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from error
    same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    return data if same and len(data) == after.st_size else None
