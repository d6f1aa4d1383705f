"""What a search on one snapshot reads: its indexes and rerankers, chosen by hints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalnb.errors import CapabilityError
from evalnb.search.request import Configuration, Hints
from evalnb.workspace.encoders import Embedder
from evalnb.workspace.endpoint import OPENAI
from evalnb.workspace.index_folders import IndexInputs, built_manifests
from evalnb.workspace.indexes import Index, index_inputs
from evalnb.workspace.lexical_index import LexicalIndex
from evalnb.workspace.models import required
from evalnb.workspace.rerank import (
    DEFAULT_RERANKER,
    Reranker,
    RerankFunction,
    find_reranker,
    reranker_digest,
)
from evalnb.workspace.settings import chosen_lexical_index
from evalnb.workspace.snapshot import Snapshot
from evalnb.workspace.text_index import LSA, TEXT, TEXT_NAMES, TextIndex, canonical_text_index

# Of an index's settings: what its model is known by, on this machine or behind the network.
_FILES = ("model_sha256", "tokenizer_sha256")
_MODEL_KEYS = (*_FILES, "url", "model", "parameters", "prompts", "version")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The indexes of one snapshot, and rerankers; each is opened when it is first asked for.

    Attributes
    ----------
    read_index
        Opens an index once; every byte of it is verified then.
    rerankers, embedders
        Functions that were given to the workspace, by name.
    loaded, opened
        Rerankers and lexical indexes that were asked for before, by name.
    offline
        Whether nothing may call a network provider.
    """

    root: Path
    snapshot: Snapshot
    read_index: Callable[[IndexInputs], Index]
    rerankers: Mapping[str, RerankFunction] = field(default_factory=dict)
    embedders: Mapping[str, Embedder] = field(default_factory=dict)
    loaded: dict[str, Reranker] = field(default_factory=dict)
    opened: dict[str, LexicalIndex] = field(default_factory=dict)
    offline: bool = False

    def lexical(self, hints: Hints) -> LexicalIndex:
        """Open the lexical index that hints name.

        Raises
        ------
        CapabilityError
            If it is missing or damaged, with the command that builds it.
        """
        name = chosen_lexical_index(hints)
        if name not in self.opened:  # its identity alone takes as long as a search
            index = self.read_index(index_inputs(name, self.snapshot))
            assert isinstance(index, LexicalIndex)
            self.opened[name] = index
        return self.opened[name]

    def text(self, hints: Hints) -> TextIndex:
        """Open the text index that hints name, else the only one of the snapshot.

        Raises
        ------
        CapabilityError
            If it is missing or damaged, its model is not there or may not be called, or none is
            named and there are several.
        """
        name = canonical_text_index(hints.text_index or self._only_text_index())
        with required():
            inputs = index_inputs(name, self.snapshot, self.embedders)
            self.admit(inputs)
            index = self.read_index(inputs)
        assert isinstance(index, TextIndex)
        return index

    def admit(self, inputs: IndexInputs) -> None:
        """Refuse an index whose model is behind the network and cannot, or may not, be called.

        Raises
        ------
        CapabilityError
            With what is missing; nothing is called.
        """
        if inputs.embedder is None:
            return
        if self.offline:
            raise CapabilityError(
                f"{inputs.name} embeds over the network, and offline is set",
                remedy="choose another one with hints.text_index",
            )
        inputs.embedder.check()

    def reranker(self, hints: Hints) -> Reranker:
        """Load the reranker that hints name, else ``maxsim``.

        Raises
        ------
        CapabilityError
            If it is not there, or may not be called.
        """
        name = hints.reranker or DEFAULT_RERANKER
        if name not in self.loaded:
            with required():
                self.loaded[name] = find_reranker(name, self.rerankers)
        found = self.loaded[name]
        if self.offline and found.needs_network:
            raise CapabilityError(
                f"reranker {name} needs the network, and the request is offline",
                remedy="choose another one with hints.reranker",
            )
        return found

    def reranker_identities(self) -> dict[str, str]:
        """Return a digest for each reranker that was loaded, by ``reranker:NAME``."""
        return {f"reranker:{name}": reranker_digest(found) for name, found in self.loaded.items()}

    def used_embedders(self) -> list[Embedder]:
        """Return the models behind the network that a text index of the snapshot asks."""
        built = self.text_indexes()
        return [f for name, f in self.embedders.items() if f"{TEXT}{OPENAI}{name}" in built]

    def text_indexes(self) -> list[str]:
        """Return the names of the snapshot's text indexes."""
        return [str(manifest["name"]) for manifest in self._manifests()]

    def model_identities(self) -> dict[str, str]:
        """Return what the models are known by that the snapshot's text indexes were built with."""
        return {
            f"{manifest['name']}.{key}": str(manifest["settings"][key])
            for manifest in self._manifests()
            for key in _MODEL_KEYS
            if key in manifest["settings"]
        }

    def _manifests(self) -> list[dict[str, Any]]:
        built = built_manifests(self.root, self.snapshot)
        return [manifest for manifest in built if str(manifest["name"]).startswith(TEXT)]

    def _only_text_index(self) -> str:
        built = self.text_indexes()
        if len(built) == 1:
            return built[0]
        if not built:
            raise CapabilityError(
                "no text index in this snapshot",
                where=str(self.root),
                remedy=f"build one with: evalnb index {LSA} --workspace {self.root} "
                f"({TEXT_NAMES} can be built)",
            )
        raise CapabilityError(
            f"{len(built)} text indexes in this snapshot, and none is chosen: {', '.join(built)}",
            where=str(self.root),
            remedy="choose one with hints.text_index, or with: evalnb config set hints.text_index "
            f"{built[0]} --workspace {self.root}",
        )

    def configured(self, configuration: Configuration) -> Configuration:
        """Write what a search falls back on into its defaults, so that a report's controls say it.

        That is the reranker, and the text index where there is only one.
        """
        built = self.text_indexes()
        only = built[0] if len(built) == 1 else None
        hints = Hints(reranker=DEFAULT_RERANKER, text_index=only).merged(configuration.hints)
        return configuration.model_copy(update={"hints": hints})
