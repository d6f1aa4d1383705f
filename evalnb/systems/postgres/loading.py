"""Copy a corpus into the tables that a Postgres system searches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from evalnb.errors import BadInputError
from evalnb.systems.postgres.server import connect, explained, vector_text
from evalnb.systems.postgres.sql import (
    LANGUAGES,
    PostgresSettings,
    copy_sql,
    create_sql,
    delete_sql,
    words_sql,
)


class Chunk(NamedTuple):
    """One row of the table of chunks, with what its document's row says."""

    id: str
    text: str
    vector: Sequence[float]
    document_id: str
    document_name: str
    knowledge_base: str


class Loaded(NamedTuple):
    """How much was copied."""

    n_documents: int
    n_chunks: int


def load_chunks(
    settings: PostgresSettings, chunks: Iterable[Chunk], *, workspace: str, dimensions: int
) -> Loaded:
    """Put chunks and their documents in the place of what the tables hold under a workspace's name.

    Tables that are not there are made. Everything happens in one transaction: a search sees the old
    rows or the new ones.

    Raises
    ------
    BadInputError
        If the settings name no table of documents.
    CapabilityError, SearchFailedError
        If the server refuses, with what it says.
    """
    if settings.documents is None:
        raise BadInputError(
            "a copy needs the table of documents",
            remedy='add preset = "documents-chunks", or the table documents',
        )
    tables = settings.chunks, settings.documents
    documents: dict[str, Chunk] = {}
    n_chunks = 0

    def chunk_rows() -> Iterator[tuple[Any, ...]]:
        nonlocal n_chunks
        for chunk in chunks:
            n_chunks += 1
            documents.setdefault(chunk.document_id, chunk)
            yield chunk.id, chunk.document_id, chunk.text, vector_text(chunk.vector)

    with explained(settings), connect(settings) as connection, connection.transaction():
        for statement in create_sql(*tables, dimensions=dimensions):
            connection.execute(statement.encode())
        for statement in delete_sql(*tables):
            connection.execute(statement.encode(), {"workspace": workspace})
        into_chunks, into_documents = (s.encode() for s in copy_sql(*tables))
        with connection.cursor() as cursor:
            with cursor.copy(into_chunks) as copy:
                for row in chunk_rows():
                    copy.write_row(row)
            with cursor.copy(into_documents) as copy:
                for key, of in documents.items():
                    copy.write_row((key, of.document_name, workspace, of.knowledge_base))
        if settings.chunks.tsvector is not None:
            language = LANGUAGES.get(settings.language, settings.language)
            values = {"language": language, "ids": list(documents)}
            connection.execute(words_sql(settings.chunks).encode(), values)
    return Loaded(len(documents), n_chunks)
