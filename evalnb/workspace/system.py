"""The embedded workspace as a search system: open it, fill it, search it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from evalnb.errors import NotFoundError
from evalnb.files import clear_unfinished
from evalnb.search.request import RESTRICTIONS, Controls, Hints, Scope
from evalnb.search.system import Capabilities, SearchContext
from evalnb.workspace.eligibility import resolve_scope
from evalnb.workspace.encoders import Embedder
from evalnb.workspace.index_folders import IndexInputs, manifests
from evalnb.workspace.indexes import Index, build_index, index_inputs, open_index
from evalnb.workspace.ingest.records import read_corpus
from evalnb.workspace.ingest.run import Found, Ingested, ingest, read_paths
from evalnb.workspace.lexical_index import TANTIVY
from evalnb.workspace.models import installed_versions
from evalnb.workspace.parts import Parts
from evalnb.workspace.pipeline import CHANNELS, check_controls
from evalnb.workspace.rerank import DEFAULT_RERANKER, Reranker, RerankFunction, reranker_identity
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
from evalnb.workspace.store import Progress, Store, write_lock
from evalnb.workspace.text_index import TextIndex

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

    Parameters
    ----------
    rerankers
        Functions that hints may name as rerankers: ``rerank(query, texts)`` returns one number a
        text. See :class:`~evalnb.workspace.rerank.FunctionReranker`.
    embedders
        Models behind the network, by the name that follows ``text:openai:``.
    """

    def __init__(
        self,
        folder: Path,
        *,
        rerankers: Mapping[str, RerankFunction] | None = None,
        embedders: Mapping[str, Embedder] | None = None,
    ) -> None:
        self.folder = folder
        self._given_rerankers = dict(rerankers or {})
        self._embedders = dict(embedders or {})
        self._rerankers: dict[str, Reranker] = {}
        self._indexes: dict[Path, Index] = {}

    def __reduce__(self) -> tuple[partial[Workspace], tuple[Path]]:
        """Go to another process as a folder; what is open here is opened again there."""
        opened = partial(Workspace, rerankers=self._given_rerankers, embedders=self._embedders)
        return opened, (self.folder.absolute(),)

    @property
    def settings(self) -> Settings:
        """The workspace's own defaults, as config.json has them now."""
        return load_settings(self.folder)

    def capabilities(self) -> Capabilities:
        """Say what the workspace can do, without searching."""
        parts, settings = self._active_parts(), self.settings
        configuration = settings.configuration
        asked = [*self._given_rerankers.values(), *(parts.used_embedders() if parts else ())]
        return Capabilities(
            channels=CHANNELS,
            kinds=("source", "document", "revision", "unit", "file"),
            texts=True,
            restrictions=RESTRICTIONS - {"image_asset_id"} | {"exact_identifiers"},
            identity=self._identity(parts, settings),
            configuration=parts.configured(configuration) if parts else configuration,
            versioned=all(getattr(f, "version", None) for f in asked),
            pinned=True,
        )

    def _identity(self, parts: Parts | None, settings: Settings) -> dict[str, str]:
        from evalnb import __version__

        identity = {"system": "workspace", "evalnb": __version__, "tantivy": TANTIVY}
        identity |= installed_versions()
        identity |= parts.model_identities() if parts else {}
        rerankers = {*self._given_rerankers, settings.hints.reranker or DEFAULT_RERANKER}
        for name in sorted(rerankers):
            known = reranker_identity(name, self._given_rerankers)
            identity |= {f"{name}.{key}": value for key, value in known.items()}
        return identity

    def check(self, controls: Controls) -> None:
        """Refuse controls that the active snapshot cannot execute.

        Raises
        ------
        CapabilityError
            With what is missing and the command that builds it.
        """
        parts = self._parts(self.snapshot(), offline=self.settings.offline)
        check_controls(controls, parts)

    def check_offline(self, controls: Controls) -> None:
        """Refuse a text index or a reranker that needs the network.

        Raises
        ------
        CapabilityError
            Naming it.
        """
        check_controls(controls, self._parts(self.snapshot(), offline=True))

    def open(self, context: SearchContext) -> WorkspaceSession:
        """Open a session on the context's snapshot, or on the active one.

        Raises
        ------
        NotFoundError
            If there is no such snapshot.
        """
        settings, snapshot = self.settings, self.snapshot(context.snapshot_id)
        parts = self._parts(snapshot, offline=context.offline or settings.offline)
        return WorkspaceSession(parts, context.scope, settings)

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
        prune: bool = False,
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
        prune
            Leave documents of the same sources that are not there any more out of the new
            snapshot; otherwise they stay, and are counted.

        Raises
        ------
        BusyError
            If another process changes the workspace.
        BadInputError
            If a path is not there, or a file of records is wrong.
        """
        found = read_paths([Path(path) for path in paths], source_key=source)
        return self._filled(
            found, settings or {}, build=build, prune=(source,) if prune else (), progress=progress
        )

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
        prune: tuple[str, ...] = (),
        progress: Progress | None = None,
    ) -> IngestReport:
        with self._writing() as store:
            current = changed_settings(self.settings, dict(settings))
            ingested = ingest(store, found, prune=prune, progress=progress)
            snapshot = create_snapshot(store, current.chunking)
            name = current.lexical_index if build else None
            if name is not None:
                build_index(self.folder, store, index_inputs(name, snapshot))
            self._configured(settings)
            activate_snapshot(store, snapshot.snapshot_id)
        return IngestReport(ingested, snapshot, name)

    def index(self, name: str | None = None, *, progress: Progress | None = None) -> bool:
        """Build an index over the active snapshot: the configured lexical one, or one by name.

        Vectors of texts that were embedded before are used again; a stopped build goes on.

        Parameters
        ----------
        name
            Such as ``lexical:stem-de``, ``text:lsa-256``, ``text:minilm-l6-v2-int8``,
            ``text:onnx:DIR`` or ``text:openai:NAME``.

        Returns
        -------
        bool
            Whether it was built now; false if a sound one was there.

        Raises
        ------
        BadInputError
            If no index has this name.
        MissingExtraError
            If its model needs an extra that is not installed.
        CapabilityError
            If its model cannot be loaded or called, or is another one than before.
        SearchFailedError, SearchTimeoutError
            If its model fails; what it gave until then is kept for the next attempt.
        BusyError
            If another process changes the workspace.
        """
        with self._writing() as store:
            inputs = self._inputs(name, pinned_snapshot(store))
            self._parts(inputs.snapshot, offline=self.settings.offline).admit(inputs)
            self._indexes.pop(inputs.folder(self.folder), None)
            return build_index(self.folder, store, inputs, progress=progress)

    def _inputs(self, name: str | None, snapshot: Snapshot) -> IndexInputs:
        return index_inputs(name or self.settings.lexical_index, snapshot, self._embedders)

    def index_manifest(self, name: str | None = None) -> dict[str, Any]:
        """Return what the manifest of an index over the active snapshot says.

        Raises
        ------
        NotFoundError
            If it was not built.
        """
        inputs = self._inputs(name, self.snapshot())
        for folder, manifest in manifests(self.folder):
            if folder == inputs.folder(self.folder):
                return manifest
        raise NotFoundError(
            f"the active snapshot has no index {inputs.name}", remedy=inputs.command(self.folder)
        )

    def text_index(self, name: str | None = None) -> TextIndex:
        """Open a text index over the active snapshot, as a search would that names it."""
        chosen = Hints(text_index=name or self.settings.hints.text_index)
        return self._parts(self.snapshot()).text(chosen)

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
            clear_unfinished(self.folder)
            yield store

    def _parts(self, snapshot: Snapshot, *, offline: bool = False) -> Parts:
        return Parts(
            root=self.folder,
            snapshot=snapshot,
            read_index=self._read_index,
            rerankers=self._given_rerankers,
            embedders=self._embedders,
            loaded=self._rerankers,
            offline=offline,
        )

    def _active_parts(self) -> Parts | None:
        active = self.active_snapshot_id()
        return None if active is None else self._parts(self.snapshot(active))

    def _read_index(self, inputs: IndexInputs) -> Index:
        """Open an index once; every byte of it is verified then."""
        folder = inputs.folder(self.folder)
        if folder not in self._indexes:
            self._indexes[folder] = open_index(self.folder, inputs)
        return self._indexes[folder]

    def resolve_scope(
        self, source_keys: Iterable[str] = (), documents: Iterable[str] = ()
    ) -> Scope:
        """Turn names into a scope: knowledge bases by key or id, documents by name or id.

        A document's name is its path, or the last part of it; several documents may share one.

        Raises
        ------
        NotFoundError
            If a name is unknown, with the names near it.
        """
        with Store(self.folder) as store, store.explained():
            return resolve_scope(store, source_keys, documents)


def open_workspace(
    folder: str | Path,
    *,
    create: bool = False,
    rerankers: Mapping[str, RerankFunction] | None = None,
) -> Workspace:
    """Open the workspace in a folder, or make an empty one there.

    Parameters
    ----------
    rerankers
        Functions that hints may name as rerankers; see :class:`Workspace`.

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
    return Workspace(root, rerankers=rerankers)
