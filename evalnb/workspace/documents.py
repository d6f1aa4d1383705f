"""Documents on their way into the store: what a reader of any format hands over."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from evalnb.limits import ID_BYTES
from evalnb.search.ids import canonical_id
from evalnb.workspace.chunking import Chunking, Heading, heading_path

Modality = Literal["text", "code"]
Admission = Literal["new", "updated", "unchanged"]

_BACKTICKED = re.compile(r"`([^`\n]+)`")
_JOINED = re.compile(r"\w+(?:\.\w+)+|\w*_\w+")  # dotted, or with an underscore


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """One revision of a document, read: its text and what places it.

    Attributes
    ----------
    path
        POSIX, relative to what was ingested; it is the document's key and name.
    bytes_sha256
        Digest of what was read, which makes the revision.
    extractor
        Name and version of the reader, which makes the extraction.
    identifiers
        Names under which the whole document is looked up exactly.
    """

    path: str
    text: str
    bytes_sha256: str
    extractor: str
    title: str | None = None
    headings: tuple[Heading, ...] = ()
    identifiers: tuple[str, ...] = ()
    language: str | None = None
    effective_from: dt.date | None = None
    effective_to: dt.date | None = None
    modality: Modality = "text"


def admit(
    db: sqlite3.Connection, source_key: str, document: Extracted, *, chunking: Chunking
) -> Admission:
    """Write one document inside the caller's transaction; what is there already stays as it is."""
    source_id = canonical_id("source", source_key)
    document_id = canonical_id("document", source_id, document.path)
    revision_id = canonical_id("revision", document_id, document.bytes_sha256)
    extraction_id = canonical_id("extraction", revision_id, document.extractor)
    known = db.execute(
        "SELECT newest_revision_id FROM documents WHERE document_id = ?", (document_id,)
    ).fetchone()
    if known is None:
        db.execute("INSERT OR IGNORE INTO sources VALUES (?, ?)", (source_id, source_key))
        db.execute(
            "INSERT INTO documents VALUES (?, ?, ?, NULL)", (document_id, source_id, document.path)
        )
    changed = _admit_revision(db, document, source_id, document_id, revision_id)
    if changed or known[0] != revision_id:
        db.execute(
            "UPDATE documents SET newest_revision_id = ? WHERE document_id = ?",
            (revision_id, document_id),
        )
    _admit_extraction(db, document, revision_id, extraction_id)
    chunk_extraction(db, extraction_id, chunking)
    if known is None:
        return "new"
    return "updated" if changed or known[0] != revision_id else "unchanged"


def _admit_revision(
    db: sqlite3.Connection, document: Extracted, source_id: str, document_id: str, revision_id: str
) -> bool:
    """Write a revision, or what its source now says about one that is known."""
    attributes = (
        document.language,
        document.effective_from and document.effective_from.isoformat(),
        document.effective_to and document.effective_to.isoformat(),
    )
    before = db.execute(
        "SELECT language, effective_from, effective_to FROM revisions WHERE revision_id = ?",
        (revision_id,),
    ).fetchone()
    if before is None:
        file_id = canonical_id("file", source_id, revision_id, document.path)
        made = (revision_id, document_id, file_id, document.bytes_sha256, document.title)
        db.execute("INSERT INTO revisions VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*made, *attributes))
    elif before != attributes:
        db.execute(
            "UPDATE revisions SET language = ?, effective_from = ?, effective_to = ? "
            "WHERE revision_id = ?",
            (*attributes, revision_id),
        )
    return bool(before != attributes)


def _admit_extraction(
    db: sqlite3.Connection, document: Extracted, revision_id: str, extraction_id: str
) -> None:
    headings = json.dumps(
        [[h.start, h.level, h.title] for h in document.headings],
        ensure_ascii=False,
        separators=(",", ":"),
    )
    text = document.text
    made = db.execute(
        "INSERT OR IGNORE INTO extractions VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            extraction_id,
            revision_id,
            document.extractor,
            document.modality,
            headings,
            len(text.encode()),
            text,
        ),
    )
    if made.rowcount:
        db.executemany(
            "INSERT OR IGNORE INTO identifiers VALUES (?, ?, ?, ?)",
            (
                (name, extraction_id, start, end)
                for name, start, end in find_identifiers(text, document.identifiers)
            ),
        )


def chunk_extraction(db: sqlite3.Connection, extraction_id: str, chunking: Chunking) -> None:
    """Cut one extraction into units, unless this way of cutting was already applied to it."""
    made = db.execute("INSERT OR IGNORE INTO chunked VALUES (?, ?)", (chunking.key, extraction_id))
    if not made.rowcount:
        return
    text, stored = db.execute(
        "SELECT text, headings FROM extractions WHERE extraction_id = ?", (extraction_id,)
    ).fetchone()
    headings = [Heading(*row) for row in json.loads(stored)]
    rows = []
    for start, end in chunking.spans(text, headings):
        piece = text[start:end]
        rows.append(
            (
                canonical_id("unit", extraction_id, start, end),
                extraction_id,
                start,
                end,
                "\n".join(heading_path(headings, start)),
                hashlib.sha256(piece.encode()).hexdigest(),
                piece,
            )
        )
    db.executemany("INSERT OR IGNORE INTO units VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    db.executemany(
        "INSERT INTO chunks VALUES (?, ?, ?)",
        ((chunking.key, extraction_id, row[0]) for row in rows),
    )


def find_identifiers(text: str, declared: Iterable[str] = ()) -> Iterator[tuple[str, int, int]]:
    """Find what can be looked up exactly: (identifier, start, end) for each place it stands.

    Backticked, dotted and underscored tokens of the text count, and every declared identifier; a
    declared one that stands nowhere in the text has the span (-1, -1). Longer than 512 bytes is
    no identifier.
    """
    for found in _BACKTICKED.finditer(text):
        if name := found[1].strip():
            start = found.start(1) + found[1].index(name)
            if len(name.encode()) <= ID_BYTES:
                yield name, start, start + len(name)
    for found in _JOINED.finditer(text):
        if len(found[0].encode()) <= ID_BYTES and any(c.isalpha() for c in found[0]):
            yield found[0], found.start(), found.end()
    for name in declared:
        whole = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        places = [found.span() for found in whole.finditer(text)]
        for start, end in places or [(-1, -1)]:
            yield name, start, end
