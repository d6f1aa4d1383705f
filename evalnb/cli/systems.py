"""Read the files that a command line names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from evalnb.errors import BadInputError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from evalnb.evaluation.request import VariantsFile

Model = TypeVar("Model", bound="BaseModel")


def load_variants(path: Path) -> VariantsFile:
    """Read a variants file."""
    from evalnb.evaluation.request import VARIANTS_FORMAT, VariantsFile

    written = read_json(path)
    form = written.get("format") if isinstance(written, dict) else None
    if form != VARIANTS_FORMAT:
        raise BadInputError(
            f"not a variants file: its format is {form!r}",
            where=str(path),
            remedy=f'write {{"format": "{VARIANTS_FORMAT}", "variants": [{{"name": ...}}]}}',
        )
    return parse_record(VariantsFile, written, where=str(path))


def read_json(path: Path) -> Any:
    """Read one strict JSON document."""
    from evalnb.files import no_gold, read_bounded
    from evalnb.limits import CASES_BYTES
    from evalnb.strict_json import parse_strict

    with no_gold():
        content = read_bounded(path, bound=CASES_BYTES, what="a JSON document")
        return parse_strict(content, where=str(path))


def parse_record(model: type[Model], value: Any, *, where: str) -> Model:
    """Validate a JSON value as a record.

    Raises
    ------
    BadInputError
        Naming the field and what was found there.
    """
    import json

    from evalnb.files import no_gold
    from evalnb.strict_json import load_strict

    with no_gold():
        return load_strict(model, json.dumps(value).encode(), where=where)
