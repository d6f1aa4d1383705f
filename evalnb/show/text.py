r"""Other people's text, made safe to look at: nothing hidden, nothing obeyed, nothing endless.

Queries, chunks and names come from corpora and search engines. A control character, a change of
text direction or a character without width is written as its escape (``\u202e``), in a page as in
a terminal, so what a reader sees is what a machine compared.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_NEVER = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff"
    "\U0001d173-\U0001d17a\U000e0000-\U000e007f"
)
# Joiners are spelling in Arabic and Indic scripts and inside emoji; beside a Latin, Greek or
# Cyrillic letter they only hide a difference.
_JOINER = "[\u200c\u200d]"
_JOINED = f"[^\x00-\u05ff\u200c\u200d{_NEVER}]"
_HIDDEN = re.compile(f"[{_NEVER}]|(?<!{_JOINED}){_JOINER}|{_JOINER}(?!{_JOINED})")


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def visible(text: str) -> str:
    r"""Write every hidden or obeyed character as its escape; line breaks and tabs stay.

    >>> visible("user\u202egnp.exe\x1b[2J")
    'user\\u202egnp.exe\\u001b[2J'
    """
    return text if text.isascii() and text.isprintable() else _HIDDEN.sub(_escape, text)


def visible_runs(text: str) -> Iterator[tuple[int, int, str]]:
    r"""Cut a text into runs: where each starts and ends, and how :func:`visible` writes it.

    >>> list(visible_runs("a\u200b\u200bb"))
    [(0, 1, 'a'), (1, 2, '\\u200b'), (2, 3, '\\u200b'), (3, 4, 'b')]
    """
    at = 0
    for hidden in _HIDDEN.finditer(text):
        if at < hidden.start():
            yield at, hidden.start(), text[at : hidden.start()]
        yield hidden.start(), hidden.end(), _escape(hidden)
        at = hidden.end()
    if at < len(text):
        yield at, len(text), text[at:]


def one_line(text: str, width: int | None = None) -> str:
    r"""Put visible text on one line, cut to ``width`` characters with an ellipsis.

    >>> one_line("a\n b\tc"), one_line("retrieval", 5)
    ('a b c', 'retr…')
    """
    line = visible(" ".join(text.split()))
    return line if width is None or len(line) <= width else line[: width - 1].rstrip() + "…"


def cell_width(text: str) -> int:
    """Count terminal cells: wide characters take two, combining marks none.

    >>> cell_width("abc"), cell_width("東京"), cell_width("e\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Fill up to ``width`` terminal cells, on the left if the text stands ``right``."""
    fill = " " * max(0, width - cell_width(text))
    return fill + text if right else text + fill


def plural(n: int, noun: str, many: str | None = None) -> str:
    """Count a noun.

    >>> plural(1, "case"), plural(1200, "case"), plural(2, "query", "queries")
    ('1 case', '1,200 cases', '2 queries')
    """
    return f"{n:,} {noun if n == 1 else many or noun + 's'}"
