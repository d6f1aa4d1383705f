"""Gold directories (``tychora-gold@1``): manifest.json pins the exact bytes of cases.jsonl."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, NonNegativeInt

from evalnb.errors import BadInputError, GoldError, NotFoundError
from evalnb.files import missing_path, read_bounded, write_file, write_folder
from evalnb.gold.cases import GoldCase, GoldDataset, canonical_line, dataset_from_cases
from evalnb.gold.cases_file import read_cases
from evalnb.limits import CASES_BYTES, CASES_LINES, MANIFEST_BYTES, check_limit
from evalnb.search.request import Record, Text
from evalnb.strict_json import load_strict

MANIFEST, CASES = "manifest.json", "cases.jsonl"
_DATASET_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def check_dataset_id(value: str) -> str:
    """Accept an id that is safe as a folder name and in a URL.

    Raises
    ------
    ValueError
        Saying what an id looks like.
    """
    if not _DATASET_ID.fullmatch(value) or ".." in value:
        raise ValueError(
            f"{value!r} is not a dataset_id: 1 to 128 of A-Z a-z 0-9 . _ -, beginning with a "
            "letter or digit, without '..'"
        )
    return value


class Manifest(Record):
    """What pins a gold set."""

    format: Literal["tychora-gold@1"]
    dataset_id: Annotated[str, AfterValidator(check_dataset_id)]
    name: Text
    case_count: NonNegativeInt
    version_sha: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

    def to_bytes(self) -> bytes:
        """Return what stands in manifest.json."""
        return self.model_dump_json(indent=2).encode() + b"\n"


def _manifest(dataset_id: str, name: str, count: int, version: str) -> Manifest:
    return Manifest(
        format="tychora-gold@1",
        dataset_id=dataset_id,
        name=name,
        case_count=count,
        version_sha=version,
    )


@dataclass
class Counts:
    """Cases of a set, counted while they stream by."""

    cases: int = 0
    splits: Counter[str] = field(default_factory=Counter)
    families: set[str] = field(default_factory=set)

    def add(self, case: GoldCase) -> None:
        """Count one more case."""
        self.cases += 1
        self.splits[case.split] += 1
        self.families.add(case.family)


def load_gold_dir(path: str | Path) -> GoldDataset:
    """Load a gold directory and check every promise it makes.

    Raises
    ------
    GoldError
        For a wrong digest, count, format or schema, or cases that contradict each other, naming
        the line and the remedy.
    NotFoundError, LimitExceededError
        For a missing file; past 1 MiB of manifest, 64 MiB or 100,000 lines of cases.
    """
    folder = _existing(path)
    manifest = _read_manifest(folder)
    cases: list[GoldCase] = []
    version = read_cases(folder / CASES, cases.append)
    _check_pin(manifest, folder, version=version, count=len(cases))
    # The cases are records already: validating 100,000 of them again costs a tenth of the load.
    return GoldDataset.model_construct(
        dataset_id=manifest.dataset_id,
        name=manifest.name,
        version_sha=version,
        cases=tuple(cases),
    )


def verify_gold_dir(
    path: str | Path, *, keep: Callable[[GoldCase], object] | None = None
) -> tuple[Manifest, Counts]:
    """Check a gold directory as :func:`load_gold_dir` does, without keeping its cases.

    Parameters
    ----------
    keep
        Is handed each case as it passes.
    """
    folder = _existing(path)
    manifest, counts = _read_manifest(folder), Counts()

    def take(case: GoldCase) -> None:
        counts.add(case)
        if keep is not None:
            keep(case)

    version = read_cases(folder / CASES, take)
    _check_pin(manifest, folder, version=version, count=counts.cases)
    return manifest, counts


def pin_gold_dir(
    path: str | Path, dataset_id: str | None = None, name: str | None = None
) -> Manifest:
    """Write the manifest for the cases.jsonl of a folder, after checking it.

    Parameters
    ----------
    dataset_id, name
        Those of the manifest that is there; without one, the folder's name.

    Raises
    ------
    GoldError
        As :func:`load_gold_dir`; no manifest is written then.
    BadInputError
        If ``dataset_id`` is not one.
    """
    folder, counts = _existing(path), Counts()
    if (folder / MANIFEST).exists() and dataset_id is None:
        before = _read_manifest(folder)
        dataset_id, name = before.dataset_id, name or before.name
    dataset_id = _checked_id(dataset_id or folder.resolve().name)
    version = read_cases(folder / CASES, counts.add)
    manifest = _manifest(dataset_id, name or dataset_id, counts.cases, version)
    write_file(folder / MANIFEST, manifest.to_bytes())
    return manifest


def write_gold_dir(dataset: GoldDataset, path: str | Path) -> GoldDataset:
    """Write a set as a new gold directory, whole or not at all.

    Returns
    -------
    GoldDataset
        The set as written: cases one by one in canonical form, pinned by the digest of that.

    Raises
    ------
    BadInputError
        If something else stands at ``path``, or the set's id is not a dataset_id.
    """
    folder = Path(path)
    written = dataset_from_cases(
        dataset.cases, dataset_id=_checked_id(dataset.dataset_id), name=dataset.name
    )
    cases = b"".join(map(canonical_line, written.cases))
    check_limit("bytes of cases.jsonl", len(cases), CASES_BYTES, argument="", where=str(path))
    check_limit("lines of cases.jsonl", len(written), CASES_LINES, argument="", where=str(path))
    manifest = _manifest(written.dataset_id, written.name, len(written), written.version_sha)
    files = {CASES: cases, MANIFEST: manifest.to_bytes()}
    if not _stands_already(folder, files):
        write_folder(folder, files)
    return written


def _stands_already(folder: Path, files: dict[str, bytes]) -> bool:
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return False
    names = {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()
    if names == set(files) and all((folder / name).read_bytes() == files[name] for name in names):
        return True
    raise BadInputError(
        "something else stands here already", where=str(folder), remedy="choose a new folder"
    )


def _existing(path: str | Path) -> Path:
    folder = Path(path)
    if not folder.exists():
        raise missing_path(folder)
    if not folder.is_dir():
        raise BadInputError(
            "found a file, expected a gold directory with manifest.json and cases.jsonl",
            where=str(folder),
            remedy=f"make one with: evalnb gold import {folder} DIR",
        )
    return folder


def _read_manifest(folder: Path) -> Manifest:
    path = folder / MANIFEST
    if not path.exists() and (folder / CASES).exists():
        raise NotFoundError(
            "no manifest.json beside cases.jsonl",
            where=str(folder),
            remedy="`evalnb gold pin` writes it",
        )
    data = read_bounded(path, bound=MANIFEST_BYTES, what="manifest.json")
    return load_strict(Manifest, data, where=str(path))


def _check_pin(manifest: Manifest, folder: Path, *, version: str, count: int) -> None:
    remedy = "if the change is meant, `evalnb gold pin` makes it a version of its own"
    if manifest.version_sha != version:
        raise GoldError(
            f"cases.jsonl has SHA-256 {version}, the manifest pins {manifest.version_sha}",
            where=str(folder / MANIFEST),
            remedy=remedy,
        )
    if manifest.case_count != count:
        raise GoldError(
            f"cases.jsonl holds {count:,} cases, the manifest says {manifest.case_count:,}",
            where=str(folder / MANIFEST),
            remedy=remedy,
        )


def _checked_id(dataset_id: str) -> str:
    try:
        return check_dataset_id(dataset_id)
    except ValueError as error:
        raise BadInputError(str(error), remedy="name one with --id") from error
