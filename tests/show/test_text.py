"""Hidden and obeyed characters are shown; letters stay letters."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.show.text import cell_width, one_line, pad, visible

SHOWN = {
    "plain": ("naïve 東京 İ é", "naïve 東京 İ é"),
    "line breaks and tabs stay": ("a\n\tb", "a\n\tb"),
    "escape sequence": ("\x1b[2J", "\\u001b[2J"),
    "carriage return": ("real\rfake", "real\\u000dfake"),
    "direction override": ("a\u202eb", "a\\u202eb"),
    "isolates and marks": ("\u2066\u200f\u061c", "\\u2066\\u200f\\u061c"),
    "no width": ("a\u200bb\ufeffc\u2060", "a\\u200bb\\ufeffc\\u2060"),
    "soft hyphen": ("a\u00adb", "a\\u00adb"),
    "tags": ("\U000e0041", "\\U000e0041"),
    "line separator": ("a\u2028b", "a\\u2028b"),
    "joiner that hides a difference": ("pay\u200dpal", "pay\\u200dpal"),
    "joiner at an end": ("\u200cمی", "\\u200cمی"),
    "joiner that is spelling": ("می\u200cخواهم", "می\u200cخواهم"),
    "joiner in an emoji": ("👩\u200d🚀", "👩\u200d🚀"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_hidden_becomes_visible(name: str) -> None:
    text, shown = SHOWN[name]
    assert visible(text) == shown


@given(st.text(st.characters(categories=["Cc", "Cf", "Zl", "Zp", "Lu"])))
def test_nothing_invisible_or_obeyed_is_left(text: str) -> None:
    shown = visible(text)
    assert visible(shown) == shown
    left = {c for c in shown if unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp"}}
    arabic_signs = {c for c in left if unicodedata.bidirectional(c) == "AN"}
    assert left - arabic_signs <= set("\n\t\u200c\u200d") | VISIBLE_FORMATS


# Format characters that draw something: signs of Syriac, Kaithi, hieroglyphs and shorthand.
VISIBLE_FORMATS = {
    chr(code)
    for low, high in (
        (0x70F, 0x70F),
        (0x110BD, 0x110CD),
        (0x13430, 0x1343F),
        (0x1BCA0, 0x1BCA3),
        (0xFFF9, 0xFFFB),
    )
    for code in range(low, high + 1)
}


@given(st.text(), st.integers(2, 40))
def test_a_line_is_one_line_of_at_most_its_width(text: str, width: int) -> None:
    line = one_line(text, width)
    assert len(line) <= width
    assert len(line.splitlines()) <= 1


def test_columns_align_by_terminal_cells() -> None:
    assert [cell_width(pad(text, 6)) for text in ("abc", "東京", "e\u0301")] == [6, 6, 6]
    assert pad("7", 3, right=True) == "  7"
