"""Spans covered, what must not be shown, paths, edges, references."""

from __future__ import annotations

from typing import Any

import pytest

from evalnb.gold.cases import GoldCase
from evalnb.gold.labels import GoldSpan, JudgedEdge, LabelledIds
from evalnb.measures.evidence import (
    edge_precision,
    forbidden_candidates,
    forbidden_leakage,
    path_precision,
    path_recall,
    reference_resolution,
    span_completeness,
)
from evalnb.measures.ranking import Score
from evalnb.search.request import QueryRequest
from evalnb.search.result import (
    AssetLocator,
    Candidates,
    Citation,
    Decision,
    Edge,
    Excerpt,
    GraphSupport,
    Hit,
    Identities,
    QueryResult,
    Span,
    TextLocator,
    Trace,
    VisualProxy,
)
from evalnb.search.system import Extraction


def _case(**labels: Any) -> GoldCase:
    return GoldCase(case_id="c", split="development", request=QueryRequest(query="q"), **labels)


def _shown(score: Score) -> tuple[str, float | None, float | None]:
    return (score.status, score.numerator, score.denominator)


def _spanned(*spans: tuple[str, int, int]) -> QueryResult:
    hits = [
        Hit(
            rank=rank,
            ids=Identities(unit_id=f"u{rank}", revision_id=revision),
            span=Span(extraction_id="e", start=start, end=end),
        )
        for rank, (revision, start, end) in enumerate(spans, start=1)
    ]
    return QueryResult(hits=tuple(hits))


@pytest.mark.parametrize(
    ("expected", "returned", "covered", "total"),
    [
        ([("r", 0, 10)], [("r", 0, 10)], 10, 10),
        ([("r", 0, 10)], [("r", 5, 20)], 5, 10),
        ([("r", 0, 10)], [("r", 10, 20)], 0, 10),
        ([("r", 0, 10)], [("r", 0, 6), ("r", 4, 8)], 8, 10),
        ([("r", 0, 10), ("r", 5, 15)], [("r", 0, 15)], 15, 15),
        ([("r", 0, 10), ("r", 20, 30)], [("r", 8, 22)], 4, 20),
        ([("r", 0, 10)], [("other", 0, 10)], 0, 10),
        ([("r", 0, 10), ("s", 0, 5)], [("s", 0, 5), ("r", 1, 2)], 6, 15),
        ([("r", 0, 10)], [], 0, 10),
    ],
)
def test_spans(
    expected: list[tuple[str, int, int]],
    returned: list[tuple[str, int, int]],
    covered: int,
    total: int,
) -> None:
    spans = tuple(GoldSpan(revision_id=r, start=a, end=b) for r, a, b in expected)
    score = span_completeness(_case(spans=spans), _spanned(*returned))
    assert _shown(score) == ("ok", covered, total)


def test_spans_are_undefined_without_gold_and_unavailable_without_spans() -> None:
    spans = (GoldSpan(revision_id="r", start=0, end=4),)
    bare = QueryResult(hits=(Hit(rank=1, ids=Identities(document_id="d")),))
    assert span_completeness(_case(), _spanned(("r", 0, 4))).status == "undefined"
    score = span_completeness(_case(spans=spans), bare)
    assert (score.status, score.reason) == ("unavailable", "no hit carries span")


def test_a_revision_is_known_by_the_owner_of_a_unit_and_a_text_locator_is_a_span() -> None:
    case = _case(spans=(GoldSpan(revision_id="r", start=0, end=4),))
    hit = Hit(rank=1, ids=Identities(unit_id="u"), locator=TextLocator(path="p", start=2, end=9))
    owner = Extraction("e", "r", "d", "s", "p", None, "text of it", {"u": (2, 9)})
    score = span_completeness(case, QueryResult(hits=(hit,)), {"u": owner})
    assert _shown(score) == ("ok", 2, 4)


X = Identities(document_id="x")
OF_S = Identities(unit_id="u", document_id="d", source_id="s")

# One forbidden thing, shown on one surface after another.
SURFACES = {
    "hit": {"hits": (Hit(rank=1, ids=X),)},
    "context": {"context": (Excerpt(ids=X),)},
    "structured": {"structured": (X,)},
    "citation": {"citations": (Citation(ids=X),)},
    "visual proxy": {"visual_proxies": (VisualProxy(ids=X),)},
    "reference": {"references": ("x",)},
    "decision": {"decisions": (Decision(step="drop", ids=("x",)),)},
    "graph node": {"graph": GraphSupport(nodes=("x",))},
    "graph edge": {"graph": GraphSupport(edges=(Edge(source="a", target="x", kind="k"),))},
    "graph path": {"graph": GraphSupport(paths=(("a", "x"),))},
}


@pytest.mark.parametrize("surface", SURFACES)
def test_every_surface_can_leak(surface: str) -> None:
    case = _case(forbidden=LabelledIds(document_ids=("x", "y")))
    score = forbidden_leakage(case, QueryResult(**SURFACES[surface]), kinds=("document",))
    assert (_shown(score), score.value) == (("ok", 1, 2), 0.5)


def test_an_asset_can_leak_by_its_locator() -> None:
    locator = AssetLocator(asset_id="x", sha256="0")
    result = QueryResult(citations=(Citation(ids=OF_S, locator=locator),))
    case = _case(forbidden=LabelledIds(asset_ids=("x",)))
    assert forbidden_leakage(case, result).value == 1.0


@pytest.mark.parametrize(
    ("result", "leaked"),
    [
        ({"hits": (Hit(rank=1, ids=OF_S),)}, 1),
        ({"context": (Excerpt(ids=OF_S),)}, 1),
        ({"hits": (Hit(rank=1, ids=Identities(unit_id="u")),)}, 1),
        ({"decisions": (Decision(step="drop", ids=("u",)),)}, 1),
        ({"decisions": (Decision(step="drop", ids=("d",)),), "structured": (OF_S,)}, 1),
        ({"hits": (Hit(rank=1, ids=Identities(unit_id="v", source_id="t")),)}, 0),
    ],
)
def test_a_descendant_of_a_forbidden_source_leaks_it(result: dict[str, Any], leaked: int) -> None:
    owner = Extraction("e", "r", "d", "s", "p", None, "text", {"u": (0, 4)})
    case = _case(forbidden=LabelledIds(source_ids=("s",)))
    score = forbidden_leakage(case, QueryResult(**result), {"u": owner})
    assert _shown(score) == ("ok", leaked, 1)


def test_a_source_shown_by_name_does_not_leak_a_unit_of_it() -> None:
    case = _case(forbidden=LabelledIds(unit_ids=("u",)))
    result = QueryResult(decisions=(Decision(step="filter", ids=("s",)),))
    assert forbidden_leakage(case, result).value == 0.0
    case = _case(forbidden=LabelledIds(source_ids=("u",)))  # a source that is called like a unit
    hit = Hit(rank=1, ids=Identities(unit_id="u", source_id="s"))
    assert forbidden_leakage(case, QueryResult(hits=(hit,))).value == 0.0


@pytest.mark.parametrize(
    ("hits", "kinds", "status"),
    [
        ((), (), "ok"),
        ((Hit(rank=1, ids=X),), (), "unavailable"),
        ((Hit(rank=1, ids=X),), ("document",), "unavailable"),
        ((Hit(rank=1, ids=X),), ("document", "asset"), "ok"),
    ],
)
def test_a_kind_that_the_system_cannot_show_is_not_0(
    hits: tuple[Hit, ...], kinds: tuple[Any, ...], status: str
) -> None:
    case = _case(forbidden=LabelledIds(asset_ids=("a",)))
    score = forbidden_leakage(case, QueryResult(hits=hits), kinds=kinds)
    assert score.status == status
    assert status == "ok" or score.reason == "no hit carries asset_id"


def test_candidates_and_trace_are_counted_apart() -> None:
    case = _case(forbidden=LabelledIds(document_ids=("x",), source_ids=("s",)))
    result = QueryResult(
        hits=(Hit(rank=1, ids=Identities(document_id="d", source_id="s2")),),
        candidates={"lexical": Candidates(ids=("d", "x"), scores=(2.0, 1.0))},
        trace=Trace(decisions=(Decision(step="fuse", ids=("d",)),)),
    )
    assert forbidden_leakage(case, result).value == 0.0
    assert forbidden_candidates(case, result).value == 0.5
    assert forbidden_candidates(case, QueryResult()).status == "undefined"
    assert forbidden_candidates(_case(), result).status == "undefined"
    pool = QueryResult(rerank_scores=Candidates(ids=("x",), scores=(None,)))
    assert forbidden_candidates(case, pool).value == 0.5


PATHS = {"paths": (("a", "b"), ("a", "c"))}


@pytest.mark.parametrize(
    ("returned", "precision", "recall"),
    [
        ((("a", "b"),), ("ok", 1, 1), ("ok", 1, 2)),
        ((("a", "b"), ("a", "b"), ("b", "a")), ("ok", 1, 2), ("ok", 1, 2)),
        ((), ("undefined", None, None), ("ok", 0, 2)),
    ],
)
def test_paths_are_ordered(
    returned: tuple[tuple[str, ...], ...], precision: Any, recall: Any
) -> None:
    result = QueryResult(graph=GraphSupport(paths=returned))
    assert _shown(path_precision(_case(**PATHS), result)) == precision
    assert _shown(path_recall(_case(**PATHS), result)) == recall


def test_paths_without_gold_or_graph() -> None:
    hits = (Hit(rank=1, ids=X),)
    assert path_precision(_case(), QueryResult()).status == "undefined"
    assert path_recall(_case(), QueryResult()).status == "undefined"
    assert path_recall(_case(**PATHS), QueryResult()).value == 0.0
    assert path_recall(_case(**PATHS), QueryResult(hits=hits)).status == "unavailable"


def test_edges_are_directed_and_unjudged_ones_left_out() -> None:
    case = _case(
        edges=(
            JudgedEdge(source="a", target="b", kind="cites", relevant=True),
            JudgedEdge(source="b", target="a", kind="cites", relevant=False),
            JudgedEdge(source="a", target="b", kind="names", relevant=True),
        )
    )
    pairs = [("a", "b", "cites"), ("b", "a", "cites"), ("a", "c", "cites"), ("a", "b", "cites")]
    edges = tuple(Edge(source=s, target=t, kind=k) for s, t, k in pairs)
    assert _shown(edge_precision(case, QueryResult(graph=GraphSupport(edges=edges)))) == (
        "ok",
        1,
        2,
    )
    unjudged = QueryResult(graph=GraphSupport(edges=edges[2:3]))
    assert edge_precision(case, unjudged).reason == "no judged edge returned"
    assert edge_precision(_case(), unjudged).reason == "no gold"


@pytest.mark.parametrize(
    ("references", "shown"),
    [
        (("r1", "r9"), ("ok", 1, 2)),
        ((), ("ok", 0, 2)),
        (None, ("undefined", None, None)),
    ],
)
def test_references(references: tuple[str, ...] | None, shown: Any) -> None:
    case = _case(references=("r1", "r2"))
    assert _shown(reference_resolution(case, QueryResult(references=references))) == shown
    assert reference_resolution(_case(), QueryResult(references=references)).status == "undefined"
