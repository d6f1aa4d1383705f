"""Lexical indexes: tantivy over the texts of units and the headings above them.

Beside tantivy's files stands ``units.bin``, the ids behind tantivy's document numbers.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tantivy

from evalnb.errors import LimitExceededError, SearchFailedError
from evalnb.limits import MIB
from evalnb.search.ids import PREFIXES
from evalnb.search.result import Candidates
from evalnb.workspace.analysis import Analysis, analysis_of
from evalnb.workspace.index_folders import IndexInputs
from evalnb.workspace.locate import unit_rows
from evalnb.workspace.snapshot import Snapshot
from evalnb.workspace.store import Progress, Store

UNITS = "units.bin"
LEXICAL_FILES = (UNITS, "meta.json")
ID_FIELDS = {kind: PREFIXES[kind] for kind in ("source", "document", "revision")}
ID_BYTES = 16
_ANALYZER = "evalnb"
# One writer thread and one segment keep documents in id order, which is what settles ties. The
# memory needed is about four times the text; 4,000 MiB is the most that tantivy takes.
_HEAP_FLOOR, _HEAP_PER_BYTE, _HEAP_CEILING = 64 * MIB, 8, 4_000 * MIB

TANTIVY = version("tantivy")


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

    def top(self, query: tantivy.Query, limit: int) -> Candidates:
        """Return the best units with their scores, ties by unit id."""
        bound = min(limit, len(self.units) // ID_BYTES)
        if bound < 1:  # tantivy panics on a limit of 0
            return Candidates()
        with guarded(self.name):
            hits = self.searcher.search(query, bound, count=False).hits
        return Candidates.model_construct(
            ids=tuple(unit_ids(self.units, (address.doc for _, address in hits))),
            scores=tuple(score for score, _ in hits),
        )


def lexical_inputs(name: str, snapshot: Snapshot) -> IndexInputs:
    """Say what a lexical index over a snapshot is built from.

    Raises
    ------
    BadInputError
        If no lexical index has this name.
    """
    return IndexInputs(name, name, analysis_of(name).settings(), snapshot)


def write_lexical_index(
    folder: Path, store: Store, inputs: IndexInputs, progress: Progress
) -> dict[str, Any]:
    """Fill a folder; return what its manifest says besides the inputs.

    Raises
    ------
    LimitExceededError
        If the corpus does not fit one segment.
    OSError
        If the disk is full.
    """
    name, snapshot = inputs.name, inputs.snapshot
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
            document.add_bytes("source", bytes.fromhex(of.source_id[4:]))
            document.add_bytes("document", bytes.fromhex(of.document_id[4:]))
            document.add_bytes("revision", bytes.fromhex(of.revision_id[4:]))
            document.add_text("modality", of.modality)
            writer.add_document(document)
            ids += bytes.fromhex(unit.unit_id[5:])
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
    return {"tantivy": TANTIVY}


def load_lexical_index(folder: Path, manifest: Mapping[str, Any]) -> LexicalIndex:
    """Open a verified folder.

    Raises
    ------
    ValueError, SearchFailedError
        If it does not hold the snapshot's units.
    """
    name = manifest["name"]
    analysis = analysis_of(name)
    with guarded(name), _lockable(folder) as place:
        index = tantivy.Index.open(str(place))
        index.config_reader("manual", 0)  # the files never change: nothing to watch
        index.register_tokenizer(_ANALYZER, analysis.analyzer())
        searcher = index.searcher()
        if searcher.num_docs != manifest["n_units"] or searcher.num_segments > 1:
            raise ValueError(f"{searcher.num_docs:,} units instead of {manifest['n_units']:,}")
    units = (folder / UNITS).read_bytes()
    return LexicalIndex(
        name, folder.name, analysis, analysis.analyzer(), index.schema, searcher, units
    )


@contextmanager
def _lockable(folder: Path) -> Iterator[Path]:
    """Lend tantivy a folder for the lock it takes while it opens; its files stay where they are."""
    if os.access(folder, os.W_OK, effective_ids=True):
        yield folder
        return
    with TemporaryDirectory(prefix="evalnb-index-") as links:
        for file in folder.iterdir():
            if file.suffix != ".lock":
                (Path(links) / file.name).symlink_to(file.resolve())
        yield Path(links)


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


def unit_ids(units: bytes, places: Iterable[int]) -> Iterator[str]:
    """Yield the ids of units by their places in ``units.bin``."""
    for at in places:
        yield f"{PREFIXES['unit']}{units[at * ID_BYTES : (at + 1) * ID_BYTES].hex()}"


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
        if "writer was killed" in str(error):  # its thread failed before, and only it knows why
            raise OSError(errno.EIO, f"{error}; is the disk full?", str(folder)) from error
        raise
