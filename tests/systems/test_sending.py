"""Systems that go to worker processes go by their settings."""

from __future__ import annotations

import pickle

import pytest

from evalnb.api import evaluate
from evalnb.errors import BadInputError
from evalnb.evaluation.report import Observed
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.systems.http import http_system
from evalnb.systems.postgres.system import postgres_system
from evalnb.systems.providers import Embeddings, Endpoint

GOLD = dataset_from_cases(
    tuple(
        GoldCase(
            case_id=f"c{n}",
            split="development",
            request={"query": f"question {n}"},
            expected={"document_ids": ["a"]},
        )
        for n in range(12)
    ),
    dataset_id="twelve",
)


def test_a_service_is_searched_from_other_processes(serve):
    service = serve(lambda handler, asked: ["a", "b"])
    system = http_system({"url": service.url, "body": {"q": "{query}"}})
    alone, beside = (
        evaluate(GOLD, {"v": system}, executor=executor).record
        for executor in (None, "processes:2")
    )
    assert alone.model_copy(update={"observed": Observed()}) == beside.model_copy(
        update={"observed": Observed()}
    )
    assert len(service.asked) == 2 * len(GOLD.cases)


def test_a_pace_is_kept_within_one_process(serve):
    service = serve(lambda handler, asked: ["a"])
    table = {"url": service.url, "body": {"q": "{query}"}, "requests_per_second": 100}
    with pytest.raises(BadInputError, match=r"'v' cannot be sent.*requests_per_second"):
        evaluate(GOLD, {"v": http_system(table)}, executor="processes:2")
    assert not service.asked


def test_a_database_goes_with_the_encoder_of_its_questions(serve):
    service = serve(lambda handler, asked: {"data": [{"index": 0, "embedding": [1.0, 0.0]}]})
    encoder = Embeddings(Endpoint(url=service.url, model="m"))
    assert len(encoder(["opens a connection"])) == 1
    table = {"dsn_env": "TEST_DSN", "preset": "documents-chunks"}
    system = postgres_system(table, encoder=encoder)
    sent = pickle.loads(pickle.dumps(system))
    assert sent.capabilities() == system.capabilities()
    encoder.close()
