"""Names into ids: which knowledge bases and documents a caller means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from evalnb.errors import NotFoundError
from evalnb.search.request import Scope
from evalnb.wording import near_names
from evalnb.workspace.store import Store


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
        source_id for key in source_keys for source_id in _found(key, sources, "knowledge base")
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
    found = [document_id for name in documents for document_id in _found(name, names, "document")]
    return Scope(source_ids=source_ids, document_ids=tuple(dict.fromkeys(found)))


def _found(name: str, known: Mapping[str, list[str]], what: str) -> list[str]:
    if name in known:
        return known[name]
    if any(name in ids for ids in known.values()):
        return [name]
    raise NotFoundError(
        f"the workspace has no {what} {name!r}{near_names(name, known)}",
        remedy=f"{len(known):,} names are known",
    )
