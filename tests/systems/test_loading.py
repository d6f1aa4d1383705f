"""The same corpus and the same questions through a workspace, Postgres and HTTP."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import psycopg
import pytest

import evalnb as ev
from evalnb.cli.main import main
from evalnb.errors import BadInputError, CapabilityError
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.search.request import Controls
from evalnb.search.system import SearchContext
from evalnb.systems.postgres.loading import Chunk, load_chunks
from evalnb.systems.postgres.system import postgres_settings, postgres_system
from evalnb.wiring import toml_system
from evalnb.workspace.system import open_workspace

CORPUS = Path(__file__).resolve().parents[1] / "fixtures" / "evaluation" / "corpus.json"
TABLE = {"dsn_env": "COPY_DSN", "preset": "documents-chunks"}


@pytest.fixture(scope="module")
def database(postgres):
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE DATABASE copies")
    return postgres.replace("/postgres?", "/copies?")


@pytest.fixture(autouse=True)
def dsn(database, monkeypatch):
    monkeypatch.setenv("COPY_DSN", database)


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    workspace = open_workspace(tmp_path_factory.mktemp("w") / "kb", create=True)
    workspace.ingest([CORPUS], settings={"language": "en"})
    workspace.index("text:minilm-l6-v2-int8")
    return workspace


@pytest.fixture(scope="module")
def gold():
    """Ask what each source's documents say, in words of their own."""
    written = json.loads(CORPUS.read_bytes())
    queries = [case["request"]["query"] for case in written["cases"]]
    cases = (
        GoldCase(
            case_id=f"c{at}",
            split="development",
            request={"query": query},
            content=[{"content_contains": "the"}],
        )
        for at, query in enumerate(queries)
    )
    return dataset_from_cases(tuple(cases), dataset_id="d")


def ranks(report, variant):
    return [
        [hit.ids.unit_id for hit in result.result.hits]
        for result in report.results
        if result.variant == variant
    ]


def test_a_copy_finds_the_same_as_its_workspace(kb, gold, tmp_path, serve, capsys):
    path = tmp_path / "pg.toml"
    path.write_text(
        '[postgres]\ndsn_env = "COPY_DSN"\npreset = "documents-chunks"\nversion = "1"\n'
        'encoder = "minilm-l6-v2-int8"\nscope = {workspace = "kb"}\n'
    )
    for _ in range(2):  # a second copy takes the place of the first
        assert main(["copy", str(path), "--workspace", str(kb.folder)]) == 0
        printed = capsys.readouterr()
        assert "under 'kb', vectors of text:minilm-l6-v2-int8" in printed.out
        assert 'encoder = "minilm-l6-v2-int8"' in printed.err
    session = kb.open(SearchContext())
    semantic = Controls(channels=("text",))

    def answer(handler, asked):
        from evalnb.search.request import QueryRequest

        found = session.search(QueryRequest(query=asked.json["q"]), semantic)
        return [
            {"id": h.ids.unit_id, "document": h.ids.document_id, "text": h.text} for h in found.hits
        ]

    (tmp_path / "http.toml").write_text(
        f'[http]\nurl = "{serve(answer).url}"\nbody = {{q = "{{query}}"}}\n'
    )
    report = ev.evaluate(
        gold,
        {
            "workspace": (kb, {"mode": "semantic"}),
            "postgres": (path, {"mode": "semantic"}),
            "http": tmp_path / "http.toml",
            "words": (kb, {"mode": "keyword"}),
            "postgres words": (path, {"mode": "keyword", "hints": {"lexical_operator": "any"}}),
            "reranked": (path, {"mode": "hybrid_rerank"}),
        },
        measures=["RR@10"],
    ).record
    assert {r.result.status for r in report.results} == {"ok"}
    first = ranks(report, "workspace")
    assert all(first)
    assert ranks(report, "postgres") == first
    assert ranks(report, "http") == first
    # Words: the same stems find units; BM25 and ts_rank order them differently, and a workspace
    # also reads headings.
    for mine, theirs in zip(ranks(report, "words"), ranks(report, "postgres words"), strict=True):
        assert set(theirs) <= set(mine)
    results = [r.result for r in report.results if r.variant == "reranked"]
    assert all(result.rerank_scores.scores for result in results)
    identity = next(v.identity for v in report.variants if v.name == "postgres")
    assert identity["channels.text.encoder.model"] == "minilm-l6-v2-int8"
    assert identity["rerank.model"] == "maxsim"
    session.close()


def test_a_file_without_a_reranker_keeps_hybrid_as_its_mode(tmp_path):
    path = tmp_path / "pg.toml"
    path.write_text('[postgres]\ndsn_env = "COPY_DSN"\npreset = "documents-chunks"\n')
    assert toml_system(path).capabilities().configuration.mode == "hybrid"
    path.write_text(path.read_text() + 'rerank = "maxsim"\n')
    assert toml_system(path).capabilities().configuration.mode == "hybrid_rerank"
    path.write_text(path.read_text().replace('"maxsim"', '{url = "http://x/v1", model = "m"}'))
    assert toml_system(path).reranker.identity["rerank.model"] == "m"
    path.write_text(path.read_text().replace('model = "m"', 'modl = "m"'))
    with pytest.raises(BadInputError, match=r"postgres\.rerank\.mod"):
        toml_system(path)


CHUNKS = [
    Chunk("u1", "Red 'boots'\t\\N\n", [1.0, 0.0], "d1", "boots", "shop"),
    Chunk("u2", "Hats", [0.0, 1.0], "d1", "boots", "shop"),
    Chunk("u3", "Sun", [0.6, 0.8], "d2", "sun", "shop"),
]


def rows(database, table):
    with psycopg.connect(database) as connection:
        return connection.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()


def test_rows_of_other_workspaces_stay_and_tables_are_named_by_the_settings(database):
    table = TABLE | {
        "language": "en",
        "chunks": {"table": "my chunks", "text": "body", "tsvector": "words"},
        "documents": {"table": "docs"},
    }
    settings = postgres_settings(table)
    assert load_chunks(settings, CHUNKS, workspace="a", dimensions=2) == (2, 3)
    other = [c._replace(id=f"{c.id}b", document_id=f"{c.document_id}b") for c in CHUNKS]
    load_chunks(settings, other, workspace="b", dimensions=2)
    load_chunks(settings, CHUNKS[:1], workspace="a", dimensions=2)
    assert [row[0] for row in rows(database, '"my chunks"')] == ["u1", "u1b", "u2b", "u3b"]
    assert rows(database, "docs")[0] == ("d1", "boots", "a", "shop")
    first = rows(database, '"my chunks"')[0]
    assert first[1:3] == ("d1", "Red 'boots'\t\\N\n")
    assert "'boot'" in first[4]


def test_a_copy_that_fails_leaves_what_was_there(database):
    table = TABLE | {"chunks": {"table": "kept"}, "documents": {"table": "kept_docs"}}
    settings = postgres_settings(table)
    load_chunks(settings, CHUNKS, workspace="a", dimensions=2)
    before = rows(database, "kept"), rows(database, "kept_docs")

    def broken():
        yield CHUNKS[0]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        load_chunks(settings, broken(), workspace="a", dimensions=2)
    wrong = [CHUNKS[0]._replace(vector=[1.0, 0.0, 0.0])]
    with pytest.raises(CapabilityError, match="expected 2 dimensions, not 3"):
        load_chunks(settings, wrong, workspace="a", dimensions=3)
    assert (rows(database, "kept"), rows(database, "kept_docs")) == before


def test_a_copy_needs_a_database_with_documents_and_a_text_index(tmp_path, capsys):
    bare = open_workspace(tmp_path / "bare", create=True)
    bare.ingest_corpus({"sources": [{"key": "s", "documents": [{"path": "a", "text": "a b"}]}]})
    path = tmp_path / "pg.toml"
    for content, status, says in (
        ("[http]\n", 2, "no table [postgres]"),
        ('[postgres]\ndsn_env = "COPY_DSN"\n', 3, "no text index in this snapshot"),
    ):
        path.write_text(content)
        assert main(["copy", str(path), "--workspace", str(bare.folder)]) == status
        assert says in capsys.readouterr().err
    bare.index("text:lsa-256")
    assert main(["copy", str(path), "--workspace", str(bare.folder)]) == 2
    assert "a copy needs the table of documents" in capsys.readouterr().err


LEGS = """
[postgres]
dsn_env = "COPY_DSN"
preset = "documents-chunks"
operator = "any"
chunks = {table = "legs"}
documents = {table = "legs_documents"}
"""
SCOPES = [
    # arguments, rank of the first chunk about hats, found by keyword
    ((), "2"),
    (("--workspace", "a"), "2"),
    (("--workspace", "b"), "miss"),
    (("--knowledge-base", "hall"), "1"),
    (("--documents", "hats.md"), "1"),
    (("--documents", "d1, boots.md"), "miss"),
    (("--workspace", "a", "--documents", "d2"), "1"),
]


@pytest.mark.parametrize(("arguments", "rank"), SCOPES)
def test_the_four_legs_of_a_database_are_measured_in_a_scope(
    database, tmp_path, capsys, arguments, rank
):
    (tmp_path / "pg.toml").write_text(LEGS)
    golden = tmp_path / "golden.json"
    case = {"query": "warm boots", "expect": {"document": "hats", "content_contains": "warm"}}
    golden.write_text(json.dumps({"cases": [case]}))
    chunks = [
        Chunk("u1", "warm boots", [1.0, 0.0], "d1", "boots.md", "shop"),
        Chunk("u2", "hats are warm", [0.0, 1.0], "d2", "hats.md", "hall"),
    ]
    settings = postgres_settings(tomllib.loads(LEGS)["postgres"])
    load_chunks(settings, chunks, workspace="a", dimensions=2)
    pg = str(tmp_path / "pg.toml")
    assert main(["eval-retrieval", str(golden), "--system", pg, *arguments]) == 0
    out = capsys.readouterr().out
    (line,) = [line for line in out.splitlines() if "warm boots" in line]
    assert line.split()[-4:] == ["n/a", rank, "n/a", "n/a"]  # nothing embeds the query


def test_an_embedding_that_fails_leaves_the_words(database, tmp_path, serve, capsys):
    service = serve(lambda handler, asked: handler.reply(401))
    (tmp_path / "pg.toml").write_text(
        f"{LEGS}\n[postgres.embeddings]\nurl = '{service.url}'\nmodel = 'm'\n"
    )
    golden = tmp_path / "golden.json"
    golden.write_text('{"cases": [{"query": "warm", "expect": {"document": "boots"}}]}')
    settings = postgres_settings(tomllib.loads(LEGS)["postgres"])
    chunk = Chunk("u1", "warm boots", [1.0, 0.0], "d1", "boots.md", "shop")
    load_chunks(settings, [chunk], workspace="a", dimensions=2)
    assert main(["eval-retrieval", str(golden), "--system", str(tmp_path / "pg.toml")]) == 0
    shown = capsys.readouterr()
    (line,) = [line for line in shown.out.splitlines() if line.startswith("1 ")]
    assert line.split()[-4:] == ["n/a", "1", "n/a", "n/a"]
    assert "channel 'text': " in shown.err
    assert "401 Unauthorized" in shown.err


def test_what_cannot_be_narrowed_is_told(tmp_path, capsys):
    golden = tmp_path / "golden.json"
    golden.write_text('{"cases": [{"query": "q", "expect": {"document": "d"}}]}')
    (tmp_path / "s.toml").write_text('[http]\nurl = "http://x/"\n')
    (tmp_path / "k.toml").write_text('workspace = "kb"\n')
    for arguments, says in (
        ((), "no system to search"),
        (("--system", "mine:search", "--documents", "a"), "a function cannot be narrowed"),
        (("--system", str(tmp_path / "s.toml"), "--workspace", "w"), "narrowed by workspace"),
        (("--system", str(tmp_path / "k.toml"), "--knowledge-base", "k"), "by knowledge_base"),
    ):
        assert main(["eval-retrieval", str(golden), *arguments]) == 2
        assert says in capsys.readouterr().err


def test_a_user_who_may_only_read_searches_and_cannot_copy(database, monkeypatch):
    table = TABLE | {"chunks": {"table": "readable"}, "documents": {"table": "readable_documents"}}
    settings = postgres_settings(table)
    load_chunks(settings, CHUNKS, workspace="a", dimensions=2)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CREATE USER only_reads")
        connection.execute("GRANT SELECT ON readable, readable_documents TO only_reads")
    monkeypatch.setenv("COPY_DSN", database.replace("postgres:@", "only_reads:@"))
    system = postgres_system(table)
    report = ev.evaluate(
        dataset_from_cases(
            (GoldCase(case_id="c", split="development", request={"query": "sun"}),), dataset_id="d"
        ),
        {"pg": (system, {"mode": "keyword"})},
    ).record
    assert [hit.ids.unit_id for hit in report.results[0].result.hits] == ["u3"]
    with pytest.raises(CapabilityError, match=r"permission denied .*grant the user"):
        load_chunks(settings, CHUNKS, workspace="a", dimensions=2)
