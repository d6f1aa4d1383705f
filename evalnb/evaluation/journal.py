"""The journal of a run: a stopped one goes on where it was."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path
from typing import BinaryIO, NamedTuple, Self

from evalnb.errors import BusyError
from evalnb.evaluation.report import CaseResult

JOURNAL_FORMAT = "evalnb-journal@1"


class Finished(NamedTuple):
    """One finished search, with its latency in ms (null where it did not come back)."""

    result: CaseResult
    latency_ms: float | None


class Journal:
    """One line a finished search, appended as it happens.

    A journal belongs to one key: the digest of everything that decides the results. Another key
    starts a new journal. A torn last line, as a killed process leaves it, is dropped. The file is
    locked while the run lasts.

    Raises
    ------
    BusyError
        If another run holds the same journal.
    """

    def __init__(self, path: Path, key: str) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        header = json.dumps({"format": JOURNAL_FORMAT, "key": key}).encode() + b"\n"
        self._file = path.open("a+b")
        self._lock()
        self.finished, end = _read(self._file, header)
        self._file.truncate(end)
        if not end:
            self._file.write(header)
            self._file.flush()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise BusyError(
                "another run is writing to this folder",
                where=str(self.path.parent),
                remedy="wait for it, or choose another folder",
            ) from None

    def append(self, line: bytes, latency_ms: float | None) -> None:
        """Keep one finished search; it survives the death of the process from here on."""
        self._file.write(json.dumps(latency_ms).encode() + b"\t" + line + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file and keep it."""
        self._file.close()

    def remove(self) -> None:
        """Delete the journal: its run is complete."""
        self.path.unlink(missing_ok=True)  # before the lock ends with the file
        self.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *failure: object) -> None:
        """Close the file whatever happened."""
        self.close()


def _read(file: BinaryIO, header: bytes) -> tuple[list[Finished], int]:
    """Return the finished searches and the offset behind the last whole line."""
    file.seek(0)
    if file.readline() != header:
        return [], 0
    finished, end = [], len(header)
    for line in file:
        latency, tab, record = line.partition(b"\t")
        if not line.endswith(b"\n") or not tab:
            break
        try:
            result = CaseResult.model_validate_json(record)
            finished.append(Finished(result, json.loads(latency)))
        except ValueError:  # half a line that happens to end in a newline
            break
        end += len(line)
    return finished, end
