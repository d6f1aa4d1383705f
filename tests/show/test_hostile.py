"""What corpora, names and addresses may hold: a page shows it and obeys none of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest

from evalnb.evaluation.report import EvaluationReport
from evalnb.gold.cases import GoldCase
from evalnb.show.html import check_offline, page_html
from evalnb.show.reading import reading_of
from evalnb.show.sections import all_sections, title

MakeReport = Callable[..., EvaluationReport]

HOSTILE = (
    "<script>top.hacked=1</script>",
    "</script><script>top.hacked=1</script>",
    "</style><script>top.hacked=1</script>",
    "</title><script>top.hacked=1</script>",
    "<img src=x onerror=top.hacked=1>",
    "<svg onload=top.hacked=1>",
    "<svg><script href=data:,top.hacked=1 />",
    "<iframe srcdoc='<script>top.hacked=1</script>'>",
    "<details open ontoggle=top.hacked=1>",
    "<body onload=top.hacked=1>",
    "<input autofocus onfocus=top.hacked=1>",
    "<a href=javascript:top.hacked=1>click</a>",
    "<base href=https://example.org/>",
    "<meta http-equiv=refresh content=0;url=https://example.org>",
    "<link rel=stylesheet href=https://example.org/x.css>",
    "<style>@import 'https://example.org/x.css';</style>",
    "<form action=https://example.org><button>x</button></form>",
    "<object data=https://example.org/x></object>",
    "<embed src=https://example.org/x>",
    '" onmouseover="top.hacked=1" x="',
    "' autofocus onfocus='top.hacked=1",
    "`-top.hacked=1-`",
    "javascript:top.hacked=1",
    "JaVaScRiPt:top.hacked=1//https://example.org",
    "data:text/html,<script>top.hacked=1</script>",
    "vbscript:top.hacked=1",
    "https://user:password@example.org/",
    "{{ constructor.constructor('top.hacked=1')() }}",
    "${top.hacked=1}",
    "<!--><script>top.hacked=1</script>-->",
    "]]><script>top.hacked=1</script>",
    "&lt;script&gt;top.hacked=1&lt;/script&gt;",
    "\\u003cscript\\u003etop.hacked=1",
    "\u202egnp.exe\u202c and zero\u200bwidth\u2060",
    r"$\href{javascript:top.hacked=1}{x}$ \input{/etc/passwd} $$\frac{",
    "\x1b]8;;https://example.org\x07link\x1b[2J",
    '=HYPERLINK("https://example.org")',
    "../../escape.html#case-x",
    "long " * 200_000,
)


@pytest.fixture(scope="module")
def hostile_page(make_report: MakeReport) -> str:
    texts = [text for text in HOSTILE if len(text) < 400]
    ids = [text if text.isprintable() else f"unprintable {at}" for at, text in enumerate(texts)]
    cases = [
        GoldCase(
            case_id=key,
            split="development",
            request={"query": text},
            expected={"document_ids": [key]},
            forbidden={"document_ids": [f"forbidden {key}"]},
            intent=text,
            description=text,
            tags={"kind": text},
        )
        for key, text in zip(ids, texts, strict=True)
    ]
    hits = [
        {"id": key, "text": text, "document": key, "metadata": {"url": text, "title": key}}
        for key, text in zip(ids, texts, strict=True)
    ]
    endless = {"id": "endless", "text": HOSTILE[-1], "document": "endless"}
    answers = {
        name: {
            text: [*hits[at : at + 4], *hits[:at][:4], *([] if at else [endless])]
            for at, text in enumerate(texts)
        }
        for name in (HOSTILE[4], HOSTILE[19])
    }
    reading = reading_of(make_report(cases, answers, name=HOSTILE[3]))
    return page_html(title(reading), all_sections(reading))


def test_hostile_text_is_no_markup(hostile_page: str) -> None:
    assert len(HOSTILE) > 29
    check_offline(hostile_page)
    seen = Elements()
    seen.feed(hostile_page)
    assert seen.scripts == 1
    assert not seen.handlers
    assert all(re.match(r"#|https?://[^@]*$", address) for address in seen.addresses)
    assert "\u202e" not in hostile_page
    assert "\u200b" not in hostile_page
    assert len(hostile_page) < 4_000_000


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.scripts, self.handlers, self.addresses = 0, [], []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        self.addresses += [value or "" for name, value in attrs if name == "href"]


@pytest.mark.browser
def test_hostile_text_runs_nothing(hostile_page: str, browser: Any, tmp_path: Any) -> None:
    path = tmp_path / "hostile.html"
    path.write_text(hostile_page)
    said: list[str] = []
    page = browser.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: (said.append("dialog"), dialog.dismiss()))
    page.on(
        "request",
        lambda asked: asked.url.startswith(("file:", "data:image")) or said.append(asked.url),
    )
    page.goto(path.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    page.get_by_role("searchbox").fill(HOSTILE[4])
    page.mouse.move(300, 300)
    assert page.evaluate("top.hacked") is None
    assert page.evaluate("document.scripts.length") == 1
    page.close()
    assert said == []


@pytest.mark.parametrize(
    ("n_cases", "n_variants"), [(0, 2), (3, 1), pytest.param(1, 60, marks=pytest.mark.slow)]
)
def test_reports_of_any_shape_are_pages(
    n_cases: int, n_variants: int, make_report: MakeReport
) -> None:
    cases = [
        GoldCase(
            case_id=f"c{i}",
            split="development",
            request={"query": f"q{i}"},
            expected={"document_ids": [f"d{i}"]},
        )
        for i in range(max(n_cases, 1))
    ]
    answers = {
        f"variant {v}": {f"q{i}": ["x"] * (v % 3) + [f"d{i}"] for i in range(len(cases))}
        for v in range(n_variants)
    }
    report = make_report(cases, answers)
    if not n_cases:
        report = report.model_copy(update={"cases": (), "results": (), "aggregates": ()})
    reading = reading_of(report)
    page = page_html(title(reading), all_sections(reading))
    check_offline(page)
    assert len(page) < 4_000_000
