"""A page: nothing loads, nothing foreign runs, everything is escaped, and it is written whole."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from evalnb.errors import NotebookError, NotFoundError
from evalnb.evaluation.report import EvaluationReport
from evalnb.show import html as pages
from evalnb.show.html import check_offline, page_html, script, write_page, write_report_html
from evalnb.show.markup import case_anchor, is_web_address, link_html, table_html
from evalnb.show.reading import Reading
from evalnb.show.sections import all_sections, title
from evalnb.show.tables import Cell, Column, Table

VOID = {"meta", "img", "input", "br", "hr"}


class Outline(HTMLParser):
    """Collects what a reader's tools see: tags, ids, headings, text; and checks the nesting."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.ids: list[str] = []
        self.headings: list[int] = []
        self.links: list[str] = []
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        values = dict(attrs)
        if values.get("id"):
            self.ids.append(values["id"] or "")
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "a":
            self.links.append(values["href"] or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in {"style", "script"}:
            self.text.append(data)


@pytest.fixture(scope="module")
def page(reading: Reading) -> str:
    return page_html(title(reading), all_sections(reading))


@pytest.fixture(scope="module")
def outline(page: str) -> Outline:
    found = Outline()
    found.feed(page)
    found.close()
    return found


def test_hostile_text_is_text(page: str, outline: Outline) -> None:
    assert outline.tags["script"] == 1
    assert "onerror=alert(2)" in "".join(outline.text)
    assert "<script>alert" not in page
    assert "onerror=alert(2)>" not in page
    assert not set("\x1b\x07\u202e\u200b") & set(page)
    assert "\\u001b[31mred\\u0007 pay\\u202epal zero\\u200bwidth" in "".join(outline.text)


def test_the_page_is_well_formed_with_landmarks_and_headings_in_order(outline: Outline) -> None:
    assert outline.open == []
    assert outline.tags["main"] == outline.tags["header"] == outline.tags["footer"] == 1
    assert outline.tags["nav"] == outline.tags["h1"] == 1
    assert outline.headings[0] == 1
    assert all(b - a <= 1 for a, b in zip(outline.headings, outline.headings[1:], strict=False))
    assert [i for i, n in Counter(outline.ids).items() if n > 1] == []


def test_every_link_leads_somewhere(outline: Outline, report: EvaluationReport) -> None:
    fragments = {link[1:] for link in outline.links if link.startswith("#")}
    assert fragments <= set(outline.ids)
    assert {case_anchor(case.case_id) for case in report.cases} <= set(outline.ids)


def test_every_image_says_what_it_shows(page: str) -> None:
    images = re.findall(r"<img [^>]*>", page)
    assert len(images) >= 8
    assert all(re.search(r'alt="[^"]{20,}"', image) for image in images)


def test_the_policy_lets_one_script_run_and_nothing_load(page: str) -> None:
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    digest = base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()
    assert policy.startswith("default-src 'none'; ")
    assert f"script-src 'sha256-{digest}'" in policy
    (body,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert body == script()


def test_our_own_page_is_of_the_plainest_form_so_that_checking_it_is_fast(page: str) -> None:
    assert len(pages._PLAIN_TAG.findall(page)) == page.count("<")


REACHING = {
    "image": '<img src="https://example.org/x.png">',
    "protocol-relative image": '<img src="//example.org/x.png">',
    "image without quotes": "<img src=https://example.org/x.png>",
    "source set": '<img srcset="https://example.org/x.png 2x">',
    "style sheet": '<link rel="stylesheet" href="https://example.org/x.css">',
    "imported style": '<style>@import "https://example.org/x.css";</style>',
    "style with a picture": "<style>p { background: url(https://example.org/x.png) }</style>",
    "inline style": '<p style="background:url(//example.org/x.png)">x</p>',
    "frame": '<iframe src="https://example.org"></iframe>',
    "frame with a page": '<iframe srcdoc="<p>x</p>"></iframe>',
    "form": '<form action="https://example.org"></form>',
    "button of a form": '<button formaction="https://example.org">x</button>',
    "base": '<base href="https://example.org/">',
    "refresh": '<meta http-equiv="Refresh" content="0; url=https://example.org">',
    "object": '<object data="https://example.org/x.swf"></object>',
    "poster": '<video poster="https://example.org/x.png"></video>',
    "foreign script": "<script>alert(1)</script>",
    "loaded script": '<script src="https://example.org/x.js"></script>',
    "handler": '<p onclick="alert(1)">x</p>',
    "vector use": '<svg><use href="https://example.org/x.svg#a"></use></svg>',
    "old vector use": '<svg><use xlink:href="https://example.org/x.svg#a"></use></svg>',
    "script address": '<a href="javascript:alert(1)">x</a>',
    "data address": '<a href="data:text/html,x">x</a>',
    "file beside": '<img src="../secret.png">',
    "ping": '<a href="#x" ping="https://example.org">x</a>',
    "capitals": '<IMG SRC="HTTPS://EXAMPLE.ORG/X.PNG">',
    "broken quotes": '<a "><img src="https://example.org/x.png">',
    "after a comment": '<!-- > --><img src="https://example.org/x.png">',
}


@pytest.mark.parametrize("name", REACHING)
def test_what_reaches_out_is_refused(name: str, page: str) -> None:
    with pytest.raises(NotebookError, match="reach out"):
        check_offline(page.replace("</main>", REACHING[name] + "</main>"))


STAYING = [
    '<img alt="x" src="data:image/png;base64,AAAA">',
    '<a rel="noreferrer" href="https://example.org/a?b=c#d">x</a>',
    '<a href="#case-1">x</a>',
    "<p>src=https://example.org &lt;img src=x&gt; url(https://example.org)</p>",
    "<style>p { background: url(data:image/png;base64,AAAA) }</style>",
    "<p>a <b title='single'>b</b></p>",
]


@pytest.mark.parametrize("part", STAYING)
def test_what_stays_inside_may_stand(part: str, page: str) -> None:
    check_offline(page.replace("</main>", part + "</main>"))


@pytest.mark.parametrize(
    ("address", "is_one"),
    [
        ("https://example.org/a?b=c&d#e", True),
        ("HTTP://example.org", True),
        ("https://user:word@example.org", False),
        ("javascript:alert(1)", False),
        ("https:example.org", False),
        ("https://", False),
        ("https://exa mple.org", False),
        ("https://example.org/\u202e", False),
        ("https://[::1", False),
        ("https://example.org:x/", False),
        (" https://example.org", False),
        ("report.pdf", False),
    ],
)
def test_only_web_addresses_become_links(address: str, is_one: bool) -> None:
    assert is_web_address(address) is is_one
    assert ("<a " in link_html("name", address)) is is_one


def test_a_link_carries_no_referrer_and_no_markup() -> None:
    assert link_html("<b>", 'https://example.org/"x"') == (
        '<a rel="noreferrer" href="https://example.org/&quot;x&quot;">&lt;b&gt;</a>'
    )


def test_case_addresses_do_not_collide() -> None:
    names = ["a b", "a_b", "a~b", "a~20b", "a%20b", "a/b", "a.b", "A b", "ü", '"><x>']
    anchors = [case_anchor(name) for name in names]
    assert len(set(anchors)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9._~-]+", anchor) for anchor in anchors)


def test_a_table_escapes_its_cells() -> None:
    table = Table((Column("<h>", right=False),), ((Cell("<b>", "worse", "#x"),),), "c & d")
    text = table_html(table)
    assert '<td class="worse"><a href="#x">&lt;b&gt;</a></td>' in text
    assert '<th scope="col">&lt;h&gt;</th>' in text
    assert 'aria-label="c &amp; d"' in text


def test_a_page_is_written_whole_or_not_at_all(page: str, tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.html"
    assert write_page(path, page) == path
    assert path.read_text() == page
    with pytest.raises(NotebookError, match=r"report\.html: the page would reach out"):
        write_page(path, page + '<img src="https://example.org/x">')
    assert path.read_text() == page
    assert [entry.name for entry in path.parent.iterdir()] == ["report.html"]


def test_equal_reports_give_equal_pages(
    report: EvaluationReport, page: str, tmp_path: Path
) -> None:
    path = write_report_html(report, tmp_path / "report.html")
    assert path.read_text() == page


def test_an_unknown_baseline_is_named(report: EvaluationReport, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"'yesterday' is no variant .*today"):
        write_report_html(report, tmp_path / "x.html", baseline="yesterday")
    assert list(tmp_path.iterdir()) == []
