"""A hybrid out of the user's own channels: what is asked, fused, reranked, kept and refused."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from evalnb.errors import (
    BadInputError,
    CapabilityError,
    LimitExceededError,
    SearchFailedError,
    SearchTimeoutError,
)
from evalnb.search.fusion import fuse
from evalnb.search.request import Hints, Overrides, QueryRequest, resolve_controls
from evalnb.search.result import Hit, Identities, QueryResult, Usage
from evalnb.search.system import Capabilities, SearchContext
from evalnb.systems.composed import ComposedSystem
from evalnb.systems.function import FunctionSystem

REQUEST = QueryRequest(query="red boots")


def counted(returned):
    """Return a channel that counts its calls and keeps the limits it was given."""

    def find(query, limit):
        find.limits.append(limit)
        return returned

    find.limits = []
    return find


def search(system, *, overrides=None, request=REQUEST):
    """Search as the runner does: resolve, check, open, search, close."""
    chosen = Overrides.model_validate(overrides or {})
    controls = resolve_controls(request, chosen, system.capabilities().configuration)
    system.check(controls)
    session = system.open(SearchContext())
    try:
        return session.search(request, controls)
    finally:
        session.close()


def found(result):
    return [hit.ids.unit_id or hit.ids.document_id for hit in result.hits]


KEYWORD = [("x", 9.0), ("y", 6.0), ("z", 3.0)]
SEMANTIC = [("z", 0.8), ("x", 0.4)]


def hybrid(**settings):
    return ComposedSystem(
        {"keyword": lambda query: KEYWORD, "semantic": lambda query: SEMANTIC}, **settings
    )


FUSIONS = [
    # settings, overrides, ids in order, score of the first
    ({}, {}, ["x", "z", "y"], 1 / 61 + 1 / 62),
    ({"k": 1}, {}, ["x", "z", "y"], 1 / 2 + 1 / 3),
    ({}, {"hints": {"rrf_k": 1}}, ["x", "z", "y"], 1 / 2 + 1 / 3),
    ({"weights": {"semantic": 3.0}}, {}, ["z", "x", "y"], 3 / 61 + 1 / 63),
    (
        {"weights": {"semantic": 3.0}},
        {"hints": {"weights": {"semantic": 0.0}}},
        list("xyz"),
        1 / 61,
    ),
    ({}, {"hints": {"fusion": "weighted"}}, ["x", "z", "y"], 1.0),
    ({}, {"hints": {"fusion": "weighted", "normalisation": "none"}}, ["x", "y", "z"], 9.4),
    ({}, {"channels": ["semantic"]}, ["z", "x"], 1 / 61),
    ({}, {"mode": "keyword"}, ["x", "y", "z"], 1 / 61),
    ({}, {"mode": "semantic"}, ["z", "x"], 1 / 61),
    ({}, {"mode": "hybrid"}, ["x", "z", "y"], 1 / 61 + 1 / 62),
    ({}, {"limit": 1}, ["x"], 1 / 61 + 1 / 62),
]


@pytest.mark.parametrize(("settings", "overrides", "ids", "score"), FUSIONS)
def test_settings_and_overrides_decide_the_fusion(settings, overrides, ids, score):
    result = search(hybrid(**settings), overrides=overrides)
    assert found(result) == ids
    assert [hit.rank for hit in result.hits] == list(range(1, len(ids) + 1))
    assert result.hits[0].score == pytest.approx(score)


def test_every_candidate_is_kept_so_that_a_fusion_can_be_replayed():
    result = search(hybrid(), overrides={"limit": 1})
    assert result.n_returned == 3
    assert result.candidates["keyword"].ids == ("x", "y", "z")
    assert result.candidates["keyword"].scores == (9.0, 6.0, 3.0)
    assert result.candidates["semantic"].ids == ("z", "x")
    hints = Hints(fusion="weighted", normalisation="none")
    replayed = fuse(result.candidates, hints)
    searched = search(hybrid(), overrides={"hints": hints})
    assert list(replayed.ids) == found(searched)
    assert list(replayed.scores) == [hit.score for hit in searched.hits]


def test_a_hit_says_where_each_channel_had_it():
    first = search(hybrid()).hits[0]
    assert {name: (at.rank, at.score) for name, at in first.channels.items()} == {
        "keyword": (1, 9.0),
        "semantic": (2, 0.4),
    }


def test_a_duplicate_within_a_channel_holds_no_rank():
    result = search(ComposedSystem({"a": lambda query: ["x", "x", "y"]}))
    assert result.candidates["a"].ids == ("x", "y")
    assert result.hits[1].channels["a"].rank == 2


def test_a_disabled_channel_is_not_called_nor_opened():
    keyword, semantic = counted(["x"]), counted(["y"])
    system = ComposedSystem({"keyword": keyword, "semantic": semantic})
    search(system, overrides={"channels": ["keyword"]})
    search(system, overrides={"mode": "keyword"})
    assert (len(keyword.limits), semantic.limits) == (2, [])


def test_channels_are_asked_for_candidates_and_never_for_less_than_the_limit():
    channel = counted(["x"])
    system = ComposedSystem({"a": channel}, candidates=20)
    for overrides in ({}, {"hints": {"candidates": 7}}, {"limit": 30}):
        search(system, overrides=overrides)
    assert channel.limits == [20, 10, 30]


CHUNKS = {
    # a text without an id of its own: the source names the document, the text tells chunks apart
    "one": SimpleNamespace(page_content="one", id=None, metadata={"source": "r.pdf"}),
    "two": SimpleNamespace(page_content="two", id=None, metadata={"source": "r.pdf"}),
}


def test_the_same_chunk_is_the_same_in_every_channel():
    system = ComposedSystem(
        {"a": lambda q: [CHUNKS["one"], CHUNKS["two"]], "b": lambda q: [CHUNKS["two"]]}
    )
    result = search(system)
    assert [hit.text for hit in result.hits] == ["two", "one"]
    assert set(result.hits[0].channels) == {"a", "b"}
    assert {hit.ids.document_id for hit in result.hits} == {"r.pdf"}
    assert result.hits[0].ids.unit_id == "r.pdf#3fc4ccfe"  # SHA-256 of "two"
    assert result.candidates["b"].ids == ("r.pdf#3fc4ccfe",)


def test_ids_that_name_documents_are_told_apart_by_text_in_every_channel():
    a, b = [("r.pdf", "one"), ("r.pdf", "two")], [("r.pdf", "two")]
    result = search(ComposedSystem({"a": lambda q: a, "b": lambda q: b}))
    assert [hit.text for hit in result.hits] == ["two", "one"]


def test_ids_that_name_chunks_are_the_same_whatever_text_is_shown():
    a, b = [("c1", "the whole chunk"), ("c2", "x")], [("c1", "...chunk...")]
    result = search(ComposedSystem({"a": lambda q: a, "b": lambda q: b}))
    assert found(result) == ["c1", "c2"]
    assert result.hits[0].text == "the whole chunk"


def test_text_and_name_come_from_the_first_channel_that_gives_them():
    named = [{"id": "x", "metadata": {"title": "Boots", "page": 3}}]
    system = ComposedSystem(
        {
            "ids": lambda q: ["x", "y"],
            "texts": lambda q: [("x", "red boots"), ("y", "hats")],
            "more": lambda q: [("x", "other text")],
            "names": lambda q: named,
        }
    )
    first, second = search(system).hits
    assert (first.kind, first.ids.unit_id, first.text) == ("unit", "x", "red boots")
    assert (first.document_name, first.metadata["page"]) == ("Boots", 3)
    assert (second.text, second.document_name) == ("hats", "y")


def test_numbers_and_text_are_the_same_id():
    assert found(search(ComposedSystem({"a": lambda q: [7], "b": lambda q: ["7"]}))) == ["7"]


RERANKED = [
    # the reranker, ids in order, their final scores
    (lambda query, hits: [1.0, 3.0, 2.0], ["z", "y", "x"], [3.0, 2.0, 1.0]),
    (lambda query, hits: np.array([1, 3, 2]), ["z", "y", "x"], [3.0, 2.0, 1.0]),
    (lambda query, hits: [1.0] * len(hits), ["x", "y", "z"], [1.0] * 3),  # a tie: by id
    (lambda query, hits: ["y", "z", "x"], ["y", "z", "x"], [None] * 3),
    (lambda query, hits: ["y"], ["y", "x", "z"], [None] * 3),  # the rest in fused order
]


@pytest.mark.parametrize(("rerank", "ids", "scores"), RERANKED)
def test_a_reranker_gives_scores_or_an_order(rerank, ids, scores):
    result = search(hybrid(rerank=rerank))
    assert found(result) == ids
    assert [hit.score for hit in result.hits] == scores
    assert result.rerank_scores.ids == tuple(ids)
    assert result.rerank_scores.scores == tuple(scores)


def test_reranking_is_on_with_a_reranker_until_a_variant_says_otherwise():
    calls = []

    def rerank(query, hits):
        calls.append((query, [hit.ids.document_id for hit in hits]))
        return [float(rank) for rank in range(len(hits))]

    system = hybrid(rerank=rerank)
    assert found(search(system)) == ["y", "z", "x"]
    assert calls == [("red boots", ["x", "z", "y"])]
    for overrides in (
        {"rerank": False},
        {"mode": "hybrid"},
        {"channels": ["keyword", "semantic"], "rerank": False},
    ):
        result = search(system, overrides=overrides)
        assert (found(result), result.rerank_scores) == (["x", "z", "y"], None)
    assert len(calls) == 1
    search(system, overrides={"channels": ["keyword"], "rerank": True})
    assert calls[1][1] == ["x", "y", "z"]


def test_only_the_depth_is_reranked_and_its_scores_are_kept_past_the_limit():
    system = hybrid(rerank=lambda query, hits: [0.1, 0.2])
    result = search(system, overrides={"hints": {"rerank_depth": 2}, "limit": 1})
    assert found(result) == ["z"]
    assert result.rerank_scores.ids == ("z", "x")
    whole = search(system, overrides={"hints": {"rerank_depth": 2}})
    assert [(hit.ids.document_id, hit.score) for hit in whole.hits] == [
        ("z", 0.2),
        ("x", 0.1),
        ("y", None),
    ]


def test_a_reranker_of_texts_gets_texts():
    got = []

    def rerank(query, texts):
        got.extend(texts)
        return [len(text) for text in texts]

    def chunks(query):
        return [("a", "short"), ("b", "much longer")]

    assert found(search(ComposedSystem({"a": chunks}, rerank=rerank))) == ["b", "a"]
    assert got == ["short", "much longer"]
    with pytest.raises(CapabilityError, match="rerank reads texts, and no channel gives one"):
        search(hybrid(rerank=rerank))


def test_an_empty_pool_is_not_reranked():
    system = ComposedSystem({"a": lambda q: []}, rerank=lambda query, hits: 1 / 0)
    assert search(system).hits == ()


async def async_rerank(query, hits):
    return [1.0] * len(hits)


@pytest.mark.parametrize(
    ("rerank", "says"),
    [
        (lambda query, hits: 1 / 0, "rerank: ZeroDivisionError"),
        (lambda query, hits: None, "returned NoneType"),
        (lambda query, hits: [1.0], "1 scores for 3 hits"),
        (lambda query, hits: [1.0, 2.0, float("nan")], "score of 'y' is nan"),
        (lambda query, hits: [1.0, True, None], "score of 'z' is True"),
        (lambda query, hits: ["x", "q"], "'q', which it was not given"),
        (lambda query, hits: ["x", "x"], "an id twice"),
        (lambda query, hits: {"x": 1.0}, "returned dict"),
        (async_rerank, "coroutine"),
    ],
)
def test_a_rerank_that_fails_is_an_error_of_its_own(rerank, says):
    with pytest.raises(SearchFailedError, match=says):
        search(hybrid(rerank=rerank))


def unavailable(query):
    return QueryResult(status="unavailable", reason="no index")


@pytest.mark.parametrize(
    ("channel", "error", "says"),
    [
        (lambda q: 1 / 0, SearchFailedError, "channel 'b': ZeroDivisionError"),
        (lambda q: None, SearchFailedError, "channel 'b': the function returned None"),
        (lambda q: [("x", float("nan"))], SearchFailedError, "channel 'b': the score of result 1"),
        (unavailable, SearchFailedError, "channel 'b': no index"),
        (
            FunctionSystem(lambda q: time.sleep(5) or [], timeout_s=0.05),
            SearchTimeoutError,
            "channel 'b': no answer within 0.05 s",
        ),
    ],
)
def test_a_failing_channel_is_named_and_nothing_partial_is_returned(channel, error, says):
    with pytest.raises(error, match=says):
        search(ComposedSystem({"a": lambda q: ["x"], "b": channel}))


def test_threads_that_share_a_session_get_their_own_answers():
    def slow(query):
        time.sleep(0.005)
        return [query]

    system = ComposedSystem({"a": FunctionSystem(slow, timeout_s=5)})
    controls = resolve_controls(REQUEST, Overrides(), system.capabilities().configuration)
    session = system.open(SearchContext())
    queries = [f"q{number}" for number in range(24)]
    with ThreadPoolExecutor(6) as pool:
        results = pool.map(lambda q: session.search(QueryRequest(query=q), controls), queries)
        assert [found(result) for result in results] == [[query] for query in queries]
    session.close()


def test_weighted_fusion_needs_every_score():
    system = ComposedSystem({"a": lambda q: ["x"], "b": lambda q: KEYWORD})
    with pytest.raises(CapabilityError, match="channel 'a' gives no score for 'x'"):
        search(system, overrides={"hints": {"fusion": "weighted"}})


@pytest.mark.parametrize(
    ("overrides", "error", "says"),
    [
        ({"channels": ["keywrod"]}, CapabilityError, "no channel 'keywrod'.*'keyword'"),
        ({"channels": ["lexical"]}, CapabilityError, "keyword, semantic"),
        ({"rerank": True}, CapabilityError, "no reranker is given"),
        ({"mode": "hybrid_rerank"}, CapabilityError, "no reranker is given"),
        (
            {"hints": {"reranker": "maxsim"}},
            CapabilityError,
            "reranker here is not named, found 'maxsim'",
        ),
        (
            {"hints": {"lexical_operator": "any"}},
            CapabilityError,
            "cannot execute lexical_operator",
        ),
        ({"hints": {"weights": {"bm25": 1.0}}}, BadInputError, "'bm25', which is no channel"),
        (
            {"channels": ["keyword"], "hints": {"weights": {"keyword": 0.0}}},
            BadInputError,
            "every weight is 0",
        ),
        ({"hints": {"candidates": 1001}}, LimitExceededError, "1,001 is past the limit of 1,000"),
    ],
)
def test_what_cannot_be_executed_is_refused_before_any_search(overrides, error, says):
    calls = counted([])
    system = ComposedSystem({"keyword": calls, "semantic": calls})
    with pytest.raises(error, match=says):
        search(system, overrides=overrides)
    assert calls.limits == []


def test_a_mode_without_its_leg_is_refused():
    system = ComposedSystem({"title": lambda q: [], "body": lambda q: []})
    assert search(system, overrides={"mode": "hybrid"}).hits == ()
    with pytest.raises(CapabilityError, match=r"no channel 'lexical'.*body, title"):
        search(system, overrides={"mode": "keyword"})


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda f: ComposedSystem({}), "no channel is given"),
        (lambda f: ComposedSystem({"": f}), "must not be empty"),
        (lambda f: ComposedSystem({3: f}), "has to be text, found 3"),
        (lambda f: ComposedSystem({"a": "module:name"}), "channel 'a'.*callable, found str"),
        (lambda f: ComposedSystem({"a": (f, {"depth": 3})}), "channel 'a': depth"),
        (lambda f: ComposedSystem({"a": f}, k=0), "rrf_k.*found 0"),
        (lambda f: ComposedSystem({"a": f}, candidates=True), "candidates.*found True"),
        (lambda f: ComposedSystem({"a": f}, weights={"b": 1}), "'b', which is no channel"),
        (lambda f: ComposedSystem({"a": f}, weights={"a": float("nan")}), "weights.a.*found nan"),
        (lambda f: ComposedSystem({"a": f}, rerank="maxsim"), "rerank has to be callable"),
    ],
)
def test_impossible_settings_are_refused_at_once(build, says):
    with pytest.raises(BadInputError, match=says):
        build(lambda query: [])


class Engine:
    """A search system with legs of its own, as a channel."""

    def __init__(self, *, restrictions=(), identity=None):
        self.asked, self.opened, self.closed = [], 0, 0
        self._capabilities = Capabilities(
            channels=("lexical", "text"),
            restrictions=frozenset(restrictions),
            identity=identity or {"engine": "1"},
        )

    def capabilities(self):
        return self._capabilities

    def check(self, controls):
        if controls.hints.heading_weight:
            raise CapabilityError("no headings", remedy="leave heading_weight out")

    def open(self, context):
        self.opened += 1
        return self

    def search(self, request, controls):
        self.asked.append(controls)
        hit = Hit(rank=1, kind="unit", ids=Identities(document_id="d", unit_id="u1"), score=1.0)
        return QueryResult(hits=[hit], usage=Usage(calls=1, tokens=5))

    def close(self):
        self.closed += 1


def test_a_system_is_a_channel_with_its_own_overrides():
    engine = Engine()
    system = ComposedSystem(
        {
            "bm25": (engine, {"mode": "keyword"}),
            "vector": (engine, {"mode": "semantic", "limit": 5}),
        }
    )
    result = search(system, overrides={"hints": {"lexical_operator": "phrase", "rrf_k": 5}})
    bm25, vector = engine.asked
    assert (bm25.channels, bm25.limit, vector.channels, vector.limit) == (
        ("lexical",),
        100,
        ("text",),
        5,
    )
    assert (bm25.hints.lexical_operator, bm25.hints.rrf_k) == ("phrase", None)
    assert found(result) == ["u1"]
    assert (result.usage.calls, result.usage.tokens, result.usage.cost) == (2, 10, None)
    assert (engine.opened, engine.closed) == (1, 1)  # they share a session
    with pytest.raises(CapabilityError, match="channel 'bm25': no headings"):
        search(system, overrides={"hints": {"heading_weight": 2.0}})


def test_it_honours_what_all_its_channels_honour():
    def with_request(query, request):
        return []

    engine = Engine(restrictions=["source_ids", "as_of"])
    both = ComposedSystem({"a": with_request, "b": engine}).capabilities()
    assert both.restrictions == {"source_ids", "as_of"}
    assert not ComposedSystem({"a": lambda q: [], "b": engine}).capabilities().restrictions


def test_its_identity_is_its_channels_and_settings():
    def build(version, **settings):
        return ComposedSystem(
            {"a": FunctionSystem(len, version=version)}, **settings
        ).capabilities()

    assert build("1").versioned
    assert not build(None).versioned
    assert build("1").identity == build("1").identity
    others = [build("2"), build("1", k=9), build("1", candidates=9), build("1", weights={"a": 2})]
    assert all(other.identity != build("1").identity for other in others)


def test_only_a_version_of_its_own_makes_a_reranker_or_a_system_usable_again():
    def rerank(query, hits):
        return []

    channel = FunctionSystem(len, version="1")
    assert not ComposedSystem({"a": channel}, rerank=rerank).capabilities().versioned
    rerank.version = "2"
    assert ComposedSystem({"a": channel}, rerank=rerank).capabilities().versioned
    assert not ComposedSystem({"a": Engine()}).capabilities().versioned  # a cut may stand behind it
    named = Engine(identity={"version": "7"})
    assert ComposedSystem({"a": named}).capabilities().versioned


def test_a_trace_is_given_when_asked_for():
    asked = REQUEST.model_copy(update={"trace": True})
    assert search(hybrid()).trace is None
    steps = [d.step for d in search(hybrid(), request=asked).trace.decisions]
    assert steps == ["channel keyword", "channel semantic", "fusion rrf", "cut"]
