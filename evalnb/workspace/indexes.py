"""Lexical indexes: built beside, published by one rename, verified before they answer.

A folder ``indexes/NAME/IDENTITY/`` holds tantivy's files, ``units.bin`` (the ids behind tantivy's
document numbers) and ``manifest.json``. The identity digests what went in (settings, unit ids,
texts), never tantivy's bytes: its file names are random.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tantivy

from evalnb.errors import BadInputError, CapabilityError, LimitExceededError, SearchFailedError
from evalnb.limits import MIB
from evalnb.search.ids import PREFIXES
from evalnb.workspace.analysis import Analysis, analysis_of
from evalnb.workspace.locate import unit_rows
from evalnb.workspace.snapshot import Snapshot
from evalnb.workspace.store import Store

FORMAT = "evalnb-index@1"
MANIFEST = "manifest.json"
UNITS = "units.bin"
ID_FIELDS = {kind: PREFIXES[kind] for kind in ("source", "document", "revision")}
_ID_BYTES = 16
_ANALYZER = "evalnb"
# One writer thread and one segment keep documents in id order, which is what settles ties. The
# memory needed is about four times the text; 4,000 MiB is the most that tantivy takes.
_HEAP_FLOOR, _HEAP_PER_BYTE, _HEAP_CEILING = 64 * MIB, 8, 4_000 * MIB

TANTIVY = version("tantivy")

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class LexicalIndex:
    """An open, verified index over the units of one snapshot."""

    name: str
    identity: str
    analysis: Analysis
    analyzer: tantivy.TextAnalyzer
    schema: tantivy.Schema
    searcher: tantivy.Searcher
    units: bytes

    def tokens(self, text: str) -> list[str]:
        """Analyse a query as the documents were."""
        with guarded(self.name):
            tokens: list[str] = self.analyzer.analyze(self.analysis.fold(text))
            return tokens

    def top(self, query: tantivy.Query, limit: int) -> tuple[list[str], list[float]]:
        """Return the ids and scores of the best units, ties by unit id."""
        bound = min(limit, len(self.units) // _ID_BYTES)
        if bound < 1:  # tantivy panics on a limit of 0
            return [], []
        with guarded(self.name):
            hits = self.searcher.search(query, bound, count=False).hits
        scores = [score for score, _ in hits]
        places = [address.doc * _ID_BYTES for _, address in hits]
        return [f"unit_{self.units[at : at + _ID_BYTES].hex()}" for at in places], scores


def index_identity(name: str, snapshot: Snapshot) -> str:
    """Digest what an index over a snapshot is built from."""
    inputs = {
        "format": FORMAT,
        "name": name,
        "settings": analysis_of(name).settings(),
        "units_sha256": snapshot.units_sha256,
    }
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:32]


def index_folder(root: Path, name: str, snapshot: Snapshot) -> Path:
    """Return where an index over a snapshot stands, or would stand."""
    return root / "indexes" / name / index_identity(name, snapshot)


def built_indexes(root: Path, snapshot: Snapshot) -> dict[str, str]:
    """Return the identities of the indexes that stand ready for a snapshot, by name."""
    found = {}
    for folder in sorted((root / "indexes").glob("lexical:*")):
        try:
            identity = index_identity(folder.name, snapshot)
        except BadInputError:  # a folder that evalnb did not make
            continue
        if (folder / identity / MANIFEST).is_file():
            found[folder.name] = identity
    return found


def build_index(
    root: Path, store: Store, snapshot: Snapshot, name: str, *, progress: Progress | None = None
) -> tuple[str, bool]:
    """Build an index over a snapshot, unless a sound one is there; the caller holds the lock.

    Returns
    -------
    tuple
        The identity, and whether it was built now.

    Raises
    ------
    LimitExceededError
        If the corpus does not fit one segment.
    OSError
        If the disk is full; nothing is published then.
    """
    target = index_folder(root, name, snapshot)
    try:
        open_index(root, snapshot, name)
    except CapabilityError:
        pass
    else:
        return target.name, False
    for stale in (root / "indexes").glob(".building-*"):
        shutil.rmtree(stale, ignore_errors=True)
    draft = root / "indexes" / f".building-{os.getpid()}"
    draft.mkdir(parents=True)
    try:
        _write_index(draft, store, snapshot, name, progress)
        _publish(draft, target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target.name, True


def _write_index(
    folder: Path, store: Store, snapshot: Snapshot, name: str, progress: Progress | None
) -> None:
    analysis = analysis_of(name)
    schema = _schema()
    n_bytes = store.db.execute(
        "SELECT coalesce(sum(e.payload_bytes), 0) FROM members m JOIN extractions e "
        "ON e.extraction = m.extraction WHERE m.snapshot = ?",
        (snapshot.key,),
    ).fetchone()[0]
    heap = min(_HEAP_CEILING, _HEAP_FLOOR + _HEAP_PER_BYTE * n_bytes)
    ids = bytearray()
    with guarded(name), _disk_faults(folder):
        index = tantivy.Index(schema, path=str(folder))
        index.register_tokenizer(_ANALYZER, analysis.analyzer())
        writer = index.writer(heap_size=heap, num_threads=1)
        for unit in unit_rows(store, snapshot):
            document = tantivy.Document()
            document.add_text("body", analysis.fold(unit.text))
            if above := unit.above:
                document.add_text("heading", analysis.fold(above))
            of = unit.document
            owners = (of.source_id, of.document_id, of.revision_id)
            for (field, prefix), value in zip(ID_FIELDS.items(), owners, strict=True):
                document.add_bytes(field, digest_of(value, prefix))
            document.add_text("modality", of.modality)
            writer.add_document(document)
            ids += digest_of(unit.unit_id, PREFIXES["unit"])
            if progress is not None:
                progress(1)
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        segments = index.searcher().num_segments
    if segments > 1:
        raise LimitExceededError(
            f"{snapshot.n_units:,} units with {n_bytes:,} bytes do not fit one index segment",
            remedy="divide the corpus over several workspaces",
        )
    (folder / UNITS).write_bytes(ids)
    manifest = {
        "format": FORMAT,
        "name": name,
        "identity": index_identity(name, snapshot),
        "settings": analysis.settings(),
        "units_sha256": snapshot.units_sha256,
        "n_units": snapshot.n_units,
        "tantivy": TANTIVY,
        "files": _measure_files(folder),
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for field in ("body", "heading"):
        builder.add_text_field(field, tokenizer_name=_ANALYZER, index_option="position")
    for field in ID_FIELDS:  # as bytes: as texts they would cost a fifth of the whole indexing
        builder.add_bytes_field(field, indexed=True)
    builder.add_text_field("modality", tokenizer_name="raw", index_option="basic")
    return builder.build()


def digest_of(value: str, prefix: str) -> bytes:
    """Return the 16 bytes of a canonical id; other texts, which no unit has, give none.

    >>> digest_of("unit_000000000000000000000000000000ff", "unit_").hex()[-4:]
    '00ff'
    """
    try:
        digest = bytes.fromhex(value.removeprefix(prefix))
    except ValueError:
        return b""
    return digest if value == f"{prefix}{digest.hex()}" else b""


def _measure_files(folder: Path) -> dict[str, dict[str, Any]]:
    return {
        path.name: {"bytes": path.stat().st_size, "sha256": _file_sha256(path)}
        for path in sorted(folder.iterdir())
        if path.suffix != ".lock" and path.name != MANIFEST
    }


def _file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _publish(draft: Path, target: Path) -> None:
    """Put a finished folder in its place; what stood there, damaged, gives way."""
    for path in draft.iterdir():
        _fsync(path)
    _fsync(draft)
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        damaged = draft.with_name(f".building-{os.getpid()}-damaged")
        target.rename(damaged)
        shutil.rmtree(damaged, ignore_errors=True)
    draft.rename(target)
    _fsync(target.parent)


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_index(root: Path, snapshot: Snapshot, name: str) -> LexicalIndex:
    """Open an index after checking every byte of it against its manifest.

    Raises
    ------
    CapabilityError
        If it is missing, damaged or another one's, with the command that builds it.
    """
    folder = index_folder(root, name, snapshot)
    remedy = f"build it with: evalnb index {name} --workspace {root}"
    if not folder.is_dir():
        raise CapabilityError(f"the snapshot has no index {name}", where=str(root), remedy=remedy)
    analysis = analysis_of(name)
    try:
        _verify(folder, snapshot, name)
        with guarded(name):
            index = tantivy.Index.open(str(folder))
            index.config_reader("manual", 0)  # the files never change: nothing to watch
            index.register_tokenizer(_ANALYZER, analysis.analyzer())
            searcher = index.searcher()
            if searcher.num_docs != snapshot.n_units or searcher.num_segments > 1:
                raise ValueError(f"{searcher.num_docs:,} units instead of {snapshot.n_units:,}")
        units = (folder / UNITS).read_bytes()
    except (OSError, ValueError, KeyError, TypeError, SearchFailedError) as error:
        raise CapabilityError(
            f"index {name} is damaged: {error}", where=str(folder), remedy=remedy
        ) from error
    return LexicalIndex(
        name, folder.name, analysis, analysis.analyzer(), index.schema, searcher, units
    )


def _verify(folder: Path, snapshot: Snapshot, name: str) -> None:
    """Compare a folder with its manifest.

    Raises
    ------
    ValueError
        With the first thing that does not agree.
    """
    manifest = json.loads((folder / MANIFEST).read_bytes())
    expected = {
        "format": FORMAT,
        "name": name,
        "identity": folder.name,
        "units_sha256": snapshot.units_sha256,
        "n_units": snapshot.n_units,
    }
    if not isinstance(manifest, dict) or not isinstance(manifest.get("files"), dict):
        raise ValueError(f"{MANIFEST} is no manifest")
    for key, value in expected.items():
        if manifest.get(key) != value:
            raise ValueError(f"{MANIFEST} says {key} {manifest.get(key)!r} instead of {value!r}")
    if UNITS not in manifest["files"] or "meta.json" not in manifest["files"]:
        raise ValueError(f"{MANIFEST} names no {UNITS} or meta.json")
    for file_name, measured in manifest["files"].items():
        path = folder / Path(file_name).name
        if path.stat().st_size != measured["bytes"] or _file_sha256(path) != measured["sha256"]:
            raise ValueError(f"{file_name} is not what was written")


@contextmanager
def guarded(name: str) -> Iterator[None]:
    """Turn a panic inside tantivy, which is no Exception, into an error.

    Raises
    ------
    SearchFailedError
        Naming the index.
    """
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise SearchFailedError(f"index {name} failed inside tantivy: {error}") from error


@contextmanager
def _disk_faults(folder: Path) -> Iterator[None]:
    """Tell a full disk, which tantivy reports as text, from a fault of ours."""
    try:
        yield
    except ValueError as error:
        for code in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO, errno.EACCES):
            if os.strerror(code) in str(error):
                raise OSError(code, os.strerror(code), str(folder)) from error
        raise
