"""One open session on a pinned snapshot: it searches, and it can prove what it returned."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from evalnb.errors import NotFoundError
from evalnb.search.metering import metered
from evalnb.search.request import Controls, Overrides, QueryRequest, Scope, resolve_controls
from evalnb.search.result import QueryResult
from evalnb.search.system import Binding, Cut, Extraction, Unit
from evalnb.workspace import locate
from evalnb.workspace.eligibility import visible
from evalnb.workspace.index_folders import built_indexes
from evalnb.workspace.parts import Parts
from evalnb.workspace.pipeline import Pinned, run_search
from evalnb.workspace.settings import Settings
from evalnb.workspace.store import Store


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
            yield from locate.pinned_units(
                self._store, self.snapshot, self._visible, language=self._language
            )

    def bindings(self, ids: Collection[str]) -> dict[str, Binding]:
        """Map each id that is a unit of the snapshot to its extraction, measured but not read."""
        with self._store.explained():
            return locate.bindings(self._store, self.snapshot, self._visible, ids)

    def extraction(self, extraction_id: str) -> Extraction:
        """Read one extraction of the snapshot.

        Raises
        ------
        NotFoundError
            If the snapshot has none of this id.
        """
        with self._store.explained():
            found = locate.read_extraction(self._store, self.snapshot, extraction_id)
        if found is None:
            raise NotFoundError(f"the snapshot has no extraction {extraction_id!r}")
        return found

    def close(self) -> None:
        """Release the connection; calling it again does nothing."""
        self._store.close()
