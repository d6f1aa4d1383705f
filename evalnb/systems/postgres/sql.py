"""Where chunks stand in a database, and the SQL that searches them; nothing here runs it.

Identifiers come from the settings and are quoted; every other value is a bound parameter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Annotated, Literal

from pydantic import Field

from evalnb.search.request import Finite, Ids, Record, Text
from evalnb.systems.providers import Endpoint

Name = Annotated[Text, Field(min_length=1)]
Operator = Literal["websearch", "all", "any", "phrase"]

# What each operator makes of the query's text; none of them reads it as tsquery syntax.
QUERIES: dict[Operator, str] = {
    "websearch": "websearch_to_tsquery(%(language)s::regconfig, %(query)s::text)",
    "all": "plainto_tsquery(%(language)s::regconfig, %(query)s::text)",
    "phrase": "phraseto_tsquery(%(language)s::regconfig, %(query)s::text)",
    "any": (
        "(SELECT string_agg('''' || replace(replace(lexeme, '\\', '\\\\'), '''', '''''') || '''', "
        "' | ')::tsquery FROM unnest(to_tsvector(%(language)s::regconfig, %(query)s::text)))"
    ),
}


# Postgres names its text search configurations in English; cases name languages by code.
LANGUAGES = {
    "ar": "arabic", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "es": "spanish", "fi": "finnish", "fr": "french", "hi": "hindi", "hu": "hungarian",
    "id": "indonesian", "it": "italian", "lt": "lithuanian", "nl": "dutch", "no": "norwegian",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish",
    "ta": "tamil", "tr": "turkish",
}  # fmt: skip


class Chunks(Record):
    """The table of chunks and its columns; ``schema.table`` names one of another schema.

    ``tsvector`` is the column that a full-text index is on; without one, the text is analysed for
    every search.
    """

    table: Name = "chunks"
    id: Name = "id"
    text: Name = "content"
    embedding: Name = "embedding"
    document: Name = "document_id"
    tsvector: Name | None = None


class Documents(Record):
    """The table of documents and its columns."""

    table: Name = "documents"
    id: Name = "id"
    name: Name = "name"
    workspace: Name = "workspace_id"
    knowledge_base: Name = "knowledge_base_id"


class Scoped(Record):
    """The part of the tables that is searched: by ids or, for documents, by names too."""

    workspace: str | None = None
    knowledge_base: str | None = None
    documents: Ids = ()


class PostgresSettings(Record):
    """A database of chunks.

    Attributes
    ----------
    dsn_env
        The environment variable that holds the connection string; without one, libpq's own
        variables (PGHOST, PGDATABASE, ...) say where the server is.
    chunks, documents
        Tables and columns. Without documents, chunks are all there is, and names are ids.
    preset
        ``documents-chunks``: both tables, under the names that they have in the settings' defaults.
    scope
        What is searched at all.
    language
        The text search configuration of the full text, such as english or turkish. A request's
        ``hints.language`` wins.
    operator
        How words combine unless ``hints.lexical_operator`` says so: ``websearch`` reads quotes, or
        and - as search engines do.
    timeout_s
        Seconds for one statement.
    embeddings
        The endpoint that embeds queries as the chunks were embedded.
    rerank
        The chat model that orders the best of both channels.
    version
        Your word that the tables stay the same. Without one, stored results are never used again.
    """

    dsn_env: str | None = None
    chunks: Chunks = Chunks()
    documents: Documents | None = None
    preset: Literal["documents-chunks"] | None = None
    scope: Scoped = Scoped()
    language: str = "english"
    operator: Operator = "websearch"
    timeout_s: Annotated[Finite, Field(gt=0, le=3600)] = 10.0
    embeddings: Endpoint | None = None
    rerank: Endpoint | None = None
    version: str | None = None


def semantic_sql(chunks: Chunks, documents: Documents | None, given: Collection[str]) -> str:
    """Return the SQL of the nearest chunks by cosine distance.

    Parameters are ``vector``, ``limit`` and the restrictions that are given. The inner query is one
    that an approximate index can answer; the outer one orders equal distances by id. A vector of
    zeros has no direction, and its chunk is never near.
    """
    distance = f"c.{quoted(chunks.embedding)} <=> %(vector)s::vector"
    inner = _select(chunks, documents, f"{distance} AS distance")
    where = _where(f"c.{quoted(chunks.embedding)} IS NOT NULL", chunks, documents, given)
    nearest = f"{inner} {where} ORDER BY {distance} LIMIT %(limit)s"
    return (
        f"SELECT id, document, name, text, 1 - distance AS score FROM ({nearest}) AS nearest "  # noqa: S608
        "WHERE distance < 'NaN' ORDER BY distance, id COLLATE \"C\""
    )


def keyword_sql(
    chunks: Chunks, documents: Documents | None, given: Collection[str], operator: Operator
) -> str:
    """Return the SQL of the best chunks by full-text search, equal scores ordered by id.

    Parameters are ``language``, ``query``, ``limit`` and the restrictions that are given.
    """
    words = (
        f"to_tsvector(%(language)s::regconfig, c.{quoted(chunks.text)})"
        if chunks.tsvector is None
        else f"c.{quoted(chunks.tsvector)}"
    )
    inner = _select(chunks, documents, f"ts_rank({words}, asked.q) AS score")
    where = _where(f"{words} @@ asked.q", chunks, documents, given)
    matching = f"{inner} CROSS JOIN (SELECT {QUERIES[operator]} AS q) AS asked {where}"
    return (
        f"SELECT id, document, name, text, score FROM ({matching}) AS found "  # noqa: S608
        'ORDER BY score DESC, id COLLATE "C" LIMIT %(limit)s'
    )


def create_sql(chunks: Chunks, documents: Documents, *, dimensions: int) -> Iterator[str]:
    """Yield the SQL that makes the extension and the tables where they are not there."""
    d, c = documents, chunks
    yield "CREATE EXTENSION IF NOT EXISTS vector"
    yield (
        f"CREATE TABLE IF NOT EXISTS {quoted(d.table)} ({quoted(d.id)} text PRIMARY KEY, "
        f"{quoted(d.name)} text, {quoted(d.workspace)} text, {quoted(d.knowledge_base)} text)"
    )
    words = f", {quoted(c.tsvector)} tsvector" if c.tsvector else ""
    yield (
        f"CREATE TABLE IF NOT EXISTS {quoted(c.table)} ({quoted(c.id)} text PRIMARY KEY, "
        f"{quoted(c.document)} text, {quoted(c.text)} text, "
        f"{quoted(c.embedding)} vector({dimensions}){words})"
    )


def delete_sql(chunks: Chunks, documents: Documents) -> Iterator[str]:
    """Yield the SQL that removes the rows of one workspace; its parameter is ``workspace``."""
    mine = f"{quoted(documents.workspace)} = %(workspace)s"
    of_mine = f"SELECT {quoted(documents.id)} FROM {quoted(documents.table)} WHERE {mine}"  # noqa: S608
    yield f"DELETE FROM {quoted(chunks.table)} WHERE {quoted(chunks.document)} IN ({of_mine})"  # noqa: S608
    yield f"DELETE FROM {quoted(documents.table)} WHERE {mine}"  # noqa: S608


def copy_sql(chunks: Chunks, documents: Documents) -> Iterator[str]:
    """Yield the SQL that takes rows of chunks (id, document, text, embedding), then of documents.

    A document's row is id, name, workspace, knowledge base.
    """
    c, d = chunks, documents
    for table, columns in (
        (c.table, (c.id, c.document, c.text, c.embedding)),
        (d.table, (d.id, d.name, d.workspace, d.knowledge_base)),
    ):
        yield f"COPY {quoted(table)} ({', '.join(map(quoted, columns))}) FROM STDIN"


def words_sql(chunks: Chunks) -> str:
    """Return the SQL that analyses the texts of documents; parameters ``language`` and ``ids``."""
    assert chunks.tsvector is not None
    return (
        f"UPDATE {quoted(chunks.table)} SET {quoted(chunks.tsvector)} = "  # noqa: S608
        f"to_tsvector(%(language)s::regconfig, {quoted(chunks.text)}) "
        f"WHERE {quoted(chunks.document)} = ANY(%(ids)s)"
    )


def quoted(name: str) -> str:
    """Quote an identifier, and each part of a qualified one.

    >>> quoted('public.my"chunks')
    '"public"."my""chunks"'
    """
    parts = (part.replace('"', '""').replace("%", "%%") for part in name.split("."))
    return ".".join(f'"{part}"' for part in parts)


def _select(chunks: Chunks, documents: Documents | None, score: str) -> str:
    columns = [
        f"c.{quoted(chunks.id)}::text AS id",
        f"c.{quoted(chunks.document)}::text AS document",
        f"{f'd.{quoted(documents.name)}' if documents else 'NULL'}::text AS name",
        f"coalesce(c.{quoted(chunks.text)}::text, '') AS text",
        score,
    ]
    join = (
        f" JOIN {quoted(documents.table)} AS d"
        f" ON d.{quoted(documents.id)} = c.{quoted(chunks.document)}"
        if documents
        else ""
    )
    return f"SELECT {', '.join(columns)} FROM {quoted(chunks.table)} AS c{join}"  # noqa: S608


def _where(first: str, chunks: Chunks, documents: Documents | None, given: Collection[str]) -> str:
    known = {"document_ids": f"c.{quoted(chunks.document)}::text = ANY(%(document_ids)s)"}
    if documents:
        by_id, by_name = f"d.{quoted(documents.id)}::text", f"d.{quoted(documents.name)}::text"
        known |= {
            "workspace": f"d.{quoted(documents.workspace)}::text = %(workspace)s",
            "source_ids": f"d.{quoted(documents.knowledge_base)}::text = ANY(%(source_ids)s)",
            "documents": f"({by_id} = ANY(%(documents)s) OR {by_name} = ANY(%(documents)s))",
        }
    return "WHERE " + " AND ".join([first, *(known[name] for name in sorted(given))])
