"""What an id is, and of what: no record here, so that scoring run files loads no pydantic."""

from __future__ import annotations

from typing import Literal, get_args

from evalnb.limits import ID_BYTES

Kind = Literal["source", "document", "revision", "unit", "asset", "definition", "file"]
KINDS: tuple[Kind, ...] = get_args(Kind)


def check_id(value: str) -> str:
    """Accept any printable text of up to 512 bytes as an id.

    Raises
    ------
    ValueError
        For empty text, control characters, surrogates, or more than 512 bytes.
    """
    # ASCII letters, digits and marks are nearly every id: one C call settles them.
    if value.isascii() and value.isprintable() and len(value) <= ID_BYTES and value.strip():
        return value
    if not value.strip():
        raise ValueError("an id must not be empty")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise ValueError("an id must not hold lone surrogates") from None
    if size > ID_BYTES:
        raise ValueError(f"an id of {size} bytes is past the limit of {ID_BYTES}")
    if not all(character.isprintable() or character in "\u00a0\u200c\u200d" for character in value):
        raise ValueError(f"an id must be printable text, found {value!r}")
    return value
