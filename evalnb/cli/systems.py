"""Read the files that a command line names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pydantic import BaseModel

Model = TypeVar("Model", bound="BaseModel")


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
