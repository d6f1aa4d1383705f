"""Markdown keeps its own text; headings are found as CommonMark finds them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.workspace.ingest.markdown import find_headings, read_markdown
from evalnb.workspace.ingest.reading import UnreadableError

HEADINGS = [
    ("# One\n\n## Two", [(0, 1, "One"), (7, 2, "Two")]),
    ("text\n\nOne\n===\n", [(6, 1, "One")]),
    ("```\n# no\n```\n# yes", [(13, 1, "yes")]),
    ("    # code\n", []),
    ("#no\n", []),
    ("# \n", []),
    ("> # quoted\n", [(0, 1, "quoted")]),
    ("# *em* `code` [link](x) <b>b</b>", [(0, 1, "em code link b")]),
    ("# one\r\n\r\ntext\r\n## two\r\n", [(0, 1, "one"), (15, 2, "two")]),
    ("a\u2028# no\n\n# yes", [(8, 1, "yes")]),  # a line separator ends no line
    ("😀\n\n# yes", [(3, 1, "yes")]),
]


@pytest.mark.parametrize(("text", "expected"), HEADINGS)
def test_headings(text: str, expected: list[tuple[int, int, str]]) -> None:
    assert [(h.start, h.level, h.title) for h in find_headings(text)] == expected


FRONT = [
    ("---\ntitle: Fees 2026\n---\n# Other\n", "Fees 2026", ["Other"]),
    ('---\ntitle: "Quoted"\nx: 1\n...\ntext', "Quoted", []),
    ("---\nx: 1\n---\n# First\n", "First", ["First"]),
    ("# First\n---\ntitle: no\n---\n", "First", ["First", "title: no"]),
    ("no heading", None, []),
]


@pytest.mark.parametrize(("text", "title", "headings"), FRONT)
def test_front_matter(text: str, title: str | None, headings: list[str]) -> None:
    read = read_markdown("a.md", text.encode())
    assert read.title == title
    assert [h.title for h in read.headings] == headings
    assert read.text == text  # nothing of the file is lost


def test_what_is_no_text() -> None:
    with pytest.raises(UnreadableError, match="line 2: byte 0xff"):
        read_markdown("a.md", b"# a\n\xff\n")
    with pytest.raises(UnreadableError, match="binary"):
        read_markdown("a.md", b"\x00\x01\xff")


@given(st.text(alphabet="#-=> `\n\r\tab[]()*_<!", max_size=200))
def test_any_text_is_read(text: str) -> None:
    for heading in find_headings(text):
        assert 0 <= heading.start < len(text)
        assert heading.title


def test_hostile_nesting_ends() -> None:
    for text in (">" * 5_000 + " # a", "[" * 5_000, "*" * 5_000, "- " * 5_000, "# " + "[" * 3_000):
        find_headings(text)
