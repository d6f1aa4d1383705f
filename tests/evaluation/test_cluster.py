"""Searches on a Dask cluster of real processes: the same report, also when a worker is killed."""

from __future__ import annotations

import os
import signal
import sys
import threading

import pytest

from evalnb.api import evaluate, system
from evalnb.errors import BadInputError, MissingExtraError, NotEvaluatedError
from evalnb.evaluation.report import Observed
from evalnb.evaluation.request import EvaluationRequest, Variant
from evalnb.evaluation.runner import run_evaluation

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

SEARCHES = """
import os, signal, time

def find(query, limit):
    n = int(query.split()[1])
    return [(f"d{(n * 3 + m) % 11}", f"text {m}") for m in range(limit)]

def slow(query, limit):
    time.sleep(0.05)
    return find(query, limit)

def process(query):
    time.sleep(0.02)
    return [str(os.getpid())]

def dies(query):
    if query.endswith(" 7"):
        os.kill(os.getpid(), signal.SIGKILL)
    return ["d3"]
"""


@pytest.fixture(scope="module")
def searches(tmp_path_factory):
    folder = tmp_path_factory.mktemp("searches")
    (folder / "cluster_searches.py").write_text(SEARCHES)
    sys.path.insert(0, str(folder))
    import cluster_searches

    yield cluster_searches
    sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def cluster(searches):
    """Return a cluster that gives a task up when one worker has died over it."""
    try:
        import dask
        from distributed import LocalCluster
    except ImportError:
        if os.environ.get("EVALNB_REQUIRE"):
            pytest.fail("required here: Dask, as in evalnb[cluster]", pytrace=False)
        pytest.skip("Dask is not installed")
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(processes=True, **settings) as local,
    ):
        yield local


def on(cluster):
    return f"dask:{cluster.scheduler_address}"


def outside_observed(report):
    return report.record.model_copy(update={"observed": Observed()})


def test_the_same_report(searches, cluster, smoke_workspace, smoke_gold, numbered):
    def of_a_notebook(query):
        return ["d1"]

    systems = {"find": searches.find, "by value": of_a_notebook}
    alone, beside = (evaluate(numbered, systems, executor=e) for e in (None, on(cluster)))
    assert outside_observed(beside) == outside_observed(alone)
    alone, beside = (evaluate(smoke_gold, smoke_workspace, executor=e) for e in (None, on(cluster)))
    assert outside_observed(beside) == outside_observed(alone)


def test_both_workers_search(searches, cluster, numbered):
    report = evaluate(numbered, {"v": searches.process}, executor=on(cluster))
    pids = {int(r.result.hits[0].ids.document_id) for r in report.record.results}
    assert pids == {nanny.pid for nanny in cluster.workers.values()}


def test_a_killed_workers_searches_are_run_again(searches, cluster, numbered):
    alone = evaluate(numbered, {"v": searches.slow})
    pids = [nanny.pid for nanny in cluster.workers.values()]
    killer = threading.Timer(0.4, os.kill, (pids[0], signal.SIGKILL))
    killer.start()
    beside = evaluate(numbered, {"v": searches.slow}, executor=on(cluster))
    killer.join()
    assert outside_observed(beside) == outside_observed(alone)
    cluster.wait_for_workers(2, timeout=30)
    assert pids != [nanny.pid for nanny in cluster.workers.values()]


def test_a_search_that_kills_its_worker_is_na_and_takes_nobody_along(searches, cluster, numbered):
    report = evaluate(numbered, {"v": searches.dies}, executor=on(cluster))
    lost = [r for r in report.record.results if r.result.status != "ok"]
    assert [r.case_id for r in lost] == ["c7"]
    assert lost[0].result.reason == (
        "SEARCH_FAILED: the Dask worker died, 3 times over this search"
    )


def test_a_lost_scheduler_leaves_the_rest_na(searches, cluster, numbered):
    cluster.wait_for_workers(1, timeout=60)
    lost = threading.Thread(target=cluster.close)

    def lose(done, total):
        if done == 3:
            lost.start()

    record = run_evaluation(
        numbered,
        {"workspace": system(searches.slow)},
        EvaluationRequest(variants=(Variant(name="v"),)),
        executor=on(cluster),
        progress=lose,
    )
    lost.join()
    reasons = {r.result.reason for r in record.results if r.result.status != "ok"}
    assert 3 <= sum(r.result.status == "ok" for r in record.results) < len(numbered)
    assert all("Dask" in reason for reason in reasons)


def test_nobody_there(numbered):
    with pytest.raises(NotEvaluatedError, match="no Dask scheduler answers"):
        evaluate(numbered, {"v": lambda q: []}, executor="dask:tcp://127.0.0.1:9")
    with pytest.raises((NotEvaluatedError, BadInputError)):
        evaluate(numbered, {"v": lambda q: []}, executor="dask:nonsense://x")


def test_without_dask_the_extra_is_named(monkeypatch, numbered):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"evalnb\[cluster\]"):
        evaluate(numbered, {"v": lambda q: []}, executor="dask:tcp://127.0.0.1:9")
