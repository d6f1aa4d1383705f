"""OpenAI-compatible endpoints on a real socket: embeddings and a listwise reranker."""

from __future__ import annotations

import gc
import pickle
import warnings

import numpy as np
import pytest

from evalnb.errors import BadInputError, CapabilityError, SearchFailedError
from evalnb.search.metering import metered
from evalnb.search.request import Controls, QueryRequest
from evalnb.search.result import QueryResult, TokenCount, Usage
from evalnb.search.system import SearchContext
from evalnb.systems.composed import ComposedSystem
from evalnb.systems.function import FunctionSystem
from evalnb.systems.providers import Embeddings, Endpoint, ListwiseReranker


def endpoint(service, **more):
    return Endpoint(url=service.url.removesuffix("/search") + "/v1", model="small", **more)


def vector(text):
    return [float(len(text)), 1.0]


def embedding(handler, asked):
    texts = asked.json["input"]
    rows = [{"index": at, "embedding": vector(text)} for at, text in enumerate(texts)]
    return {"data": rows[::-1], "usage": {"total_tokens": 3}}  # numbered, in another order


def used(provider, work):
    """Do some work in a search, close the provider, and return what the search consumed."""

    def search():
        work()
        return QueryResult()

    usage = metered(search).usage
    provider.close()
    return usage


def test_texts_are_embedded_in_batches_and_in_their_order(serve, monkeypatch):
    monkeypatch.setenv("LAB_KEY", "sk-abcdefgh")
    service = serve(embedding)
    headers = {"Authorization": "Bearer ${LAB_KEY}"}
    embed = Embeddings(endpoint(service, headers=headers, parameters={"user": "me"}), batch=2)
    rows = embed(["a", "bbb", "cc"])
    assert rows.dtype == np.float32
    assert rows.tolist() == [[1.0, 1.0], [3.0, 1.0], [2.0, 1.0]]
    assert [len(asked.json["input"]) for asked in service.asked] == [2, 1]
    first = service.asked[0]
    assert (first.path, first.json["model"], first.json["user"]) == (
        "/v1/embeddings",
        "small",
        "me",
    )
    assert first.headers["Authorization"] == "Bearer sk-abcdefgh"
    assert embed([]).shape == (0, 2)
    embed.close()


BAD_EMBEDDINGS = [
    ({"error": "no"}, "no answer of embeddings: data: Field required"),
    ({"data": [{"embedding": [1.0]}]}, "1 embeddings for 2 texts"),
    ({"data": [{"embedding": [1.0]}, {"embedding": [1.0, 2.0]}]}, "has 2 dimensions; 1 are"),
    ({"data": [{"embedding": [1.0]}, {"embedding": [0.0]}]}, "only zeros"),
    ({"data": [{"embedding": [1.0]}, {"embedding": [None]}]}, "data.1.embedding.0"),
    ({"data": [{"embedding": [1.0]}, {"embedding": ["1.0"]}]}, "data.1.embedding.0"),
    ({"data": [{"embedding": [1.0]}, {"embedding": [1e300]}]}, "data.1.embedding.0"),
    ({"data": [{"embedding": [1.0]}, {"embedding": []}]}, "data.1.embedding"),
    ({"data": [{"embedding": "AACAPw=="}] * 2}, "data.0.embedding"),
    ({"data": [{"embedding": [1.0], "index": 1}] * 2}, "not numbered from 0"),
    ([], "the answer"),
]


@pytest.mark.parametrize(("answer", "says"), BAD_EMBEDDINGS, ids=str)
def test_what_are_no_embeddings_is_refused(serve, answer, says):
    embed = Embeddings(endpoint(serve(lambda handler, asked: answer)))
    with pytest.raises(SearchFailedError, match=says):
        embed(["a", "b"])
    embed.close()


def test_nan_is_refused(serve):
    body = b'{"data": [{"embedding": [NaN]}]}'
    embed = Embeddings(endpoint(serve(lambda handler, asked: handler.reply(200, body))))
    with pytest.raises(SearchFailedError, match="not JSON"):
        embed(["a"])
    embed.close()


def test_the_dimensions_that_are_expected_are_checked(serve):
    embed = Embeddings(endpoint(serve(embedding)), dimensions=3)
    with pytest.raises(SearchFailedError, match="has 2 dimensions; 3 are expected"):
        embed(["a"])
    embed.close()
    with pytest.raises(BadInputError, match="batch"):
        Embeddings(endpoint(serve(embedding)), batch=0)


def test_a_missing_key_is_named(serve, monkeypatch):
    monkeypatch.delenv("LAB_KEY", raising=False)
    service = serve(embedding)
    embed = Embeddings(endpoint(service, headers={"Authorization": "Bearer ${LAB_KEY}"}))
    for attempt in (embed.check, lambda: embed(["a"])):
        with pytest.raises(CapabilityError, match="LAB_KEY is not set"):
            attempt()
    assert service.asked == []


def saying(content):
    return lambda handler, asked: {"choices": [{"message": {"content": content}}]}


ORDERS = [
    # what the model says, scores of the passages 1 2 3, whether it had to be repaired
    ("[3, 1, 2]", [2.0, 1.0, 3.0], 0),
    ('{"ranking": [3, 1, 2]}', [2.0, 1.0, 3.0], 0),
    ("<think>[1, 2] or so</think> [3, 1, 2]", [2.0, 1.0, 3.0], 0),
    ("[3] > [1] > [2]", [2.0, 1.0, 3.0], 0),
    ("3, 1, 2", [2.0, 1.0, 3.0], 0),
    ("Passage [3] is best.", [2.0, 1.0, 3.0], 1),  # the others as they were given
    ("[3, 3, 1, 2]", [2.0, 1.0, 3.0], 1),
    ("[9, 3, 0, 1]", [2.0, 1.0, 3.0], 1),
]


@pytest.mark.parametrize(("said", "scores", "repaired"), ORDERS)
def test_an_order_is_read_and_repaired(serve, said, scores, repaired):
    service = serve(saying(said))
    rerank = ListwiseReranker(endpoint(service, parameters={"temperature": 0}))
    found = []
    usage = used(rerank, lambda: found.append(rerank("boots?", ["a", "b", "c" * 5000])))
    assert (found, usage.calls, usage.repaired or 0) == ([scores], 1, repaired)
    (asked,) = service.asked
    assert (asked.path, asked.json["temperature"]) == ("/v1/chat/completions", 0)
    prompt = asked.json["messages"][0]["content"]
    assert "Query: boots?\n\n[1] a\n\n[2] b\n\n[3] ccc" in prompt
    assert len(prompt) < 2500


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (saying("I cannot help with 2 of these."), "named no passage: 'I cannot help"),
        (saying(None), "named no passage: ''"),
        (saying("[7, 8]"), "named no passage"),
        (lambda handler, asked: {"choices": []}, "choices"),
        (lambda handler, asked: {"error": {"message": "quota"}}, "choices: Field required"),
    ],
)
def test_an_answer_without_an_order_is_an_error(serve, answer, says):
    rerank = ListwiseReranker(endpoint(serve(answer)))
    with pytest.raises(SearchFailedError, match=says):
        rerank("q", ["a", "b"])
    rerank.close()


def test_it_reranks_a_composed_system_unless_that_is_offline(serve):
    rerank = ListwiseReranker(endpoint(serve(saying("[2, 1]")), version="2026-11"))
    system = ComposedSystem({"a": lambda q: [("x", "one"), ("y", "two")]}, rerank=rerank)
    identity = system.capabilities().identity
    assert (identity["rerank.model"], identity["rerank.version"]) == ("small", "2026-11")
    session = system.open(SearchContext())
    found = session.search(QueryRequest(query="q"), Controls(rerank=True))
    assert [hit.ids.unit_id for hit in found.hits] == ["y", "x"]
    with pytest.raises(CapabilityError, match="offline"):
        system.open(SearchContext(offline=True)).search(
            QueryRequest(query="q"), Controls(rerank=True)
        )
    rerank.close()


COUNTS = [
    # what the endpoint says of a batch, tokens of two batches, by model
    ({"prompt_tokens": 5, "total_tokens": 5}, 10, {"small": TokenCount(input=10)}),
    ({"prompt_tokens": 5, "completion_tokens": 2}, 14, {"small": TokenCount(input=10, output=4)}),
    ({"total_tokens": 5}, None, {}),
    ({"prompt_tokens": "many"}, None, {}),
    (None, None, {}),
]


@pytest.mark.parametrize(("said", "tokens", "by_model"), COUNTS)
def test_calls_and_tokens_are_metered_as_the_endpoint_counts_them(serve, said, tokens, by_model):
    service = serve(lambda handler, asked: embedding(handler, asked) | {"usage": said})
    embed = Embeddings(endpoint(service), batch=1)
    usage = used(embed, lambda: embed(["a", "b"]))
    assert usage == Usage(calls=2, tokens=tokens, by_model=by_model)


def test_a_composed_system_adds_up_its_channels_and_its_reranker(serve):
    def answer(handler, asked):
        counted = {"usage": {"prompt_tokens": 40, "completion_tokens": 6, "total_tokens": 46}}
        if asked.path.endswith("embeddings"):
            return embedding(handler, asked) | {"usage": {"prompt_tokens": 3, "total_tokens": 3}}
        return saying("[2, 1]")(handler, asked) | counted

    service = serve(answer)
    embed, rerank = Embeddings(endpoint(service)), ListwiseReranker(endpoint(service))

    def dense(query):
        embed([query])
        return [("x", "one"), ("y", "two")]

    channels = {
        "dense": FunctionSystem(dense, timeout_s=5.0),  # a timed channel runs in another thread
        "own": lambda query: QueryResult(usage=Usage(calls=1, tokens=100, cost=0.25)),
    }
    session = ComposedSystem(channels, rerank=rerank).open(SearchContext())
    usage = session.search(QueryRequest(query="q"), Controls(rerank=True)).usage
    assert usage == Usage(
        calls=3, tokens=149, cost=0.25, by_model={"small": TokenCount(input=43, output=6)}
    )
    for each in (session, embed, rerank):
        each.close()


def test_a_provider_that_was_used_can_be_sent_to_another_process(serve):
    embed = Embeddings(endpoint(serve(embedding)))
    assert embed(["a"]).tolist() == [[1.0, 1.0]]
    copy = pickle.loads(pickle.dumps(embed))
    assert copy(["bb"]).tolist() == [[2.0, 1.0]]
    for each in (embed, copy):
        each.close()


def test_a_provider_that_nobody_closes_leaves_no_socket_open(serve):
    def answer(handler, asked):
        handler.protocol_version, handler.close_connection = "HTTP/1.1", False  # kept for the next
        return embedding(handler, asked)

    embed = Embeddings(endpoint(serve(answer)))
    embed(["a"])
    del embed
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        gc.collect()
    assert not [found for found in warned if found.category is ResourceWarning]
