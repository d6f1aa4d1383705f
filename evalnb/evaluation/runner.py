"""Run one admitted evaluation: search, verify, score, keep everything."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from evalnb.errors import InvalidatedError
from evalnb.evaluation.admission import Admission, Job, admit
from evalnb.evaluation.assembly import assemble_report, case_result
from evalnb.evaluation.cache import SearchCache, answer_key, variant_key
from evalnb.evaluation.dispatch import Dispatch
from evalnb.evaluation.executors import open_executor, parse_executor
from evalnb.evaluation.integrity import CorpusCheck, HydrationBudget
from evalnb.evaluation.machine import git_revision, hardware, rare_collections
from evalnb.evaluation.report import CaseResult, EvaluationReport, Observed
from evalnb.evaluation.request import EvaluationRequest
from evalnb.evaluation.searching import Answer, Searcher, Setup, Task, unavailable
from evalnb.gold.cases import GoldDataset
from evalnb.limits import Limits, check_limit
from evalnb.search.request import Scope
from evalnb.search.system import PinnedCorpus, RecordedSession, SearchContext, SearchSystem

Progress = Callable[[int, int], None]
_Place = tuple[str, int, str]  # variant, repetition, case


def run_evaluation(
    gold: GoldDataset,
    systems: Mapping[str, SearchSystem],
    request: EvaluationRequest,
    *,
    scope: Scope | None = None,
    limits: Limits | None = None,
    cache: Path | None = None,
    executor: str | None = None,
    progress: Progress | None = None,
    command: str | None = None,
) -> EvaluationReport:
    """Evaluate variants over one split of a gold set.

    Parameters
    ----------
    gold
        The gold set; its split is named by the request.
    systems
        Search systems by the name that variants use.
    request
        The pinned request.
    scope
        What the caller may see; it narrows every case.
    limits
        Bounds of this request.
    cache
        Folder that keeps what versioned systems answered: a stopped run goes on where it was, and
        another run searches only what changed. What failed is searched again.
    executor
        Where searches run: ``local[:N]`` threads, ``processes[:N]`` or ``dask:ADDRESS``; one after
        another unless given, so that no search disturbs another's time.
    progress
        Called with (done, total) after every search.
    command
        The command that reproduces the run, for the report's ``observed`` part.

    Raises
    ------
    EvalnbError
        What :func:`~evalnb.evaluation.admission.admit` refuses; LIMIT_EXCEEDED when retained
        artifacts pass their bound; COMPARISON_INVALIDATED when a pinned state changed. A search
        that fails is an unavailable row with its reason, never an exception.
    """
    scope, limits = scope or Scope(), limits or Limits()
    if executor is not None:
        parse_executor(executor)
    admission = admit(gold, systems, request, scope=scope, limits=limits)
    run = _Run(gold, systems, request, scope, limits, admission, progress)
    with ExitStack() as stack:
        stack.callback(run.searcher.close)
        run.open()
        if cache is not None and any(c.versioned for c in admission.capabilities.values()):
            run.cache = stack.enter_context(SearchCache(cache))
        with rare_collections():
            run.search_all(executor)
        run.check_unchanged()
        return run.report(command)


class _Search(NamedTuple):
    """One search of the run; ``key`` is its place in the cache, None where nothing is kept."""

    job: Job
    repetition: int
    key: str | None

    @property
    def task(self) -> Task:
        case, system = self.job.case, self.job.variant.system
        return Task(system, self.repetition, case.case_id, case.request, self.job.controls)


@dataclass
class _Run:
    gold: GoldDataset
    systems: Mapping[str, SearchSystem]
    request: EvaluationRequest
    scope: Scope
    limits: Limits
    admission: Admission
    progress: Progress | None
    cache: SearchCache | None = None
    started: float = field(default_factory=time.time)
    clock: float = field(default_factory=time.monotonic)
    checks: dict[str, CorpusCheck] = field(default_factory=dict)
    recorded: set[str] = field(default_factory=set)
    finished: dict[_Place, tuple[CaseResult, Answer]] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)
    n_resumed: int = 0
    artifact_bytes: int = 0

    def __post_init__(self) -> None:
        seconds = self.request.deadline_s
        self.setup = Setup(
            systems=self.systems,
            context=SearchContext(
                snapshot_id=self.request.snapshot_id,
                scope=self.scope,
                seed=self.request.seed,
                offline=self.request.offline,
                deadline=None if seconds is None else self.clock + seconds,
            ),
            timeouts={
                name: min(
                    (s for s in (self.request.timeout_s, own.timeout_s) if s is not None),
                    default=None,
                )
                for name, own in self.admission.capabilities.items()
            },
        )
        self.searcher = Searcher(self.setup)

    def open(self) -> None:
        """Open every session, and take the cut of each pinned corpus."""
        budget = HydrationBudget(self.limits)
        # Where every search is refused there is nothing to open, and opening might be refused too.
        asked = {job.variant.system for job in self.admission.jobs if job.refusal is None}
        for name in (n for n in self.admission.capabilities if n in asked):
            for repetition in range(self.request.repetitions):
                session = self.searcher.session(name, repetition)
                if isinstance(session, RecordedSession):
                    self.recorded.add(name)
                    session.expect([case.case_id for case in self.admission.cases])
                if isinstance(session, PinnedCorpus) and name not in self.checks:
                    self.checks[name] = CorpusCheck(session, self.admission.cases, budget)

    def search_all(self, executor: str | None) -> None:
        """Run every search that the cache does not hold, variants side by side."""
        pending = []
        for search in self._searches():
            if search.job.refusal is not None:
                self._finish(search, Answer(unavailable(search.job.refusal), None))
            elif answer := self._kept(search):
                self.n_resumed += 1
                self._finish(search, answer)
            else:
                pending.append(search)
        for search, answer in self._answers(pending, executor):
            self._keep(search, answer)
            self._finish(search, answer)

    def _answers(
        self, pending: list[_Search], executor: str | None
    ) -> Iterator[tuple[_Search, Answer]]:
        """Search one after another, or on workers; what was recorded is read here."""
        elsewhere = []
        for search in pending:
            if executor is None or search.job.variant.system in self.recorded:
                yield search, self.searcher.search(search.task)
            else:
                elsewhere.append(search)
        if executor is None or not elsewhere:
            return
        used = {s.job.variant.system: self.systems[s.job.variant.system] for s in elsewhere}
        setup = replace(self.setup, systems=used, cuts=self.searcher.cuts)
        with ExitStack() as stack:
            workers = open_executor(executor, setup)
            stack.callback(workers.shutdown)
            tasks = [search.task for search in elsewhere]
            deadline = self.setup.context.deadline
            for position, answer in Dispatch(workers, tasks, deadline=deadline).answers():
                yield elsewhere[position], answer

    def _searches(self) -> Iterator[_Search]:
        # Case by case, so that a slow minute of the machine meets every variant alike.
        n_cases = len(self.admission.cases)
        jobs = self.admission.jobs
        keys = self._keys() if self.cache else {}
        for repetition in range(self.request.repetitions):
            for position in range(n_cases):
                for job in jobs[position::n_cases]:
                    mine = keys.get(job.variant.name)
                    key = mine and answer_key(mine, repetition, job.case.request, job.controls)
                    yield _Search(job, repetition, key)

    def _keys(self) -> dict[str, str]:
        """Digest what all answers of a variant depend on, for variants whose answers are kept."""
        capabilities = self.admission.capabilities
        return {
            variant.name: variant_key(
                variant.name,
                identity=capabilities[variant.system].identity,
                cut=self.searcher.cuts.get(variant.system),
                context=self.setup.context,
            )
            for variant in self.request.variants
            if capabilities[variant.system].versioned and variant.system not in self.recorded
        }

    def _kept(self, search: _Search) -> Answer | None:
        if self.cache is None or search.key is None:
            return None
        return self.cache.get(search.key)

    def _keep(self, search: _Search, answer: Answer) -> None:
        if self.cache is None or search.key is None or answer.result.status != "ok":
            return
        self.cache.put(search.key, answer)
        self.kept.append(search.key)

    def _finish(self, search: _Search, answer: Answer) -> None:
        """Score an answer and retain it."""
        job = search.job
        retained = case_result(
            job,
            answer.result,
            admission=self.admission,
            check=self.checks.get(job.variant.system),
            seed=self.request.seed,
            repetition=search.repetition,
        )
        self._check_artifacts(retained)
        key = (job.variant.name, search.repetition, job.case.case_id)
        self.finished[key] = (retained, answer)
        if self.progress:
            self.progress(len(self.finished), len(self.admission.jobs) * self.request.repetitions)

    def _check_artifacts(self, retained: CaseResult) -> None:
        self.artifact_bytes += len(retained.model_dump_json().encode())
        check_limit(
            "retained case results, bytes",
            self.artifact_bytes,
            self.limits.artifact_bytes,
            argument="limits=evalnb.Limits(artifact_bytes=N)",
        )

    def check_unchanged(self) -> None:
        """Refuse results of a pinned state that changed, and keep none of them."""
        try:
            for name, check in self.checks.items():
                check.check_unchanged(name)
        except InvalidatedError:
            if self.cache is not None:
                self.cache.forget(self.kept)
            raise

    def report(self, command: str | None) -> EvaluationReport:
        """Put the finished searches together, in canonical order."""
        entries = [
            self.finished[job.variant.name, repetition, job.case.case_id]
            for job in self.admission.jobs
            for repetition in range(self.request.repetitions)
        ]
        return assemble_report(
            self.gold,
            self.request,
            scope=self.scope,
            limits=self.limits,
            admission=self.admission,
            checks=self.checks,
            results=[result for result, _ in entries],
            observed=Observed(
                started_at=_timestamp(self.started),
                finished_at=_timestamp(time.time()),
                duration_s=round(time.monotonic() - self.clock, 3),
                latency_ms=tuple(answer.latency_ms for _, answer in entries),
                warm_up=tuple(at for at, (_, answer) in enumerate(entries) if answer.warm_up),
                hardware=hardware(),
                git_revision=git_revision(),
                command=command,
                n_resumed=self.n_resumed,
            ),
        )


def _timestamp(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds, tz=dt.UTC).isoformat(timespec="seconds")
