"""Who looked at a test split, and when: kept beside the variants that were chosen.

A mark belongs to a version of the gold, whichever report shows it, so it stands in no report; and
it has to outlive the notebook. Each look is a line of a journal, so none is ever lost.
"""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

from evalnb.errors import BadInputError
from evalnb.evaluation.report import DatasetRecord
from evalnb.files import explained, stands
from evalnb.gold.journal import Journal
from evalnb.strict_json import parse_strict

_REFUSAL = "that the test split was looked at cannot be noted"


def looks_path(variants: Path) -> Path:
    """Return where the looks are kept that belong to a variants file."""
    return variants.with_name(f"{variants.stem}.test-looks.jsonl")


def mark_look(path: Path, dataset: DatasetRecord) -> list[str]:
    """Note that a split was looked at, on the disk before it is shown.

    Returns
    -------
    list of str
        When this version of the split was looked at, this time last.

    Raises
    ------
    BadInputError
        If the mark cannot be written, or the file holds something else.
    """
    when = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    look = {"dataset": dataset.id, "version_sha": dataset.version_sha, "split": dataset.split}
    with explained(_REFUSAL, path, remedy="keep variants in a folder that you may write to"):
        path.parent.mkdir(parents=True, exist_ok=True)
    found, journal = _open(path, dataset)
    journal.append(json.dumps(look | {"looked_at": when}, ensure_ascii=False).encode())
    return found


def looks(path: Path, dataset: DatasetRecord) -> list[str]:
    """Return when this version of a split was looked at.

    Raises
    ------
    BadInputError
        If a line of the file is none of these.
    """
    return _open(path, dataset)[0] if stands(path) else []


def _open(path: Path, dataset: DatasetRecord) -> tuple[list[str], Journal]:
    """Return the looks at this version, which grow with the file, and the file."""
    found: list[str] = []

    def take(line: bytes, number: int) -> None:
        look: Any = parse_strict(line, where=str(path), line=number)
        if not isinstance(look, dict) or not isinstance(look.get("looked_at"), str):
            raise BadInputError("not a look at a split", where=f"{path}:{number}")
        if all(look.get(key) == getattr(dataset, key) for key in ("version_sha", "split")):
            found.append(look["looked_at"])

    return found, Journal(path, take, refusal=_REFUSAL)
