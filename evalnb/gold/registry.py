"""Registered gold: one immutable version under each dataset_id, stored by its digest.

``REGISTRY/DATASET_ID/VERSION_SHA/`` is a gold directory like any other, its files read-only.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

from evalnb.errors import BadInputError, GoldError, NotFoundError
from evalnb.files import read_bounded, write_folder
from evalnb.gold.cases import GoldDataset
from evalnb.gold.dataset import (
    CASES,
    MANIFEST,
    Manifest,
    check_dataset_id,
    load_gold_dir,
    verify_gold_dir,
)
from evalnb.limits import CASES_BYTES, MANIFEST_BYTES
from evalnb.strict_json import load_strict
from evalnb.wording import near_names


def default_registry() -> Path:
    """Return the user's own registry, in the data folder of the XDG rules."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "evalnb" / "gold"


def register_gold(path: str | Path, registry: str | Path | None = None) -> Path:
    """Copy a gold directory into a registry, byte for byte, after checking it.

    Registering the same bytes again changes nothing.

    Returns
    -------
    Path
        The registered gold directory.

    Raises
    ------
    GoldError, NotFoundError, LimitExceededError
        As :func:`~evalnb.gold.dataset.load_gold_dir`.
    BadInputError
        If the id is taken by other bytes.
    """
    folder, home = Path(path), default_registry() if registry is None else Path(registry)
    manifest, _ = verify_gold_dir(folder)
    place = home / manifest.dataset_id
    if not place.exists():
        cases = read_bounded(folder / CASES, bound=CASES_BYTES, what=CASES)
        if sha256(cases).hexdigest() != manifest.version_sha:
            raise GoldError("the file changed while it was read", where=str(folder / CASES))
        pinned = manifest.to_bytes()
        version = manifest.version_sha
        try:
            write_folder(place, {f"{version}/{CASES}": cases, f"{version}/{MANIFEST}": pinned})
        except OSError:
            if not place.exists():
                raise  # else another process was first: what it registered is compared below
        else:
            for file in (place / version).iterdir():
                file.chmod(0o444)
    _refuse_other(place, manifest)
    return place / manifest.version_sha


def _refuse_other(place: Path, manifest: Manifest) -> None:
    """Refuse an id under which something else is registered."""
    for found in _versions(place):
        data = read_bounded(found / MANIFEST, bound=MANIFEST_BYTES, what=MANIFEST)
        if (registered := load_strict(Manifest, data, where=str(found))) != manifest:
            raise BadInputError(
                f"the id {manifest.dataset_id!r} is registered for version "
                f"{registered.version_sha}, named {registered.name!r}",
                where=str(place),
                remedy="a registered set never changes: pin this one under an id of its own "
                "(evalnb gold pin DIR --id NEW)",
            )


def _versions(place: Path) -> list[Path]:
    """List the gold directories under an id; what a file manager leaves there is none."""
    return [found for found in place.iterdir() if (found / MANIFEST).is_file()]


def load_registered(dataset_id: str, registry: str | Path | None = None) -> GoldDataset:
    """Load a registered set by its id, every byte checked against its digest.

    Raises
    ------
    NotFoundError
        If none has this id, naming those near it.
    BadInputError
        If it is no dataset_id.
    """
    home = default_registry() if registry is None else Path(registry)
    try:
        place = home / check_dataset_id(dataset_id)
    except ValueError as error:
        raise BadInputError(str(error)) from error
    if not place.is_dir():
        known = [entry.name for entry in home.iterdir()] if home.is_dir() else []
        raise NotFoundError(
            f"no gold is registered as {dataset_id!r}{near_names(dataset_id, known)}",
            where=str(home),
            remedy="evalnb gold register DIR",
        )
    versions = _versions(place)
    if len(versions) != 1:
        raise GoldError(
            f"expected one registered version, found {len(versions)}",
            where=str(place),
            remedy="evalnb gold register DIR puts it back" if not versions else None,
        )
    return load_gold_dir(versions[0])
