"""What one search may return: the request's restrictions, the caller's scope, the date."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from evalnb.errors import NotFoundError
from evalnb.search.request import Controls, QueryRequest, Scope
from evalnb.wording import near_names
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


def resolve_scope(store: Store, source_keys: Iterable[str], documents: Iterable[str]) -> Scope:
    """Turn names into a scope: knowledge bases by key or id, documents by name or id.

    A document's name is its path, or the last part of it; several documents may share one.

    Raises
    ------
    NotFoundError
        If a name is unknown, with the names near it.
    """
    sources = {
        key: [source_id]
        for key, source_id in store.db.execute("SELECT key, source_id FROM sources")
    }
    source_ids = tuple(
        source_id for key in source_keys for source_id in _named(key, sources, "knowledge base")
    )
    by_path: dict[str, list[str]] = {}
    by_last_part: dict[str, list[str]] = {}
    for path, document_id, source_id in store.db.execute(
        "SELECT path, document_id, source_id FROM documents JOIN sources USING (source)"
    ):
        if not source_ids or source_id in source_ids:
            by_path.setdefault(path, []).append(document_id)
            by_last_part.setdefault(path.rpartition("/")[2], []).append(document_id)
    names = by_last_part | {
        path: list(dict.fromkeys((*ids, *by_last_part.get(path, ()))))
        for path, ids in by_path.items()
    }
    found = [document_id for name in documents for document_id in _named(name, names, "document")]
    return Scope(source_ids=source_ids, document_ids=tuple(dict.fromkeys(found)))


def _named(name: str, known: Mapping[str, list[str]], what: str) -> list[str]:
    if name in known:
        return known[name]
    if any(name in ids for ids in known.values()):
        return [name]
    raise NotFoundError(
        f"the workspace has no {what} {name!r}{near_names(name, known)}",
        remedy=f"{len(known):,} names are known",
    )
