"""The workspace's SQLite file: sources, documents, revisions, extractions, units, snapshots.

Rows are only ever added, apart from pointers (a document's newest revision, a revision's newest
extraction, the active snapshot) and a revision's language and dates, which every snapshot keeps a
copy of. So a reader needs no lock: what a snapshot names never changes under it.

Tables refer to each other by integers; the canonical ids, which are digests, would make every
insert and every join a walk through random pages. The two pointers that would close a circle of
references are no foreign keys: checking them late costs a scan of the table for every row.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self, TypeVar
from urllib.parse import quote

from evalnb.errors import BadInputError, BusyError, IntegrityError, NotFoundError
from evalnb.files import lock

FILE_NAME = "workspace.sqlite"
LOCK_NAME = "lock"
SCHEMA_VERSION = 1
APPLICATION_ID = 0x65766E62  # "evnb", so that another program's database is not taken for ours
TIMEOUT_S = 30.0
_BATCH_ROWS, _BATCH_SIZE = 500, 8_000_000  # bounds memory, and what a stopped process loses

Row = TypeVar("Row")
Progress = Callable[[int], None]
"""Told how many more are done."""

SCHEMA = """
CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sources (
    source INTEGER PRIMARY KEY,
    source_id TEXT NOT NULL UNIQUE,
    key TEXT NOT NULL UNIQUE
);
CREATE TABLE documents (
    document INTEGER PRIMARY KEY,
    document_id TEXT NOT NULL UNIQUE,
    source INTEGER NOT NULL REFERENCES sources,
    path TEXT NOT NULL,
    newest INTEGER NOT NULL  -- a revision, or 0: withdrawn, in no later snapshot
);
CREATE TABLE revisions (
    revision INTEGER PRIMARY KEY,
    revision_id TEXT NOT NULL UNIQUE,
    document INTEGER NOT NULL REFERENCES documents,
    extraction INTEGER NOT NULL,  -- the newest one
    file_id TEXT NOT NULL,
    bytes_sha256 TEXT NOT NULL,
    title TEXT,
    language TEXT,
    effective_from TEXT,
    effective_to TEXT
);
CREATE INDEX revisions_of_document ON revisions (document);
CREATE TABLE extractions (
    extraction INTEGER PRIMARY KEY,
    extraction_id TEXT NOT NULL UNIQUE,
    revision INTEGER NOT NULL REFERENCES revisions,
    extractor TEXT NOT NULL,
    modality TEXT NOT NULL,
    payload_bytes INTEGER NOT NULL,
    pages TEXT NOT NULL,
    identifiers TEXT NOT NULL,
    headings TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE TABLE units (
    unit INTEGER PRIMARY KEY,
    unit_id TEXT NOT NULL UNIQUE,
    extraction INTEGER NOT NULL REFERENCES extractions,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    text_sha256 TEXT NOT NULL,
    heading TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE TABLE chunkings (chunking INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);
CREATE TABLE chunks (
    chunking INTEGER NOT NULL REFERENCES chunkings,
    extraction INTEGER NOT NULL REFERENCES extractions,
    unit INTEGER NOT NULL REFERENCES units,
    PRIMARY KEY (chunking, extraction, unit)
) WITHOUT ROWID;
CREATE TABLE identifiers (
    identifier TEXT NOT NULL,
    unit INTEGER NOT NULL REFERENCES units,
    PRIMARY KEY (identifier, unit)
) WITHOUT ROWID;
CREATE TABLE snapshots (
    snapshot INTEGER PRIMARY KEY,
    snapshot_id TEXT NOT NULL UNIQUE,
    chunking INTEGER NOT NULL REFERENCES chunkings,
    units_sha256 TEXT NOT NULL,
    n_units INTEGER NOT NULL,
    n_documents INTEGER NOT NULL,
    created_at TEXT NOT NULL
);
CREATE TABLE members (
    snapshot INTEGER NOT NULL REFERENCES snapshots,
    extraction INTEGER NOT NULL REFERENCES extractions,
    revision INTEGER NOT NULL REFERENCES revisions,
    document INTEGER NOT NULL REFERENCES documents,
    source INTEGER NOT NULL REFERENCES sources,
    newest INTEGER NOT NULL,
    modality TEXT NOT NULL,
    language TEXT,
    effective_from TEXT,
    effective_to TEXT,
    PRIMARY KEY (snapshot, extraction)
) WITHOUT ROWID;
"""


class Store:
    """One connection to a workspace's database.

    Raises
    ------
    NotFoundError
        If the folder holds no workspace.
    BadInputError
        If the file is another program's, or a newer evalnb's.
    """

    def __init__(self, folder: Path, *, write: bool = False) -> None:
        self.path = folder / FILE_NAME
        if not self.path.is_file() and not write:
            raise _no_workspace(folder)
        with self.explained():
            self.db = sqlite3.connect(
                _address(self.path),
                timeout=TIMEOUT_S,
                isolation_level=None,
                check_same_thread=False,
                uri=True,
            )
        try:
            with self.explained():
                self._prepare(folder, write=write)
        except BaseException:
            self.db.close()
            raise

    def _prepare(self, folder: Path, *, write: bool) -> None:
        version = self._value("PRAGMA user_version")
        owner = self._value("PRAGMA application_id")
        tables = self._value("SELECT count(*) FROM sqlite_master")
        if version > SCHEMA_VERSION and owner == APPLICATION_ID:
            raise BadInputError(
                f"a newer evalnb wrote this workspace (schema {version}, this one reads up to "
                f"{SCHEMA_VERSION})",
                where=str(self.path),
                remedy="upgrade evalnb, or ingest into another folder",
            )
        if tables and owner != APPLICATION_ID:
            raise BadInputError(
                "the database is not a workspace of evalnb",
                where=str(self.path),
                remedy="give another folder with --workspace",
            )
        if not tables and not write:  # whoever made it stopped before its first commit
            raise _no_workspace(folder)
        self.db.execute("PRAGMA foreign_keys = ON")
        self.db.execute("PRAGMA cache_size = -65536")
        if not write:
            self.db.execute("PRAGMA query_only = ON")
            return
        self.db.execute("PRAGMA journal_mode = WAL")
        if not tables:
            with self.transaction():
                for statement in SCHEMA.split(";\n"):
                    self.db.execute(statement)
                self.db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                self.db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def _value(self, sql: str) -> int:
        return int(self.db.execute(sql).fetchone()[0])

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write everything inside, or nothing."""
        with self.explained():
            self.db.execute("BEGIN IMMEDIATE")
            try:
                yield self.db
                self.db.execute("COMMIT")
            except BaseException:
                if self.db.in_transaction:
                    self.db.execute("ROLLBACK")
                raise

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn SQLite's failures into errors that say what to do.

        Raises
        ------
        BusyError
            If another process kept the database locked.
        OSError
            If the disk is full or fails.
        IntegrityError
            If the file is damaged.
        """
        try:
            yield
        except sqlite3.DatabaseError as error:
            code, where = getattr(error, "sqlite_errorcode", 0) & 0xFF, str(self.path)
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise BusyError(
                    "another process keeps the workspace locked", where=where
                ) from error
            if code == sqlite3.SQLITE_FULL:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), where) from error
            if code == sqlite3.SQLITE_IOERR:
                raise OSError(errno.EIO, str(error), where) from error
            if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
                raise PermissionError(errno.EACCES, str(error), where) from error
            if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise IntegrityError(
                    f"the workspace's database is damaged: {error}",
                    where=where,
                    remedy="ingest the documents again into a new folder",
                ) from error
            raise

    def state(self, key: str) -> str | None:
        """Return one of the workspace's pointers."""
        row = self.db.execute("SELECT value FROM state WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def close(self) -> None:
        """Close the connection."""
        self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


def batches(rows: Iterable[Row], size: Callable[[Row], int]) -> Iterator[list[Row]]:
    """Group rows for one transaction each, by their number and the sum of their sizes."""
    batch: list[Row] = []
    total = 0
    for row in rows:
        batch.append(row)
        total += size(row)
        if len(batch) >= _BATCH_ROWS or total >= _BATCH_SIZE:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch


@contextmanager
def write_lock(folder: Path) -> Iterator[None]:
    """Be the only process that changes the workspace; the lock ends with the process.

    Raises
    ------
    BusyError
        If another process changes it now.
    """
    with (folder / LOCK_NAME).open("a") as file:
        busy = BusyError(
            "another process is changing the workspace",
            where=str(folder),
            remedy="wait until it has finished and try again; searching works meanwhile",
        )
        lock(file.fileno(), busy)
        yield


def _address(path: Path) -> str:
    """Name the database; one that nobody can change is read without the files that SQLite adds."""
    log = path.with_name(f"{path.name}-wal")
    unwritten = not log.exists() or not log.stat().st_size
    fixed = unwritten and not os.access(path.parent, os.W_OK, effective_ids=True)
    return f"file:{quote(str(path.absolute()))}" + ("?immutable=1" if fixed else "")


def _no_workspace(folder: Path) -> NotFoundError:
    return NotFoundError(
        "there is no workspace here",
        where=str(folder),
        remedy=f"make one with: evalnb ingest PATH --workspace {folder}",
    )
