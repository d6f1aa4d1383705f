r"""What every command prints with: the result to stdout, everything else to stderr.

Texts come from gold files, corpora and other people's search engines. A control character in one
would move the cursor, hide text or reprogram the terminal, so each is written as ``\uXXXX``, which
is also its spelling inside a JSON string.
"""

from __future__ import annotations

import sys
from typing import Any

_ESCAPED = {
    code: f"\\u{code:04x}"
    for code in (
        *(c for c in range(0x20) if chr(c) not in "\n\t"),
        *range(0x7F, 0xA0),
        *(0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)),  # text direction
    )
}


def printable(text: str) -> str:
    r"""Escape what a terminal would obey instead of show; line breaks and tabs stay.

    >>> printable("caf\x1b[2Jé\u202e")
    'caf\\u001b[2Jé\\u202e'
    """
    return text.translate(_ESCAPED)


def show(text: str) -> None:
    """Print a part of the result to stdout."""
    sys.stdout.write(printable(text) + "\n")


def note(text: str) -> None:
    """Print anything that is not the result to stderr."""
    sys.stderr.write(printable(text) + "\n")


def print_json(document: Any) -> None:
    """Print one JSON document to stdout.

    Raises
    ------
    ValueError
        For a number that is not finite, which JSON cannot carry.
    """
    import json

    show(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2))
