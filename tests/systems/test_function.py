"""A Python function in every shape that users have."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from evalnb.api import evaluate
from evalnb.errors import BadInputError, CapabilityError, SearchFailedError
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.search.request import Controls, QueryRequest
from evalnb.search.result import Hit, Identities, QueryResult
from evalnb.search.system import SearchContext
from evalnb.systems.function import FunctionSystem
from evalnb.systems.hits import parse_hits

REQUEST = QueryRequest(query="red boots")


def search(function, *, limit=10, request=REQUEST):
    session = FunctionSystem(function).open(SearchContext())
    try:
        return session.search(request, Controls(limit=limit))
    finally:
        session.close()


def document(**fields):
    return SimpleNamespace(**fields)


SHAPES = [
    # what is returned, document ids, unit ids, texts, scores, names
    (["a", "b"], ["a", "b"], [None, None], [None, None], [None, None], ["a", "b"]),
    ([7, np.int64(8)], ["7", "8"], [None, None], [None, None], [None, None], ["7", "8"]),
    ([("a", 2.5), ["b", 1]], ["a", "b"], [None, None], [None, None], [2.5, 1.0], ["a", "b"]),
    ([("a", np.float32(0.5))], ["a"], [None], [None], [0.5], ["a"]),
    ([("a", "one"), ("b", "two")], ["a", "b"], ["a", "b"], ["one", "two"], [None] * 2, ["a", "b"]),
    (
        [("a", "one"), ("a", "two"), ("b", "three")],
        ["a", "a", "b"],
        ["a#1", "a#2", "b"],
        ["one", "two", "three"],
        [None] * 3,
        ["a", "a", "b"],
    ),
    (
        [{"id": "c1", "text": "x", "document": "r.pdf", "score": 3, "metadata": {"page": 4}}],
        ["r.pdf"],
        ["c1"],
        ["x"],
        [3.0],
        ["r.pdf"],
    ),
    (
        [document(page_content="x", id=None, metadata={"source": "r.pdf"})] * 2,
        ["r.pdf", "r.pdf"],
        ["r.pdf#1", "r.pdf#2"],
        ["x", "x"],
        [None] * 2,
        ["r.pdf", "r.pdf"],
    ),
    (
        [(document(page_content="x", id="k", metadata={"title": "Report"}), 0.25)],
        ["k"],
        ["k"],
        ["x"],
        [0.25],
        ["Report"],
    ),
    (
        [
            document(
                node=document(text="x", node_id="n1", metadata={"file_name": "f.md"}), score=0.5
            )
        ],
        ["n1"],
        ["n1"],
        ["x"],
        [0.5],
        ["f.md"],
    ),
    (np.array(["a", "b"]), ["a", "b"], [None, None], [None, None], [None, None], ["a", "b"]),
    ((item for item in "ab"), ["a", "b"], [None, None], [None, None], [None, None], ["a", "b"]),
    ([], [], [], [], [], []),
]


@pytest.mark.parametrize(("returned", "documents", "units", "texts", "scores", "names"), SHAPES)
def test_every_shape_is_read(returned, documents, units, texts, scores, names):
    hits = parse_hits(returned, limit=10).hits
    assert [hit.rank for hit in hits] == list(range(1, len(documents) + 1))
    assert [hit.ids.document_id for hit in hits] == documents
    assert [hit.ids.unit_id for hit in hits] == units
    assert [hit.text for hit in hits] == texts
    assert [hit.score for hit in hits] == scores
    assert [hit.document_name for hit in hits] == names


def test_the_order_is_the_functions_own_whatever_the_scores_say():
    hits = parse_hits([("a", 0.1), ("b", 0.9)], limit=10).hits
    assert [hit.ids.document_id for hit in hits] == ["a", "b"]


def test_more_hits_than_the_limit_are_counted_and_left_out():
    result = parse_hits(list("abcde"), limit=2)
    assert [hit.ids.document_id for hit in result.hits] == ["a", "b"]
    assert result.n_returned == 5


def test_an_endless_generator_ends():
    def endless(query):
        number = 0
        while True:
            yield f"d{number}"
            number += 1

    assert len(search(endless, limit=3).hits) == 3


def test_a_text_without_an_id_is_known_by_its_digest():
    first, second = (parse_hits([{"text": "same"}], limit=1).hits[0] for _ in range(2))
    assert first.ids.unit_id == second.ids.unit_id
    assert first.ids.unit_id.startswith("sha256:")
    assert first.ids.document_id is None


def test_a_data_frame_is_read_by_its_rows():
    frame = pd.DataFrame({"id": ["a", "b"], "score": [2.0, 1.0]})
    hits = parse_hits(frame, limit=10).hits
    assert [(hit.ids.document_id, hit.score) for hit in hits] == [("a", 2.0), ("b", 1.0)]


def test_a_ready_result_passes_and_is_cut():
    ready = QueryResult(hits=[Hit(rank=r, ids=Identities(document_id=f"d{r}")) for r in (1, 2)])
    result = parse_hits(ready, limit=1)
    assert (len(result.hits), result.n_returned) == (1, 2)


Pair = namedtuple("Pair", "id score")


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        (None, "returned None"),
        ("abc", "str 'abc'"),
        (b"abc", "bytes"),
        ({"a": 1.0}, "dict"),
        ({"a"}, "set"),
        (3, "int 3"),
        ([None], "result 1 is NoneType"),
        ([True], "result 1 is bool"),
        ([0.5], "result 1 is float 0.5"),
        ([{"score": 1.0}], "without an id or a text"),
        (["a", ""], "the id of result 2: an id must not be empty"),
        (["a\x00b"], "printable"),
        (["a\nb"], "printable"),
        (["x" * 513], "513 bytes"),
        (["\ud800"], "surrogates"),
        ([("a", float("nan"))], "the score of result 1 is nan"),
        ([Pair("a", float("inf"))], "the score of result 1 is inf"),
        ([("a", True)], "not a number"),
        ([("a", 1.0, 2)], "3 parts"),
        ([{"id": "a", "text": 5}], "the text of result 1 is int 5"),
        ([{"id": "a", "text": "\ud800"}], "surrogates"),
        ([{"id": 1.5, "text": "x"}], "the id of result 1 is float 1.5"),
        ([{"id": "a", "score": "high"}], "not a number"),
    ],
)
def test_what_is_no_result_is_refused_by_position(returned, says):
    with pytest.raises(SearchFailedError, match=says):
        parse_hits(returned, limit=10)


@pytest.mark.parametrize("name", ["limit", "k", "top_k", "n", "size"])
def test_the_limit_goes_to_the_parameter_that_takes_it(name):
    got = {}
    namespace = {"got": got}
    exec(f"def find(query, {name}=99):\n    got['limit'] = {name}\n    return []", namespace)
    search(namespace["find"], limit=7)
    assert got == {"limit": 7}


def test_the_request_goes_to_the_parameter_that_takes_it():
    got = []

    def find(text, *, request, top_k):
        got.append((text, request, top_k))
        return []

    search(find)
    assert got == [("red boots", REQUEST, 10)]
    assert "source_ids" in FunctionSystem(find).capabilities().restrictions
    assert not FunctionSystem(lambda q: []).capabilities().restrictions


def test_async_functions_and_generators_run_also_beside_a_running_loop():
    loops = set()

    async def find(query):
        loops.add(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return ["a"]

    async def stream(query):
        yield "a"

    async def notebook():  # Jupyter's main thread runs a loop of its own
        session = FunctionSystem(find).open(SearchContext())
        both = [session.search(REQUEST, Controls()) for _ in range(2)]
        session.close()
        return both

    assert [r.hits[0].ids.document_id for r in asyncio.run(notebook())] == ["a", "a"]
    assert len(loops) == 1
    assert search(stream).hits[0].ids.document_id == "a"


def test_a_closed_async_session_leaves_no_thread():
    async def find(query):
        return []

    before = threading.active_count()
    search(find)
    until = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < until:
        time.sleep(0.01)
    assert threading.active_count() <= before


def test_what_cannot_be_called_is_refused_with_the_method_to_pass():
    class Retriever:
        def invoke(self, query):
            return []

    with pytest.raises(BadInputError, match=r"Retriever.*pass its method \.invoke"):
        FunctionSystem(Retriever())
    with pytest.raises(BadInputError, match="no positional argument"):
        FunctionSystem(lambda: None)
    with pytest.raises(BadInputError, match="'index'"):
        FunctionSystem(lambda query, index: [])
    with pytest.raises(BadInputError, match="timeout_s"):
        FunctionSystem(lambda query: [], timeout_s=0)


def test_methods_and_callable_objects_are_functions():
    class Engine:
        def find(self, query, k):
            return ["a"] * k

        __call__ = find

    assert len(search(Engine().find, limit=2).hits) == 2
    assert len(search(Engine(), limit=2).hits) == 2


def test_a_function_has_no_modes_to_choose():
    with pytest.raises(CapabilityError, match="hybrid: a function has no channels"):
        FunctionSystem(lambda q: []).check(Controls(mode="hybrid", channels=("lexical", "text")))


def test_only_a_version_of_its_own_makes_results_usable_again():
    assert not FunctionSystem(lambda q: []).capabilities().versioned
    named = FunctionSystem(lambda q: [], version="2").capabilities()
    assert named.versioned
    assert named.identity["version"] == "2"


def test_hints_of_a_variant_reach_a_function_that_takes_the_request_and_no_other():
    gold = {"query": ["red boots"], "expected": ["a"]}
    overrides = {"hints": {"system_options": {"boost": 2}}}
    got = []

    def takes(text, request):
        got.append(request.hints.system_options)
        return ["a"]

    evaluate(pd.DataFrame(gold), {"v": (takes, overrides)})
    assert got == [{"boost": 2}]
    with pytest.raises(CapabilityError, match="system_options: a function without a parameter"):
        evaluate(pd.DataFrame(gold), {"v": (lambda text: ["a"], overrides)})


def test_hints_that_a_case_carries_for_another_system_leave_a_function_alone():
    case = GoldCase(
        case_id="c",
        split="development",
        request={"query": "kirmizi bot", "mode": "keyword", "hints": {"language": "tr"}},
        expected={"document_ids": ["a"]},
    )
    report = evaluate(dataset_from_cases((case,), dataset_id="one"), lambda text: ["a"]).record
    assert [(r.result.status, r.controls.hints.given) for r in report.results] == [("ok", ())]
