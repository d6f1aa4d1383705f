"""A search service over real sockets: what is sent, what is read, and every way it can fail."""

from __future__ import annotations

import logging
import shutil
import socket
import ssl
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate

import pytest

from evalnb.errors import (
    BadInputError,
    CapabilityError,
    LimitExceededError,
    NotFoundError,
    SearchFailedError,
    SearchTimeoutError,
)
from evalnb.search.request import Controls, Hints, QueryRequest
from evalnb.search.system import SearchContext
from evalnb.systems import transport
from evalnb.systems.composed import ComposedSystem
from evalnb.systems.http import http_system
from evalnb.wiring import toml_system

REQUEST = QueryRequest(query='red "boots" {limit}')


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    monkeypatch.setattr(transport, "BACKOFF_S", 0.001)


def settings(url, **more):
    return {"url": url, "body": {"q": "{query}", "k": "{limit}"}, **more}


def search(system, *, limit=10, hints=None, context=None, request=REQUEST):
    controls = Controls(limit=limit, hints=Hints(**(hints or {})))
    system.check(controls)
    session = system.open(context or SearchContext())
    try:
        return session.search(request, controls)
    finally:
        session.close()


def ids(result):
    return [hit.ids.document_id for hit in result.hits]


def answering(value):
    return lambda handler, asked: value


def test_a_plain_list_of_ids(serve):
    service = serve(answering(["b", "a", 7, "b"]))
    result = search(http_system(settings(service.url)), limit=3)
    assert (ids(result), result.n_returned) == (["b", "a", "7"], 4)
    (asked,) = service.asked
    assert (asked.method, asked.json) == ("POST", {"q": 'red "boots" {limit}', "k": 3})
    assert asked.headers["User-Agent"].startswith("evalnb/")


HITS = {
    "took": 3,
    "timed_out": False,
    "_shards": {"total": 2, "failed": 0},
    "hits": {
        "hits": [
            {"_id": "1", "_score": 2.5, "_source": {"title": "Boots", "text": "red boots"}},
            {"_id": "2", "_score": 1.5, "_source": {"text": "hats"}},
        ]
    },
}


@pytest.mark.parametrize("preset", ["elasticsearch", "opensearch"])
def test_search_engines_need_only_their_url(serve, preset):
    service = serve(answering(HITS))
    first, second = search(http_system({"preset": preset, "url": service.url}), limit=5).hits
    assert (first.ids.unit_id, first.text, first.score) == ("1", "red boots", 2.5)
    assert (first.document_name, second.document_name) == ("Boots", "2")
    assert service.asked[0].json == {
        "query": {"multi_match": {"query": REQUEST.query}},
        "size": 5,
    }


@pytest.mark.parametrize(
    "partial", [{"timed_out": True}, {"_shards": {"total": 2, "failed": 1}}], ids=str
)
def test_a_part_of_the_answer_is_a_failure(serve, partial):
    service = serve(answering(HITS | partial))
    with pytest.raises(SearchFailedError, match="the answer is incomplete"):
        search(http_system({"preset": "elasticsearch", "url": service.url}))


def test_paths_say_where_everything_stands(serve):
    found = {"data": [{"meta": {"key": 5, "file": "a.pdf"}, "body": "x", "sim": 0.5, "t": "A"}]}
    service = serve(answering(found))
    system = http_system(
        settings(
            service.url,
            results="data",
            id="meta.key",
            document="meta.file",
            text="body",
            score="sim",
            name="t",
        )
    )
    (hit,) = search(system).hits
    assert (hit.ids.document_id, hit.ids.unit_id, hit.text, hit.score) == ("a.pdf", "5", "x", 0.5)
    assert hit.document_name == "A"


def test_options_are_what_variants_change(serve):
    service = serve(answering([]))
    table = settings(
        service.url,
        method="GET",
        body=None,
        params={"q": "{query}", "boost": "title^{title_boost}", "exact": "{exact}"},
        options={"title_boost": 2, "exact": False},
    )
    system = http_system({key: value for key, value in table.items() if value is not None})
    search(system, request=QueryRequest(query="a&b=c"))
    search(system, hints={"system_options": {"title_boost": 3}})
    assert service.asked[0].path == "/search?q=a%26b%3Dc&boost=title%5E2&exact=false"
    assert "title%5E3" in service.asked[1].path
    with pytest.raises(CapabilityError, match=r"no option 'titleboost'.*'title_boost'"):
        search(system, hints={"system_options": {"titleboost": 3}})
    with pytest.raises(CapabilityError, match="a service is not sent rrf_k"):
        search(system, hints={"rrf_k": 3})


def test_duplicate_chunks_are_numbered_and_told_apart_by_text_in_a_fusion(serve):
    found = [{"id": "r.pdf", "text": "one"}, {"id": "r.pdf", "text": "two"}]
    system = http_system(settings(serve(answering(found)).url))
    assert [hit.ids.unit_id for hit in search(system).hits] == ["r.pdf#1", "r.pdf#2"]
    fused = ComposedSystem({"http": system, "mine": lambda query: [("r.pdf", "two")]})
    assert search(fused).hits[0].text == "two"


BAD_ANSWERS = [
    # what is answered, what is said of it
    ({"error": "x", "took": 1}, "no list of results at '@', found an object with error, took"),
    (None, "no list of results.*found null"),
    ("text", "found a str"),
    ([{"score": 1.0}], "result 1 is dict.*without an id or a text"),
    ([{"id": 1.5}], "the id of result 1 is float 1.5"),
    ([{"id": "a", "score": "high"}], "the score of result 1 is str 'high'"),
    ([["a", 1, 2]], "3 parts"),
]


@pytest.mark.parametrize(("answer", "says"), BAD_ANSWERS, ids=str)
def test_an_answer_without_results_is_refused(serve, answer, says):
    def respond(handler, asked):
        handler.reply(200, transport.json.dumps(answer).encode())

    with pytest.raises(SearchFailedError, match=says):
        search(http_system(settings(serve(respond).url)))


def replying(status, content=b"", **headers):
    return lambda handler, asked: handler.reply(status, content, **headers)


BROKEN = [
    (
        replying(200, b"<html>sign in", Content_Type="text/html"),
        r"\(text/html\) is not JSON.*<html>",
    ),
    (replying(200, b""), "is not JSON"),
    (replying(200, b'["a", NaN]'), "is not JSON"),
    (replying(200, b'["a\xff"]'), "is not JSON"),
    (replying(200, b"[" * 100_000), "is not JSON"),
    (replying(404, b'{"error": "no such index"}'), "status 404 Not Found.*no such index"),
    (replying(401), r"status 401 Unauthorized \(check the headers"),
    (replying(302, Location="/else"), "status 302 turns POST into GET"),
    (replying(307, Location="http://localhost:1/x"), "redirected to another host"),
    (replying(307, Location="/search"), "more than 5 redirects"),
    (replying(500, b"boom"), r"status 500 Internal Server Error: boom \(3 attempts\)"),
    (replying(429, b""), r"status 429 Too Many Requests \(3 attempts\)"),
    (replying(429, b"", Retry_After="3600"), r"status 429 Too Many Requests \(1 attempt\)"),
    (lambda handler, asked: handler.connection.shutdown(socket.SHUT_RDWR), "broke off.*3 attempts"),
]


@pytest.mark.parametrize(("respond", "says"), BROKEN)
def test_what_is_no_answer_fails_with_the_place(serve, respond, says):
    service = serve(respond)
    with pytest.raises(SearchFailedError, match=says):
        search(http_system(settings(service.url)))


def test_redirects_within_the_host_are_followed_with_the_query(serve):
    def respond(handler, asked):
        if asked.path == "/search":
            return handler.reply(307, Location="/v2/search")
        return ["a"]

    service = serve(respond)
    assert ids(search(http_system(settings(service.url)))) == ["a"]
    assert [asked.json["k"] for asked in service.asked] == [10, 10]


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_passing_failures_are_tried_again(serve, status):
    def respond(handler, asked):
        return handler.reply(status) if len(service.asked) < 3 else ["a"]

    service = serve(respond)
    assert ids(search(http_system(settings(service.url)))) == ["a"]
    assert len(service.asked) == 3


@pytest.mark.parametrize("when", [lambda: "1", lambda: formatdate(time.time() + 1.5, usegmt=True)])
def test_a_server_that_names_its_time_is_given_it(serve, when):
    times = []

    def respond(handler, asked):
        times.append(time.monotonic())
        return handler.reply(429, Retry_After=when()) if len(times) == 1 else ["a"]

    assert ids(search(http_system(settings(serve(respond).url)))) == ["a"]
    assert times[1] - times[0] > 0.4


def test_a_wait_past_the_time_left_is_not_begun(serve):
    service = serve(replying(429, Retry_After="2"))
    started = time.monotonic()
    with pytest.raises(SearchFailedError, match="429"):
        search(http_system(settings(service.url, timeout_s=0.5)))
    assert time.monotonic() - started < 0.5


def test_what_never_comes_and_what_never_ends_time_out(serve):
    def hang(handler, asked):
        time.sleep(1)

    def drip(handler, asked):
        handler.send_response(200)
        handler.end_headers()
        for _ in range(30):
            handler.wfile.write(b" ")
            time.sleep(0.05)

    for respond in (hang, drip):
        system = http_system(settings(serve(respond).url, timeout_s=0.2))
        started = time.monotonic()
        with pytest.raises(SearchTimeoutError, match="in time"):
            search(system)
        assert time.monotonic() - started < 0.8


def test_the_deadline_of_the_request_holds_too(serve):
    service = serve(lambda handler, asked: time.sleep(0.5))
    context = SearchContext(deadline=time.monotonic() + 0.1)
    with pytest.raises(SearchTimeoutError):
        search(http_system(settings(service.url)), context=context)


def test_an_answer_past_ten_mebibytes_is_refused_while_it_comes(serve):
    sent = []

    def flood(handler, asked):
        handler.send_response(200)
        handler.end_headers()
        try:
            for _ in range(64):
                handler.wfile.write(b" " * 1024 * 1024)
                sent.append(1)
        except OSError:
            pass

    with pytest.raises(LimitExceededError, match="10,485,760 bytes"):
        search(http_system(settings(serve(flood).url)))
    assert len(sent) < 60


def test_nobody_listening_is_tried_again_and_named():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/x?key=1"
        with pytest.raises(SearchFailedError, match=r"/x: cannot connect.*3 attempts"):
            search(http_system(settings(url)))


def test_no_tls_is_said_at_once(serve):
    service = serve(answering([]))
    with pytest.raises(SearchFailedError, match=r"TLS: .*ca_file"):
        search(http_system(settings(service.url.replace("http:", "https:"))))
    assert service.asked == []


def test_a_certificate_is_trusted_only_when_it_is_named(tmp_path, serve):
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl on the PATH to make a certificate")
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    made += ["-subj", "/CN=local", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*made, "-keyout", key, "-out", cert], check=True, capture_output=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(cert, key)
    service = serve(answering(["a"]), tls=context)
    with pytest.raises(SearchFailedError, match=r"TLS: .*CERTIFICATE_VERIFY_FAILED.*ca_file"):
        search(http_system(settings(service.url)))
    assert ids(search(http_system(settings(service.url, ca_file=str(cert))))) == ["a"]


SECRET = "sk-very-secret-42"


def test_secrets_reach_neither_errors_nor_results_nor_logs(serve, monkeypatch, caplog):
    monkeypatch.setenv("SEARCH_TOKEN", SECRET + "\n")

    def echo(handler, asked):
        seen = asked.headers["Authorization"]
        if asked.json["k"] == 1:
            return [{"id": "a", "text": f"you sent {seen}"}]
        return handler.reply(400, f"bad token {seen}".encode())

    caplog.set_level(logging.DEBUG)
    service = serve(echo)
    headers = {"Authorization": "Bearer ${SEARCH_TOKEN}", "X-Key": "literal-secret"}
    system = http_system(settings(service.url, headers=headers))
    assert search(system, limit=1).hits[0].text == "you sent ***"
    with pytest.raises(SearchFailedError, match=r"bad token \*\*\*") as failed:
        search(system, limit=2)
    assert service.asked[0].headers["Authorization"] == f"Bearer {SECRET}"
    shown = [str(failed.value), repr(system.settings), caplog.text]
    shown.append(system.capabilities().model_dump_json())
    assert not any(SECRET in text or "literal-secret" in text for text in shown)


@pytest.mark.parametrize("value", [None, "", " \n", "a\nb", "gro\u00df"])
def test_a_header_that_cannot_be_sent_is_refused_without_its_value(monkeypatch, value):
    monkeypatch.delenv("SEARCH_TOKEN", raising=False)
    if value is not None:
        monkeypatch.setenv("SEARCH_TOKEN", value)
    system = http_system(settings("http://x/", headers={"X-Key": "${SEARCH_TOKEN}"}))
    with pytest.raises(CapabilityError, match="X-Key") as refused:
        system.check(Controls())
    assert not (value or "").strip() or value not in str(refused.value)


TOKENS = [({"n": 7}, 7), ({"n": 7.0}, 7), ({"n": "7"}, None), ({"n": -1}, None), ({}, None)]


@pytest.mark.parametrize(("said", "tokens"), TOKENS)
def test_calls_are_counted_and_tokens_read_where_the_settings_say(serve, said, tokens):
    def respond(handler, asked):
        return handler.reply(503) if len(service.asked) < 2 else {"hits": ["a"], **said}

    service = serve(respond)
    result = search(http_system(settings(service.url, results="hits", tokens="n")))
    assert (result.usage.calls, result.usage.tokens) == (2, tokens)


def test_several_threads_share_a_session_and_its_pace(serve):
    service = serve(lambda handler, asked: [asked.json["q"]])
    system = http_system(settings(service.url, requests_per_second=50))
    session = system.open(SearchContext())
    started = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        queries = [f"q{number}" for number in range(16)]
        found = pool.map(
            lambda query: session.search(QueryRequest(query=query), Controls()), queries
        )
        assert [ids(result) for result in found] == [[query] for query in queries]
    session.close()
    assert time.monotonic() - started >= 0.3  # fifteen intervals of 20 ms


def test_a_turn_after_the_deadline_is_not_waited_for(serve):
    system = http_system(settings(serve(answering([])).url, requests_per_second=0.1, timeout_s=0.2))
    search(system)
    with pytest.raises(SearchTimeoutError, match="no turn within the time left"):
        search(system)


def test_offline_and_modes_are_refused_before_anything_is_sent(serve):
    service = serve(answering([]))
    system = http_system(settings(service.url))
    with pytest.raises(CapabilityError, match="offline"):
        system.open(SearchContext(offline=True))
    with pytest.raises(CapabilityError, match="hybrid: a service has no channels"):
        system.check(Controls(mode="hybrid", channels=("lexical", "text")))
    assert service.asked == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"url": "search.example"}, "http.url: .*begins with http"),
        ({"url": "https://me:pw@host/"}, "no user or password in the URL"),
        ({"url": "http://host:port/"}, "not a URL"),
        ({"methd": "GET"}, "http.methd: .*'method'"),
        ({"preset": "solr"}, "http.preset"),
        ({"headers": {"X-Key": 5}}, "http.headers.X-Key: .*string"),
        ({"timeout_s": 0}, "http.timeout_s"),
        ({"retries": 11}, "http.retries"),
        ({"id": "a..b"}, "http.id: not a JMESPath"),
        ({"body": {"q": "{qeury}"}}, r"\{qeury\}.*'query'"),
        ({"body": {"q": "fixed"}}, "the query is sent nowhere"),
        ({"body": {"q": "{query}", "x": float("nan")}}, "http.body: the body is no JSON"),
    ],
)
def test_impossible_settings_are_refused_by_key(change, says):
    with pytest.raises(BadInputError, match=says) as refused:
        http_system(settings("http://host/") | change).open(SearchContext())
    assert "pw" not in str(refused.value)


def test_a_path_that_does_not_fit_the_answer_is_named(serve):
    system = http_system(settings(serve(answering([1])).url, results="keys(@)"))
    with pytest.raises(SearchFailedError, match="JMESPath of results does not fit"):
        search(system)


def test_a_toml_file_describes_a_service(tmp_path, serve):
    service = serve(answering({"items": [{"key": "a"}]}))
    path = tmp_path / "mine.toml"
    path.write_text(
        f"""
[http]
url = "{service.url}"
results = "items"
id = "key"
version = "3"
[http.body]
text = "{{query}}"
"""
    )
    system = toml_system(path)
    assert ids(search(system)) == ["a"]
    assert system.capabilities().versioned
    path.write_text("[htp]\n")
    with pytest.raises(BadInputError, match=r"no system is described .write a table \[http\]"):
        toml_system(path)
    path.write_text("[http\n")
    with pytest.raises(BadInputError, match="not TOML"):
        toml_system(path)
    with pytest.raises(NotFoundError):
        toml_system(tmp_path / "none.toml")


def test_certificates_that_cannot_be_read_are_named(tmp_path, serve):
    service = serve(answering([]))
    for content in (None, "no certificate"):
        path = tmp_path / f"{content}.pem"
        if content:
            path.write_text(content)
        with pytest.raises(
            CapabilityError, match=rf"{content}.pem: the certificates cannot be read"
        ):
            http_system(settings(service.url, ca_file=str(path))).open(SearchContext())


def test_its_identity_follows_what_is_asked():
    def identity(**more):
        return http_system(settings("http://host/?key=k", **more)).capabilities().identity

    assert identity() == identity(headers={"X-Key": "other"})
    assert identity()["url"] == "http://host/"
    assert identity() != identity(results="hits")
    assert identity() != identity(version="2")
