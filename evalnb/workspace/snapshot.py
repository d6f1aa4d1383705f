"""Snapshots: which revisions a search sees, and how they are cut; immutable once made."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from dataclasses import dataclass

from evalnb.errors import NotFoundError
from evalnb.search.ids import canonical_id
from evalnb.workspace.admission import next_key
from evalnb.workspace.chunking import Chunking
from evalnb.workspace.cutting import cut_extractions
from evalnb.workspace.store import Store

ACTIVE = "active_snapshot"

_CANDIDATES_SQL = """
    SELECT r.extraction, r.revision, d.document, d.source, d.newest = r.revision, e.modality,
           r.language, r.effective_from, r.effective_to, e.extraction_id
    FROM documents d
    JOIN revisions r ON r.document = d.document
    JOIN extractions e ON e.extraction = r.extraction
    WHERE d.newest = r.revision
       OR d.newest != 0 AND (r.effective_from IS NOT NULL OR r.effective_to IS NOT NULL)
    ORDER BY r.extraction
"""

_DIGESTS_SQL = """
    SELECT u.unit_id, u.text_sha256
    FROM members m
    JOIN chunks c ON c.chunking = ? AND c.extraction = m.extraction
    JOIN units u ON u.unit = c.unit
    WHERE m.snapshot = ?
    ORDER BY u.unit_id
"""

_SNAPSHOT_SQL = """
    SELECT s.snapshot, s.snapshot_id, s.chunking, k.key, s.units_sha256, s.n_units, s.n_documents,
           s.created_at
    FROM snapshots s JOIN chunkings k ON k.chunking = s.chunking
"""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One immutable membership.

    Attributes
    ----------
    key, chunking_key
        Integers that the store's tables refer to them by.
    chunking
        The way its documents are cut.
    units_sha256
        Digest of its unit ids and their texts' digests, in id order: what an index is built from.
    """

    key: int
    snapshot_id: str
    chunking_key: int
    chunking: str
    units_sha256: str
    n_units: int
    n_documents: int
    created_at: str


def create_snapshot(store: Store, chunking: Chunking) -> Snapshot:
    """Pin each document's newest revision and every dated one; the same state, the same snapshot.

    It is not activated: an index can be built for it first.
    """
    candidates = store.db.execute(_CANDIDATES_SQL).fetchall()
    chunking_key = cut_extractions(store, chunking, [row[0] for row in candidates])
    pinned = sorted((row[-1], *row[4:-1]) for row in candidates)
    content = hashlib.sha256(json.dumps(pinned, separators=(",", ":")).encode()).hexdigest()
    snapshot_id = canonical_id("snapshot", chunking.key, content)
    if (known := find_snapshot(store, snapshot_id)) is not None:
        return known
    with store.transaction() as db:
        key = next_key(db, "snapshots")
        db.execute(
            "INSERT INTO snapshots VALUES (?, ?, ?, '', 0, ?, ?)",
            (
                key,
                snapshot_id,
                chunking_key,
                len({row[2] for row in candidates}),
                dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            ),
        )
        db.executemany(
            "INSERT INTO members VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            ((key, *row[:-1]) for row in candidates),
        )
        digest, n_units = hashlib.sha256(), 0
        for unit_id, text_sha256 in db.execute(_DIGESTS_SQL, (chunking_key, key)):
            digest.update(f"{unit_id} {text_sha256}\n".encode())
            n_units += 1
        db.execute(
            "UPDATE snapshots SET units_sha256 = ?, n_units = ? WHERE snapshot = ?",
            (digest.hexdigest(), n_units, key),
        )
    return pinned_snapshot(store, snapshot_id)


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
    row = store.db.execute(f"{_SNAPSHOT_SQL} WHERE snapshot_id = ?", (snapshot_id,)).fetchone()
    return None if row is None else Snapshot(*row)


def list_snapshots(store: Store) -> list[Snapshot]:
    """Return every snapshot, oldest first."""
    return [Snapshot(*row) for row in store.db.execute(f"{_SNAPSHOT_SQL} ORDER BY s.snapshot")]
