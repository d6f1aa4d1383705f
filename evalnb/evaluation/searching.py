"""Search in one thread: sessions, times, and failures that touch nothing else."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from evalnb.errors import EvalnbError, InvalidatedError, SearchTimeoutError
from evalnb.search.calling import TimedCaller
from evalnb.search.request import Controls, QueryRequest
from evalnb.search.result import QueryResult
from evalnb.search.secrets import without_secrets
from evalnb.search.system import (
    Cut,
    PinnedCorpus,
    RecordedSession,
    SearchContext,
    SearchSession,
    SearchSystem,
)

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}")  # would make equal failures differ
REASON_LENGTH = 500  # an exception may quote a whole page; the head says what went wrong


class Task(NamedTuple):
    """One search to run."""

    system: str
    repetition: int
    case_id: str
    request: QueryRequest
    controls: Controls


class Answer(NamedTuple):
    """What one search returned, and its latency in ms (null where it did not come back).

    ``warm_up`` marks the first one that a session gave.
    """

    result: QueryResult
    latency_ms: float | None
    warm_up: bool = False


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What every session of a run is opened with, and must agree with, wherever it is opened.

    Attributes
    ----------
    context
        Of the first repetition.
    timeouts
        Seconds per search by system, None for no limit.
    cuts
        The state that each pinned system must be in.
    """

    systems: Mapping[str, SearchSystem]
    context: SearchContext
    timeouts: Mapping[str, float | None]
    cuts: Mapping[str, Cut] = field(default_factory=dict)


class Searcher:
    """Runs searches one after another, on sessions that are opened when they are first needed."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._sessions: dict[tuple[str, int], SearchSession] = {}
        self._recorded: dict[tuple[str, int], RecordedSession] = {}
        self._warm: set[tuple[str, int]] = set()
        self._caller: TimedCaller[QueryResult] = TimedCaller()
        self.cuts = dict(setup.cuts)

    def session(self, system: str, repetition: int) -> SearchSession:
        """Return the session of a system for one repetition.

        Raises
        ------
        InvalidatedError
            If the system is in another state than in the run's other sessions.
        """
        key = (system, repetition)
        if key not in self._sessions:
            context = replace(self._setup.context, repetition=repetition)
            session = self._sessions[key] = self._setup.systems[system].open(context)
            if isinstance(session, RecordedSession):
                self._recorded[key] = session
            if isinstance(session, PinnedCorpus):
                cut = session.cut()
                if self.cuts.setdefault(system, cut) != cut:
                    raise InvalidatedError(f"system {system!r} changed between its sessions")
        return self._sessions[key]

    def run(self, tasks: Sequence[Task]) -> list[Answer]:
        """Run searches in order."""
        return [self.search(task) for task in tasks]

    def search(self, task: Task) -> Answer:
        """Run one search; one that fails is unavailable with its reason.

        Raises
        ------
        InvalidatedError
            As :meth:`session`.
        """
        key = (task.system, task.repetition)
        try:
            session = self._sessions.get(key) or self.session(*key)
        except InvalidatedError:
            raise
        except Exception as error:
            return Answer(unavailable(_reason(error)), None)
        seconds = self._seconds(task.system)
        began = time.perf_counter()
        try:
            if (recorded := self._recorded.get(key)) is not None:
                result = recorded.answer(task.case_id, task.controls)
            elif seconds is None:
                result = session.search(task.request, task.controls)
            elif seconds <= 0:
                raise SearchTimeoutError("the deadline of the request has passed")
            else:
                result = self._caller.call(
                    lambda: session.search(task.request, task.controls), seconds
                )
        except (Exception, SystemExit) as error:  # a user's function may raise anything
            return Answer(unavailable(_reason(error)), None)
        latency_ms = (time.perf_counter() - began) * 1000
        warm_up = key not in self._warm
        self._warm.add(key)
        return Answer(result, latency_ms, warm_up)

    def _seconds(self, system: str) -> float | None:
        own, deadline = self._setup.timeouts[system], self._setup.context.deadline
        if deadline is None:
            return own
        left = deadline - time.monotonic()
        return left if own is None else min(own, left)

    def abandon(self) -> None:
        """Leave a search that hangs to its thread: Python cannot stop it."""

    def close(self) -> None:
        """Close every session; calling it again does nothing."""
        self._caller.close()
        with ExitStack() as stack:
            while self._sessions:
                stack.callback(self._sessions.popitem()[1].close)


def _reason(error: BaseException) -> str:
    if isinstance(error, EvalnbError):
        return f"{error.code}: {error}"
    return f"SEARCH_FAILED: {type(error).__name__}: {error}"


def unavailable(reason: str) -> QueryResult:
    """Make the result of a search that gave none."""
    line = _ADDRESS.sub("0x...", " ".join(without_secrets(reason).split()))
    if len(line) > REASON_LENGTH:
        line = line[: REASON_LENGTH - 3] + "..."
    return QueryResult(status="unavailable", reason=line.encode(errors="replace").decode())
