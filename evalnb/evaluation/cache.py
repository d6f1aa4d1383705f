"""Finished searches by content: a stopped run goes on, a rerun searches only what changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Self

from evalnb.errors import BadInputError, NotEvaluatedError
from evalnb.evaluation.canonical import digest
from evalnb.evaluation.machine import versions
from evalnb.evaluation.searching import Answer
from evalnb.search.request import Controls, QueryRequest
from evalnb.search.result import QueryResult
from evalnb.search.system import Cut, SearchContext

CACHE_NAME = "cache.sqlite"
APPLICATION_ID = 0x65766C62
FORMAT = 1
PATIENCE_S = 30.0  # how long another process's write is waited for


class SearchCache:
    """Answers in one SQLite file, each under the digest of everything that decides it.

    Several processes may share it. An answer that is damaged is as good as none. Scores are not
    kept: they follow from the answer and the labels, and cost next to nothing.

    Parameters
    ----------
    folder
        Where the file lies, made if it is not there.

    Raises
    ------
    BadInputError
        If the file there is damaged, not a cache, or a newer evalnb's.
    NotEvaluatedError
        If it cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / CACHE_NAME
        if folder.exists() and not folder.is_dir():
            raise BadInputError("found a file, expected a folder", where=str(folder))
        folder.mkdir(parents=True, exist_ok=True)
        with self._explained():
            self._connection = sqlite3.connect(
                self.path, timeout=PATIENCE_S, isolation_level=None, check_same_thread=False
            )
        try:
            with self._explained():
                self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        # Locked first: two processes may meet in the same empty file.
        self._connection.execute("BEGIN IMMEDIATE")
        [application] = self._connection.execute("PRAGMA application_id").fetchone()
        [form] = self._connection.execute("PRAGMA user_version").fetchone()
        [n_tables] = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not (application or form or n_tables):
            self._connection.execute(
                "CREATE TABLE answers (key TEXT PRIMARY KEY, result BLOB NOT NULL, "
                "latency_ms REAL, warm_up INTEGER NOT NULL, sha256 TEXT NOT NULL)"
            )
            self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self._connection.execute(f"PRAGMA user_version = {FORMAT}")
        elif (application, form) != (APPLICATION_ID, FORMAT):
            foreign = application != APPLICATION_ID
            raise BadInputError(
                "this is not a cache of evalnb"
                if foreign
                else f"the cache has format {form}, this version reads {FORMAT}",
                where=str(self.path),
                remedy="choose another folder",
            )
        self._connection.execute("COMMIT")
        self._connection.execute("PRAGMA journal_mode = WAL")
        # What a crash of the machine may lose is searched again.
        self._connection.execute("PRAGMA synchronous = NORMAL")

    def get(self, key: str) -> Answer | None:
        """Return the answer under a key, or None."""
        with self._explained():
            row = self._connection.execute(
                "SELECT result, latency_ms, warm_up, sha256 FROM answers WHERE key = ?", (key,)
            ).fetchone()
        if row is None or row[3] != _checksum(key, *row[:3]):
            return None
        try:
            return Answer(QueryResult.model_validate_json(row[0]), row[1], bool(row[2]))
        except ValueError:  # whole, but not what this version writes
            return None

    def put(self, key: str, answer: Answer) -> None:
        """Keep an answer; it survives the death of the process from here on."""
        result = answer.result.model_dump_json().encode()
        row = (key, result, answer.latency_ms, int(answer.warm_up))
        with self._explained():
            self._connection.execute(
                "REPLACE INTO answers VALUES (?, ?, ?, ?, ?)", (*row, _checksum(*row))
            )

    def forget(self, keys: Iterable[str]) -> None:
        """Drop the answers under some keys."""
        with self._explained():
            self._connection.executemany(
                "DELETE FROM answers WHERE key = ?", ((key,) for key in keys)
            )

    def close(self) -> None:
        """Close the file; calling it again does nothing."""
        self._connection.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *failure: object) -> None:
        """Close the file whatever happened."""
        self.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise NotEvaluatedError(
                f"the cache cannot be used: {error}", where=str(self.path)
            ) from error
        except sqlite3.DatabaseError as error:
            raise BadInputError(
                f"the cache is damaged or something else: {error}",
                where=str(self.path),
                remedy="delete it, everything is searched again then; or choose another folder",
            ) from error


def _checksum(key: str, result: object, *times: object) -> str:
    content = result if isinstance(result, bytes) else b""
    return sha256(f"{key}\n{times!r}\n".encode() + content).hexdigest()


def variant_key(
    variant: str, *, identity: Mapping[str, str], cut: Cut | None, context: SearchContext
) -> str:
    """Digest what all answers of a variant depend on.

    The name is in it: two functions may share theirs and their version key.
    """
    return digest(
        {
            "variant": variant,
            "identity": dict(identity),
            "cut": cut and cut.model_dump(mode="json"),
            "snapshot_id": context.snapshot_id,
            "scope": context.scope.model_dump(mode="json"),
            "seed": context.seed,
            "offline": context.offline,
            "versions": versions(),
        }
    )


def answer_key(variant: str, repetition: int, request: QueryRequest, controls: Controls) -> str:
    """Digest what decides one answer; ``variant`` is its :func:`variant_key`.

    Labels and measures are not in it: they decide scores, which are made anew in every run.
    """
    return digest(
        {
            "variant": variant,
            "repetition": repetition,
            "request": request.model_dump(mode="json"),
            "controls": controls.model_dump(mode="json"),
        }
    )
