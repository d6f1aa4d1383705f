"""What one search may return: the request's restrictions, the caller's scope, the date."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass

from evalnb.search.request import Controls, QueryRequest, Scope
from evalnb.workspace.snapshot import Snapshot
from evalnb.workspace.store import Store

Allowed = frozenset[str] | None  # None: everything

_DATED_SQL = """
    SELECT m.document, r.revision_id, m.effective_from, m.effective_to, m.newest
    FROM members m JOIN revisions r ON r.revision = m.revision
    WHERE m.snapshot = ?1 AND m.document IN (
        SELECT document FROM members
        WHERE snapshot = ?1 AND (effective_from IS NOT NULL OR effective_to IS NOT NULL)
    )
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Eligibility:
    """The units that a search may return, by what they belong to; all parts combine by AND."""

    sources: Allowed = None
    documents: Allowed = None
    revisions: Allowed = None
    modalities: Allowed = None
    lapsed: frozenset[str] = frozenset()

    @property
    def filters(self) -> dict[str, frozenset[str]]:
        """The parts that restrict anything, by the name of the field they restrict."""
        parts = {
            "source": self.sources,
            "document": self.documents,
            "revision": self.revisions,
            "modality": self.modalities,
        }
        return {name: allowed for name, allowed in parts.items() if allowed is not None}

    def admits(self, **owners: str) -> bool:
        """Say whether a unit of this source, document, revision and modality may be returned."""
        return owners.get("revision") not in self.lapsed and all(
            owners[name] in allowed for name, allowed in self.filters.items()
        )


def visible(scope: Scope) -> Eligibility:
    """Return what a caller may see at all."""
    return Eligibility(sources=_both((), scope.source_ids), documents=_both((), scope.document_ids))


def eligibility(
    store: Store, snapshot: Snapshot, scope: Scope, request: QueryRequest, controls: Controls
) -> Eligibility:
    """Combine what a request asks for with what its caller may see."""
    return Eligibility(
        sources=_both(request.source_ids, scope.source_ids),
        documents=_both(request.document_ids, scope.document_ids),
        revisions=_both(request.revision_ids, ()),
        modalities=_both(controls.modalities, ()),
        lapsed=frozenset()
        if request.as_of is None
        else lapsed_revisions(store, snapshot, request.as_of),
    )


def _both(asked: Collection[str], seen: Collection[str]) -> Allowed:
    if asked and seen:
        return frozenset(asked) & frozenset(seen)
    return frozenset(asked or seen) or None


def lapsed_revisions(store: Store, snapshot: Snapshot, date: dt.date) -> frozenset[str]:
    """Return the revisions that another one replaced at a date, or that do not hold at it.

    Both dates of a revision belong to it. Of a document's revisions that hold, the one that began
    last is valid (the newest of those that began together); one without dates holds when no dated
    one does.
    """
    day = date.isoformat()
    everything: set[str] = set()
    valid: dict[int, tuple[str, int, str]] = {}
    for document, revision, begins, ends, newest in store.db.execute(_DATED_SQL, (snapshot.key,)):
        everything.add(revision)
        if (begins is None or begins <= day) and (ends is None or day <= ends):
            rank = (begins or "", newest, revision)
            valid[document] = max(valid.get(document, rank), rank)
    return frozenset(everything) - {rank[2] for rank in valid.values()}
