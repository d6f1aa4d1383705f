"""Workers of a Dask cluster."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from threading import get_ident
from typing import Any

from evalnb.errors import EvalnbError, MissingExtraError, NotEvaluatedError
from evalnb.evaluation.executors import CLOSING_S, WorkerLostError
from evalnb.evaluation.processes import dump_setup, load_setup
from evalnb.evaluation.searching import Answer, Searcher, Setup, Task

CONNECT_S = 5.0
ALONE_S = 30.0  # a supervised worker that died is back sooner

_searchers: dict[tuple[str, int], Searcher] = {}  # in a worker: by run and thread


class DaskExecutor:
    """Runs lists of searches on the workers of one scheduler.

    Every thread of a worker opens its own sessions; they are closed when the run has ended.

    Raises
    ------
    MissingExtraError
        If Dask is not installed.
    NotEvaluatedError
        If there is no scheduler or no worker at the address.
    """

    def __init__(self, address: str, setup: Setup) -> None:
        try:
            from distributed import Client, KilledWorker
            from distributed.protocol.pickle import dumps
        except ImportError:
            raise MissingExtraError(
                "Dask is not installed", remedy="pip install 'evalnb[cluster]'"
            ) from None
        self._killed = KilledWorker
        self._content = dump_setup(setup, dumps)  # functions of a notebook go by value
        self._run = uuid.uuid4().hex
        self._theirs: dict[Future[list[Answer]], Any] = {}
        self._alone_since: float | None = None
        try:
            connect: Any = Client  # Dask has no types
            self._client = connect(address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise NotEvaluatedError(
                f"no Dask scheduler answers: {error}",
                where=address,
                remedy="start one with `dask scheduler`, or check the address",
            ) from error
        try:
            self.n_workers = self._n_threads(address)
            self._client.submit(_check_loads, self._content, pure=False).result()
        except BaseException as error:
            self._client.close()
            if isinstance(error, EvalnbError) or not isinstance(error, Exception):
                raise
            raise NotEvaluatedError(
                f"a Dask worker cannot load the systems: {error}",
                where=address,
                remedy="install this evalnb, and what the systems import, where the workers run",
            ) from error

    def _n_threads(self, address: str) -> int:
        try:
            self._client.wait_for_workers(1, timeout=CONNECT_S)
        except TimeoutError as error:
            raise NotEvaluatedError(
                "the cluster has no worker",
                where=address,
                remedy=f"start one with `dask worker {address}`",
            ) from error
        return sum(self._client.nthreads().values())

    def submit(self, tasks: Sequence[Task]) -> Future[list[Answer]]:
        """Run searches in order, on one thread of one worker."""
        ours: Future[list[Answer]] = Future()
        try:
            theirs = self._client.submit(
                run_searches, self._run, self._content, list(tasks), pure=False
            )
        except Exception as error:  # Dask names no type for a client that has lost its scheduler
            ours.set_exception(WorkerLostError(f"Dask takes no more searches: {error}"))
            return ours
        self._theirs[ours] = theirs  # Dask drops the work of a future that nobody holds
        theirs.add_done_callback(lambda done: self._deliver(done, ours))
        return ours

    def _deliver(self, theirs: Any, ours: Future[list[Answer]]) -> None:
        try:
            ours.set_result(theirs.result())
        except self._killed as error:
            times = error.allowed_failures + 1
            ours.set_exception(WorkerLostError("the Dask worker died", times=times))
        except CancelledError:
            ours.set_exception(WorkerLostError("the Dask scheduler dropped the search"))
        except BaseException as error:
            ours.set_exception(error)
        finally:
            self._theirs.pop(ours, None)

    def gone(self) -> str | None:
        """Say so when the scheduler, or every worker for a while, has gone."""
        if self._client.status != "running":
            return "the Dask scheduler has gone"
        if self._client.scheduler_info().get("workers"):
            self._alone_since = None
            return None
        self._alone_since = self._alone_since or time.monotonic()
        if time.monotonic() - self._alone_since > ALONE_S:
            return f"the Dask cluster has had no worker for {ALONE_S:.0f} s"
        return None

    def shutdown(self) -> None:
        """Drop what has not begun, and have the workers close their sessions."""
        if self._client.status == "running":
            self._client.cancel(list(self._theirs.values()))
            # As tasks, as a worker that hangs would never answer otherwise.
            closing = [
                self._client.submit(close_searchers, self._run, workers=[worker], pure=False)
                for worker in self._client.nthreads()
            ]
            with suppress(Exception):  # a worker that is dead or hangs: the run has its answers
                for future in closing:
                    future.result(timeout=CLOSING_S)
        self._client.close(timeout=CLOSING_S)


def _check_loads(content: bytes) -> None:
    load_setup(content)


def run_searches(run: str, content: bytes, tasks: Sequence[Task]) -> list[Answer]:
    """Run searches in a worker, on the sessions of this thread."""
    key = (run, get_ident())
    if key not in _searchers:
        _searchers[key] = Searcher(load_setup(content))
    return _searchers[key].run(tasks)


def close_searchers(run: str) -> None:
    """Close the sessions that a worker opened for one run."""
    for key in [key for key in list(_searchers) if key[0] == run]:
        _searchers.pop(key).close()
