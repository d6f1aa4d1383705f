"""An append-only file of lines that several processes may write: each is on disk, or never was."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from evalnb.errors import BusyError, GoldError
from evalnb.files import explained, lock
from evalnb.limits import CASES_BYTES, check_limit

PATIENCE_S = 10.0  # others hold the file for one line; longer means that one of them was stopped
_ROOM = "make room, or choose a folder that you may write to"


class Journal:
    """Lines on disk, handed to ``take`` with their number as they come, whoever wrote them.

    A line counts once its line break is on disk. What a killed writer left without one was never
    acknowledged, and is cut off by the next line.

    Parameters
    ----------
    refusal
        What is said of a file that cannot be opened.

    Raises
    ------
    BadInputError
        If the file cannot be written, or not be made.
    LimitExceededError
        Past 64 MiB.
    """

    def __init__(
        self,
        path: Path,
        take: Callable[[bytes, int], None],
        *,
        refusal: str = "cannot be written",
    ) -> None:
        self.path = path
        self._take, self._refusal = take, refusal
        self._end = 0
        self._number = 0
        with self._locked(os.O_CREAT) as file:
            self._catch_up(file)

    def refresh(self) -> None:
        """Take what others have written meanwhile."""
        with self._locked() as file:
            self._catch_up(file)

    def append(self, line: bytes) -> None:
        """Write one line after those of others, and return when it is on disk.

        Raises
        ------
        BadInputError
            If the system refuses, such as for a full disk; the file is then as it was.
        BusyError
            If another process holds the file for seconds.
        """
        with self._locked() as file:
            self._catch_up(file)
            grown = self._end + len(line) + 1
            check_limit("bytes of a journal", grown, CASES_BYTES, argument="", where=str(self.path))
            with explained("not saved", self.path, remedy=_ROOM):
                try:
                    os.ftruncate(file, self._end)
                    _write_all(file, line + b"\n")
                    os.fsync(file)
                except OSError:
                    with suppress(OSError):
                        os.ftruncate(file, self._end)
                    raise
            self._catch_up(file)

    @contextmanager
    def _locked(self, flags: int = 0) -> Iterator[int]:
        with explained(self._refusal, self.path, remedy=_ROOM):
            file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | flags, 0o644)
        try:
            busy = BusyError(
                f"another process has held the file for {PATIENCE_S:g} seconds",
                where=str(self.path),
                remedy="end the notebook that hangs, then try again",
            )
            lock(file, busy, patience_s=PATIENCE_S)
            yield file
        finally:
            os.close(file)  # which also unlocks it

    def _catch_up(self, file: int) -> None:
        size = os.fstat(file).st_size
        check_limit("bytes of a journal", size, CASES_BYTES, argument="", where=str(self.path))
        if size < self._end:
            raise GoldError(
                "the file became shorter: another program wrote it",
                where=str(self.path),
                remedy="put back what stood there, then open it again",
            )
        lines = os.pread(file, size - self._end, self._end).split(b"\n")
        for line in lines[:-1]:  # the last is what follows the last line break
            self._take(line, self._number + 1)
            self._number += 1
            self._end += len(line) + 1


def _write_all(file: int, content: bytes) -> None:
    while content:
        content = content[os.write(file, content) :]
