"""A hit's text, cut to what a page has room for around what the gold asks for."""

from __future__ import annotations

from dataclasses import dataclass

# Characters of a hit that a page shows; the report file has all of them.
EXCERPT_LABELLED = 240
EXCERPT_OTHER = 120


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A cut of a hit's text: pieces, each marked or not, and how much stands around them."""

    pieces: tuple[tuple[str, bool], ...]
    n_before: int = 0
    n_after: int = 0


def cut_excerpt(text: str, spans: list[tuple[int, int]], size: int = EXCERPT_LABELLED) -> Excerpt:
    """Cut a text to ``size`` characters around its first span, and mark the spans in it.

    >>> cut_excerpt("one two three", [(4, 7)])
    Excerpt(pieces=(('one ', False), ('two', True), (' three', False)), n_before=0, n_after=0)
    """
    start, end = 0, len(text)
    if len(text) > size:
        first = min(spans, default=(0, 0))
        start = max(0, min(first[0] - size // 3, len(text) - size))
        end = min(len(text), start + size)
    pieces = []
    at = start
    for span in sorted(spans):
        low, high = max(span[0], at), min(span[1], end)
        if low >= high:
            continue
        if at < low:
            pieces.append((text[at:low], False))
        pieces.append((text[low:high], True))
        at = high
    if at < end:
        pieces.append((text[at:end], False))
    return Excerpt(tuple(pieces), start, len(text) - end)
