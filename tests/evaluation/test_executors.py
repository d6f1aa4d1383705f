"""Searches in threads and processes: the same report, whatever dies, hangs or is interrupted."""

from __future__ import annotations

import importlib
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import closing

import psutil
import pytest

from evalnb.api import evaluate, open_workspace, system
from evalnb.errors import BadInputError, InvalidatedError
from evalnb.evaluation import dispatch
from evalnb.evaluation.dispatch import AHEAD, Dispatch
from evalnb.evaluation.executors import ThreadPool, parse_executor
from evalnb.evaluation.report import Observed
from evalnb.evaluation.searching import Searcher, Setup, Task
from evalnb.search.request import Controls, QueryRequest
from evalnb.search.system import SearchContext

SEARCHES = """
import ctypes, os, signal, time
from pathlib import Path

def find(query, limit):
    n = int(query.split()[1])
    return [(f"d{(n * 3 + m) % 11}", f"text {m}") for m in range(limit)]

def fail(query):
    if query.endswith("7"):
        raise RuntimeError("down")
    return ["d1"]

async def wait(query):
    return ["d2"]

def dies(query):
    if query.endswith(" 7"):
        os.kill(os.getpid(), signal.SIGKILL)
    return ["d3"]

def dies_once(query):
    flag = Path(__file__).with_name("died")
    if query.endswith("7") and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return ["d3"]

def stuck(query):
    time.sleep(600 if query.endswith(" 3") else 0)
    return ["d4"]

def clings(query):
    if query.endswith(" 3"):
        ctypes.PyDLL(None).sleep(600)  # and lets no other thread of its process run
    return ["d4"]

def process(query):
    time.sleep(0.01)
    return [str(os.getpid())]
"""


@pytest.fixture
def searches(tmp_path, monkeypatch):
    """Return a module that other processes can import too."""
    (tmp_path / "my_searches.py").write_text(SEARCHES)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_searches", raising=False)
    return importlib.import_module("my_searches")


def outside_observed(report):
    return report.record.model_copy(update={"observed": Observed()})


def statuses(report):
    return {r.case_id: r.result.status for r in report.record.results}


@pytest.mark.parametrize("executor", ["local", "local:1", "local:4", "processes:2"])
def test_every_executor_gives_the_same_report(searches, tmp_path, executor, numbered):
    documents = tmp_path / "documents"
    documents.mkdir()
    for n in range(12):
        (documents / f"d{n}.md").write_text(f"# Document {n}\n\nquestion {n} and others")
    workspace = open_workspace_with(tmp_path / "ws", documents)
    run = tmp_path / "old.run"
    run.write_text("".join(f"c{n} Q0 d{n % 5} 1 1.0 t\n" for n in range(len(numbered))))
    systems = {
        "find": searches.find,
        "fail": searches.fail,
        "wait": searches.wait,
        "workspace": workspace,
        "phrase": (workspace, {"hints": {"lexical_operator": "phrase"}}),
        "run": run,
    }
    alone = evaluate(numbered, systems, repetitions=2)
    beside = evaluate(numbered, systems, repetitions=2, executor=executor)
    assert outside_observed(beside) == outside_observed(alone)
    assert [v is None for v in beside.record.observed.latency_ms] == [
        v is None for v in alone.record.observed.latency_ms
    ]


def open_workspace_with(folder, documents):
    from evalnb.workspace.system import open_workspace as made

    made(folder, create=True).ingest([documents])
    return open_workspace(folder)


def test_processes_search_in_their_own(searches, numbered):
    report = evaluate(numbered, {"v": searches.process}, executor="processes:2")
    pids = {r.result.hits[0].ids.document_id for r in report.record.results}
    assert len(pids) == 2
    assert not any(psutil.pid_exists(int(pid)) for pid in pids)


@pytest.mark.parametrize(
    "name", ["threads", "local:0", "local:-1", "local:x", "processes:", "dask", "dask:", "", "a\n"]
)
def test_an_unknown_executor_is_refused_before_anything(name, numbered):
    calls = []
    with pytest.raises(BadInputError, match="no executor is called"):
        evaluate(numbered, {"v": calls.append}, executor=name)
    assert not calls


def test_names():
    assert parse_executor("local") == ("local", None, None)
    assert parse_executor("processes:12") == ("processes", 12, None)
    assert parse_executor("dask:tls://h:1") == ("dask", None, "tls://h:1")


def test_what_cannot_be_sent_is_named_before_the_first_search(searches, numbered):
    calls = []

    def kept(query):
        calls.append(query)

    systems = {"sent": searches.find, "kept": kept}
    with pytest.raises(BadInputError, match=r"'kept' cannot be sent.*top level of a module"):
        evaluate(numbered, systems, executor="processes:2")
    assert not calls


def test_what_the_workers_cannot_import_is_named_before_the_first_search(
    searches, monkeypatch, numbered
):
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p != sys.path[0]])
    with pytest.raises(BadInputError, match="'v' cannot be loaded in a worker: No module"):
        evaluate(numbered, {"v": searches.find}, executor="processes:2")


def test_a_script_that_is_not_guarded_says_so(tmp_path):
    (tmp_path / "script.py").write_text(
        "import evalnb as ev\n"
        "gold = ev.load_gold('q.csv')\n"
        "def search(query):\n    return ['a']\n"
        "ev.evaluate(gold, {'v': search}, executor='processes:1')\n"
    )
    (tmp_path / "q.csv").write_text("query,expected\none,a\n")
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "a worker process ended while it started" in done.stderr
    assert 'if __name__ == "__main__":' in done.stderr


def test_a_search_that_kills_its_worker_is_na_and_takes_nobody_along(searches, numbered):
    report = evaluate(numbered, {"v": searches.dies}, executor="processes:2")
    lost = {case_id for case_id, status in statuses(report).items() if status != "ok"}
    assert lost == {"c7"}
    [reason] = [r.result.reason for r in report.record.results if r.case_id == "c7"]
    assert reason == "SEARCH_FAILED: the worker process died, 3 times over this search"


def test_the_searches_of_a_lost_worker_are_run_again(searches, numbered):
    report = evaluate(numbered, {"v": searches.dies_once}, executor="processes:2")
    assert set(statuses(report).values()) == {"ok"}


@pytest.mark.parametrize("executor", ["local:2", "processes:2"])
def test_a_stuck_search_is_given_up_and_blocks_nothing(searches, executor, numbered):
    began = time.monotonic()
    report = evaluate(numbered, {"v": searches.stuck}, executor=executor, timeout_s=0.2)
    assert time.monotonic() - began < 60
    found = statuses(report)
    assert found.pop("c3") == "unavailable"
    assert set(found.values()) == {"ok"}


def test_a_passed_deadline_ends_the_searches_not_the_report(numbered):
    report = evaluate(
        numbered,
        {"v": lambda q: time.sleep(0.2) or ["d1"]},
        executor="local:2",
        deadline_s=0.5,
    )
    found = list(statuses(report).values())
    assert 0 < found.count("ok") < len(numbered)
    assert any("deadline" in (r.result.reason or "") for r in report.record.results)


def test_a_worker_that_cannot_keep_the_deadline_is_left_behind(searches, monkeypatch, numbered):
    monkeypatch.setattr(dispatch, "GRACE_S", 0.5)
    began = time.monotonic()
    report = evaluate(numbered, {"v": searches.clings}, executor="processes:1", deadline_s=2)
    assert time.monotonic() - began < 60
    [reason] = [r.result.reason for r in report.record.results if r.case_id == "c3"]
    assert reason == "SEARCH_TIMEOUT: the deadline of the request has passed"


class Unstable:
    """A pinned corpus that shows another state to every session but the first."""

    def __init__(self, pinned):
        self._pinned, self._opened = pinned, 0

    def __getattr__(self, name):
        return getattr(self._pinned, name)

    def open(self, context):
        session = self._pinned.open(context)
        self._opened += 1
        if self._opened > 1:
            cut = session.cut().model_copy(update={"snapshot_id": "another"})
            session.cut = lambda: cut
        return session


def test_a_worker_that_sees_another_state_ends_the_run(smoke_workspace, smoke_gold):
    with pytest.raises(InvalidatedError, match="changed between its sessions"):
        evaluate(smoke_gold, {"v": Unstable(smoke_workspace)}, executor="local:2")


def test_what_workers_found_is_kept_and_used_again(searches, tmp_path, numbered):
    versioned = {"v": system(searches.find, version="1")}
    first = evaluate(numbered, versioned, executor="local:3", cache=tmp_path / "cache")
    second = evaluate(numbered, versioned, executor="processes:1", cache=tmp_path / "cache")
    assert (first.record.observed.n_resumed, second.record.observed.n_resumed) == (
        0,
        len(numbered),
    )
    assert outside_observed(first) == outside_observed(second)


def test_an_interrupted_run_leaves_no_process_and_what_it_found(tmp_path):
    (tmp_path / "my_slow.py").write_text(
        "import time\ndef find(query):\n    time.sleep(0.1)\n    return ['a']\n"
    )
    (tmp_path / "script.py").write_text(
        textwrap.dedent("""
        import evalnb as ev, my_slow
        from evalnb.evaluation.cache import SearchCache
        if __name__ == "__main__":
            gold = ev.load_gold("q.csv")
            slow = ev.system(my_slow.find, version="1")
            ev.evaluate(gold, {"v": slow}, executor="processes:2", cache="cache")
        """)
    )
    rows = "".join(f"question {n},a\n" for n in range(500))
    (tmp_path / "q.csv").write_text("query,expected\n" + rows)
    with subprocess.Popen(
        [sys.executable, "script.py"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as process:
        wal, until = tmp_path / "cache" / "cache.sqlite-wal", time.monotonic() + 60
        while time.monotonic() < until and not (wal.exists() and wal.stat().st_size > 50_000):
            time.sleep(0.02)
        children = psutil.Process(process.pid).children(recursive=True)
        assert len(children) >= 2
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
    assert process.returncode == -signal.SIGINT or process.returncode == 130
    assert not psutil.wait_procs(children, timeout=10)[1]


def searcher(function):
    setup = Setup(systems={"s": system(function)}, context=SearchContext(), timeouts={"s": None})
    return Searcher(setup)


def tasks(n):
    return [Task("s", 0, f"c{k}", QueryRequest(query=f"q {k}"), Controls()) for k in range(n)]


class Watched(ThreadPool):
    """A pool that notes how much was ever handed over and not yet answered, and in what sizes."""

    def __init__(self, runners):
        super().__init__(runners)
        self.sizes, self.flying, self.most, self._lock = [], 0, 0, threading.Lock()

    def submit(self, given):
        with self._lock:
            self.sizes.append(len(given))
            self.flying += 1
            self.most = max(self.most, self.flying)
        future = super().submit(given)
        future.add_done_callback(self._landed)
        return future

    def _landed(self, future):
        with self._lock:
            self.flying -= 1


def test_a_bounded_number_of_chunks_is_handed_over_and_their_size_follows_the_time():
    quick = Watched([searcher(lambda q: time.sleep(0.002) or ["a"]) for _ in range(2)])
    slow = Watched([searcher(lambda q: time.sleep(0.06) or ["a"]) for _ in range(2)])
    with closing_pool(quick), closing_pool(slow):
        assert sorted(p for p, _ in Dispatch(quick, tasks(300)).answers()) == list(range(300))
        assert sorted(p for p, _ in Dispatch(slow, tasks(12)).answers()) == list(range(12))
    assert quick.most <= AHEAD * 2
    assert max(quick.sizes) > 5
    assert set(slow.sizes) == {1}


def closing_pool(pool):
    pool.close = pool.shutdown
    return closing(pool)
