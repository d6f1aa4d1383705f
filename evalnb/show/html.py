"""One page that opens anywhere: no request leaves it, no foreign script runs in it."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

from evalnb.errors import NotebookError
from evalnb.files import write_file
from evalnb.show.markup import display_css, is_web_address, static_text, text_html
from evalnb.show.text import one_line

if TYPE_CHECKING:
    from evalnb.comparison.paired import ComparisonRecord
    from evalnb.evaluation.report import EvaluationReport
    from evalnb.show.display import Display

# Attributes that make a browser load or send something without a click.
_LOADING = frozenset(
    {"src", "srcset", "srcdoc", "imagesrcset", "data", "poster", "action", "formaction", "ping"}
    | {"background", "cite", "codebase", "classid", "archive", "manifest", "profile", "xlink:href"}
)
_REFUSED = frozenset({"base", "embed", "frame", "frameset", "iframe", "link", "object", "portal"})
_PLAIN_TAG = re.compile(
    r'<(?:[a-zA-Z][a-zA-Z0-9]*(?:\s+[a-zA-Z:_-]+(?:="[^"<>]*")?)*\s*/?>|/[a-zA-Z]|!DOCTYPE html>)'
)
_NEIGHBOUR = re.compile(r"(?:[A-Za-z0-9_~-][A-Za-z0-9._~-]*/)*[A-Za-z0-9_~-][A-Za-z0-9._~-]*\.html")
_STYLE_LOADS = re.compile(r"@import|url\(\s*['\"]?(?!data:|#)|image-set\(|src\(", re.IGNORECASE)
_BODY = re.compile(r"<(style|script)\b[^>]*>(.*?)</\1", re.IGNORECASE | re.DOTALL)


_META = re.compile(r'<meta name="(description|evalnb-inputs)" content="([^"]*)">')
DESCRIBED = 300  # characters of a page's description
HEAD_READ = 8_192  # characters in which the facts of a page stand


def script() -> str:
    """Return the one script that a page may run."""
    return static_text("report.js")


def content_security_policy() -> str:
    """Return the policy that lets a page run its one script and load nothing."""
    digest = base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()
    return (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


def head_html(title: str, *, description: str = "", inputs: str = "") -> str:
    """Write what every page's head holds, the policy first.

    Parameters
    ----------
    description
        What the page says, in a sentence.
    inputs
        The digest of what it was made from.
    """
    named = {"description": description, "evalnb-inputs": inputs}
    said = "".join(
        f'<meta name="{name}" content="{text_html(text)}">\n'
        for name, text in named.items()
        if text
    )
    return (
        '<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{content_security_policy()}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<meta name="referrer" content="no-referrer">\n{said}'
        f"<title>{text_html(title)}</title>\n"
        f"<style>\n{display_css()}{static_text('page.css')}</style>\n"
    )


def foot_html() -> str:
    """Write how every page ends: who made it, and the script."""
    return (
        "<footer><p>Made by evalnb. This page holds everything it shows and asks nothing of the "
        f"network.</p></footer>\n<script>{script()}</script>\n"
    )


def page_html(title: str, displays: Sequence[Display]) -> str:
    """Write a page: the first display opens it, the others are its sections in order."""
    opening, *rest = displays
    head = head_html(title, description=first_line(rest[0].text) if rest else "")
    links = "".join(f'<a href="#{part.key}">{text_html(part.title)}</a>' for part in rest)
    sections = "".join(
        f'<section id="{part.key}" aria-labelledby="{part.key}-title">\n'
        f'<h2 id="{part.key}-title">{text_html(part.title)}</h2>\n'
        f'<p class="question">{text_html(part.question)}</p>\n{part.block()}\n</section>\n'
        for part in rest
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}</head>\n'
        f'<body class="evalnb-page">\n<a class="skip" href="#main">Skip to the findings</a>\n'
        f'<header>\n<p class="brand">evalnb</p>\n<h1>{text_html(title)}</h1>\n'
        f'{opening.block()}\n<nav aria-label="Sections">{links}</nav>\n</header>\n'
        f'<main id="main">\n{sections}</main>\n'
        f"{foot_html()}</body>\n</html>\n"
    )


def first_line(text: str) -> str:
    """Return the first line of a text, cut to what a list of pages has room for."""
    return one_line(text.partition("\n")[0], DESCRIBED)


def page_facts(path: Path) -> dict[str, str]:
    """Read a page's description and the digest of its inputs; empty if it is none of ours."""
    try:
        with path.open(encoding="utf-8", errors="replace") as page:
            head = page.read(HEAD_READ)
    except OSError:
        return {}
    return {name: html.unescape(text) for name, text in _META.findall(head)}


def write_page(path: Path, page: str) -> Path:
    """Check that a page loads nothing, and write it whole or not at all."""
    check_offline(page, where=str(path))
    write_file(path, page.encode())
    return path


def write_report_html(report: EvaluationReport, path: Path, *, baseline: str | None = None) -> Path:
    """Write a report with its comparison and every case as one page.

    Parameters
    ----------
    path
        The file; it appears whole or not at all.
    baseline
        The variant to compare with; the request's, or the first one, unless given.

    Raises
    ------
    NotFoundError
        If the baseline is no variant.
    """
    from evalnb.show import sections

    reading = sections.reading_of(report, baseline=baseline or "", max_cases=len(report.cases))
    return write_page(path, page_html(sections.title(reading), sections.all_sections(reading)))


def write_comparison_html(
    comparison: ComparisonRecord, path: Path, *, queries: Mapping[str, str] | None = None
) -> Path:
    """Write a comparison as one page."""
    from evalnb.show import sections

    displays = sections.comparison_sections(comparison, queries)
    return write_page(path, page_html(f"Compared with {comparison.baseline}", displays))


def check_offline(page: str, *, where: str = "") -> None:
    """Refuse a page that would load or run anything from elsewhere.

    The Content-Security-Policy would stop the browser too; this stops the file from being written.

    Raises
    ------
    NotebookError
        Naming the first element that reaches out.
    """
    finder = _Reaching(script())
    tags = _PLAIN_TAG.findall(page)
    if len(tags) == page.count("<"):
        # Every < begins a tag of the plainest form, so it is enough to read each distinct tag once.
        for tag in set(tags):
            finder.feed(tag)
            finder.reset()
        for kind, body in _BODY.findall(page):
            finder.check_body(kind.lower(), body)
    else:
        finder.feed(page)
        finder.close()
    if finder.found:
        raise NotebookError(
            f"the page would reach out of its own file: {finder.found[0]}",
            where=where or None,
            remedy="take the output out of the notebook, or save what it shows as an image",
        )


class _Reaching(HTMLParser):
    """Collects what would load, run or send something."""

    def __init__(self, allowed_script: str) -> None:
        super().__init__(convert_charrefs=True)
        self.allowed_script = allowed_script
        self.found: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Check one element."""
        self._inside = tag if tag in {"style", "script"} else ""
        values = {name.lower(): (value or "").strip() for name, value in attrs}
        if tag in _REFUSED or values.get("http-equiv", "").lower() == "refresh":
            self.found.append(f"<{tag}>")
        for name, value in values.items():
            if name in _LOADING and not (name == "src" and value.startswith("data:image/")):
                self.found.append(f"<{tag} {name}={value[:80]!r}>")
            elif name == "href" and not (
                value.startswith("#")
                or (tag == "a" and (is_web_address(value) or _NEIGHBOUR.fullmatch(value)))
            ):
                self.found.append(f"<{tag} href={value[:80]!r}>")
            elif name == "style":
                self.check_style(value)
            elif name.startswith("on"):
                self.found.append(f"<{tag} {name}>")

    def handle_data(self, data: str) -> None:
        """Check the body of a style or script element."""
        self.check_body(self._inside, data)

    def handle_endtag(self, tag: str) -> None:
        """Leave an element."""
        self._inside = ""

    def check_body(self, kind: str, text: str) -> None:
        """Let the one script pass, and styles that load nothing."""
        if kind == "style":
            self.check_style(text)
        elif kind == "script" and text != self.allowed_script:
            self.found.append(f"<script> {text.strip()[:60]!r}")

    def check_style(self, text: str) -> None:
        """Look for what a stylesheet would load."""
        if match := _STYLE_LOADS.search(text):
            self.found.append(f"style: {text[match.start() : match.start() + 80]!r}")
