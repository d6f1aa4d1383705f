"""Snapshots: which revisions a search sees, and how they are cut; immutable once made."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass

from evalnb.errors import NotFoundError
from evalnb.search.ids import canonical_id
from evalnb.workspace.chunking import Chunking
from evalnb.workspace.documents import chunk_extraction
from evalnb.workspace.store import Store

ACTIVE = "active_snapshot"

_MEMBERS_SQL = """
    SELECT e.extraction_id, r.revision_id, d.document_id, d.source_id, r.language,
           r.effective_from, r.effective_to, d.newest_revision_id = r.revision_id
    FROM documents d
    JOIN revisions r ON r.document_id = d.document_id
    JOIN extractions e ON e.rowid =
        (SELECT max(rowid) FROM extractions WHERE revision_id = r.revision_id)
    WHERE d.newest_revision_id = r.revision_id
       OR r.effective_from IS NOT NULL OR r.effective_to IS NOT NULL
    ORDER BY e.extraction_id
"""

_DIGESTS_SQL = """
    SELECT u.unit_id, u.text_sha256
    FROM members m
    JOIN chunks c ON c.chunking = ? AND c.extraction_id = m.extraction_id
    JOIN units u ON u.unit_id = c.unit_id
    WHERE m.snapshot_id = ?
    ORDER BY u.unit_id
"""

_INDEXED_SQL = """
    SELECT u.unit_id, u.text, u.heading, r.title, m.source_id, m.document_id, m.revision_id,
           e.modality
    FROM members m
    JOIN chunks c ON c.chunking = ? AND c.extraction_id = m.extraction_id
    JOIN units u ON u.unit_id = c.unit_id
    JOIN revisions r ON r.revision_id = m.revision_id
    JOIN extractions e ON e.extraction_id = m.extraction_id
    WHERE m.snapshot_id = ?
    ORDER BY u.unit_id
"""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One immutable membership.

    Attributes
    ----------
    chunking
        Key of the way its documents are cut.
    units_sha256
        Digest of its unit ids and their texts' digests, in id order: what an index is built from.
    """

    snapshot_id: str
    chunking: str
    units_sha256: str
    n_units: int
    n_documents: int
    created_at: str


def create_snapshot(store: Store, chunking: Chunking) -> Snapshot:
    """Pin each document's newest revision and every dated one; the same state, the same snapshot.

    It is not activated: an index can be built for it first.
    """
    with store.transaction() as db:
        members = db.execute(_MEMBERS_SQL).fetchall()
        for row in members:
            chunk_extraction(db, row[0], chunking)
        content = hashlib.sha256(json.dumps(members, separators=(",", ":")).encode()).hexdigest()
        snapshot_id = canonical_id("snapshot", chunking.key, content)
        if (known := find_snapshot(store, snapshot_id)) is not None:
            return known
        db.execute(
            "INSERT INTO snapshots VALUES (?, ?, '', 0, ?, ?)",
            (
                snapshot_id,
                chunking.key,
                len({row[2] for row in members}),
                dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            ),
        )
        db.executemany(
            "INSERT INTO members VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            ((snapshot_id, *row) for row in members),
        )
        digest, n_units = hashlib.sha256(), 0
        for unit_id, text_sha256 in db.execute(_DIGESTS_SQL, (chunking.key, snapshot_id)):
            digest.update(f"{unit_id} {text_sha256}\n".encode())
            n_units += 1
        db.execute(
            "UPDATE snapshots SET units_sha256 = ?, n_units = ? WHERE snapshot_id = ?",
            (digest.hexdigest(), n_units, snapshot_id),
        )
        made = find_snapshot(store, snapshot_id)
    assert made is not None
    return made


def activate_snapshot(store: Store, snapshot_id: str) -> Snapshot:
    """Make a snapshot the one that searches see when they name none.

    Raises
    ------
    NotFoundError
        If there is no such snapshot.
    """
    snapshot = pinned_snapshot(store, snapshot_id)
    with store.transaction() as db:
        db.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (ACTIVE, snapshot_id))
    return snapshot


def pinned_snapshot(store: Store, snapshot_id: str | None = None) -> Snapshot:
    """Return one snapshot, or the active one.

    Raises
    ------
    NotFoundError
        If it does not exist, or none is active yet.
    """
    chosen = store.state(ACTIVE) if snapshot_id is None else snapshot_id
    if chosen is None:
        raise NotFoundError(
            "the workspace has no active snapshot",
            where=str(store.path.parent),
            remedy=f"finish it with: evalnb ingest PATH --workspace {store.path.parent}",
        )
    found = find_snapshot(store, chosen)
    if found is None:
        raise NotFoundError(
            f"the workspace has no snapshot {chosen!r}",
            where=str(store.path.parent),
            remedy=f"see: evalnb snapshot list --workspace {store.path.parent}",
        )
    return found


def find_snapshot(store: Store, snapshot_id: str) -> Snapshot | None:
    """Return a snapshot by its id, if there is one."""
    row = store.db.execute(
        "SELECT * FROM snapshots WHERE snapshot_id = ?", (snapshot_id,)
    ).fetchone()
    return None if row is None else Snapshot(*row)


def list_snapshots(store: Store) -> list[Snapshot]:
    """Return every snapshot, oldest first."""
    rows = store.db.execute("SELECT * FROM snapshots ORDER BY created_at, snapshot_id")
    return [Snapshot(*row) for row in rows]


@dataclass(frozen=True, slots=True)
class IndexedUnit:
    """One unit as an index takes it in."""

    unit_id: str
    text: str
    heading: str
    source_id: str
    document_id: str
    revision_id: str
    modality: str


def indexed_units(store: Store, snapshot: Snapshot) -> Iterator[IndexedUnit]:
    """Yield the units of a snapshot in id order, with title and headings as one text."""
    rows = store.db.execute(_INDEXED_SQL, (snapshot.chunking, snapshot.snapshot_id))
    for unit_id, text, heading, title, *ids in rows:
        above = heading.split("\n") if heading else []
        if title and title not in above[:1]:  # a document's first heading is often its title
            above.insert(0, title)
        yield IndexedUnit(unit_id, text, "\n".join(above), *ids)
