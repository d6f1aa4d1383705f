"""A process that dies, or a disk that is full, leaves the old state or the new one, whole.

One subprocess imports evalnb once and forks a child for every point; each child works on its own
copy of the same workspace and is killed at its point.
"""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from evalnb.errors import BusyError, NotFoundError
from evalnb.search.request import QueryRequest
from evalnb.search.system import SearchContext
from evalnb.workspace.store import FILE_NAME
from evalnb.workspace.system import Workspace, open_workspace

OLD = {"sources": [{"key": "s", "documents": [{"path": "a", "text": "old words"}]}]}
NEW = {
    "sources": [
        {
            "key": "s",
            "documents": [
                {"path": "a", "text": "new words"},
                {"path": "b", "text": "more words", "identifiers": ["B-1"]},
            ],
        }
    ]
}

FORKS = r"""
import contextlib, json, os, resource, signal, sys
from pathlib import Path
from evalnb.workspace import store
from evalnb.workspace.system import open_workspace

root, corpus, fault, points = Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3], sys.argv[4:]

def kill_at(point):
    left = [point]
    def step():
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    def stepping(function):
        def stepped(*args, **kwargs):
            step()
            result = function(*args, **kwargs)
            step()
            return result
        return stepped
    transaction = store.Store.transaction
    @contextlib.contextmanager
    def stepped_transaction(self):
        step()
        with transaction(self) as db:
            yield db
            step()
        step()
    store.Store.transaction = stepped_transaction
    for name in ("fsync", "replace", "rename"):
        setattr(os, name, stepping(getattr(os, name)))

def fill_disk(point):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write past the limit fails instead
    resource.setrlimit(resource.RLIMIT_FSIZE, (point, point))

def run(point):
    {"kill": kill_at, "disk": fill_disk}[fault](point)
    try:
        open_workspace(root / str(point), create=True).ingest_corpus(corpus)
    except OSError as error:
        os._exit(error.errno)
    except BaseException as error:
        import traceback
        traceback.print_exc()
        os._exit(255)
    os._exit(0)

for point in map(int, points):
    child = os.fork()
    if child == 0:
        run(point)
    print(point, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def run_forks(root: Path, fault: str, points: list[int]) -> dict[int, int]:
    """Return how the child of each point ended: 0, an errno, or minus a signal."""
    command = [sys.executable, "-c", FORKS, str(root), json.dumps(NEW), fault, *map(str, points)]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Traceback" not in told.stderr, told.stderr
    return {int(point): int(end) for point, end in map(str.split, told.stdout.splitlines())}


def found(workspace: Workspace) -> list[str]:
    session = workspace.open(SearchContext())
    try:
        return sorted(hit.text for hit in session.ask(QueryRequest(query="words")).hits)
    finally:
        session.close()


def check_whole(folder: Path, *, before: list[str]) -> None:
    """The workspace answers as before or as after, and the same ingest completes it."""
    with sqlite3.connect(folder / FILE_NAME) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    db.close()
    after = ["more words", "new words"]
    try:
        assert found(open_workspace(folder)) in (before, after)
    except NotFoundError:
        assert before == []
    completed = open_workspace(folder, create=True).ingest_corpus(NEW)
    assert found(open_workspace(folder)) == after
    assert completed.snapshot.n_units == 2
    assert not list((folder / "indexes").glob(".*"))
    assert not list(folder.glob(".evalnb-*"))


@pytest.mark.slow
@pytest.mark.parametrize("start", ["nothing", "old"])
def test_killed_at_any_step(tmp_path: Path, start: str) -> None:
    points = [1, 7, 13, 19, 25, 31, 99]
    before = []
    for point in points:
        folder = tmp_path / str(point)
        folder.mkdir()
    if start == "old":
        original = open_workspace(tmp_path / "original", create=True)
        original.ingest_corpus(OLD)
        before = found(original)
        for point in points:
            shutil.copytree(original.folder, tmp_path / str(point), dirs_exist_ok=True)
    ends = run_forks(tmp_path, "kill", points)
    assert [ends[point] for point in points] == [-signal.SIGKILL] * 6 + [0]  # 99: past the end
    for point in points:
        check_whole(tmp_path / str(point), before=before)


@pytest.mark.slow
def test_a_full_disk(tmp_path: Path) -> None:
    original = open_workspace(tmp_path / "original", create=True)
    original.ingest_corpus(OLD)
    before = found(original)
    size = (original.folder / FILE_NAME).stat().st_size
    points = [0, 300, 10_000, size, size + 30_000, 10**8]
    for point in points:
        shutil.copytree(original.folder, tmp_path / str(point))
    ends = run_forks(tmp_path, "disk", points)
    assert ends[10**8] == 0
    assert all(ends[point] > 0 for point in points[:3])
    for point in points:
        check_whole(tmp_path / str(point), before=before)


def test_two_processes(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path / "ws", create=True)
    workspace.ingest_corpus(OLD)
    script = (
        "import sys; from pathlib import Path; from evalnb.workspace.store import write_lock\n"
        "with write_lock(Path(sys.argv[1])):\n    print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", script, str(workspace.folder)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(BusyError):
            workspace.ingest_corpus(NEW)
        assert found(workspace) == ["old words"]
        other.kill()  # the lock ends with its process, however that ends
    workspace.ingest_corpus(NEW)
    assert found(workspace) == ["more words", "new words"]
