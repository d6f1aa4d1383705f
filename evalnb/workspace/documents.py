"""Documents on their way into the store: what a reader of any format hands over."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator
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


def find_identifiers(text: str, declared: Iterable[str] = ()) -> Iterator[tuple[str, int, int]]:
    """Find what can be looked up exactly: (identifier, start, end) for each place it stands.

    Backticked, dotted and underscored tokens of the text count, and every declared identifier; a
    declared one that stands nowhere in the text has the span (-1, -1). Longer than 512 bytes is
    no identifier.
    """
    for found in _BACKTICKED.finditer(text):
        if name := found[1].strip():
            start = found.start(1) + found[1].index(name)
            if len(name.encode()) <= ID_BYTES:
                yield name, start, start + len(name)
    for start, end in _joined_tokens(text):
        name = text[start:end]
        if len(name.encode()) <= ID_BYTES and any(c.isalpha() for c in name):
            yield name, start, end
    for name in declared:
        whole = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        places = [found.span() for found in whole.finditer(text)]
        for start, end in places or [(-1, -1)]:
            yield name, start, end


def _joined_tokens(text: str) -> Iterator[tuple[int, int]]:
    """Find the spans of dotted and underscored tokens."""
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
            yield start, end
