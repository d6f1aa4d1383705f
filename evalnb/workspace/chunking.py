"""Cutting a text into units: exact codepoint spans, never text that is not in the document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

VERSION = 1  # enters a snapshot's identity: another way of cutting is another chunking

_BREAKS = (  # where a unit may end, best first
    re.compile(r"(?=\n[ \t]*\n)"),
    re.compile(r"[.!?…。！？]['\"”’)\]]*(?=\s)"),
    re.compile(r"(?=\s)"),
)
_SPACE = re.compile(r"\s")
_INK = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a document: where its line starts, its level from 1, its text."""

    start: int
    level: int
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunking:
    """A way to cut documents, in characters (codepoints).

    ``headings`` begins a unit at every heading and cuts longer sections by size; ``size`` looks at
    the length only. Both end units at a paragraph, else a sentence, else a word; ``overlap``
    characters, rounded to whole words, are repeated at the start of the next unit.
    """

    chunker: Literal["headings", "size"] = "headings"
    size: int = 1_200
    overlap: int = 150

    @property
    def key(self) -> str:
        """Name this way of cutting; it is part of a snapshot's identity."""
        return f"{self.chunker}@{VERSION}:{self.size}:{self.overlap}"

    def spans(self, text: str, headings: Sequence[Heading] = ()) -> Iterator[tuple[int, int]]:
        """Yield the half-open span of each unit, in order; blank text has none."""
        borders = _sections(text, headings) if self.chunker == "headings" else [0, len(text)]
        for start, end in pairwise(borders):
            yield from _pieces(text, start, end, size=self.size, overlap=self.overlap)


def heading_paths(
    headings: Sequence[Heading], positions: Iterable[int]
) -> Iterator[tuple[str, ...]]:
    """Yield the titles above each position, outermost first; positions ascend.

    >>> headings = [Heading(0, 1, "A"), Heading(9, 2, "B"), Heading(20, 2, "C")]
    >>> list(heading_paths(headings, [5, 25]))
    [('A',), ('A', 'C')]
    """
    path: list[Heading] = []
    following = 0
    for position in positions:
        while following < len(headings) and headings[following].start <= position:
            heading = headings[following]
            while path and path[-1].level >= heading.level:
                path.pop()
            path.append(heading)
            following += 1
        yield tuple(heading.title for heading in path)


def _sections(text: str, headings: Sequence[Heading]) -> list[int]:
    """Return the borders of sections; a heading without a body stays with the next section."""
    borders = [0]
    body_from = 0
    for heading in headings:
        if text[body_from : heading.start].strip():
            borders.append(heading.start)
        line_end = text.find("\n", heading.start)
        body_from = len(text) if line_end < 0 else line_end + 1
    return [*borders, len(text)]


def _pieces(
    text: str, start: int, end: int, *, size: int, overlap: int
) -> Iterator[tuple[int, int]]:
    end = start + len(text[start:end].rstrip())
    reached = start
    while ink := _INK.search(text, start, end):
        start = ink.start()
        cut = end if end - start <= size else _cut(text, start, size)
        stop = start + len(text[start:cut].rstrip())
        if stop <= reached:  # a long word follows: the overlap alone would fill the unit
            start = reached
            continue
        yield start, stop
        if cut == end:
            return
        start, reached = _next_start(text, start, cut, overlap), stop


def _cut(text: str, start: int, size: int) -> int:
    """Choose where a unit ends: in the second half of its room, or else before its last word."""
    half, bound = start + size // 2, start + size
    for pattern in _BREAKS:
        ends = [found.end() for found in pattern.finditer(text, half, bound + 1)]
        fitting = [end for end in ends if half < end <= bound]
        if fitting:
            return fitting[-1]
    spaces = [found.start() for found in _SPACE.finditer(text, start, half + 1)]
    return spaces[-1] if spaces else bound


def _next_start(text: str, start: int, cut: int, overlap: int) -> int:
    """Go back by the overlap and forward to a word."""
    if overlap == 0:
        return cut
    word = _SPACE.search(text, max(start, cut - overlap - 1), cut)
    return word.end() if word else cut
