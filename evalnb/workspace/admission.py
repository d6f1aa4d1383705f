"""Writing documents into the store, a batch at a time: what is there already stays as it is."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evalnb.search.ids import canonical_id
from evalnb.workspace.documents import Extracted
from evalnb.workspace.store import Store

Outcome = Literal["new", "updated", "unchanged"]

TITLE_CHARACTERS = 500  # every unit under a title carries it; a longer one is a paragraph


_DOCUMENTS_SQL = """
    SELECT document_id, document, newest FROM documents
    WHERE document_id IN (SELECT value FROM json_each(?))
"""
_ABSENT_SQL = """
    SELECT d.document FROM documents d JOIN sources s ON s.source = d.source
    WHERE s.key IN (SELECT value FROM json_each(?)) AND d.newest != 0
      AND d.document_id NOT IN (SELECT value FROM json_each(?))
"""
_REVISIONS_SQL = """
    SELECT revision_id, revision, extraction, language, effective_from, effective_to FROM revisions
    WHERE revision_id IN (SELECT value FROM json_each(?))
"""
_EXTRACTIONS_SQL = """
    SELECT extraction_id, extraction FROM extractions
    WHERE extraction_id IN (SELECT value FROM json_each(?))
"""
# In the order of writing: what is referred to comes first.
_WRITES = {
    "sources": "INSERT INTO sources VALUES (?, ?, ?)",
    "documents": "INSERT INTO documents VALUES (?, ?, ?, ?, ?)",
    "revisions": "INSERT INTO revisions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "extractions": "INSERT INTO extractions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "newest": "UPDATE documents SET newest = ? WHERE document = ?",
    "attributes": "UPDATE revisions SET extraction = ?, language = ?, effective_from = ?, "
    "effective_to = ? WHERE revision = ?",
}


def document_id(source_key: str, path: str) -> str:
    """Return the id of a document of a source."""
    return canonical_id("document", canonical_id("source", source_key), path)


def absent_documents(store: Store, source_keys: Iterable[str], seen: Iterable[str]) -> list[int]:
    """Return the documents of some sources that were not seen, by their keys in the store."""
    rows = store.db.execute(_ABSENT_SQL, (json.dumps(list(source_keys)), json.dumps(list(seen))))
    return [int(row[0]) for row in rows]


def withdraw(store: Store, documents: Iterable[int]) -> None:
    """Leave documents out of every later snapshot; those that name them keep them."""
    with store.transaction() as db:
        db.executemany(_WRITES["newest"], ((0, key) for key in documents))


@dataclass(frozen=True, slots=True)
class _Ids:
    source_id: str
    document_id: str
    revision_id: str
    extraction_id: str

    @classmethod
    def of(cls, source_key: str, document: Extracted) -> _Ids:
        source_id = canonical_id("source", source_key)
        of_document = document_id(source_key, document.path)
        revision_id = canonical_id("revision", of_document, document.bytes_sha256)
        extraction_id = canonical_id("extraction", revision_id, document.extractor)
        return cls(source_id, of_document, revision_id, extraction_id)


def admit(store: Store, batch: Sequence[tuple[str, Extracted]]) -> Counter[Outcome]:
    """Write (source key, document) pairs in one transaction, the later of two as the newer."""
    ids = [_Ids.of(source_key, document) for source_key, document in batch]
    with store.transaction() as db:
        writer = _BatchWriter(db, ids)
        counts = Counter(
            writer.add(source_key, document, of)
            for (source_key, document), of in zip(batch, ids, strict=True)
        )
        writer.flush()
    return counts


class _BatchWriter:
    """What the store knows of a batch, and the rows to add: one statement a table.

    Statements for every single document would take four times as long.
    """

    def __init__(self, db: sqlite3.Connection, ids: Sequence[_Ids]) -> None:
        self._db = db
        self._sources: dict[str, int] = dict(db.execute("SELECT source_id, source FROM sources"))
        self._documents = self._known(_DOCUMENTS_SQL, [of.document_id for of in ids])
        self._revisions = self._known(_REVISIONS_SQL, [of.revision_id for of in ids])
        self._extractions = self._known(_EXTRACTIONS_SQL, [of.extraction_id for of in ids])
        self._next = {
            table: next_key(db, table)
            for table in ("sources", "documents", "revisions", "extractions")
        }
        self._rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in _WRITES}

    def _known(self, sql: str, ids: list[str]) -> dict[str, tuple[Any, ...]]:
        return {row[0]: row[1:] for row in self._db.execute(sql, (json.dumps(ids),))}

    def _take(self, table: str) -> int:
        key = self._next[table]
        self._next[table] = key + 1
        return key

    def add(self, source_key: str, document: Extracted, ids: _Ids) -> Outcome:
        """Note the rows that one document needs."""
        known = self._documents.get(ids.document_id)
        document_key = self._take("documents") if known is None else known[0]
        extraction = self._extraction(document, ids)
        revision, changed = self._revision(document, ids, document_key, extraction)
        self._documents[ids.document_id] = (document_key, revision)
        if known is None:
            source = self._source(source_key, ids.source_id)
            row = (document_key, ids.document_id, source, document.path, revision)
            self._rows["documents"].append(row)
            return "new"
        if known[1] != revision:
            self._rows["newest"].append((revision, document_key))
        return "updated" if changed or known[1] != revision else "unchanged"

    def _source(self, key: str, source_id: str) -> int:
        if source_id not in self._sources:
            self._sources[source_id] = self._take("sources")
            self._rows["sources"].append((self._sources[source_id], source_id, key))
        return self._sources[source_id]

    def _extraction(self, document: Extracted, ids: _Ids) -> int:
        if ids.extraction_id in self._extractions:
            return int(self._extractions[ids.extraction_id][0])
        key = self._take("extractions")
        self._extractions[ids.extraction_id] = (key,)
        known = self._revisions.get(ids.revision_id)
        headings = [[h.start, h.level, h.title[:TITLE_CHARACTERS]] for h in document.headings]
        self._rows["extractions"].append(
            (
                key,
                ids.extraction_id,
                self._next["revisions"] if known is None else known[0],
                document.extractor,
                document.modality,
                len(document.text.encode()),
                json.dumps(document.pages),
                json.dumps(document.identifiers, ensure_ascii=False),
                json.dumps(headings, ensure_ascii=False),
                document.text,
            )
        )
        return key

    def _revision(
        self, document: Extracted, ids: _Ids, document_key: int, extraction: int
    ) -> tuple[int, bool]:
        attributes = (
            extraction,
            document.language,
            document.effective_from and document.effective_from.isoformat(),
            document.effective_to and document.effective_to.isoformat(),
        )
        known = self._revisions.get(ids.revision_id)
        key = self._take("revisions") if known is None else int(known[0])
        if known is None:
            file_id = canonical_id("file", ids.source_id, ids.revision_id, document.path)
            title = document.title and document.title[:TITLE_CHARACTERS]
            made_of = (file_id, document.bytes_sha256, title)
            row = (key, ids.revision_id, document_key, extraction, *made_of, *attributes[1:])
            self._rows["revisions"].append(row)
        elif known[1:] != attributes:
            self._rows["attributes"].append((*attributes, key))
        self._revisions[ids.revision_id] = (key, *attributes)
        return key, known is None or known[1:] != attributes

    def flush(self) -> None:
        """Write the rows."""
        for name, statement in _WRITES.items():
            self._db.executemany(statement, self._rows[name])


def next_key(db: sqlite3.Connection, table: str) -> int:
    """Return the integer that the next row of a table gets."""
    sql = f"SELECT coalesce(max(rowid), 0) + 1 FROM {table}"  # noqa: S608  # our own names
    return int(db.execute(sql).fetchone()[0])
