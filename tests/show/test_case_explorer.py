"""The case explorer: controls are set, and the list, the state line and the page are read."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import evalnb as ev
from evalnb.errors import NotFoundError
from evalnb.evaluation.report import EvaluationReport
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.search.result import AssetLocator, Hit, Identities, QueryResult
from evalnb.show.widgets.explorer import PAGE, CaseExplorer
from evalnb.show.widgets.keys import Keys

MakeReport = Callable[..., EvaluationReport]


class Found(HTMLParser):
    """What a browser would make of a page: its tags, and the attributes that fetch or run."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.active: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name.startswith("on") or name in {"href", "action", "srcdoc"}:
                self.active.add(name)
            if name == "src":
                self.active.add((value or "").partition(",")[0])


TABLE = {"table", "thead", "tbody", "tr", "th", "td"}
PLAIN = TABLE | {"style", "div", "p", "details", "summary", "span", "b", "dl", "dt", "dd"}
PLAIN |= {"section", "h3", "ul", "li", "small", "mark", "img"}
IMAGES = {"data:image/svg+xml;base64"}


@pytest.fixture
def explorer(report: EvaluationReport) -> CaseExplorer:
    return CaseExplorer(report)


def said(explorer: CaseExplorer) -> str:
    return explorer._line.text


def page(explorer: CaseExplorer) -> str:
    return str(explorer._part.value)


def test_it_opens_on_the_first_case_under_the_baseline_and_the_next(explorer: CaseExplorer) -> None:
    assert explorer.case_id == "case-1"
    assert said(explorer) == (
        "Case 1 of 10: case-1 · ▲ 3 → 1 · where is the harbour; 2 variants side by side."
    )
    assert re.findall("<h3>(.*?)</h3>", page(explorer)) == ["today (baseline)", "better &lt;i&gt;"]
    assert " open><summary>" in page(explorer)
    assert "Candidates and Trace: not recorded." in page(explorer)


def test_next_and_previous_stop_at_the_ends(explorer: CaseExplorer) -> None:
    assert explorer.previous.disabled
    explorer.next.click()
    assert (explorer.case_id, explorer.cases.value) == ("case/2 ü", "case/2 ü")
    explorer.previous.click()
    explorer.previous.click()
    assert explorer.case_id == "case-1"
    explorer.cases.value = "more-5"
    assert said(explorer).startswith("Case 10 of 10")
    assert explorer.next.disabled


def test_keys_go_on_and_back(explorer: CaseExplorer) -> None:
    (keys,) = [child for child in explorer.box.children if isinstance(child, Keys)]
    for key in ("n", "n", "p", "x"):
        keys._handle_custom_msg({"key": key}, [])
    keys._handle_custom_msg("no record", [])
    assert explorer.case_id == "case/2 ü"


def test_filters_and_order_make_the_list(explorer: CaseExplorer) -> None:
    explorer.variant.value = "broken"
    explorer.state.value = "miss"
    assert list(explorer.frame()["case_id"]) == ["case-3"]
    assert said(explorer) == (
        "Case 1 of 1 that fit (10 cases in all): case-3 · ▼ 1 → miss · who keeps the light; "
        "lost: not returned; 2 variants side by side."
    )
    explorer.state.value = ""
    explorer.order.value = "worst change first"
    assert explorer.frame()["case_id"].iloc[0] == "case-3"
    explorer.text.value = "harbour"
    assert [value for _, value in explorer.cases.options] == ["case-1"]
    explorer.text.value = "nowhere at all"
    assert said(explorer) == "None of 10 cases fits the filters."
    assert (page(explorer), explorer.cases.value, explorer.frame().empty) == ("", None, True)
    explorer.text.value = ""
    assert said(explorer).startswith("Case 1 of 10")


def test_variants_stand_side_by_side(explorer: CaseExplorer) -> None:
    explorer.side_by_side.value = ("today", "better <i>", "broken")
    assert re.findall("<h3>(.*?)</h3>", page(explorer)) == [
        "today (baseline)",
        "better &lt;i&gt;",
        "broken",
    ]
    explorer.side_by_side.value = ()
    assert said(explorer).endswith("no variant is chosen.")


def test_a_case_can_be_named(explorer: CaseExplorer) -> None:
    explorer.show("case-3")
    assert explorer.cases.value == "case-3"
    with pytest.raises(NotFoundError, match="no case 'case-9'"):
        explorer.show("case-9")


def test_unknown_names_are_refused(report: EvaluationReport) -> None:
    with pytest.raises(NotFoundError, match="no variant 'none'"):
        CaseExplorer(report, variants=["none"])
    with pytest.raises(NotFoundError, match="baseline"):
        CaseExplorer(report, baseline="none")


def test_elsewhere_it_is_a_page(explorer: CaseExplorer) -> None:
    bundle = explorer._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert bundle["text/plain"] == said(explorer)
    assert "where is the harbour" in bundle["text/html"]
    assert Found(bundle["text/html"]).tags <= PLAIN


def test_no_case_and_one_variant_are_said(report: EvaluationReport, make_report: Any) -> None:
    empty = CaseExplorer(report.model_copy(update={"cases": (), "results": ()}))
    assert (said(empty), empty.case_id, len(empty.frame())) == ("The report has no case.", "", 0)
    empty.step(1)
    case = GoldCase(case_id="c", split="development", request={"query": "q"})
    alone = CaseExplorer(make_report([case], {"mine": {"q": ["a"]}}))
    assert said(alone) == (
        "Case 1 of 1: c · no gold · q; 1 variant side by side, nothing to compare it with."
    )


def test_channels_and_ways_stand_with_each_variant() -> None:
    case = GoldCase(
        case_id="c", split="development", request={"query": "q"}, document_relevance={"b": 1}
    )
    channels: dict[str, Any] = {"keyword": lambda q: ["a", "b"], "semantic": lambda q: ["b", "c"]}
    systems = {"fused": ev.fused(channels), "plain": lambda q: ["b"]}
    report = ev.evaluate(dataset_from_cases((case,), dataset_id="one"), systems)
    shown = page(CaseExplorer(report))
    assert "keyword 2 · semantic 1" in shown
    assert 'alt="Ranks of 1 relevant id. b: keyword 2, semantic 1, fused 1, returned 1."' in shown
    assert shown.count('<img class="chart"') == 1
    assert "Candidates and Trace: not recorded." in shown  # of plain


def test_pictures_stand_with_their_hits(make_report: MakeReport, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    hits = tuple(
        Hit(
            rank=rank,
            kind="asset",
            ids=Identities(asset_id=key),
            locator=AssetLocator(asset_id=key, sha256="0" * 64) if key == "other" else None,
        )
        for rank, key in enumerate(["fig", "other", "gone"], 1)
    )
    case = GoldCase(
        case_id="c", split="development", request={"query": "q"}, expected={"asset_ids": ["fig"]}
    )
    report = make_report([case], {"mine": {"q": QueryResult(hits=hits)}})
    images = {"fig": tmp_path / "a.png", "other": tmp_path / "a.png"}
    shown = page(CaseExplorer(report, images=images))
    assert shown.count("data:image/png;base64,") == 1
    assert "Image other: the file is not the one that was searched" in shown
    assert "Image gone: no file is given for it." in shown


def test_many_cases_are_listed_by_the_page(make_report: MakeReport) -> None:
    n = 2 * PAGE + 1
    cases = [
        GoldCase(case_id=f"c{at}", split="development", request={"query": f"q{at}"})
        for at in range(n)
    ]
    many = CaseExplorer(make_report(cases, {"mine": {}}))
    assert (len(many.cases.options), len(many.frame())) == (PAGE, n)
    many.show(f"c{PAGE - 1}")
    many.next.click()
    assert many.cases.options[0][1] == many.cases.value == f"c{PAGE}"
    many.show(f"c{n - 1}")
    assert len(many.cases.options) == 1


HOSTILE = [
    "<script>alert(1)</script>",
    "<ScRiPt src=//evil.example/x.js></ScRiPt>",
    "<img src=x onerror=alert(1)>",
    "<img src=x onerror='alert(1)'//",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    '" autofocus onfocus="alert(1)',
    "<details open ontoggle=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "</style></details></div><iframe src=//evil.example>",
    "<style>*{display:none}</style>",
    "<base href=//evil.example>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<form action=//evil.example><button>go</button></form>",
    "<object data=javascript:alert(1)>",
    "<!-- <script> -->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<math><mi xlink:href='javascript:alert(1)'>",
    "&lt;script&gt; &#60;script&#62; &amp;amp;",
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "[x](javascript:alert(1)) ![x](//evil.example)",
    "$\\href{javascript:alert(1)}{x}$ \\(x\\) $$\\frac$$",
    "{{ 7*7 }} {% raw %} ${7*7} <%= 7*7 %>",
    "pay\u202epal \u2066x\u2069 \u200f",
    "zero\u200bwidth\ufeff\u00ad\u2060",
    "\x1b[31mred\x07\x08",
    "tag\U000e0041 \ufff9x\ufffb \u2028",
    "e\u0301 東京 İstanbul 😀",
]


def test_hostile_text_is_shown_as_typed() -> None:
    cases, found = [], {}
    for at, text in enumerate(HOSTILE):
        key = f"{at} {text if text.isprintable() else ''}"  # other ids are refused
        cases.append(
            GoldCase(
                case_id=key,
                split="development",
                description=text,
                intent=text,
                tags={text: text},
                request={"query": f"q{at} {text}"},
                document_relevance={key: 1},
            )
        )
        chunk = {
            "id": key,
            "document": key,
            "text": f"\x00{text} {'x' * (1_000 if at else 1_000_000)}",
        }
        found[f"q{at} {text}"] = [chunk | {"metadata": {"url": HOSTILE[19 + at % 3]}}]
    gold = dataset_from_cases(tuple(cases), dataset_id="one", name=HOSTILE[0])
    systems = {HOSTILE[2]: ev.fused({HOSTILE[0][:20]: found.__getitem__}), "plain": found.get}
    explorer = CaseExplorer(ev.evaluate(gold, systems, limits=ev.Limits(artifact_bytes=2**31)))
    assert len(HOSTILE) >= 29
    for at, text in enumerate(HOSTILE):
        shown = page(explorer)
        assert f"q{at} " in shown
        read = Found(shown)
        assert read.tags <= PLAIN, text
        assert read.active <= IMAGES, text
        everything = " ".join(
            [shown, said(explorer), *(each for each, _ in explorer.cases.options)]
        )
        assert not re.search("[\x00\x07\x1b\u202e\u2066\u200b\ufeff\U000e0041]", everything)
        assert len(shown) < 100_000
        explorer.step(1)
    assert explorer.frame()["query"].tolist() == list(found)
