"""One open session on a pinned snapshot: it searches, and it can prove what it returned."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator

from evalnb.errors import NotFoundError
from evalnb.search.metering import metered
from evalnb.search.request import Controls, Overrides, QueryRequest, Scope, resolve_controls
from evalnb.search.result import QueryResult
from evalnb.search.system import Binding, Cut, Extraction, Unit
from evalnb.workspace.eligibility import visible
from evalnb.workspace.index_folders import built_indexes
from evalnb.workspace.locate import unit_rows
from evalnb.workspace.parts import Parts
from evalnb.workspace.pipeline import Pinned, run_search
from evalnb.workspace.settings import Settings
from evalnb.workspace.store import Store

_BINDINGS_SQL = """
    WITH owned (id, extraction) AS (
        SELECT asked.value, u.extraction
        FROM json_each(?1) asked
        JOIN units u ON u.unit_id = asked.value
        JOIN chunks c ON c.chunking = ?2 AND c.extraction = u.extraction AND c.unit = u.unit
        UNION ALL
        SELECT asked.value, e.extraction
        FROM json_each(?1) asked
        JOIN revisions r ON r.revision_id = asked.value
        JOIN extractions e ON e.revision = r.revision
    )
    SELECT owned.id, e.extraction_id, e.payload_bytes, s.source_id, d.document_id,
           (SELECT count(*) FROM chunks n WHERE n.chunking = ?2 AND n.extraction = e.extraction)
    FROM owned
    JOIN members m ON m.snapshot = ?3 AND m.extraction = owned.extraction
    JOIN extractions e ON e.extraction = owned.extraction
    JOIN documents d ON d.document = m.document
    JOIN sources s ON s.source = m.source
"""

_EXTRACTION_SQL = """
    SELECT e.extraction, e.extraction_id, r.revision_id, d.document_id, s.source_id, d.path,
           r.file_id, e.text
    FROM extractions e
    JOIN members m ON m.snapshot = ? AND m.extraction = e.extraction
    JOIN revisions r ON r.revision = m.revision
    JOIN documents d ON d.document = m.document
    JOIN sources s ON s.source = m.source
    WHERE e.extraction_id = ?
"""

_SPANS_SQL = """
    SELECT u.unit_id, u.start, u.end FROM chunks c JOIN units u ON u.unit = c.unit
    WHERE c.chunking = ? AND c.extraction = ?
"""


class WorkspaceSession:
    """A session of :class:`~evalnb.workspace.system.Workspace`.

    It keeps the snapshot that it was opened on, whatever is ingested meanwhile.
    """

    def __init__(self, parts: Parts, scope: Scope, settings: Settings) -> None:
        self._folder = parts.root
        self._language = settings.language
        self.snapshot = parts.snapshot
        self._visible = visible(scope)
        self._configuration = parts.configured(settings.configuration)
        # What was admitted before the session was opened; a later one is another evaluation's.
        self._rerankers = parts.reranker_identities()
        self._store = Store(parts.root)
        self._pinned = Pinned(self._store, parts.snapshot, scope, parts)

    def search(self, request: QueryRequest, controls: Controls) -> QueryResult:
        """Run one search.

        Raises
        ------
        CapabilityError
            If an index that the controls name is missing or damaged.
        """
        with self._store.explained():
            return metered(lambda: run_search(self._pinned, request, controls))

    def ask(self, request: QueryRequest) -> QueryResult:
        """Run one search under the workspace's own settings.

        Raises
        ------
        CapabilityError
            If the mode needs an index or a reranker that is not there.
        """
        return self.search(request, resolve_controls(request, Overrides(), self._configuration))

    def cut(self) -> Cut:
        """Return the snapshot, and the identity of every index and reranker that it may use."""
        return Cut(
            snapshot_id=self.snapshot.snapshot_id,
            indexes=built_indexes(self._folder, self.snapshot) | self._rerankers,
        )

    def units(self) -> Iterator[Unit]:
        """Enumerate the units that the caller may see, in id order."""
        with self._store.explained():
            for row in unit_rows(self._store, self.snapshot):
                of = row.document
                if self._visible.admits(source=of.source_id, document=of.document_id):
                    language = of.language or self._language
                    yield Unit(row.unit_id, of.document_id, of.path, row.text, language)

    def bindings(self, ids: Collection[str]) -> dict[str, Binding]:
        """Map units and revisions of the snapshot to their extractions, measured but not read."""
        asked = (json.dumps(sorted(ids)), self.snapshot.chunking_key, self.snapshot.key)
        with self._store.explained():
            return {
                owned: Binding(extraction_id, payload_bytes, n_units + 1)
                for owned, extraction_id, payload_bytes, source, document, n_units in (
                    self._store.db.execute(_BINDINGS_SQL, asked)
                )
                if self._visible.admits(source=source, document=document)
            }

    def extraction(self, extraction_id: str) -> Extraction:
        """Read one extraction of the snapshot with the spans of its units.

        Raises
        ------
        NotFoundError
            If the snapshot has none of this id.
        """
        read = self._store.db.execute
        with self._store.explained():
            row = read(_EXTRACTION_SQL, (self.snapshot.key, extraction_id)).fetchone()
            if row is None:
                raise NotFoundError(f"the snapshot has no extraction {extraction_id!r}")
            spans = read(_SPANS_SQL, (self.snapshot.chunking_key, row[0]))
            units = {unit_id: (start, end) for unit_id, start, end in spans}
            return Extraction(*(*row[1:], units))

    def close(self) -> None:
        """Release the connection; calling it again does nothing."""
        self._store.close()
