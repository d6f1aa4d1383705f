"""Content gold: phrases that find their passage whatever it is cut into.

Both sides are folded: NFKC, soft hyphens and zero-width characters removed, white space collapsed,
case folded, NFKC again. Turkish and Azerbaijani fold I to ı and İ to i first; other languages fold
İ to i. Where no language is declared and either side holds a letter of those two alphabets, a match
under either rule counts.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from evalnb.gold.cases import GoldCase
from evalnb.gold.labels import INVISIBLE
from evalnb.search.system import Unit

TURKIC = frozenset({"tr", "az"})
_TURKIC_LETTERS = frozenset("ıİğĞşŞ")
_TURKIC_CASE = str.maketrans({"I": "ı", "İ": "i"})

_REMOVED = dict.fromkeys(map(ord, INVISIBLE))

Spans = tuple[tuple[int, int], ...]


class Folded(NamedTuple):
    """A text folded under both rules, and whether it holds a letter that calls for the second."""

    plain: str
    turkic: str
    marked: bool


@lru_cache(maxsize=16_384)  # one text is matched for many cases; a thousand characters each
def fold(text: str) -> Folded:
    r"""Fold a text for matching.

    >>> fold("Efﬁcient\u00a0 GELİRLER").plain, fold("KADIN").turkic
    ('efficient gelirler', 'kadın')
    """
    plain = unicodedata.normalize("NFKC", text).translate(_REMOVED)
    line = " ".join(plain.split())
    folded = line.casefold().replace("i\u0307", "i")  # what is left of a folded İ
    return Folded(
        unicodedata.normalize("NFKC", folded),
        unicodedata.normalize("NFKC", line.translate(_TURKIC_CASE).casefold()),
        not plain.isascii() and not _TURKIC_LETTERS.isdisjoint(plain),
    )


class _Alternative(NamedTuple):
    """One content entry, folded."""

    document: Folded | None
    phrases: tuple[Folded, ...]
    written: tuple[str, ...]

    def matches(self, name: Folded | None, text: Folded | None, turkic: bool | None) -> bool:
        """Whether a chunk's name and text are what the entry asks for."""
        if self.document is not None and not _stands_in(self.document, name, turkic):
            return False
        return not self.phrases or any(_stands_in(p, text, turkic) for p in self.phrases)


def _alternatives(case: GoldCase) -> tuple[_Alternative, ...]:
    return tuple(
        _Alternative(
            None if entry.document is None else fold(entry.document),
            tuple(map(fold, entry.content_contains)),
            entry.content_contains,
        )
        for entry in case.content
    )


def _rule(language: str | None) -> bool | None:
    """Name the folding rule of a language: True is the Turkic one, None leaves it open."""
    if not language:
        return None
    return language.replace("_", "-").partition("-")[0].lower() in TURKIC


def _stands_in(phrase: Folded, text: Folded | None, turkic: bool | None) -> bool:
    if text is None:
        return False
    if turkic is not None:
        return phrase.turkic in text.turkic if turkic else phrase.plain in text.plain
    if phrase.plain in text.plain:
        return True
    return (phrase.marked or text.marked) and phrase.turkic in text.turkic


def match_content(case: GoldCase, document_name: str | None, text: str | None) -> Spans | None:
    """Match one chunk against a case's content gold.

    Parameters
    ----------
    case
        A case with ``content``; its language chooses the folding rule.
    document_name, text
        The chunk's; None where they are not known, which no demand on them matches.

    Returns
    -------
    tuple of (int, int) or None
        None if no alternative matches; otherwise where the phrases that match stand, as half-open
        codepoint ranges in the text as given, sorted. Empty if the document's name was all that
        was asked for.
    """
    turkic = _rule(case.language)
    name_folded = None if document_name is None else fold(document_name)
    text_folded = None if text is None else fold(text)
    if text_folded is not None and not text_folded.plain:
        return None
    matched = [a for a in _alternatives(case) if a.matches(name_folded, text_folded, turkic)]
    if not matched:
        return None
    phrases = dict.fromkeys(phrase for found in matched for phrase in found.written)
    return tuple(sorted({s for phrase in phrases for s in _spans(phrase, text or "", turkic)}))


def matching_units(cases: Sequence[GoldCase], units: Iterable[Unit]) -> dict[str, tuple[str, ...]]:
    """Find the units of a corpus that match each case's content gold, in one pass.

    Returns
    -------
    dict
        case_id to the ids of the units that match, in the order of ``units``; every case is a key.
    """
    wanted = [(case.case_id, _rule(case.language), _alternatives(case)) for case in cases]
    found: dict[str, list[str]] = {case.case_id: [] for case in cases}
    for unit in units:
        name, text = fold(unit.document_name), fold(unit.text)
        if not text.plain:
            continue
        for case_id, turkic, alternatives in wanted:
            if any(one.matches(name, text, turkic) for one in alternatives):
                found[case_id].append(unit.unit_id)
    return {case_id: tuple(ids) for case_id, ids in found.items()}


def _spans(phrase: str, text: str, turkic: bool | None) -> Iterator[tuple[int, int]]:
    needle, folded = fold(phrase), fold(text)
    both = turkic is None and (needle.marked or folded.marked)
    for rule in (False, True) if both else (bool(turkic),):
        wanted = needle.turkic if rule else needle.plain
        found = folded.turkic if rule else folded.plain
        at = found.find(wanted)
        if at < 0:
            continue
        starts, ends = _origins(text, rule)
        while at >= 0:
            yield starts[at], ends[at + len(wanted) - 1]
            at = found.find(wanted, at + len(wanted))


@lru_cache(maxsize=64)
def _origins(text: str, turkic: bool) -> tuple[list[int], list[int]]:
    """Say where each character of the folded text comes from in the text: starts and ends."""
    rows = [(character, at, at + 1) for at, character in enumerate(text)]
    rows = _normalised(rows)
    rows = _collapsed([row for row in rows if ord(row[0]) not in _REMOVED])
    if turkic:
        rows = [(c.translate(_TURKIC_CASE), start, end) for c, start, end in rows]
    rows = [(folded, start, end) for c, start, end in rows for folded in c.casefold()]
    if not turkic:
        rows = _without_dots(rows)
    rows = _normalised(rows)
    return [start for _, start, _ in rows], [end for _, _, end in rows]


_Rows = list[tuple[str, int, int]]


def _normalised(rows: _Rows) -> _Rows:
    """Apply NFKC piece by piece; what a piece becomes comes from all of it."""
    found: _Rows = []
    first = 0
    for after in range(1, len(rows) + 1):
        if after < len(rows) and rows[after][0] >= "\x80" and not _starts_a_piece(rows[after][0]):
            continue
        if after - first == 1 and rows[first][0] < "\x80":
            found.append(rows[first])  # ASCII stays as it is, and is nearly every piece
            first = after
            continue
        piece = rows[first:after]
        text = "".join(character for character, _, _ in piece)
        normal = unicodedata.normalize("NFKC", text)
        if normal == text:
            found += piece
        else:
            found += [(character, piece[0][1], piece[-1][2]) for character in normal]
        first = after
    return found


def _collapsed(rows: _Rows) -> _Rows:
    found: _Rows = []
    for character, start, end in rows:
        if not character.isspace():
            found.append((character, start, end))
        elif found and found[-1][0] == " ":
            found[-1] = (" ", found[-1][1], end)
        elif found:
            found.append((" ", start, end))
    return found[:-1] if found and found[-1][0] == " " else found


def _without_dots(rows: _Rows) -> _Rows:
    found: _Rows = []
    dotless = False
    for character, start, end in rows:
        if character == "\u0307" and dotless:
            found[-1] = ("i", found[-1][1], end)
            dotless = False
        else:
            found.append((character, start, end))
            dotless = character == "i"
    return found


def _starts_a_piece(character: str) -> bool:
    """Whether NFKC never joins a character to what stands before it."""
    if character.isascii():
        return True
    first = unicodedata.normalize("NFKD", character)[0]
    return unicodedata.combining(first) == 0 and first not in _joining()


@cache
def _joining() -> frozenset[str]:
    """Collect the starters that compose with the character before them (a Unicode constant)."""
    hangul = [*map(chr, range(0x1161, 0x1176)), *map(chr, range(0x11A8, 0x11C3))]
    pairs = (unicodedata.decomposition(chr(code)).split() for code in range(0x80, 0x30000))
    seconds = (chr(int(p[1], 16)) for p in pairs if len(p) == 2 and not p[0].startswith("<"))
    return frozenset(hangul) | {c for c in seconds if unicodedata.combining(c) == 0}
