"""A connection to a Postgres server: searches in read-only transactions, errors that say why."""

from __future__ import annotations

import ipaddress
import math
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from evalnb.errors import CapabilityError, EvalnbError, SearchFailedError, SearchTimeoutError
from evalnb.search.metering import metered
from evalnb.search.request import Controls, QueryRequest
from evalnb.search.result import QueryResult
from evalnb.search.system import SearchContext
from evalnb.systems.hits import parse_hits
from evalnb.systems.postgres.sql import LANGUAGES, PostgresSettings, keyword_sql, semantic_sql
from evalnb.systems.transport import require

if TYPE_CHECKING:
    import psycopg

EXTRA = "postgres"
CONNECT_S = 10
ITERATIVE_SCAN = (0, 8)  # the first pgvector whose index scans go on until the limit is met

Encoder = Callable[[Sequence[str]], Any]
Leg = Literal["lexical", "text"]


class PostgresSession:
    """One session and its connection; several threads take turns."""

    def __init__(
        self,
        settings: PostgresSettings,
        leg: Leg,
        context: SearchContext,
        *,
        encoder: Encoder | None = None,
    ) -> None:
        self._settings = settings
        self._leg = leg
        self._encoder = encoder
        self._context = context
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[dict[str, Any]] | None = None
        self._iterative = False

    def search(self, request: QueryRequest, controls: Controls) -> QueryResult:
        """Run one statement in a read-only transaction.

        Raises
        ------
        CapabilityError
            If the extension, a table, a column or a text search configuration is missing.
        SearchTimeoutError
            If the statement ran past its time.
        SearchFailedError
            If the server is lost, or refuses for another reason.
        """
        return metered(lambda: parse_hits(self.call(request, controls), limit=controls.limit))

    def call(self, request: QueryRequest, controls: Controls) -> list[dict[str, Any]]:
        """Run one statement and return its rows."""
        parameters = {**self._restrictions(request), "limit": controls.limit}
        if self._leg == "text":
            parameters["vector"] = _embedded(self._encoder, request.query)
        else:
            parameters["query"] = request.query
        rows = self._run(parameters, controls)
        return [
            {**row, "document_name": row["name"], "document": row["document"] or row["id"]}
            for row in rows
        ]

    def probe(self, controls: Controls) -> None:
        """Run the statement for no rows, so that what is missing shows before any search."""
        self._run({"vector": None, "query": "", "limit": 0, **self._restrictions(None)}, controls)

    def close(self) -> None:
        """Close the connection; calling it again does nothing."""
        with self._lock:
            self._drop()

    def _restrictions(self, request: QueryRequest | None) -> dict[str, Any]:
        """Return the bound values of every restriction there is: settings AND scope AND request."""
        scope, outer = self._settings.scope, self._context.scope
        base = (scope.knowledge_base,) if scope.knowledge_base is not None else ()
        sources = [base, outer.source_ids, request.source_ids if request else ()]
        documents = [outer.document_ids, request.document_ids if request else ()]
        found = {
            "workspace": scope.workspace,
            "documents": list(scope.documents) or None,
            "source_ids": _common(sources),
            "document_ids": _common(documents),
        }
        return {name: value for name, value in found.items() if value is not None}

    def _run(self, parameters: dict[str, Any], controls: Controls) -> list[dict[str, Any]]:
        settings, hints = self._settings, controls.hints
        given = parameters.keys() - {"vector", "query", "limit"}
        if self._leg == "text":
            statement = semantic_sql(settings.chunks, settings.documents, given)
        else:
            operator = hints.lexical_operator or settings.operator
            statement = keyword_sql(settings.chunks, settings.documents, given, operator)
            named = hints.language or settings.language
            parameters = {**parameters, "language": LANGUAGES.get(named, named)}
        with self._lock, self._explained():
            connection = self._connected()
            with connection.transaction():
                self._configure(connection)
                return connection.execute(statement.encode(), parameters).fetchall()

    def _configure(self, connection: psycopg.Connection[Any]) -> None:
        seconds = self._settings.timeout_s
        if self._context.deadline is not None:
            seconds = min(seconds, self._context.deadline - time.monotonic())
        if seconds <= 0:
            raise SearchTimeoutError("the deadline of the request has passed")
        wanted = {"statement_timeout": str(max(1, round(seconds * 1000)))}
        if self._iterative:
            # Without it an index scan ends after 40 rows (hnsw.ef_search), whatever the limit.
            wanted |= {
                "hnsw.iterative_scan": "strict_order",
                "ivfflat.iterative_scan": "relaxed_order",
            }
        for name, value in wanted.items():
            connection.execute("SELECT set_config(%s, %s, true)", (name, value))

    def _connected(self) -> psycopg.Connection[dict[str, Any]]:
        if self._connection is None:
            self._connection = connect(self._settings)
            self._connection.read_only = True
            self._iterative = _pgvector_version(self._connection) >= ITERATIVE_SCAN
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def _explained(self) -> Iterator[None]:
        with explained(self._settings):
            try:
                yield
            finally:
                if self._connection is not None and self._connection.closed:
                    self._drop()  # the next search connects again


def connect(settings: PostgresSettings) -> psycopg.Connection[dict[str, Any]]:
    """Connect to the server; each statement is a transaction of its own unless one is begun.

    Raises
    ------
    CapabilityError
        If the environment does not say where the server is.
    MissingExtraError
        If psycopg is not installed.
    """
    driver = _driver()
    made: psycopg.Connection[dict[str, Any]] = driver.connect(
        _dsn(settings),
        row_factory=driver.rows.dict_row,
        autocommit=True,
        connect_timeout=CONNECT_S,
        application_name="evalnb",
        prepare_threshold=None,  # poolers between us and the server know no statements
    )
    return made


@contextmanager
def explained(settings: PostgresSettings) -> Iterator[None]:
    """Turn the driver's errors into typed ones, without the password.

    Raises
    ------
    CapabilityError, SearchTimeoutError, SearchFailedError
        With what Postgres says.
    """
    try:
        yield
    except _driver().Error as error:
        _explain(error, _password(settings))


def _explain(error: psycopg.Error, password: str | None) -> NoReturn:
    errors = _driver().errors
    message = (error.diag.message_primary or str(error)).strip().partition("\n")[0]
    message = message.replace(password, "***") if password else message
    if isinstance(error, errors.QueryCanceled):
        raise SearchTimeoutError(f"the server ended the statement: {message}") from None
    missing = {
        errors.UndefinedTable: "correct the table in [postgres.chunks] or [postgres.documents]",
        errors.UndefinedColumn: "correct the column in [postgres.chunks] or [postgres.documents]",
        errors.InvalidSchemaName: "correct the schema of the tables",
        errors.UndefinedObject: "correct language, the text search configuration",
        errors.UndefinedFunction: "embedding has to be a column of type vector, text one of text",
        errors.InsufficientPrivilege: "grant the user SELECT on the tables; a copy also writes",
        errors.DataException: "embed queries with the model that embedded the chunks",
    }
    remedy = next((text for kind, text in missing.items() if isinstance(error, kind)), None)
    if remedy is not None:
        if '"vector"' in message:
            remedy = "CREATE EXTENSION vector"
        raise CapabilityError(f"Postgres: {message}", remedy=remedy) from None
    raise SearchFailedError(f"Postgres: {message}") from None


def _driver() -> Any:
    try:
        import psycopg
    except ImportError as error:
        require(EXTRA, error)
    return psycopg


def _dsn(settings: PostgresSettings) -> str:
    psycopg = _driver()
    if settings.dsn_env is None:
        return ""
    dsn = os.environ.get(settings.dsn_env, "").strip()
    if not dsn:
        raise CapabilityError(
            f"the environment variable {settings.dsn_env} is not set",
            remedy=f"export {settings.dsn_env}=postgresql://...",
        )
    try:
        psycopg.conninfo.conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:  # its message quotes the string, and the password in it
        raise CapabilityError(
            f"the environment variable {settings.dsn_env} holds no connection string",
            remedy="write postgresql://user:password@host:port/database",
        ) from None
    return dsn


def remote_host(settings: PostgresSettings) -> str | None:
    """Name the first host that is not this machine, as libpq would find it."""
    given = _driver().conninfo.conninfo_to_dict(_dsn(settings))
    hosts = given.get("hostaddr") or given.get("host") or os.environ.get("PGHOST", "")
    names = [name for name in str(hosts).split(",") if name and not name.startswith(("/", "@"))]
    return next((name for name in names if not _is_here(name)), None)


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _password(settings: PostgresSettings) -> str | None:
    found: dict[str, str] = _driver().conninfo.conninfo_to_dict(_dsn(settings))
    return found.get("password")


def _pgvector_version(connection: psycopg.Connection[dict[str, Any]]) -> tuple[int, ...]:
    asked = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
    row = connection.execute(asked).fetchone()
    return tuple(map(int, re.findall(r"\d+", row["extversion"]))) if row else ()


def _embedded(encoder: Encoder | None, query: str) -> str:
    """Embed a query, as pgvector reads a vector."""
    if encoder is None:
        raise CapabilityError("nothing embeds the query")
    try:
        vector = [float(value) for value in encoder([query])[0]]
    except EvalnbError:
        raise
    except Exception as error:  # a user's function may raise anything
        raise SearchFailedError(f"the encoder: {type(error).__name__}: {error}") from error
    if not any(vector) or not all(math.isfinite(value) for value in vector):
        raise SearchFailedError(
            "the encoder returned a vector without a direction: no finite number but 0"
        )
    return vector_text(vector)


def vector_text(vector: Sequence[float]) -> str:
    """Write a vector as pgvector reads it."""
    return f"[{','.join(repr(float(value)) for value in vector)}]"


def _common(lists: Sequence[Sequence[str]]) -> list[str] | None:
    """Return the ids that every restriction allows; None where nothing is restricted."""
    given = [set(ids) for ids in lists if ids]
    return sorted(set.intersection(*given)) if given else None
