"""Call something that may hang, and stop waiting for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from evalnb.errors import SearchTimeoutError

T = TypeVar("T")


class TimedCaller(Generic[T]):
    """Runs calls one after another on a daemon thread, each for at most its time.

    A call that does not come back is abandoned with its thread: Python cannot stop a thread, but a
    daemon one never blocks the exit. The next call gets a new thread.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], T] | None] | None = None
        self._answers: SimpleQueue[tuple[T | None, BaseException | None]] = SimpleQueue()

    def call(self, work: Callable[[], T], seconds: float) -> T:
        """Return what ``work`` returns, or raise what it raises.

        Raises
        ------
        SearchTimeoutError
            If it has not come back after ``seconds``.
        """
        if self._jobs is None:
            self._start()
        assert self._jobs is not None
        self._jobs.put(work)
        try:
            value, error = self._answers.get(timeout=max(seconds, 0.0))
        except Empty:
            self._jobs.put(None)  # should the lost call ever return, its thread ends
            self._jobs = None
            raise SearchTimeoutError(f"no answer within {seconds:.3g} s") from None
        if error is not None:
            raise error
        return value  # type: ignore[return-value]  # no error, so it is what work returned

    def close(self) -> None:
        """Let the thread end."""
        if self._jobs is not None:
            self._jobs.put(None)
            self._jobs = None

    def _start(self) -> None:
        # New queues for each thread: a late answer must not be taken for the next call's.
        jobs: SimpleQueue[Callable[[], T] | None] = SimpleQueue()
        answers: SimpleQueue[tuple[T | None, BaseException | None]] = SimpleQueue()
        self._jobs, self._answers = jobs, answers

        def work_through() -> None:
            while (job := jobs.get()) is not None:
                try:
                    answers.put((job(), None))
                except BaseException as error:  # handed to the waiting caller
                    answers.put((None, error))

        threading.Thread(target=work_through, name="evalnb-search", daemon=True).start()
