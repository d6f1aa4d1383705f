"""The database: whose it is, which version, who may write, what a failure says."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

import pytest

from evalnb.errors import BadInputError, BusyError, IntegrityError, NotFoundError
from evalnb.workspace.store import FILE_NAME, SCHEMA_VERSION, Store, write_lock
from evalnb.workspace.system import open_workspace


def test_a_folder_without_a_workspace(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="evalnb ingest PATH --workspace"):
        open_workspace(tmp_path)
    assert list(tmp_path.iterdir()) == []  # looking made nothing


def test_a_workspace_that_was_never_finished(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).touch()  # whoever made it was stopped before its first commit
    with pytest.raises(NotFoundError, match="there is no workspace here"):
        open_workspace(tmp_path)
    open_workspace(tmp_path, create=True)
    open_workspace(tmp_path)


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    open_workspace(tmp_path, create=True)
    with sqlite3.connect(tmp_path / FILE_NAME) as db:
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    db.close()
    for create in (False, True):
        with pytest.raises(BadInputError, match=r"a newer evalnb wrote this workspace \(schema 2"):
            open_workspace(tmp_path, create=create)


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE_NAME) as db:
        db.execute("CREATE TABLE bookmarks (url)")
    db.close()
    for create in (False, True):
        with pytest.raises(BadInputError, match="not a workspace of evalnb"):
            open_workspace(tmp_path, create=create)
    with sqlite3.connect(tmp_path / FILE_NAME) as db:
        assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("bookmarks",)]
    db.close()


DAMAGE = [b"no database at all" * 100, b"SQLite format 3\x00" + b"\xff" * 4_096]


@pytest.mark.parametrize("content", DAMAGE)
def test_a_file_that_is_no_database(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    with pytest.raises(IntegrityError, match="database is damaged"):
        open_workspace(tmp_path)


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path, create=True)
    with write_lock(tmp_path):
        with pytest.raises(BusyError, match="another process is changing the workspace"):
            workspace.ingest_corpus({"sources": [{"key": "s", "documents": []}]})
        with pytest.raises(BusyError):
            workspace.configure({"limit": 5})
        open_workspace(tmp_path)  # readers are free


def test_a_reading_connection_cannot_write(tmp_path: Path) -> None:
    open_workspace(tmp_path, create=True)
    with (
        Store(tmp_path) as store,
        pytest.raises(OSError, match="readonly"),
        store.explained(),
    ):
        store.db.execute("INSERT INTO state VALUES ('a', 'b')")


def write_and_fail(db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO state VALUES ('a', 'b')")
    raise KeyError


def test_a_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    open_workspace(tmp_path, create=True)
    with Store(tmp_path, write=True) as store:
        with pytest.raises(KeyError), store.transaction() as db:
            write_and_fail(db)
        assert store.state("a") is None
        with store.transaction() as db:
            db.execute("INSERT INTO state VALUES ('a', 'b')")
        assert store.state("a") == "b"


CODES = [
    (sqlite3.SQLITE_BUSY, BusyError, None),
    (sqlite3.SQLITE_FULL, OSError, errno.ENOSPC),
    (sqlite3.SQLITE_IOERR | 0x0A00, OSError, errno.EIO),
    (sqlite3.SQLITE_READONLY, PermissionError, errno.EACCES),
]


@pytest.mark.parametrize(("code", "kind", "number"), CODES)
def test_what_sqlite_reports_is_explained(
    tmp_path: Path, code: int, kind: type[Exception], number: int | None
) -> None:
    open_workspace(tmp_path, create=True)
    failure = sqlite3.OperationalError("as SQLite says it")
    failure.sqlite_errorcode = code
    with Store(tmp_path) as store, pytest.raises(kind) as raised, store.explained():
        raise failure
    assert getattr(raised.value, "errno", None) == number


def test_references_are_enforced(tmp_path: Path) -> None:
    open_workspace(tmp_path, create=True)
    with (
        Store(tmp_path, write=True) as store,
        pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"),
        store.transaction() as db,
    ):
        db.execute("INSERT INTO documents VALUES (1, 'doc_x', 99, 'path', 1)")
