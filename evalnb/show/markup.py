"""Pieces of HTML. Every value is escaped, and every hidden character shown, on the way in."""

from __future__ import annotations

import base64
import html
import re
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote, urlsplit

from evalnb.show.tables import Cell, Column, Table
from evalnb.show.text import visible

STATIC = Path(__file__).parent / "static"
_URL = re.compile(r"https?://[\x21-\x7e]{1,2000}", re.IGNORECASE)


def text_html(text: object) -> str:
    """Escape a value for element content and quoted attributes."""
    return html.escape(visible(str(text)))


def quiet_html(text: str) -> str:
    """Write a note in small print."""
    return f'<p class="quiet">{text_html(text)}</p>'


@lru_cache
def static_text(name: str) -> str:
    """Read a file that travels with this package."""
    return (STATIC / name).read_text(encoding="utf-8")


def display_css() -> str:
    """Return the stylesheet of displays; it touches nothing outside them."""
    return static_text("display.css")


def svg_html(svg: str, alt: str, *, width: float, height: float) -> str:
    """Write a drawing as a picture that carries its words; it needs nothing beside it."""
    encoded = base64.b64encode(svg.encode()).decode()
    return (
        f'<img class="chart" alt="{html.escape(alt)}" width="{width:.0f}" height="{height:.0f}" '
        f'src="data:image/svg+xml;base64,{encoded}">'
    )


def case_anchor(case_id: str) -> str:
    """Name a case in a page, without collisions: the fragment of its deep link.

    >>> case_anchor("q 1"), case_anchor("q_1"), case_anchor("q~201")
    ('case-q~201', 'case-q_1', 'case-q~7E201')
    """
    return "case-" + quote(case_id, safe="").replace("~", "~7E").replace("%", "~")


def link_html(text: str, url: str | None = None) -> str:
    """Link a text to an http(s) address, by default its own; anything else stays text."""
    address = text if url is None else url
    if not is_web_address(address):
        return text_html(text)
    return f'<a rel="noreferrer" href="{html.escape(address)}">{text_html(text)}</a>'


def is_web_address(text: str) -> bool:
    """Whether a text is an absolute http(s) URL without credentials.

    >>> is_web_address("https://example.org/a?b#c"), is_web_address("javascript:alert(1)")
    (True, False)
    """
    if not _URL.fullmatch(text):
        return False
    try:
        parts = urlsplit(text)
        return bool(parts.hostname) and parts.username is None and parts.port != 0
    except ValueError:
        return False


def table_html(table: Table) -> str:
    """Write a table; it scrolls by itself where it is wider than the page."""
    kept = table.kept()
    columns = [table.columns[at] for at in kept]
    body = "".join(
        "<tr>" + "".join(_cell_html(row[at], table.columns[at]) for at in kept) + "</tr>\n"
        for row in table.rows
    )
    label = text_html(table.caption or "table")
    caption = f"<caption>{label}</caption>" if table.caption else ""
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{label}"><table>{caption}'
        f"<thead><tr>{''.join(map(_header_html, columns))}</tr></thead>\n"
        f"<tbody>{body}</tbody></table></div>"
    )


def _header_html(column: Column) -> str:
    css = ' class="n"' if column.right else ""
    title = f' title="{text_html(column.title)}"' if column.title else ""
    return f'<th scope="col"{css}{title}>{text_html(column.header)}</th>'


def _cell_html(cell: Cell, column: Column) -> str:
    css = " ".join(filter(None, ("n" if column.right else "", cell.tone)))
    text = text_html(cell.text)
    if cell.href:
        text = f'<a href="{html.escape(cell.href)}">{text}</a>'
    return f'<td class="{css}">{text}</td>' if css else f"<td>{text}</td>"
