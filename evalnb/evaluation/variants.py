"""The variants file: read, and extended by what was found worth keeping."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evalnb.errors import BadInputError
from evalnb.evaluation.request import VARIANTS_FORMAT, Variant, VariantsFile
from evalnb.files import explained, no_gold, read_bounded, stands, write_file
from evalnb.limits import CASES_BYTES
from evalnb.strict_json import load_strict, parse_strict


def load_variants(path: Path) -> VariantsFile:
    """Read a variants file.

    Raises
    ------
    BadInputError
        If it is none, naming the field and what was found there.
    """
    return _read(path)[1]


def keep_variant(path: Path, variant: Variant) -> str:
    """Add a variant to a file, which is made if it is not there; nothing in it is lost.

    Returns
    -------
    str
        The name it was kept under: its own, or with a number if another variant has that.

    Raises
    ------
    BadInputError
        If what stands there is no variants file, or cannot be written.
    """
    entry = variant.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    remedy = "name a file in a folder that you may write to"
    with explained("cannot be written", path, remedy=remedy), _alone(path.parent):
        written: dict[str, Any] = {"format": VARIANTS_FORMAT, "variants": []}
        kept: tuple[Variant, ...] = ()
        if stands(path):
            written, file = _read(path)
            kept = file.variants
        name = _free_name(variant, kept)
        if all(other.name != name for other in kept):
            written["variants"].append(entry | {"name": name})
            text = json.dumps(written, ensure_ascii=False, indent=1)
            write_file(path, f"{text}\n".encode())
        return name


def _free_name(variant: Variant, kept: tuple[Variant, ...]) -> str:
    """Add a number to a name until it is free, or the very variant has it already."""
    names = {other.name: other for other in kept}
    name, n = variant.name, 1
    while name in names and names[name] != variant.model_copy(update={"name": name}):
        n += 1
        name = f"{variant.name} ({n})"
    return name


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold a folder alone, so that of two notebooks that keep at once neither loses its variant."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _read(path: Path) -> tuple[dict[str, Any], VariantsFile]:
    with no_gold():
        content = read_bounded(path, bound=CASES_BYTES, what="a JSON document")
        written = parse_strict(content, where=str(path))
        form = written.get("format") if isinstance(written, dict) else None
        if form != VARIANTS_FORMAT:
            raise BadInputError(
                f"not a variants file: its format is {form!r}",
                where=str(path),
                remedy=f'write {{"format": "{VARIANTS_FORMAT}", "variants": [{{"name": ...}}]}}',
            )
        return written, load_strict(VariantsFile, content, where=str(path))
