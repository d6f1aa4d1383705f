"""The embedded workspace as a search system: open it, fill it, search it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalnb.errors import NotFoundError
from evalnb.gold.strict_json import near_names
from evalnb.search.request import Controls, Scope
from evalnb.search.system import Capabilities, SearchContext
from evalnb.workspace.indexes import (
    TANTIVY,
    LexicalIndex,
    Progress,
    build_index,
    index_folder,
    open_index,
)
from evalnb.workspace.ingest.records import read_corpus
from evalnb.workspace.ingest.run import Found, Ingested, ingest, read_paths
from evalnb.workspace.pipeline import check_controls
from evalnb.workspace.session import WorkspaceSession
from evalnb.workspace.settings import Settings, changed_settings, load_settings, save_settings
from evalnb.workspace.snapshot import (
    ACTIVE,
    Snapshot,
    activate_snapshot,
    create_snapshot,
    list_snapshots,
    pinned_snapshot,
)
from evalnb.workspace.store import Store, write_lock

DEFAULT_SOURCE = "default"


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What one ingest changed: documents, the snapshot that is active now, its index."""

    ingested: Ingested
    snapshot: Snapshot
    index: str | None


class Workspace:
    """An embedded knowledge base in one folder.

    Attributes
    ----------
    folder
        Where it lies; nothing outside is ever written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._indexes: dict[Path, LexicalIndex] = {}

    @property
    def settings(self) -> Settings:
        """The workspace's own defaults, as config.json has them now."""
        return load_settings(self.folder)

    def capabilities(self) -> Capabilities:
        """Say what the workspace can do, without searching."""
        from evalnb import __version__

        return Capabilities(
            channels=("lexical",),
            kinds=("source", "document", "revision", "unit", "file"),
            texts=True,
            restrictions=frozenset(
                {
                    "modalities",
                    "exact_identifiers",
                    "exact_only",
                    "source_ids",
                    "document_ids",
                    "revision_ids",
                    "as_of",
                }
            ),
            identity={
                "system": "workspace",
                "evalnb": __version__,
                "tantivy": TANTIVY,
            },
            configuration=self.settings.configuration,
        )

    def check(self, controls: Controls) -> None:
        """Refuse controls that the active snapshot cannot execute.

        Raises
        ------
        CapabilityError
            With what is missing and the command that builds it.
        """
        snapshot = self.snapshot()
        check_controls(controls, lambda name: self._read_index(snapshot, name))

    def open(self, context: SearchContext) -> WorkspaceSession:
        """Open a session on the context's snapshot, or on the active one.

        Raises
        ------
        NotFoundError
            If there is no such snapshot.
        """
        return WorkspaceSession(
            self.folder,
            context,
            read_index=self._read_index,
            settings=self.settings,
        )

    def snapshot(self, snapshot_id: str | None = None) -> Snapshot:
        """Return one snapshot, or the active one."""
        with Store(self.folder) as store, store.explained():
            return pinned_snapshot(store, snapshot_id)

    def snapshots(self) -> list[Snapshot]:
        """Return every snapshot, oldest first."""
        with Store(self.folder) as store, store.explained():
            return list_snapshots(store)

    def active_snapshot_id(self) -> str | None:
        """Return the id of the active snapshot; None before the first ingest has finished."""
        with Store(self.folder) as store, store.explained():
            return store.state(ACTIVE)

    def ingest(
        self,
        paths: Iterable[str | Path],
        *,
        source: str = DEFAULT_SOURCE,
        settings: Mapping[str, Any] | None = None,
        build: bool = True,
        progress: Progress | None = None,
    ) -> IngestReport:
        """Read files, folders and records, then search them.

        A new snapshot is made, the configured lexical index built over it, and the snapshot
        activated, in this order: a search meets the old state or the new one, never a mixture.
        What is there already changes nothing.

        Parameters
        ----------
        source
            Key of the knowledge base that documents without one of their own belong to.
        settings
            Changes to the workspace's settings that are kept, such as ``{"language": "tr"}`` or
            ``{"chunk_size": 400}``; every document is cut the new way.
        build
            Build the index; without it, ``evalnb index`` has to before anything is found.

        Raises
        ------
        BusyError
            If another process changes the workspace.
        BadInputError
            If a path is not there, or a file of records is wrong.
        """
        found = read_paths([Path(path) for path in paths], source_key=source)
        return self._filled(found, settings or {}, build=build, progress=progress)

    def ingest_corpus(
        self,
        corpus: Mapping[str, Any],
        *,
        settings: Mapping[str, Any] | None = None,
        build: bool = True,
    ) -> IngestReport:
        """Read the records of a corpus that is in memory, in the shape of corpus.json.

        Raises
        ------
        BadInputError
            Naming the field that is wrong.
        """
        found = read_corpus(dict(corpus), where="corpus")
        return self._filled(found, settings or {}, build=build)

    def _filled(
        self,
        found: Iterable[Found],
        settings: Mapping[str, Any],
        *,
        build: bool,
        progress: Progress | None = None,
    ) -> IngestReport:
        with self._writing() as store:
            current = changed_settings(self.settings, dict(settings))
            ingested = ingest(store, found, progress=progress)
            snapshot = create_snapshot(store, current.chunking)
            name = current.lexical_index if build else None
            if name is not None:
                build_index(self.folder, store, snapshot, name)
            self._configured(settings)
            activate_snapshot(store, snapshot.snapshot_id)
        return IngestReport(ingested, snapshot, name)

    def index(self, name: str | None = None, *, progress: Progress | None = None) -> bool:
        """Build an index over the active snapshot: the configured lexical one, or one by name.

        Returns
        -------
        bool
            Whether it was built now; false if a sound one was there.
        """
        with self._writing() as store:
            snapshot = pinned_snapshot(store)
            chosen = name or self.settings.lexical_index
            self._indexes.pop(index_folder(self.folder, chosen, snapshot), None)
            return build_index(self.folder, store, snapshot, chosen, progress=progress)[1]

    def activate(self, snapshot_id: str) -> Snapshot:
        """Make a snapshot the one that searches see when they name none."""
        with self._writing() as store:
            return activate_snapshot(store, snapshot_id)

    def create_snapshot(self) -> Snapshot:
        """Pin the newest and the dated revisions, cut as the settings say; not activated."""
        with self._writing() as store:
            return create_snapshot(store, self.settings.chunking)

    def configure(self, changes: Mapping[str, Any]) -> Settings:
        """Change settings and keep them."""
        with write_lock(self.folder):
            return self._configured(changes)

    def _configured(self, changes: Mapping[str, Any]) -> Settings:
        current = self.settings
        changed = changed_settings(current, dict(changes))
        if changed != current or not (self.folder / "config.json").exists():
            save_settings(changed, self.folder)
        return changed

    @contextmanager
    def _writing(self) -> Iterator[Store]:
        with write_lock(self.folder), Store(self.folder, write=True) as store, store.explained():
            yield store

    def _read_index(self, snapshot: Snapshot, name: str) -> LexicalIndex:
        """Open an index once; every byte of it is verified then."""
        folder = index_folder(self.folder, name, snapshot)
        if folder not in self._indexes:
            self._indexes[folder] = open_index(self.folder, snapshot, name)
        return self._indexes[folder]

    def resolve_scope(
        self, source_keys: Iterable[str] = (), documents: Iterable[str] = ()
    ) -> Scope:
        """Turn names into a scope: knowledge bases by key or id, documents by name or id.

        A document's name is its path, or its last part where only one document has it.

        Raises
        ------
        NotFoundError
            If a name is unknown, with the names near it.
        """
        with Store(self.folder) as store, store.explained():
            sources = dict(store.db.execute("SELECT key, source_id FROM sources"))
            rows = store.db.execute(
                "SELECT path, document_id, source_id FROM documents JOIN sources USING (source)"
            ).fetchall()
        source_ids = tuple(
            _resolved(key, {key_: [id_] for key_, id_ in sources.items()}, "knowledge base")[0]
            for key in source_keys
        )
        by_name: dict[str, list[str]] = {}
        for path, document_id, source_id in rows:
            if not source_ids or source_id in source_ids:
                by_name.setdefault(path, []).append(document_id)
        for path, document_id, source_id in rows:
            last = path.rpartition("/")[2]
            if last != path and (not source_ids or source_id in source_ids):
                by_name.setdefault(last, []).append(document_id)
        found = [id_ for name in documents for id_ in _resolved(name, by_name, "document")]
        return Scope(source_ids=source_ids, document_ids=tuple(dict.fromkeys(found)))


def _resolved(name: str, known: Mapping[str, list[str]], what: str) -> list[str]:
    if name in known:
        return known[name]
    if any(name in ids for ids in known.values()):
        return [name]
    raise NotFoundError(
        f"the workspace has no {what} {name!r}{near_names(name, known)}",
        remedy=f"{len(known):,} names are known",
    )


def open_workspace(folder: str | Path, *, create: bool = False) -> Workspace:
    """Open the workspace in a folder, or make an empty one there.

    Raises
    ------
    NotFoundError
        If there is none and ``create`` is not set; ``evalnb ingest`` makes one.
    BadInputError
        If the folder holds something else, or a newer evalnb's workspace.
    """
    root = Path(folder)
    if create:
        root.mkdir(parents=True, exist_ok=True)
        with write_lock(root), Store(root, write=True):
            pass
    Store(root).close()
    return Workspace(root)
