"""Markdown: the text is the file's own; its headings give units their borders and context."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from evalnb.workspace.chunking import Heading
from evalnb.workspace.documents import Extracted
from evalnb.workspace.ingest.plain import read_plain

EXTRACTOR = "markdown@1"
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(.*?\n)?(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_LINE_END = re.compile(r"\r\n|\n|\r")  # what CommonMark calls a line ending

# Only blocks are needed; parsing every paragraph's inline marks would take ten times as long.
_BLOCKS = MarkdownIt("commonmark").disable("inline")
_INLINE = MarkdownIt("commonmark")


def read_markdown(name: str, data: bytes) -> Extracted:
    """Read a Markdown file; its title is that of the front matter, else its first heading.

    Raises
    ------
    UnreadableError
        If it is not text.
    """
    read = read_plain(name, data)
    front = _FRONT_MATTER.match(read.text)
    declared = _FRONT_TITLE.search(front[1] or "") if front else None
    headings = find_headings(read.text, start=front.end() if front else 0)
    title = declared[1].strip("\"'") if declared else headings[0].title if headings else None
    return replace(read, extractor=EXTRACTOR, headings=headings, title=title)


def find_headings(text: str, *, start: int = 0) -> tuple[Heading, ...]:
    r"""Find the headings of a Markdown text from a position on, at codepoint positions.

    >>> find_headings("# *One*\n\ntext\n\nTwo\n---\n")
    (Heading(start=0, level=1, title='One'), Heading(start=15, level=2, title='Two'))
    """
    body = text[start:]
    tokens = _BLOCKS.parse(body)
    lines = [0, *(found.end() for found in _LINE_END.finditer(body))]
    return tuple(
        Heading(start + lines[opening.map[0]], int(opening.tag[1:]), _plain(content))
        for opening, content in pairwise(tokens)
        if opening.type == "heading_open" and opening.map is not None and content.content.strip()
    )


def _plain(content: Token) -> str:
    """Return a heading's text without its marks, on one line."""
    parts = _INLINE.parseInline(content.content)[0].children or []
    text = "".join(
        " " if part.type in ("softbreak", "hardbreak") else part.content
        for part in parts
        if part.type != "html_inline"
    )
    return " ".join(text.split()) or content.content.strip()
