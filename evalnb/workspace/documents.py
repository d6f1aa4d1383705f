"""Documents on their way into the store: what a reader of any format hands over."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from evalnb.limits import ID_BYTES
from evalnb.workspace.chunking import Heading

Modality = Literal["text", "code"]

_BACKTICKED = re.compile(r"`([^`\n]+)`")
# Searching for the joint and going back to the word's start is ten times faster than trying every
# word: few hold one.
_JOINT = re.compile(r"[._]")
_JOINED = re.compile(r"\w++(?:\.\w++)*+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """One revision of a document, read: its text and what places it.

    Attributes
    ----------
    path
        POSIX, relative to what was ingested; it is the document's key and name.
    bytes_sha256
        Digest of what was read, which makes the revision.
    extractor
        Name and version of the reader, which makes the extraction.
    pages
        Where each page starts in the text, if it has pages.
    identifiers
        Names under which the whole document is looked up exactly.
    """

    path: str
    text: str
    bytes_sha256: str
    extractor: str
    title: str | None = None
    headings: tuple[Heading, ...] = ()
    pages: tuple[int, ...] = ()
    identifiers: tuple[str, ...] = ()
    language: str | None = None
    effective_from: dt.date | None = None
    effective_to: dt.date | None = None
    modality: Modality = "text"


def find_identifiers(text: str) -> set[str]:
    """Find what can be looked up exactly: backticked, dotted and underscored tokens.

    Longer than 512 bytes is no identifier, and neither is a number.

    >>> sorted(find_identifiers("Call `a b` or os.path, not 3.14."))
    ['a b', 'os.path']
    """
    backticked = {found[1].strip() for found in _BACKTICKED.finditer(text)}
    joined = {token for token in _joined_tokens(text) if any(c.isalpha() for c in token)}
    return {name for name in backticked | joined if name and len(name.encode()) <= ID_BYTES}


def find_places(name: str, text: str) -> list[tuple[int, int]]:
    """Return the spans where a declared identifier stands as a whole, case and all."""
    whole = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    return [found.span() for found in whole.finditer(text)]


def _joined_tokens(text: str) -> Iterator[str]:
    end = 0
    for joint in _JOINT.finditer(text):
        start = place = joint.start()
        if place < end:
            continue
        while start > end and (text[start - 1].isalnum() or text[start - 1] == "_"):
            start -= 1
        token = _JOINED.match(text, start)
        if token is not None and token.end() > place:
            end = token.end()
            yield token[0]
