"""Workers that are processes: what is sent to them, and what happens when one dies."""

from __future__ import annotations

import pickle
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from evalnb.errors import BadInputError
from evalnb.evaluation.executors import CLOSING_S, WorkerLostError
from evalnb.evaluation.searching import Answer, Searcher, Setup, Task

_SENDABLE = (
    "define its function at the top level of a module that the workers can import, or use the "
    "executor local"
)


def dump_setup(setup: Setup, dumps: Callable[[Any], bytes] = pickle.dumps) -> bytes:
    """Serialise a setup for another process; the deadline becomes a time of day.

    Raises
    ------
    BadInputError
        Naming the system that cannot be sent.
    """
    systems = {}
    for name, system in setup.systems.items():
        try:
            systems[name] = dumps(system)
        except Exception as error:
            raise BadInputError(
                f"system {name!r} cannot be sent to another process: {error}", remedy=_SENDABLE
            ) from error
    deadline = setup.context.deadline
    ends_at = None if deadline is None else time.time() + deadline - time.monotonic()
    return pickle.dumps((replace(setup, systems={}), systems, ends_at))


def load_setup(content: bytes) -> Setup:
    """Read what :func:`dump_setup` wrote.

    Raises
    ------
    BadInputError
        Naming the system that this process cannot load.
    """
    setup: Setup
    setup, dumped, ends_at = pickle.loads(content)  # noqa: S301  # from the parent process
    systems = {}
    for name, system in dumped.items():
        try:
            systems[name] = pickle.loads(system)  # noqa: S301  # from the parent process
        except Exception as error:
            raise BadInputError(
                f"system {name!r} cannot be loaded in a worker: {error}", remedy=_SENDABLE
            ) from error
    deadline = None if ends_at is None else time.monotonic() + ends_at - time.time()
    return replace(setup, systems=systems, context=replace(setup.context, deadline=deadline))


def start_processes(setup: Setup, n: int) -> list[ProcessRunner]:
    """Start worker processes and wait until each has loaded the systems.

    Raises
    ------
    BadInputError
        If a system cannot be sent, or a process does not come up.
    """
    content = dump_setup(setup)
    runners = [ProcessRunner(content) for _ in range(n)]
    try:
        for runner in runners:  # all of them, before the first is waited for
            runner.start()
        for runner in runners:
            runner.wait_until_ready()
    except BaseException:
        for runner in runners:
            runner.close()
        raise
    return runners


class ProcessRunner:
    """One worker process; a dead one is replaced before the next searches."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._process: SpawnProcess | None = None
        self._connection: Connection | None = None

    def start(self) -> None:
        """Start the process and send it the setup."""
        # Spawned, as a fork would copy other threads' locks in whatever state they are.
        context = get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        with suppress(OSError):  # it has ended already: noticed when its answer is read
            self._connection.send_bytes(self._content)

    def wait_until_ready(self) -> None:
        """Wait until the process has loaded the systems.

        Raises
        ------
        BadInputError
            If it cannot, or has ended.
        """
        assert self._connection is not None
        try:
            error = self._connection.recv()
        except (EOFError, OSError):
            raise BadInputError(
                "a worker process ended while it started",
                remedy='a script that uses processes keeps its own calls under `if __name__ == "'
                '__main__":`',
            ) from None
        if error is not None:
            raise error

    def run(self, tasks: Sequence[Task]) -> list[Answer]:
        """Run searches in order in the process.

        Raises
        ------
        WorkerLostError
            If it died meanwhile.
        """
        try:
            if self._process is None:
                self.start()
                self.wait_until_ready()
            assert self._connection is not None
            self._connection.send(tasks)
            answers: list[Answer] | Exception = self._connection.recv()
        except (EOFError, OSError, BadInputError) as error:
            self.close()
            raise WorkerLostError("the worker process died") from error
        if isinstance(answers, Exception):
            raise answers
        return answers

    def close(self) -> None:
        """End the process; calling it again does nothing."""
        process, self._process = self._process, None
        if process is None:
            return
        assert self._connection is not None
        self._connection.close()  # an idle process ends by itself then
        process.join(CLOSING_S / 2)
        process.kill()
        process.join()

    def abandon(self) -> None:
        """Kill the process, whatever it does; :meth:`run` fails then, where it waits."""
        if (process := self._process) is not None:
            process.kill()


def _serve(connection: Connection) -> None:
    """Answer lists of searches until the parent goes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's to handle: it ends the workers
    sys.stdout = sys.stderr  # what a search prints is not the parent's result
    with suppress(EOFError, OSError):
        try:
            searcher = Searcher(load_setup(connection.recv_bytes()))
        except BadInputError as error:
            connection.send(error)
            return
        connection.send(None)
        with closing(searcher):
            while True:
                tasks = connection.recv()
                try:
                    answers: object = searcher.run(tasks)
                except Exception as error:
                    answers = error
                connection.send(answers)
