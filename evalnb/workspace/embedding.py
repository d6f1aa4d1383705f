"""Embedding a corpus: what was embedded before is used again, and a stopped build goes on."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np

from evalnb.workspace.encoders import Encoder
from evalnb.workspace.index_folders import manifests, verify_files
from evalnb.workspace.store import Progress
from evalnb.workspace.vectors import Floats, Vectors

DIGESTS, COLUMNS, MATRIX = "texts.bin", "columns.npy", "vectors.npy"
_DIGEST_BYTES = 32


class VectorJournal:
    """Vectors of a build that has not finished, one record each: text digest, vector, checksum.

    A build that was killed, or met a full disk, goes on after the last whole record.
    """

    def __init__(self, root: Path, settings: Mapping[str, Any], dimensions: int) -> None:
        key = hashlib.sha256(json.dumps(dict(settings), sort_keys=True).encode()).hexdigest()[:16]
        self.path = root / "indexes" / f".embedding-{key}"
        self.path.parent.mkdir(exist_ok=True)
        self._record = np.dtype(
            [("text", f"V{_DIGEST_BYTES}"), ("vector", "<f4", (dimensions,)), ("check", "<u4")]
        )
        self.kept = self._read()
        self._file = self.path.open("ab", buffering=0)
        self._file.truncate(len(self.kept) * self._record.itemsize)

    def _read(self) -> list[tuple[bytes, Floats]]:
        if not self.path.exists():
            return []
        size = self.path.stat().st_size // self._record.itemsize
        kept = []
        for record in np.fromfile(self.path, dtype=self._record, count=size):
            digest, vector = record["text"].tobytes(), record["vector"]
            if zlib.crc32(vector.tobytes(), zlib.crc32(digest)) != record["check"]:
                break
            kept.append((digest, vector))
        return kept

    def append(self, digest: bytes, vector: Floats) -> None:
        """Keep one vector."""
        record = np.empty(1, dtype=self._record)
        record["text"] = np.void(digest)
        record["vector"] = vector
        record["check"] = zlib.crc32(vector.astype("<f4").tobytes(), zlib.crc32(digest))
        self._file.write(record.tobytes())

    def close(self, *, remove: bool) -> None:
        """Stop writing; a finished build has no use for it."""
        self._file.close()
        if remove:
            self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *failure: object) -> None:
        self.close(remove=kind is None)


def embed(
    root: Path,
    settings: Mapping[str, Any],
    encoder: Encoder,
    texts: Mapping[bytes, str],
    *,
    journal: VectorJournal,
    progress: Progress,
) -> Floats:
    """Return the vector of every text, by the digest of the text.

    Vectors come from the journal, from published indexes of the same settings, else from the model.

    Parameters
    ----------
    texts
        Texts by their digests.
    progress
        Called with the number of texts done since.

    Returns
    -------
    ndarray of shape (len(texts), dimensions)
        In the order of ``texts``.

    Raises
    ------
    SearchFailedError
        If the model fails.
    """
    rows = np.empty((len(texts), encoder.dimensions), dtype=np.float32)
    missing = {digest: place for place, digest in enumerate(texts)}
    for digest, vector in journal.kept:
        if (place := missing.pop(digest, None)) is not None:
            rows[place] = vector
    for digests, vectors in _published(root, settings, encoder.dimensions):
        for digest, column in zip(digests, vectors.columns, strict=True):
            if (place := missing.pop(digest, None)) is not None:
                rows[place] = vectors.matrix[:, column]
    progress(len(texts) - len(missing))
    wanted = [texts[digest] for digest in missing]
    made = encoder.encode(wanted, "passage")
    for (digest, place), vector in zip(missing.items(), made, strict=True):
        rows[place] = vector
        journal.append(digest, vector)
        progress(1)
    return rows


def load_vectors(folder: Path) -> Vectors:
    """Map the vectors of an index into memory."""
    matrix = np.load(folder / MATRIX, mmap_mode="r", allow_pickle=False)
    return Vectors(np.asarray(matrix), np.load(folder / COLUMNS, allow_pickle=False))


def _published(
    root: Path, settings: Mapping[str, Any], dimensions: int
) -> Iterator[tuple[list[bytes], Vectors]]:
    for folder, manifest in manifests(root):
        if manifest["settings"] != dict(settings):
            continue
        try:
            verify_files(folder, manifest, (DIGESTS, COLUMNS, MATRIX))
            vectors = load_vectors(folder)
            data = (folder / DIGESTS).read_bytes()
            vectors.check(len(data) // _DIGEST_BYTES, dimensions)
        except (OSError, ValueError, KeyError, TypeError):  # damaged: they are made again
            continue
        starts = range(0, len(data), _DIGEST_BYTES)
        yield [data[at : at + _DIGEST_BYTES] for at in starts], vectors
