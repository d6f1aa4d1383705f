"""The indexes of a workspace by name: each family is written and loaded in its own way."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType

from evalnb.errors import CapabilityError
from evalnb.workspace.encoders import Embedder
from evalnb.workspace.index_folders import IndexInputs, open_verified, publish_index
from evalnb.workspace.lexical_index import (
    LEXICAL_FILES,
    LexicalIndex,
    lexical_inputs,
    load_lexical_index,
    write_lexical_index,
)
from evalnb.workspace.snapshot import Snapshot
from evalnb.workspace.store import Progress, Store
from evalnb.workspace.text_index import (
    TEXT,
    TEXT_FILES,
    TextIndex,
    load_text_index,
    text_inputs,
    write_text_index,
)

Index = LexicalIndex | TextIndex


def index_inputs(
    name: str, snapshot: Snapshot, embedders: Mapping[str, Embedder] = MappingProxyType({})
) -> IndexInputs:
    """Say what an index over a snapshot is built from.

    Raises
    ------
    BadInputError
        If no index has this name; for a text index also as :func:`text_inputs` does.
    """
    if name.startswith(TEXT):
        return text_inputs(name, snapshot, embedders)
    return lexical_inputs(name, snapshot)


def build_index(
    root: Path, store: Store, inputs: IndexInputs, *, progress: Progress | None = None
) -> bool:
    """Build an index, unless a sound one is there; the caller holds the workspace's lock.

    Returns
    -------
    bool
        Whether it was built now.

    Raises
    ------
    LimitExceededError
        If the corpus does not fit.
    OSError
        If the disk is full; nothing is published then.
    """
    with suppress(CapabilityError):
        open_index(root, inputs)
        return False
    report = progress or (lambda _: None)
    if inputs.name.startswith(TEXT):
        write_text_index(root, store, inputs, report)
    else:
        publish_index(
            root, inputs, lambda folder: write_lexical_index(folder, store, inputs, report)
        )
    return True


def open_index(root: Path, inputs: IndexInputs) -> Index:
    """Open an index after checking every byte of it.

    Raises
    ------
    CapabilityError
        If it is missing, damaged or another one's, with the command that builds it.
    """
    if inputs.name.startswith(TEXT):
        load = partial(load_text_index, embedder=inputs.embedder)
        return open_verified(root, inputs, load, files=TEXT_FILES)
    return open_verified(root, inputs, load_lexical_index, files=LEXICAL_FILES)
