"""HTML: the text that a browser would show, with its headings; the tags are gone."""

from __future__ import annotations

import codecs
import hashlib
import re
import warnings
from collections.abc import Iterator

from bs4 import BeautifulSoup, ParserRejectedMarkup, Tag, XMLParsedAsHTMLWarning
from bs4.dammit import EncodingDetector
from bs4.element import PageElement, PreformattedString

from evalnb.workspace.chunking import Heading
from evalnb.workspace.documents import Extracted
from evalnb.workspace.ingest.plain import decode
from evalnb.workspace.ingest.reading import UnreadableError

EXTRACTOR = "html@1"

_UNSHOWN = frozenset({"head", "script", "style", "template", "noscript", "svg", "math"})
_LINES = frozenset({"br", "dd", "dt", "li", "option", "tr"})
# fmt: off
_BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "caption", "div", "dl", "fieldset",
    "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr",
    "main", "nav", "ol", "p", "pre", "section", "table", "ul",
})
# fmt: on
_CELLS = frozenset({"td", "th"})
_HEADING = re.compile(r"h([1-6])")
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SPACE = re.compile(r"[ \t\n\r\f]+")  # what HTML collapses; a no-break space stays


def read_html(name: str, data: bytes) -> Extracted:
    """Read an HTML file; its title is that of its head, else its first heading.

    Raises
    ------
    UnreadableError
        If its bytes are not in the encoding that it declares (UTF-8 if it declares none), or hold a
        declaration that is none.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)  # XHTML reads well enough
        try:
            soup = BeautifulSoup(_decoded(data), "html.parser")
        except ParserRejectedMarkup as error:
            raise UnreadableError(f"not HTML: {str(error).rpartition(':')[2].strip()}") from error
    page = _Page()
    page.read(soup)
    title = " ".join(soup.title.get_text().split()) if soup.title else ""
    return Extracted(
        path=name,
        text="".join(page.parts),
        bytes_sha256=hashlib.sha256(data).hexdigest(),
        extractor=EXTRACTOR,
        title=title or (page.headings[0].title if page.headings else None),
        headings=tuple(page.headings),
    )


def _decoded(data: bytes) -> str:
    declared = EncodingDetector.find_declared_encoding(data, is_html=True)
    # What can be read so far as to find UTF-16 in it is not UTF-16: browsers take UTF-8.
    if declared is None or data.startswith(_MARKS) or declared.casefold().startswith("utf-16"):
        return decode(data)
    try:
        text = data.decode(declared).replace("\x00", "\ufffd")
        text.encode()  # some of Python's own encodings make halves of characters
    except (LookupError, ValueError) as error:
        raise UnreadableError(f"it is not in the encoding it declares: {error}") from error
    return text


class _Page:
    """Text as it grows, with the positions of headings in it."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.headings: list[Heading] = []
        self._length = 0
        self._gap = ""  # white space owed before the next text
        self._preformatted = 0
        self._heading: tuple[int, int, int] | None = None  # level, first part, start

    def read(self, root: Tag) -> None:
        for element, entering in _walk(root):
            if isinstance(element, Tag):
                self._edge(element.name, entering=entering)
            elif not isinstance(element, PreformattedString):  # a comment, a declaration
                self._text(str(element))

    def _edge(self, name: str, *, entering: bool) -> None:
        """Owe what a browser puts between elements."""
        found = _HEADING.fullmatch(name)
        if found and not entering:
            self._end_heading()
        if name in _BLOCKS:
            self._owe("\n\n")
        elif name in _LINES:
            self._owe("\n")
        elif name in _CELLS:
            self._owe("\t")
        if name == "pre":
            self._preformatted += 1 if entering else -1
        if found and entering:
            self._heading = (int(found[1]), len(self.parts), -1)

    def _owe(self, gap: str) -> None:
        order = ("", " ", "\t", "\n", "\n\n")
        self._gap = max(self._gap, gap, key=order.index)

    def _text(self, text: str) -> None:
        if self._preformatted:
            if text.strip():
                self._emit(text)
            return
        words = _SPACE.sub(" ", text)
        if words.startswith(" "):
            self._owe(" ")
        if words.strip(" "):
            self._emit(words.strip(" "))
            if words.endswith(" "):
                self._owe(" ")

    def _emit(self, text: str) -> None:
        gap = self._gap if self._length else ""
        self._gap = ""
        if self._heading is not None and self._heading[2] < 0:
            self._heading = (self._heading[0], len(self.parts) + 1, self._length + len(gap))
        self.parts += (gap, text)
        self._length += len(gap) + len(text)

    def _end_heading(self) -> None:
        if self._heading is not None and self._heading[2] >= 0:
            level, first, start = self._heading
            title = " ".join("".join(self.parts[first:]).split())
            self.headings.append(Heading(start, level, title))
        self._heading = None


def _walk(root: Tag) -> Iterator[tuple[PageElement, bool]]:
    """Visit elements on entering and on leaving, without recursion: pages nest without bound."""
    pending: list[tuple[PageElement, bool]] = [(root, True)]
    while pending:
        element, entering = pending.pop()
        if isinstance(element, Tag) and element.name in _UNSHOWN:
            continue
        yield element, entering
        if isinstance(element, Tag) and entering:
            pending.append((element, False))
            pending.extend((child, True) for child in reversed(element.contents))
