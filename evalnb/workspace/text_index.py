"""Text indexes: one vector a unit, searched exactly."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from evalnb.errors import BadInputError
from evalnb.search.ids import PREFIXES
from evalnb.search.result import Candidates
from evalnb.workspace.eligibility import Eligibility
from evalnb.workspace.embedding import COLUMNS, DIGESTS, MATRIX, VectorJournal, embed, load_vectors
from evalnb.workspace.encoders import Embedder, Encoder, load_encoder
from evalnb.workspace.endpoint import (
    OPENAI,
    PROBE_FILE,
    EndpointEncoder,
    confirm_reuse,
    find_embedder,
    is_endpoint,
)
from evalnb.workspace.index_folders import IndexInputs, publish_index
from evalnb.workspace.lexical_index import ID_BYTES, UNITS, digest_of, unit_ids
from evalnb.workspace.locate import UnitRow, unit_rows
from evalnb.workspace.lsa import LSA_SETTINGS, fit_lsa, load_lsa
from evalnb.workspace.models import MINILM, RUNTIME, canonical_model_name, find_model, is_folder
from evalnb.workspace.snapshot import Snapshot
from evalnb.workspace.store import Progress, Store
from evalnb.workspace.vectors import (
    OWNERS,
    Floats,
    Ints,
    Owners,
    Vectors,
    best_places,
    create_matrix,
    save_array,
)

TEXT = "text:"
LSA = f"{TEXT}lsa-256"
TEXT_NAMES = f"{LSA}, {TEXT}{MINILM}, {TEXT}onnx:DIR, {TEXT}{OPENAI}NAME"
OWNER_CODES, OWNER_VALUES = "owners.npy", "owners.json"
TEXT_FILES = (UNITS, DIGESTS, COLUMNS, MATRIX, OWNER_CODES, OWNER_VALUES)
# What a unit's vector is made of. Titles and headings often name what a passage only refers to.
_INPUT = "title and headings, then text"
_COLUMNS_AT_ONCE = 4_096  # a vector by itself would touch every page of the matrix


@dataclass(frozen=True, slots=True)
class TextIndex:
    """An open, verified index over the units of one snapshot."""

    name: str
    identity: str
    encoder: Encoder
    vectors: Vectors
    owners: Owners
    units: bytes

    def unit_vectors(self) -> Iterator[tuple[str, str, Floats]]:
        """Yield every unit's id, source id and vector, in the order of ids."""
        sources = list(self.owners.values[0])
        columns = self.vectors.columns
        ids = unit_ids(self.units, range(len(columns)))
        for unit_id, source, column in zip(ids, self.owners.codes[0], columns, strict=True):
            yield unit_id, sources[source], self.vectors.matrix[:, column]

    def top(self, text: str, eligible: Eligibility, limit: int) -> Candidates:
        """Return the nearest units that may be returned with their cosines, ties by unit id.

        Nothing is found where no unit may be, or where the text has no vector; the first of these
        asks no encoder.
        """
        admitted = self.owners.admitted(eligible)
        if admitted is not None and not admitted.any():
            return Candidates()
        (query,) = self.encoder.encode([text], "query")
        if not query.any():
            return Candidates()
        scores = self.vectors.scores(query)
        places = best_places(scores, limit, admitted=admitted).tolist()
        return Candidates.model_construct(
            ids=tuple(unit_ids(self.units, places)), scores=tuple(scores[places].tolist())
        )


def canonical_text_index(name: str) -> str:
    """Return the one spelling of a text index's name; a model's folder becomes a whole path.

    Raises
    ------
    BadInputError
        If no text index has this name.
    """
    model = name.removeprefix(TEXT)
    if name in (LSA, f"{TEXT}{MINILM}") or (name.startswith(TEXT) and is_endpoint(model)):
        return name
    if not name.startswith(TEXT) or not is_folder(model):
        raise BadInputError(f"no text index is called {name!r}", remedy=f"one of {TEXT_NAMES}")
    return f"{TEXT}{canonical_model_name(model)}"


def text_inputs(
    name: str, snapshot: Snapshot, embedders: Mapping[str, Embedder] = MappingProxyType({})
) -> IndexInputs:
    """Say what a text index over a snapshot is built from.

    Parameters
    ----------
    embedders
        Models behind the network, by the name that follows ``text:openai:``.

    Raises
    ------
    BadInputError, MissingExtraError, NotFoundError, CapabilityError
        If no index has this name, or its model is not there as it has to be.
    """
    name = canonical_text_index(name)
    if name == LSA:
        return IndexInputs(name, name, {"input": _INPUT, **LSA_SETTINGS}, snapshot)
    model = name.removeprefix(TEXT)
    # A name that the user gave, or a folder's place on this machine, is no input: the model is.
    if is_endpoint(model):
        embedder = find_embedder(model, embedders)
        settings = {"input": _INPUT, **embedder.identity}
        return IndexInputs(name, f"{TEXT}{OPENAI}", settings, snapshot, embedder)
    family = f"{TEXT}onnx" if is_folder(model) else name
    return IndexInputs(name, family, {"input": _INPUT, **find_model(model).settings()}, snapshot)


def write_text_index(root: Path, store: Store, inputs: IndexInputs, progress: Progress) -> None:
    """Embed every unit and publish the index; the caller holds the workspace's lock.

    Raises
    ------
    SearchFailedError
        If the model fails; what it gave until then is kept for the next attempt.
    OSError
        If the disk is full; nothing is published then.
    """
    corpus = _Corpus.read(store, inputs.snapshot)
    progress(inputs.snapshot.n_units - len(corpus.texts))
    if inputs.name == LSA:
        publish_index(root, inputs, lambda folder: _write_lsa(folder, corpus, progress))
        return
    encoder = (
        load_encoder(find_model(inputs.name.removeprefix(TEXT)))
        if inputs.embedder is None
        else EndpointEncoder(inputs.name, inputs.embedder)
    )
    with VectorJournal(root, inputs.settings, encoder.dimensions) as journal:
        if isinstance(encoder, EndpointEncoder):
            confirm_reuse(encoder, root, inputs.settings, journal)
        rows = embed(
            root, inputs.settings, encoder, corpus.texts, journal=journal, progress=progress
        )

        def write(folder: Path) -> dict[str, Any]:
            corpus.write(folder, rows)
            written: dict[str, Any] = {"dimensions": rows.shape[1]}
            if isinstance(encoder, EndpointEncoder):
                save_array(folder / PROBE_FILE, encoder.probe)
                return written
            versions = {package: version(package) for package in RUNTIME}
            n_truncated = encoder.n_truncated(corpus.texts.values())
            return {**written, "n_truncated": n_truncated, **versions}

        publish_index(root, inputs, write)


def load_text_index(
    folder: Path, manifest: Mapping[str, Any], *, embedder: Embedder | None = None
) -> TextIndex:
    """Open a verified folder.

    Raises
    ------
    ValueError
        If its parts do not fit together.
    """
    name, units = manifest["name"], (folder / UNITS).read_bytes()
    vectors = load_vectors(folder)
    codes = np.load(folder / OWNER_CODES, allow_pickle=False)
    n_units = manifest["n_units"]
    if len(units) != n_units * ID_BYTES or codes.shape != (len(OWNERS), n_units):
        raise ValueError(f"it does not hold {n_units:,} units")
    vectors.check(n_units, manifest["dimensions"])
    values = json.loads((folder / OWNER_VALUES).read_bytes())
    encoder: Encoder
    if embedder is not None:
        probe = np.load(folder / PROBE_FILE, allow_pickle=False)
        encoder = EndpointEncoder(name, embedder, probe=probe)
    elif name == LSA:
        encoder = load_lsa(folder)
    else:
        encoder = load_encoder(find_model(name.removeprefix(TEXT)))
    if encoder.dimensions != manifest["dimensions"]:
        raise ValueError(
            f"the vectors have {manifest['dimensions']} dimensions, the model {encoder.dimensions}"
        )
    return TextIndex(
        name,
        folder.name,
        encoder,
        vectors,
        Owners(codes, tuple({value: code for code, value in enumerate(v)} for v in values)),
        units,
    )


@dataclass(frozen=True, slots=True)
class _Corpus:
    """The units of a snapshot in id order; equal texts stand once, by their digests."""

    units: bytes
    digests: list[bytes]
    texts: dict[bytes, str]
    codes: Ints
    values: list[list[str]]

    @classmethod
    def read(cls, store: Store, snapshot: Snapshot) -> _Corpus:
        units, digests = bytearray(), []
        texts: dict[bytes, str] = {}
        known: tuple[dict[str, int], ...] = tuple({} for _ in OWNERS)
        codes = np.empty((len(OWNERS), snapshot.n_units), dtype=np.int32)
        for at, unit in enumerate(unit_rows(store, snapshot)):
            text = _input(unit)
            digest = hashlib.sha256(text.encode()).digest()
            texts.setdefault(digest, text)
            digests.append(digest)
            units += digest_of(unit.unit_id, PREFIXES["unit"])
            of = unit.document
            owners = (of.source_id, of.document_id, of.revision_id, of.modality)
            codes[:, at] = [
                by.setdefault(owner, len(by)) for by, owner in zip(known, owners, strict=True)
            ]
        return cls(bytes(units), digests, texts, codes, [list(by) for by in known])

    def write(self, folder: Path, rows: Floats) -> None:
        """Write everything but what is the encoder's own; ``rows`` has a vector a text."""
        place = {digest: at for at, digest in enumerate(self.texts)}
        shared: dict[bytes, int] = {}
        of_text = [shared.setdefault(row.tobytes(), len(shared)) for row in rows]
        columns = np.array([of_text[place[digest]] for digest in self.digests], dtype=np.int32)
        kept = np.unique(np.array(of_text, dtype=np.intp), return_index=True)[1]
        matrix = create_matrix(folder / MATRIX, (rows.shape[1], len(kept)))
        for start in range(0, len(kept), _COLUMNS_AT_ONCE):
            some = slice(start, start + _COLUMNS_AT_ONCE)
            matrix[:, some] = rows[kept[some]].T
        matrix.flush()
        save_array(folder / COLUMNS, columns)
        save_array(folder / OWNER_CODES, self.codes)
        (folder / OWNER_VALUES).write_text(json.dumps(self.values), encoding="utf-8")
        (folder / UNITS).write_bytes(self.units)
        (folder / DIGESTS).write_bytes(b"".join(self.digests))


def _input(unit: UnitRow) -> str:
    return f"{unit.above}\n{unit.text}" if unit.above else unit.text


def _write_lsa(folder: Path, corpus: _Corpus, progress: Progress) -> dict[str, Any]:
    texts = list(corpus.texts.values())
    encoder = fit_lsa(texts)
    rows = np.empty((len(texts), encoder.dimensions), dtype=np.float32)
    for place, vector in enumerate(encoder.encode(texts, "passage")):
        rows[place] = vector
        progress(1)
    encoder.save(folder)
    corpus.write(folder, rows)
    return {"dimensions": rows.shape[1], "scikit-learn": version("scikit-learn")}
