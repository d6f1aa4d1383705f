"""A real Postgres server with pgvector: what is found, restricted, bound, and refused."""

from __future__ import annotations

import threading
import time

import psycopg
import pytest

from evalnb.errors import (
    BadInputError,
    CapabilityError,
    EvalnbError,
    SearchFailedError,
    SearchTimeoutError,
)
from evalnb.search.request import Overrides, QueryRequest, Scope, resolve_controls
from evalnb.search.system import SearchContext
from evalnb.systems.postgres.system import postgres_system
from evalnb.wiring import toml_system

TABLES = """
ALTER SYSTEM SET fsync = off;
SELECT pg_reload_conf();
CREATE EXTENSION vector;
CREATE TABLE documents (
    id int PRIMARY KEY, name text, workspace_id text, knowledge_base_id text
);
CREATE TABLE chunks (
    id int PRIMARY KEY, document_id int REFERENCES documents, content text, embedding vector(3)
);
INSERT INTO documents VALUES
    (1, 'boots.pdf', 'w1', 'shop'), (2, 'hats.pdf', 'w1', 'shop'), (3, 'laws.pdf', 'w2', 'law');
INSERT INTO chunks VALUES
    (10, 1, 'Red boots for the mountains', '[1,0,0]'),
    (11, 1, 'Care of leather boots', '[0.8,0.6,0]'),
    (20, 2, 'Red hats', '[0,1,0]'),
    (30, 3, 'The law of boots and hats', '[0.6,0.8,0]'),
    (31, 3, NULL, NULL),
    (32, 3, 'no direction', '[0,0,0]');
CREATE SCHEMA other;
CREATE TABLE other."my chunks%" (key text, "Text" text, document_id text, words tsvector);
INSERT INTO other."my chunks%" VALUES
    ('a', 'Evlerimizden geldik', 'x', to_tsvector('turkish', 'Evlerimizden geldik'));
CREATE USER reader;
GRANT SELECT ON documents TO reader;
CREATE DATABASE bare;
"""
VECTORS = {"boots": [1.0, 0.0, 0.0], "hats": [0.0, 1.0, 0.0]}


@pytest.fixture(scope="module")
def server(postgres: str) -> str:
    """Fill a server and return its connection string."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        for statement in TABLES.split(";\n"):
            connection.execute(statement)
    with psycopg.connect(postgres.replace("/postgres?", "/bare?")) as connection:
        connection.execute(
            "CREATE TABLE chunks (id int, document_id int, content text, embedding text)"
        )
    return postgres


@pytest.fixture(autouse=True)
def dsn(server, monkeypatch):
    monkeypatch.setenv("TEST_DSN", server)


def encoder(texts):
    return [VECTORS[text] for text in texts]


def system(*, encoder=encoder, rerank=None, **table):
    settings = {"dsn_env": "TEST_DSN", "preset": "documents-chunks"} | table
    return postgres_system(settings, encoder=encoder, rerank=rerank)


def search(found, query="boots", *, mode="hybrid", hints=None, context=None, **restrictions):
    request = QueryRequest(query=query, **restrictions)
    overrides = Overrides.model_validate({"mode": mode, "hints": hints or {}})
    controls = resolve_controls(request, overrides, found.capabilities().configuration)
    found.check(controls)
    session = found.open(context or SearchContext())
    try:
        return session.search(request, controls)
    finally:
        session.close()


def ids(result):
    return [hit.ids.unit_id for hit in result.hits]


MODES = [
    # mode, query, unit ids in order
    ("keyword", "boots", ["10", "11", "30"]),  # equal scores: by id
    ("keyword", "red boots", ["10"]),  # websearch: both words
    ("keyword", "hats -red", ["30"]),
    ("keyword", "trousers", []),
    ("keyword", "boot", ["10", "11", "30"]),  # stemmed
    ("semantic", "boots", ["10", "11", "30", "20"]),
    ("semantic", "hats", ["20", "30", "11", "10"]),
    ("hybrid", "hats", ["20", "30", "11", "10"]),
]


@pytest.mark.parametrize(("mode", "query", "found"), MODES)
def test_each_mode_finds_its_chunks(mode, query, found):
    assert ids(search(system(), query, mode=mode)) == found


def test_a_hit_carries_its_document_name_text_and_scores():
    first = search(system(), "boots").hits[0]
    assert (first.ids.unit_id, first.ids.document_id) == ("10", "1")
    assert (first.document_name, first.text) == ("boots.pdf", "Red boots for the mountains")
    assert first.channels["text"].score == pytest.approx(1.0)
    assert first.channels["lexical"].rank == 1
    assert first.score == pytest.approx(2 / 61)


def test_cosine_is_the_score_and_candidates_are_kept():
    result = search(system(), "boots", mode="semantic")
    assert result.candidates["text"].ids == ("10", "11", "30", "20")
    assert result.candidates["text"].scores == pytest.approx((1.0, 0.8, 0.6, 0.0), abs=1e-6)


OPERATORS = [
    ("all", "red boots", ["10"]),
    ("any", "red boots", ["10", "11", "20", "30"]),
    ("any", "it's a\\b 'red' & | ! :*", ["10", "20"]),
    ("any", "the of", []),
    ("phrase", "red boots", ["10"]),
    ("phrase", "boots red", []),
]


@pytest.mark.parametrize(("operator", "query", "found"), OPERATORS)
def test_the_operator_says_how_words_combine(operator, query, found):
    result = search(system(), query, mode="keyword", hints={"lexical_operator": operator})
    assert sorted(ids(result)) == found


@pytest.mark.parametrize(
    "query", ["'; DROP TABLE chunks; --", "%(limit)s %s", "a & | ! <-> (", "\\"]
)
def test_no_text_is_syntax(query):
    for operator in ("all", "any", "phrase", None):
        hints = {"lexical_operator": operator} if operator else {}
        assert search(system(), query, mode="keyword", hints=hints).hits == ()
    assert len(ids(search(system(), "boots", mode="keyword"))) == 3


RESTRICTIONS = [
    # scope of the settings, of the caller, of the request, unit ids
    ({"workspace": "w1"}, {}, {}, ["10", "11"]),
    ({"knowledge_base": "law"}, {}, {}, ["30"]),
    ({"documents": ["laws.pdf"]}, {}, {}, ["30"]),
    ({"documents": ["1", "hats.pdf"]}, {}, {}, ["10", "11"]),
    ({}, {}, {"document_ids": ["1", "9"]}, ["10", "11"]),
    ({}, {}, {"source_ids": ["law"]}, ["30"]),
    ({}, {"document_ids": ["3"]}, {}, ["30"]),
    ({}, {"document_ids": ["3"]}, {"document_ids": ["1"]}, []),
    ({"knowledge_base": "law"}, {}, {"source_ids": ["shop"]}, []),
    ({"workspace": "w2"}, {}, {"document_ids": ["1"]}, []),
    ({"workspace": "w' OR true --"}, {}, {}, []),
]


@pytest.mark.parametrize(("scope", "caller", "request_", "found"), RESTRICTIONS)
def test_every_restriction_narrows_the_others(scope, caller, request_, found):
    context = SearchContext(scope=Scope.model_validate_json(Scope(**caller).model_dump_json()))
    for mode in ("keyword", "semantic"):
        result = search(system(scope=scope), mode=mode, context=context, **request_)
        assert [i for i in ids(result) if i != "20"] == found


def test_it_says_which_restrictions_it_honours():
    assert system().capabilities().restrictions == {"document_ids", "source_ids"}
    chunks_alone = postgres_system({"dsn_env": "TEST_DSN"})
    assert chunks_alone.capabilities().restrictions == {"document_ids"}


def test_tables_and_columns_are_mapped():
    found = postgres_system(
        {
            "dsn_env": "TEST_DSN",
            "language": "turkish",
            "chunks": {
                "table": "other.my chunks%",
                "id": "key",
                "text": "Text",
                "tsvector": "words",
            },
        }
    )
    query = "evlerimiz"  # the column holds the Turkish stem ev; to English it is a word of its own
    (hit,) = search(found, query, mode="keyword").hits
    assert (hit.ids.unit_id, hit.ids.document_id, hit.document_name) == ("a", "x", "x")
    assert search(found, query, mode="keyword", hints={"language": "en"}).hits == ()
    assert len(search(found, query, mode="keyword", hints={"language": "tr"}).hits) == 1


def test_an_index_scan_goes_on_until_the_candidates_are_there(server):
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE many (id int, document_id int, content text, embedding vector(3))"
        )
        connection.execute(
            "INSERT INTO many SELECT i, i, 'x', ARRAY[1 + i % 7, i % 11, i % 13]::vector(3) "
            "FROM generate_series(1, 3000) AS i"
        )
        connection.execute("CREATE INDEX ON many USING hnsw (embedding vector_cosine_ops)")
        connection.execute("ANALYZE many")
        plan = connection.execute(
            "EXPLAIN SELECT id FROM many ORDER BY embedding <=> '[1,0,0]' LIMIT 100"
        ).fetchall()
        assert "Index Scan" in str(plan)
    found = postgres_system({"dsn_env": "TEST_DSN", "chunks": {"table": "many"}}, encoder=encoder)
    assert len(search(found, mode="semantic", limit=100).hits) == 100


def test_reranking_reads_the_texts():
    result = search(
        system(rerank=lambda query, texts: [len(t) for t in texts]), mode="hybrid_rerank"
    )
    assert ids(result)[0] == "10"
    assert result.rerank_scores.scores[0] == 27.0


def test_the_transaction_is_read_only_and_ends(server):
    found = system()
    session = found.channels["lexical"].system.open(SearchContext())
    controls = resolve_controls(
        QueryRequest(query="boots"), Overrides(), found.capabilities().configuration
    )
    session.search(QueryRequest(query="boots"), controls.model_copy(update={"channels": ()}))
    with psycopg.connect(server, autocommit=True) as connection:
        state = connection.execute(
            "SELECT state FROM pg_stat_activity WHERE application_name = 'evalnb'"
        ).fetchall()
        assert state == [("idle",)]
    with session._connection.transaction(), pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        session._connection.execute("DELETE FROM chunks")
    session.close()


def test_a_lost_server_is_an_error_and_the_next_search_connects_again(server):
    found = system()
    request = QueryRequest(query="boots")
    overrides = Overrides(mode="keyword")
    controls = resolve_controls(request, overrides, found.capabilities().configuration)
    session = found.open(SearchContext())
    assert len(session.search(request, controls).hits) == 3
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name='evalnb'"
        )
    with pytest.raises(SearchFailedError, match=r"channel 'lexical': Postgres: .*terminat"):
        session.search(request, controls)
    assert len(session.search(request, controls).hits) == 3
    session.close()


def test_a_statement_past_its_time_is_ended(server):
    locked, done = threading.Event(), threading.Event()

    def lock():
        with psycopg.connect(server) as connection:
            connection.execute("LOCK TABLE chunks IN ACCESS EXCLUSIVE MODE")
            locked.set()
            done.wait(10)

    thread = threading.Thread(target=lock)
    thread.start()
    try:
        locked.wait(10)
        leg = system(timeout_s=0.1).channels["lexical"].system
        session = leg.open(SearchContext())
        controls = resolve_controls(
            QueryRequest(query="x"), Overrides(), leg.capabilities().configuration
        )
        with pytest.raises(SearchTimeoutError, match="statement timeout"):
            session.search(QueryRequest(query="x"), controls)
        with pytest.raises(CapabilityError, match="statement timeout"):
            leg.check(controls)
        late = leg.open(SearchContext(deadline=time.monotonic() - 1))
        with pytest.raises(SearchTimeoutError, match="deadline"):
            late.search(QueryRequest(query="x"), controls)
        session.close()
        late.close()
    finally:
        done.set()
        thread.join()


MISSING = [
    # settings, mode, what is said
    (
        {"chunks": {"table": "chunk"}},
        "keyword",
        'relation "chunk" does not exist .correct the table',
    ),
    ({"chunks": {"text": "body"}}, "keyword", "column c.body does not exist .correct the column"),
    ({"chunks": {"embedding": "vec"}}, "semantic", "column c.vec does not exist"),
    ({"documents": {"name": "title"}}, "keyword", "column d.title does not exist"),
    ({"chunks": {"embedding": "content"}}, "semantic", "operator does not exist: text <=> vector"),
    ({"language": "klingon"}, "keyword", '"klingon" does not exist .correct language'),
    ({"chunks": {"table": "no.chunks"}}, "keyword", '"no.chunks" does not exist'),
]


@pytest.mark.parametrize(("table", "mode", "says"), MISSING, ids=str)
def test_what_is_missing_is_named_before_any_search(table, mode, says):
    with pytest.raises(CapabilityError, match=says):
        search(system(**table), mode=mode)


def test_a_leg_that_is_missing_leaves_the_other_one(server, monkeypatch):
    found = system(encoder=None)
    assert len(search(found, mode="keyword").hits) == 3
    for mode in ("semantic", "hybrid"):
        with pytest.raises(CapabilityError, match=r"channel 'text': nothing embeds the query"):
            search(found, mode=mode)
    monkeypatch.setenv("TEST_DSN", server.replace("/postgres?", "/bare?"))
    with pytest.raises(CapabilityError, match=r'type "vector" does not exist .CREATE EXTENSION'):
        search(postgres_system({"dsn_env": "TEST_DSN"}, encoder=encoder), mode="semantic")


def test_a_user_without_the_right_is_told(server, monkeypatch):
    monkeypatch.setenv("TEST_DSN", server.replace("postgres:@", "reader:@"))
    with pytest.raises(CapabilityError, match=r"permission denied for table chunks .grant"):
        search(system(), mode="keyword")


ENCODERS = [
    (lambda texts: [[1.0, 0.0]], CapabilityError, "different vector dimensions 3 and 2.*embed"),
    (lambda texts: [[0.0, 0.0, 0.0]], SearchFailedError, "without a direction"),
    (lambda texts: [[1.0, float("nan"), 0.0]], SearchFailedError, "without a direction"),
    (lambda texts: [], SearchFailedError, "the encoder: IndexError"),
    (lambda texts: 1 / 0, SearchFailedError, "the encoder: ZeroDivisionError"),
]


@pytest.mark.parametrize(("encode", "error", "says"), ENCODERS)
def test_an_encoder_that_fails_is_an_error(encode, error, says):
    with pytest.raises(error, match=says):
        search(system(encoder=encode), mode="semantic")


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (None, "TEST_DSN is not set"),
        ("postgrs://me:secretpw@host/db", "TEST_DSN holds no connection string"),
        ("postgresql://me:secretpw@127.0.0.1:1/db", "Postgres: .*Connection refused"),
        ("postgresql://me:secretpw@/secretpw?host=/nowhere", "Postgres: connection is bad"),
    ],
)
def test_a_server_that_is_not_there_is_named_without_the_password(monkeypatch, value, says):
    monkeypatch.delenv("TEST_DSN")
    if value:
        monkeypatch.setenv("TEST_DSN", value)
    with pytest.raises(CapabilityError, match=says) as refused:
        search(system(), mode="keyword")
    assert "secretpw" not in str(refused.value)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"chunk": {}}, r"postgres\.chunk: .*'chunks'"),
        ({"chunks": {"texts": "x"}}, r"postgres\.chunks\.texts"),
        ({"chunks": {"id": ""}}, r"postgres\.chunks\.id"),
        ({"preset": "django"}, r"postgres\.preset"),
        ({"operator": "or"}, r"postgres\.operator"),
        ({"scope": {"workspace": "w"}}, r"postgres\.scope: a scope needs the table of documents"),
        ({"embeddings": {"url": "http://x/v1"}}, r"postgres\.embeddings\.model"),
    ],
)
def test_impossible_settings_are_refused_by_key(table, says):
    with pytest.raises(BadInputError, match=says):
        postgres_system(table)


def test_hints_that_mean_nothing_here_are_refused():
    with pytest.raises(CapabilityError, match="cannot execute heading_weight"):
        search(system(), mode="keyword", hints={"heading_weight": 2.0})


def test_a_toml_file_describes_a_database_and_its_embeddings(tmp_path, serve, monkeypatch):
    service = serve(lambda handler, asked: {"data": [{"index": 0, "embedding": [1, 0, 0]}]})
    path = tmp_path / "pg.toml"
    path.write_text(
        f"""
[postgres]
dsn_env = "TEST_DSN"
preset = "documents-chunks"
version = "nightly-7"
[postgres.scope]
documents = ["boots.pdf"]
[postgres.embeddings]
url = "{service.url}"
model = "small"
headers = {{ Authorization = "Bearer ${{PG_TEST_KEY}}" }}
"""
    )
    monkeypatch.delenv("PG_TEST_KEY", raising=False)
    found = toml_system(path)
    assert ids(search(found, mode="keyword")) == ["10", "11"]
    with pytest.raises(CapabilityError, match="PG_TEST_KEY is not set"):
        search(found, mode="semantic")
    monkeypatch.setenv("PG_TEST_KEY", "a-long-secret")
    assert ids(search(found, mode="semantic")) == ["10", "11"]
    with pytest.raises(EvalnbError, match="offline"):
        search(found, mode="semantic", context=SearchContext(offline=True))
    identity = found.capabilities().identity
    assert identity["channels.text.encoder.model"] == "small"
    assert "a-long-secret" not in str(identity)
    assert not found.capabilities().versioned  # the model behind the name may change
    for channel in found.channels.values():
        getattr(channel.system.encoder, "close", lambda: None)()
