"""Where searches run besides the caller's own thread: in threads, processes, on a Dask cluster."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Protocol

from evalnb.errors import BadInputError
from evalnb.evaluation.searching import Answer, Searcher, Setup, Task

_NAME = re.compile(r"(local|processes)(?::([1-9]\d{0,3}))?|dask:(\S+)")
CLOSING_S = 1.0  # for idle workers to close their sessions; one that hangs is left behind


class Executor(Protocol):
    """Runs lists of searches in the shape of ``concurrent.futures``.

    A future raises :class:`WorkerLostError` if its worker died over it.
    """

    n_workers: int

    def submit(self, tasks: Sequence[Task]) -> Future[list[Answer]]:
        """Run searches in order, on one worker."""

    def gone(self) -> str | None:
        """Say why no worker will ever answer again, if so."""

    def shutdown(self) -> None:
        """Drop what has not begun, and let the workers go without waiting for a hung one."""


class WorkerLostError(Exception):
    """A worker died; ``times`` says how often this has happened over these searches."""

    def __init__(self, message: str, *, times: int = 1) -> None:
        super().__init__(message)
        self.times = times


class Runner(Protocol):
    """What one thread of a pool does its searches with."""

    def run(self, tasks: Sequence[Task]) -> list[Answer]:
        """Run searches in order."""

    def close(self) -> None:
        """Release what it holds."""

    def abandon(self) -> None:
        """Stop a search that hangs, if it can be stopped; called from another thread."""


class ThreadPool:
    """Daemon threads, each with a runner of its own: a hung one never blocks the exit."""

    def __init__(self, runners: Sequence[Runner]) -> None:
        self.n_workers = len(runners)
        self._queue: SimpleQueue[tuple[Future[list[Answer]], Sequence[Task]] | None] = SimpleQueue()
        self._threads = {
            Thread(target=self._work, args=(runner,), name=f"evalnb-{n}", daemon=True): runner
            for n, runner in enumerate(runners)
        }
        for thread in self._threads:
            thread.start()

    def submit(self, tasks: Sequence[Task]) -> Future[list[Answer]]:
        """Run searches in order, on one thread."""
        future: Future[list[Answer]] = Future()
        self._queue.put((future, tasks))
        return future

    def gone(self) -> str | None:
        """Return None: threads stay."""
        return None

    def shutdown(self) -> None:
        """Drop what has not begun, and let the threads go without waiting for a hung one."""
        try:
            while True:
                self._queue.get_nowait()
        except Empty:
            pass
        for _ in self._threads:
            self._queue.put(None)
        until = monotonic() + CLOSING_S
        for thread, runner in self._threads.items():
            thread.join(max(0.0, until - monotonic()))
            if thread.is_alive():
                runner.abandon()

    def _work(self, runner: Runner) -> None:
        try:
            while (item := self._queue.get()) is not None:
                future, tasks = item
                try:
                    future.set_result(runner.run(tasks))
                except BaseException as error:  # handed to whoever waits for it
                    future.set_exception(error)
        finally:
            runner.close()


def open_executor(name: str, setup: Setup) -> Executor:
    """Start the workers of ``local[:N]``, ``processes[:N]`` or ``dask:ADDRESS``.

    N is the number of processors unless given. A function that is searched in threads has to bear
    being called from several at once.

    Raises
    ------
    BadInputError
        If no executor has this name, or a system cannot be sent to a process, naming it.
    MissingExtraError
        If Dask is not installed.
    NotEvaluatedError
        If there is no scheduler or no worker at the address.
    """
    kind, count, address = parse_executor(name)
    if address is not None:
        from evalnb.evaluation.cluster import DaskExecutor

        return DaskExecutor(address, setup)
    n = count or os.cpu_count() or 1
    if kind == "local":
        return ThreadPool([Searcher(setup) for _ in range(n)])
    from evalnb.evaluation.processes import start_processes

    return ThreadPool(start_processes(setup, n))


def parse_executor(name: str) -> tuple[str, int | None, str | None]:
    """Split an executor's name in kind, number of workers, and address.

    Raises
    ------
    BadInputError
        If no executor has this name.

    Examples
    --------
    >>> parse_executor("local:8"), parse_executor("dask:tcp://10.0.0.1:8786")
    (('local', 8, None), ('dask', None, 'tcp://10.0.0.1:8786'))
    """
    found = _NAME.fullmatch(name)
    if found is None:
        raise BadInputError(
            f"no executor is called {name!r}",
            remedy="local, local:8, processes, processes:4, or dask:tcp://HOST:8786",
        )
    kind, count, address = found.groups()
    return kind or "dask", int(count) if count else None, address
