"""Hand searches to workers: in chunks, a bounded number at a time, again where a worker died."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from queue import Empty, SimpleQueue

from evalnb.evaluation.executors import Executor, WorkerLostError
from evalnb.evaluation.searching import Answer, Task, unavailable

CHUNK_S = 0.05  # long beside what handing over costs, short beside what a stop may lose
CHUNK_MOST = 64
AHEAD = 2  # chunks per worker that are handed over: one runs, one waits
ATTEMPTS = 3  # workers that may die over one search
LOOK_S = 1.0  # how often to look whether there still are workers
GRACE_S = 5.0  # workers keep the deadline themselves; this guards against one that cannot


class Dispatch:
    """The searches of one run on their way.

    Parameters
    ----------
    deadline
        A ``time.monotonic()`` value after which nothing is waited for.
    """

    def __init__(
        self, executor: Executor, tasks: Sequence[Task], *, deadline: float | None = None
    ) -> None:
        self._executor = executor
        self._tasks = tasks
        self._deadline = deadline
        self._next = 0
        self._again: deque[int] = deque()
        self._flying: dict[Future[list[Answer]], list[int]] = {}
        self._landed: SimpleQueue[Future[list[Answer]]] = SimpleQueue()
        self._deaths: dict[int, int] = {}  # of workers, over searches that were alone with one
        self._timed_s, self._n_timed = 0.0, 0

    def answers(self) -> Iterator[tuple[int, Answer]]:
        """Yield each task's position and its answer, as they come.

        Raises
        ------
        EvalnbError
            What a worker refuses to go on with, such as a system in another state.
        """
        while True:
            self._hand_over()
            if not self._flying:
                return
            try:
                future = self._landed.get(timeout=LOOK_S)
            except Empty:
                if reason := self._hopeless():
                    yield from self._give_up(reason)
                    return
                continue
            positions = self._flying.pop(future)
            try:
                found = future.result()
            except WorkerLostError as error:
                yield from self._lost(positions, error)
            else:
                self._learn(found)
                for position, answer in zip(positions, found, strict=True):
                    yield position, answer
                    time.sleep(0)  # let threads that search go first: they wait for the interpreter

    def _hand_over(self) -> None:
        while len(self._flying) < AHEAD * self._executor.n_workers:
            chunk = self._chunk()
            if not chunk:
                return
            future = self._executor.submit([self._tasks[position] for position in chunk])
            self._flying[future] = chunk
            future.add_done_callback(self._landed.put)

    def _chunk(self) -> list[int]:
        left = len(self._tasks) - self._next
        if not left and self._again and not self._flying:
            return [self._again.popleft()]  # alone: a worker's death is laid on nobody else
        # Small ones at the end: no worker is left with a long one when the others have finished.
        fair = left // (AHEAD * self._executor.n_workers)
        each = self._timed_s / self._n_timed if self._n_timed else CHUNK_S
        size = max(1, min(CHUNK_MOST, fair, int(CHUNK_S / max(each, 1e-6))))
        chunk = list(range(self._next, min(self._next + size, len(self._tasks))))
        self._next += len(chunk)
        return chunk

    def _learn(self, answers: Sequence[Answer]) -> None:
        times = [a.latency_ms / 1000 for a in answers if a.latency_ms is not None]
        self._timed_s += sum(times)
        self._n_timed += len(times)

    def _lost(self, positions: list[int], error: WorkerLostError) -> Iterator[tuple[int, Answer]]:
        for position in positions:
            if position in self._deaths:  # it was alone
                self._deaths[position] += error.times
            else:
                self._deaths[position] = 0
            if (n := self._deaths[position]) >= ATTEMPTS:
                yield position, _failed(f"SEARCH_FAILED: {error}, {n} times over this search")
            else:
                self._again.append(position)

    def _hopeless(self) -> str | None:
        if self._deadline is not None and time.monotonic() > self._deadline + GRACE_S:
            return "SEARCH_TIMEOUT: the deadline of the request has passed"
        reason = self._executor.gone()
        return f"SEARCH_FAILED: {reason}" if reason else None

    def _give_up(self, reason: str) -> Iterator[tuple[int, Answer]]:
        flying = [position for chunk in self._flying.values() for position in chunk]
        for position in (*flying, *self._again, *range(self._next, len(self._tasks))):
            yield position, _failed(reason)


def _failed(reason: str) -> Answer:
    return Answer(unavailable(reason), None)
