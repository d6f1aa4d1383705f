"""Folders of indexes: written beside, published by one rename, verified before they answer.

A folder ``indexes/NAME/IDENTITY/`` holds an index's files and ``manifest.json``, which has their
sizes and digests. The identity digests what went in (settings, unit ids, texts), never the bytes
that came out: some libraries give their files random names.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from evalnb.errors import CapabilityError, SearchFailedError
from evalnb.workspace.encoders import Embedder
from evalnb.workspace.snapshot import Snapshot

FORMAT = "evalnb-index@1"
MANIFEST = "manifest.json"
_FOLDER_BYTES = 200  # file systems allow 255

Opened = TypeVar("Opened")


@dataclass(frozen=True, slots=True)
class IndexInputs:
    """What one index is built from.

    Attributes
    ----------
    name
        What requests call it.
    family
        What stands for the name in the identity: the name, unless it holds a place on a disk.
    settings
        Everything else that decides what the index holds: analyzer, model digests.
    embedder
        What embeds, if it is behind the network.
    """

    name: str
    family: str
    settings: Mapping[str, Any]
    snapshot: Snapshot
    embedder: Embedder | None = None

    @property
    def identity(self) -> str:
        """The digest of the inputs."""
        inputs = {
            "format": FORMAT,
            "name": self.family,
            "settings": dict(self.settings),
            "units_sha256": self.snapshot.units_sha256,
        }
        return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:32]

    def folder(self, root: Path) -> Path:
        """Return where the index stands in a workspace, or would stand."""
        return root / "indexes" / folder_name(self.name) / self.identity

    def command(self, root: Path) -> str:
        """Say how the index is built."""
        command = ["evalnb", "index", self.name, "--workspace", str(root)]
        return f"build it with: {shlex.join(command)}"

    def manifest(self) -> dict[str, Any]:
        """Return what a manifest has to say of the inputs."""
        return {
            "format": FORMAT,
            "name": self.name,
            "identity": self.identity,
            "settings": dict(self.settings),
            "units_sha256": self.snapshot.units_sha256,
            "n_units": self.snapshot.n_units,
        }


def folder_name(name: str) -> str:
    """Return the name of an index's folder; one with a path, or too long, is digested.

    >>> folder_name("lexical:plain"), folder_name("text:onnx:/models/e5")
    ('lexical:plain', 'text:onnx-78dd69dc65557653')
    """
    if "/" not in name and len(name.encode()) <= _FOLDER_BYTES:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{':'.join(name.split(':')[:2])}-{digest}"


def publish_index(
    root: Path, inputs: IndexInputs, write: Callable[[Path], Mapping[str, Any]]
) -> None:
    """Write an index beside and put it in its place; the caller holds the workspace's lock.

    Parameters
    ----------
    write
        Fills an empty folder, and returns what the manifest says besides.

    Raises
    ------
    OSError
        If the disk is full; nothing is published then.
    """
    for stale in (root / "indexes").glob(".building-*"):
        shutil.rmtree(stale, ignore_errors=True)
    draft = root / "indexes" / f".building-{os.getpid()}"
    draft.mkdir(parents=True)
    try:
        manifest = {**inputs.manifest(), **write(draft), "files": _measure_files(draft)}
        (draft / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        _publish(draft, inputs.folder(root))
        _remove_superseded(root, inputs)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def open_verified(
    root: Path,
    inputs: IndexInputs,
    load: Callable[[Path, Mapping[str, Any]], Opened],
    *,
    files: tuple[str, ...],
) -> Opened:
    """Open an index after checking every byte of it against its manifest.

    Parameters
    ----------
    load
        Opens the folder, given its manifest; what it raises says that the index is damaged.
    files
        Names that the manifest must know.

    Raises
    ------
    CapabilityError
        If it is missing, damaged or another one's, with the command that builds it.
    """
    folder = inputs.folder(root)
    if not folder.is_dir():
        raise CapabilityError(
            f"the snapshot has no index {inputs.name}{_another_revision(root, inputs)}",
            where=str(root),
            remedy=inputs.command(root),
        )
    try:
        return load(folder, _verified(folder, inputs, files))
    except (OSError, ValueError, KeyError, TypeError, SearchFailedError) as error:
        raise CapabilityError(
            f"index {inputs.name} is damaged: {error}",
            where=str(folder),
            remedy=inputs.command(root),
        ) from error


def manifests(root: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield folder and manifest of every published index whose manifest can be read."""
    for path in sorted((root / "indexes").glob(f"*/*/{MANIFEST}")):
        try:
            manifest = json.loads(path.read_bytes())
        except (OSError, ValueError):  # whoever opens the index is told
            continue
        if isinstance(manifest, dict) and _is_of(manifest, path.parent):
            yield path.parent, manifest


def _is_of(manifest: dict[str, Any], folder: Path) -> bool:
    name, identity = manifest.get("name"), manifest.get("identity")
    return (
        isinstance(name, str)
        and (folder_name(name), identity) == (folder.parent.name, folder.name)
        and isinstance(manifest.get("settings"), dict)
    )


def built_manifests(root: Path, snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return the manifests of the indexes that were built for a snapshot."""
    return [
        manifest
        for _, manifest in manifests(root)
        if manifest.get("units_sha256") == snapshot.units_sha256
    ]


def built_indexes(root: Path, snapshot: Snapshot) -> dict[str, str]:
    """Return the identities of the indexes that were built for a snapshot, by name."""
    return {manifest["name"]: manifest["identity"] for manifest in built_manifests(root, snapshot)}


def _remove_superseded(root: Path, inputs: IndexInputs) -> None:
    """Remove what was built under the same name with other settings: nothing can open it."""
    for folder, manifest in manifests(root):
        same = (manifest["name"], manifest.get("units_sha256")) == (
            inputs.name,
            inputs.snapshot.units_sha256,
        )
        if same and folder != inputs.folder(root):
            shutil.rmtree(folder, ignore_errors=True)


def _another_revision(root: Path, inputs: IndexInputs) -> str:
    """Say that an index of this name is there, but was built with other settings."""
    for manifest in built_manifests(root, inputs.snapshot):
        if manifest["name"] == inputs.name:
            built = manifest["settings"]
            changed = [key for key, value in inputs.settings.items() if built.get(key) != value]
            return f" of today's model; the one there has another {', '.join(changed)}"
    return ""


def _verified(folder: Path, inputs: IndexInputs, files: tuple[str, ...]) -> dict[str, Any]:
    manifest = json.loads((folder / MANIFEST).read_bytes())
    if not isinstance(manifest, dict) or not isinstance(manifest.get("files"), dict):
        raise ValueError(f"{MANIFEST} is no manifest")
    for key, value in inputs.manifest().items():
        if manifest.get(key) != value:
            raise ValueError(f"{MANIFEST} says {key} {manifest.get(key)!r} instead of {value!r}")
    missing = [name for name in files if name not in manifest["files"]]
    if missing:
        raise ValueError(f"{MANIFEST} does not name {', '.join(missing)}")
    verify_files(folder, manifest, manifest["files"])
    return manifest


def verify_files(folder: Path, manifest: Mapping[str, Any], files: Iterable[str]) -> None:
    """Compare files with what a manifest says of them.

    Raises
    ------
    ValueError, OSError, KeyError
        For the first one that is not what was written.
    """
    for file_name in files:
        path, measured = folder / Path(file_name).name, manifest["files"][file_name]
        if path.stat().st_size != measured["bytes"] or _sha256(path) != measured["sha256"]:
            raise ValueError(f"{file_name} is not what was written")


def _measure_files(folder: Path) -> dict[str, dict[str, Any]]:
    return {
        path.name: {"bytes": path.stat().st_size, "sha256": _sha256(path)}
        for path in sorted(folder.iterdir())
        if path.suffix != ".lock"
    }


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _publish(draft: Path, target: Path) -> None:
    """Put a finished folder in its place; what stood there, damaged, gives way."""
    for path in draft.iterdir():
        _fsync(path)
    _fsync(draft)
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        damaged = draft.with_name(f".building-{os.getpid()}-damaged")
        target.rename(damaged)
        shutil.rmtree(damaged, ignore_errors=True)
    draft.rename(target)
    _fsync(target.parent)


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
