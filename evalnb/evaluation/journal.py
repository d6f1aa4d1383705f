"""The journal of a run: a stopped one goes on where it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple, Self

from evalnb.evaluation.report import CaseResult

JOURNAL_FORMAT = "evalnb-journal@1"


class Finished(NamedTuple):
    """One finished search, with its latency in ms (null where it did not come back)."""

    result: CaseResult
    latency_ms: float | None


class Journal:
    """One line a finished search, appended as it happens.

    A journal belongs to one key: the digest of everything that decides the results. Another key
    starts a new journal. A torn last line, as a killed process leaves it, is dropped.
    """

    def __init__(self, path: Path, key: str) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        header = json.dumps({"format": JOURNAL_FORMAT, "key": key}).encode() + b"\n"
        self.finished, end = _read(path, header)
        self._file = path.open("r+b" if end else "wb")
        self._file.truncate(end)
        self._file.seek(end)
        if not end:
            self._file.write(header)
            self._file.flush()

    def append(self, line: bytes, latency_ms: float | None) -> None:
        """Keep one finished search; it survives the death of the process from here on."""
        self._file.write(json.dumps(latency_ms).encode() + b"\t" + line + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file and keep it."""
        self._file.close()

    def remove(self) -> None:
        """Delete the journal: its run is complete."""
        self.close()
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *failure: object) -> None:
        """Close the file whatever happened."""
        self.close()


def _read(path: Path, header: bytes) -> tuple[list[Finished], int]:
    """Return the finished searches and the offset behind the last whole line."""
    if not path.exists():
        return [], 0
    with path.open("rb") as file:
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
