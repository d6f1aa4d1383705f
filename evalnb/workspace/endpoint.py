"""Encoders behind the network: called in batches, and watched for being the same model still."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from evalnb.errors import CapabilityError, NotFoundError
from evalnb.workspace.embedding import VectorJournal
from evalnb.workspace.encoders import Embedder, Floats, Role, unit_length
from evalnb.workspace.index_folders import manifests

OPENAI = "openai:"
PROBE_FILE = "probe.npy"
BATCH = 64  # texts in one call; what a failed call would have given is all that is lost
_PROBE = "The same text gets the same vector, as long as the same model answers."
_SAME = 0.99  # hardware and batches move a cosine by less; another model's is far off


class EndpointEncoder:
    """An encoder for one text index.

    Parameters
    ----------
    probe
        The vector of a fixed text when the index was built; without one, it is asked for now. The
        first call of a search asks again, and nothing is searched with another model's vectors.
    """

    def __init__(self, name: str, embedder: Embedder, *, probe: Floats | None = None) -> None:
        self._name = name
        self._embedder = embedder
        self._confirmed = probe is None
        self.probe: Floats = self._asked([_PROBE], "query")[0] if probe is None else probe

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return len(self.probe)

    def encode(self, texts: Sequence[str], role: Role) -> Iterator[Floats]:
        """Yield the vector of each text, in order.

        Raises
        ------
        CapabilityError
            If another model answers than the one that made the index.
        SearchFailedError, SearchTimeoutError
            If the endpoint fails.
        """
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            confirms = role == "query" and not self._confirmed
            rows = self._asked([*batch, _PROBE] if confirms else batch, role)
            if rows.shape[1] != self.dimensions:
                self._refuse(f"{rows.shape[1]} and {self.dimensions} dimensions")
            if confirms:
                self.confirm(rows[-1])
                self._confirmed = True
            yield from rows[: len(batch)]

    def confirm(self, probe: Floats) -> None:
        """Compare a vector of the fixed text with this encoder's.

        Raises
        ------
        CapabilityError
            If two models made them.
        """
        if probe.shape != self.probe.shape:
            self._refuse(f"{len(probe)} and {self.dimensions} dimensions")
        if (cosine := float(probe @ self.probe)) < _SAME:
            self._refuse(f"cosine {cosine:.2f} for the same text")

    def _asked(self, texts: Sequence[str], role: Role) -> Floats:
        rows = self._embedder(texts, role)
        # By its largest number first: squares of very large or small ones are not in 32 bits.
        return unit_length(rows / np.abs(rows).max(axis=1, keepdims=True))

    def _refuse(self, difference: str) -> NoReturn:
        raise CapabilityError(
            f"another model answers as {self._name} than the one that made its vectors: "
            f"{difference}",
            where=self._embedder.identity.get("url"),
            remedy=f"give its setting under encoders another version, and build {self._name} again",
        )


def is_endpoint(model: str) -> bool:
    """Say whether a model's name is ``openai:NAME``."""
    return model.startswith(OPENAI) and model != OPENAI and model.isprintable()


def find_embedder(model: str, given: Mapping[str, Embedder]) -> Embedder:
    """Return what stands for ``openai:NAME``.

    Raises
    ------
    NotFoundError
        If nothing does, with the command that sets it.
    """
    name = model.removeprefix(OPENAI)
    if name not in given:
        known = f"; set: {', '.join(sorted(given))}" if given else ""
        raise NotFoundError(
            f"there is no encoder {name!r}{known}",
            remedy=f"evalnb config set encoders.{name} '{{\"url\": ...}}' --workspace DIR",
        )
    return given[name]


def confirm_reuse(
    encoder: EndpointEncoder, root: Path, settings: Mapping[str, Any], journal: VectorJournal
) -> None:
    """Refuse to mix vectors that are kept with those of another model, and mark the journal.

    Raises
    ------
    CapabilityError
        If what would be used again is another model's.
    """
    for folder, manifest in manifests(root):
        probe = folder / PROBE_FILE
        if manifest["settings"] == dict(settings) and probe.exists():
            encoder.confirm(np.load(probe, allow_pickle=False))
    if journal.kept:
        encoder.confirm(journal.kept[0][1])
    else:
        journal.append(hashlib.sha256(_PROBE.encode()).digest(), encoder.probe)
