"""A locator holds only if what it points at is really there."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from evalnb.measures.locators import locator_validity
from evalnb.search.result import (
    AssetLocator,
    Citation,
    Hit,
    Identities,
    LineLocator,
    PageLocator,
    QueryResult,
    Span,
    TextLocator,
    VisualProxy,
)
from evalnb.search.system import Extraction

TEXT = "alpha\nbeta gamma\ndelta 😀 end\n"
OWNER = Extraction(
    extraction_id="e",
    revision_id="r",
    document_id="d",
    source_id="s",
    path="a/b.md",
    file_id="f",
    text=TEXT,
    units={"u": (6, 16), "v": (17, 28)},
    assets={"x": "aa" * 32},
)
BOUND = {"u": OWNER, "v": OWNER, "x": OWNER}
IDS = {"unit_id": "u", "document_id": "d", "revision_id": "r", "source_id": "s", "file_id": "f"}


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _hit(**changes: Any) -> Hit:
    fields: dict[str, Any] = {
        "rank": 1,
        "ids": Identities(**(IDS | changes.pop("ids", {}))),
        "text": "beta gamma",
        "text_sha256": _sha("beta gamma"),
        "span": Span(extraction_id="e", start=6, end=16),
        "locator": TextLocator(path="a/b.md", start=6, end=16),
    }
    return Hit(**(fields | changes))


def _span(start: int, end: int, extraction: str = "e") -> dict[str, Any]:
    return {
        "span": Span(extraction_id=extraction, start=start, end=end),
        "locator": None,
        "text": None,
        "text_sha256": None,
    }


def _text(start: int, end: int, path: str = "a/b.md") -> dict[str, Any]:
    return {"locator": TextLocator(path=path, start=start, end=end)}


def _lines(first: int, last: int) -> dict[str, Any]:
    return {"locator": LineLocator(path="a/b.md", first_line=first, last_line=last)}


def _asset(asset_id: str, sha256: str) -> dict[str, Any]:
    ids = {"unit_id": None, "asset_id": "x"}
    locator = AssetLocator(asset_id=asset_id, sha256=sha256)
    return {"ids": ids, "span": None, "text": None, "text_sha256": None, "locator": locator}


VALID = [
    {},
    {"locator": None},
    {"span": None},
    {"text": None},
    {"text_sha256": None},
    {"ids": {"document_id": None, "source_id": None, "file_id": None}},
    _lines(2, 2),
    {"locator": PageLocator(path="a/b.md", page=1)},
    _span(8, 10),
    _span(17, 28) | {"ids": {"unit_id": "v"}, "text": TEXT[17:28]},
    _asset("x", "aa" * 32),
]  # fmt: skip


@pytest.mark.parametrize("changes", VALID)
def test_locators_that_hold(changes: dict[str, Any]) -> None:
    score = locator_validity(QueryResult(hits=(_hit(**changes),)), BOUND)
    assert (score.value, score.reason) == (1.0, None)


INVALID = [
    ({"ids": {"unit_id": "ghost"}}, "'ghost' is no member of the pinned cut"),
    ({"ids": {"unit_id": None}}, "it names no unit and no asset"),
    ({"ids": {"document_id": "other"}}, "the document is 'other', the corpus has 'd'"),
    ({"ids": {"revision_id": "old"}}, "the revision is 'old', the corpus has 'r'"),
    ({"ids": {"source_id": "t"}}, "the source is 't'"),
    ({"ids": {"file_id": "g"}}, "the file is 'g'"),
    ({"ids": {"asset_id": "y"}}, "asset 'y' is not of 'e'"),
    (_text(6, 16, "a/c.md"), "the path is 'a/c.md'"),
    (_text(6, 15), "the text at [6, 15) is not the text returned"),
    ({"text": "beta gamm"}, "the text at [6, 16) is not the text returned"),
    ({"text_sha256": _sha("beta")}, "the text at [6, 16) has another digest"),
    (_span(6, 16, "old"), "the span is in 'old', its unit in 'e'"),
    (_span(6, 900), f"[6, 900) does not stand in a text of {len(TEXT)} codepoints"),
    (_span(9, 9), "[9, 9) does not stand"),
    (_span(12, 9), "[12, 9) does not stand"),
    (_span(0, 10), "[0, 10) leaves its unit [6, 16)"),
    (_span(8, 20), "[8, 20) leaves its unit [6, 16)"),
    (_lines(1, 2), "lines 1 to 2 are lines 2 to 2"),
    (_lines(3, 9), "lines 3 to 9 do not stand in a file of 3"),
    (_lines(3, 2), "lines 3 to 2 do not stand"),
    (_asset("x", "bb" * 32), "the bytes of asset 'x' have another digest"),
    (_asset("y", "aa" * 32), "the asset is 'x', its locator says 'y'"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "fault"), INVALID)
def test_locators_that_do_not_hold_say_why(changes: dict[str, Any], fault: str) -> None:
    good = _hit(rank=1)
    score = locator_validity(QueryResult(hits=(good, _hit(rank=2, **changes))), BOUND)
    assert (score.value, score.numerator, score.denominator) == (0.5, 1, 2)
    assert (score.reason or "").startswith("hit 2: ")
    assert fault in (score.reason or "")


def test_every_surface_with_locators_counts() -> None:
    wrong = TextLocator(path="elsewhere", start=6, end=16)
    result = QueryResult(
        hits=(_hit(), Hit(rank=2, ids=Identities(unit_id="u"))),
        citations=(
            Citation(ids=Identities(unit_id="u"), locator=wrong),
            Citation(ids=Identities(unit_id="u")),
        ),
        visual_proxies=tuple(
            VisualProxy(
                ids=Identities(asset_id="x"),
                text="a caption is no text of the corpus",
                locator=AssetLocator(asset_id="x", sha256=sha256),
            )
            for sha256 in ("cc", "aa" * 32)
        ),
    )
    score = locator_validity(result, BOUND)
    assert (score.numerator, score.denominator) == (2, 4)
    assert (score.reason or "").startswith("citation 1: the path is 'elsewhere'")
    assert "; visual proxy 1: the bytes of asset 'x'" in (score.reason or "")


def test_many_faults_are_counted_not_listed() -> None:
    hits = tuple(_hit(rank=n, ids={"unit_id": f"g{n}"}) for n in range(1, 6))
    score = locator_validity(QueryResult(hits=hits), BOUND)
    assert score.value == 0.0
    assert (score.reason or "").endswith("; 2 more")


@pytest.mark.parametrize(
    ("result", "bindings", "reason"),
    [
        (QueryResult(hits=(_hit(),)), None, "no bindings to verify against"),
        (QueryResult(), BOUND, "nothing returned"),
        (QueryResult(hits=(Hit(rank=1, ids=Identities(unit_id="u")),)), BOUND, "nothing returned"),
    ],
)
def test_undefined(result: QueryResult, bindings: Any, reason: str) -> None:
    score = locator_validity(result, bindings)
    assert (score.status, score.reason) == ("undefined", reason)
