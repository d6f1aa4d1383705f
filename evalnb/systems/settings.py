"""Settings of outside systems, as TOML carries them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from evalnb.errors import BadInputError

Settings = TypeVar("Settings", bound=BaseModel)


def parse_settings(model: type[Settings], table: Mapping[str, Any], *, where: str) -> Settings:
    """Validate a table; a value that is refused is not shown, as it may be a secret.

    Raises
    ------
    BadInputError
        Naming the key that is wrong.
    """
    try:
        return model.model_validate(dict(table))
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        # An unknown key explains a missing one better than the other way round.
        first = min(problems, key=lambda problem: problem["type"] != "extra_forbidden")
        field = ".".join(str(part) for part in first["loc"])
        unknown = first["type"] == "extra_forbidden"
        message = "unknown key" if unknown else first["msg"].removeprefix("Value error, ")
        own = unknown and len(first["loc"]) == 1
        remedy = near_name(field, model.model_fields) if own else None
        raise BadInputError(
            message, where=f"{where}.{field}" if field else where, remedy=remedy
        ) from None


def near_name(name: str, known: Iterable[str]) -> str:
    """Offer the known name that looks like this one, else all of them."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names) or 'none'}"
