"""How messages show what was found: values quoted, ids listed, near names offered."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LONGEST = 60  # characters of an offending value that a message repeats
_SHORTEST = 3  # characters that are taken for the beginning of a name


def shown(value: object) -> str:
    """Quote a value for a message, shortened."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def listed(ids: Iterable[str], most: int = 10) -> str:
    """Name the first ids of many, and how many more there are.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    names = list(ids)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def near_names(name: str, known: Iterable[str]) -> str:
    """Offer the known names that look like this one or begin with it, as the end of a sentence."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=2)
    if not near and len(name) >= _SHORTEST:
        near = [each for each in names if each.startswith(name)][:2]
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
