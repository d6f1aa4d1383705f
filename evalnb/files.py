"""Files in and out: bounded reads, decoded text, whole writes."""

from __future__ import annotations

import codecs
import difflib
import fcntl
import os
import re
import shutil
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

from evalnb.errors import BadInputError, BusyError, GoldError, NotFoundError
from evalnb.limits import MANIFEST_BYTES, check_limit
from evalnb.wording import shown

_BOM = codecs.BOM_UTF8
_LFS_POINTER = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*version https?://(?:git-lfs|hawser)\.github\.com/spec/.*?^size (\d+)",
    re.M | re.S,
)
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

UNFINISHED = ".evalnb-"  # begins the name of a file until it is whole


@contextmanager
def explained(what: str, where: object, *, remedy: str | None = None) -> Iterator[None]:
    """Say in words what the system refuses inside.

    Raises
    ------
    BadInputError
        In place of an OSError.
    """
    try:
        yield
    except OSError as error:
        raise BadInputError(f"{what}: {error.strerror}", where=str(where), remedy=remedy) from error


def stands(path: Path) -> bool:
    """Whether anything is there.

    Raises
    ------
    BadInputError
        If the system cannot even look: a name that is too long, a folder that is closed to us.
    """
    with explained("cannot be looked up", shown(str(path))):
        return path.exists()


def checked_path(given: object) -> Path:
    """Take what names a file or folder, there or to be written.

    Raises
    ------
    BadInputError
        For anything else, or what :func:`stands` refuses.
    """
    if not isinstance(given, str | Path):
        raise BadInputError(f"expected a path, found {shown(given)}")
    if given == "" or "\0" in str(given):  # the first would mean the current folder
        raise BadInputError(f"{str(given)!r} is no path", remedy="'.' is the current folder")
    path = Path(given)
    stands(path)
    return path


def missing_path(path: Path) -> NotFoundError:
    """Say that nothing is there, with the names near it that are."""
    folder = path.parent
    if not folder.is_dir():
        return NotFoundError("no such folder", where=str(folder))
    near = difflib.get_close_matches(path.name, (entry.name for entry in folder.iterdir()), n=3)
    remedy = f"near it: {', '.join(near)}" if near else f"look into {folder.resolve()}"
    return NotFoundError("no such file or folder", where=str(path), remedy=remedy)


def open_bounded(path: Path, *, bound: int, what: str) -> BufferedReader:
    """Open a regular file for reading, refusing what is not one or is past the bound.

    Raises
    ------
    NotFoundError
        If nothing is there, naming near file names.
    LimitExceededError
        If the file is larger than ``bound`` bytes.
    BadInputError
        If it is a folder, a pipe or a device, or the system refuses to open it.
    """
    if not stands(path):
        raise missing_path(path)
    if not path.is_file():
        found = "a folder" if path.is_dir() else "not a regular file"
        raise BadInputError(f"found {found}, expected {what}", where=str(path))
    with explained("cannot be read", path):
        file = path.open("rb")
    try:
        size = os.fstat(file.fileno()).st_size
        check_limit(f"bytes of {what}", size, bound, argument="", where=str(path))
    except BaseException:
        file.close()
        raise
    return file


def read_bounded(path: Path, *, bound: int, what: str) -> bytes:
    """Read a whole file of at most ``bound`` bytes; ``what`` names it in errors.

    Raises
    ------
    NotFoundError, LimitExceededError, BadInputError
        As :func:`open_bounded`.
    GoldError
        If the file is empty, or a Git LFS pointer stands in its place.
    """
    with open_bounded(path, bound=bound, what=what) as file:
        data = file.read(bound + 1)
    check_limit(f"bytes of {what}", len(data), bound, argument="", where=str(path))
    if not data.removeprefix(_BOM).strip():
        raise GoldError("the file is empty", where=str(path))
    refuse_lfs_pointer(data, where=str(path))
    return data


@contextmanager
def no_gold() -> Iterator[None]:
    """Report what is wrong with a file that is no gold set under its own name.

    Reading is written once, and most of what is read strictly is gold.
    """
    try:
        yield
    except GoldError as error:
        raise BadInputError(error.message, where=error.where, remedy=error.remedy) from None


def read_toml(path: Path, *, what: str) -> dict[str, Any]:
    """Read a TOML file.

    Raises
    ------
    NotFoundError, BadInputError, LimitExceededError
        As :func:`read_bounded`, and if it is no TOML.
    """
    with no_gold():
        content = read_bounded(path, bound=MANIFEST_BYTES, what=what)
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except RecursionError:
        raise BadInputError("not TOML: nested too deeply", where=str(path)) from None
    except ValueError as error:  # also of a number with thousands of digits
        raise BadInputError(f"not TOML: {error}", where=str(path)) from None


def refuse_lfs_pointer(head: bytes, *, where: str) -> None:
    """Refuse the text that a clone without Git LFS leaves in a file's place."""
    if pointer := _LFS_POINTER.match(head[:1024]):
        raise GoldError(
            f"this is a Git LFS pointer to {int(pointer[1])} bytes, not the file itself",
            where=where,
            remedy="fetch it with `git lfs pull`",
        )


def decode_text(
    data: bytes, *, where: str, encoding: str = "utf-8", first_line: int = 1
) -> tuple[str, tuple[str, ...]]:
    """Decode a text file strictly; one leading byte order mark is dropped and noted.

    Parameters
    ----------
    first_line
        The number of the first line of ``data`` in the file ``where``.

    Returns
    -------
    tuple
        The text, and notes.

    Raises
    ------
    GoldError
        For a byte that the encoding does not have, naming its line; never a guess.
    BadInputError
        For an encoding that does not exist.
    """
    try:
        text = data.decode(encoding)
    except UnicodeError as error:
        raise _undecodable(data, error, where, encoding, first_line) from error
    except (LookupError, TypeError, ValueError):
        raise BadInputError(
            f"no text encoding is called {encoding!r}", remedy="for example utf-8, cp1254, utf-16"
        ) from None
    if "\x00" in text:
        line = text.count("\n", 0, text.index("\x00")) + first_line
        raise GoldError(
            "the text holds a NUL character",
            where=f"{where}:{line}",
            remedy="a text file was expected; UTF-16 needs encoding='utf-16'",
        )
    if text.startswith("\ufeff"):
        return text[1:], ("a leading byte order mark was dropped",)
    return text, ()


def _undecodable(
    data: bytes, error: UnicodeError, where: str, encoding: str, first_line: int
) -> GoldError:
    start = error.start if isinstance(error, UnicodeDecodeError) else 0
    before = data[:start]
    line = before.count(b"\n") + first_line
    column = start - (before.rfind(b"\n") + 1) + 1
    if data.startswith(_UTF16_MARKS):
        hint = "the file begins like UTF-16: pass encoding='utf-16'"
    else:
        hint = (
            "pass the encoding it was saved in, for example encoding='cp1254' (Turkish) or "
            "'cp1252' (Western European)"
        )
    return GoldError(
        f"byte 0x{data[start]:02x} (byte {column} of the line) is not valid {encoding.upper()}",
        where=f"{where}:{line}",
        remedy=hint,
    )


def safe_file_name(name: str) -> str:
    """Encode any text as a file name, without collisions.

    >>> safe_file_name("a/b"), safe_file_name("a_b"), safe_file_name("../x"), safe_file_name("ü")
    ('a~2Fb', 'a_b', '~2E.~2Fx', '~C3~BC')
    """
    encoded = quote(name, safe="").replace("~", "~7E").replace("%", "~")
    if encoded.startswith("."):
        encoded = "~2E" + encoded[1:]
    if len(encoded) <= 200:
        return encoded or "~"
    import hashlib

    return encoded[:160] + "~" + hashlib.sha256(name.encode()).hexdigest()[:32]


def write_file(path: Path, content: bytes) -> None:
    """Write a file whole or not at all: a temporary file beside it, fsync, rename.

    A link stays one, and what it names is written.

    Raises
    ------
    BadInputError
        If a folder, a pipe or a device stands there, which the rename would take away.
    """
    if stands(path) and not path.is_file():
        found = "a folder" if path.is_dir() else "not a regular file"
        raise BadInputError(
            f"what stands there is {found}", where=str(path), remedy="write to a new file"
        )
    path = path.resolve() if path.is_symlink() else path
    _make_parent(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=UNFINISHED)
    except OSError as error:  # names the temporary file, of which nobody knows
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            _write_synced(file, content)
        os.chmod(temporary, 0o644)  # mkstemp leaves 0600
        os.replace(temporary, path)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        raise _naming(error, path) from None


def write_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a new folder whole or not at all; an empty folder of that name is taken.

    Names may lead into subfolders.

    Raises
    ------
    OSError
        If the folder exists and is not empty.
    """
    _make_parent(path)
    temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=UNFINISHED))
    try:
        for name, content in files.items():
            (temporary / name).parent.mkdir(parents=True, exist_ok=True)
            with (temporary / name).open("wb") as file:
                _write_synced(file, content)
        temporary.chmod(0o755)  # mkdtemp leaves 0700
        os.replace(temporary, path)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise _naming(error, path) from None


def clear_unfinished(folder: Path) -> None:
    """Remove what killed writers left; the caller holds the folder alone."""
    for stale in folder.glob(f"{UNFINISHED}*"):
        if stale.is_dir():
            shutil.rmtree(stale, ignore_errors=True)
        else:
            stale.unlink(missing_ok=True)


def lock(file: int, busy: BusyError, *, patience_s: float = 0.0) -> None:
    """Hold what is open alone, until it is closed or the process ends.

    Raises
    ------
    BusyError
        The one given, if another process held it all the while.
    """
    end = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                raise busy from None
            time.sleep(0.01)
        else:
            return


def _make_parent(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise BadInputError("a file stands where its folder has to be", where=str(path)) from error


def _naming(error: BaseException, path: Path) -> BaseException:
    """Name the file in a failed write's error, which says only what the system refused."""
    if isinstance(error, OSError) and error.errno is not None and error.filename is None:
        return OSError(error.errno, error.strerror, str(path))
    return error


def _write_synced(file: BinaryIO, content: bytes) -> None:
    file.write(content)
    file.flush()
    os.fsync(file.fileno())
