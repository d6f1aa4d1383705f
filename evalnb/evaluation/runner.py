"""Run one admitted evaluation: search, verify, score, keep everything."""

from __future__ import annotations

import datetime as dt
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

from evalnb.errors import EvalnbError, InvalidatedError, SearchTimeoutError
from evalnb.evaluation.admission import Admission, Job, admit
from evalnb.evaluation.aggregates import aggregate
from evalnb.evaluation.canonical import digest
from evalnb.evaluation.doubts import doubts
from evalnb.evaluation.integrity import CorpusCheck, HydrationBudget
from evalnb.evaluation.journal import Finished, Journal
from evalnb.evaluation.machine import git_revision, hardware, rare_collections, versions
from evalnb.evaluation.report import (
    CandidateColumns,
    CaseResult,
    DatasetRecord,
    EvaluationReport,
    Integrity,
    InvalidLocator,
    Observed,
    VariantRecord,
)
from evalnb.evaluation.request import EvaluationRequest
from evalnb.gold.cases import GoldDataset
from evalnb.limits import Limits, check_limit
from evalnb.measures.scoring import duplicates_dropped, score_result
from evalnb.search.calling import TimedCaller
from evalnb.search.request import Scope
from evalnb.search.result import QueryResult
from evalnb.search.system import (
    PinnedCorpus,
    RecordedSession,
    SearchContext,
    SearchSession,
    SearchSystem,
)

Progress = Callable[[int, int], None]
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}")  # would make equal failures differ
REASON_LENGTH = 500  # an exception may quote a whole page; the head says what went wrong


def run_evaluation(
    gold: GoldDataset,
    systems: Mapping[str, SearchSystem],
    request: EvaluationRequest,
    *,
    scope: Scope | None = None,
    limits: Limits | None = None,
    journal: Path | None = None,
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
    journal
        File that keeps finished searches, so that a stopped run goes on where it was. It is
        removed when the run is complete.
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
    run = _Run(
        gold,
        systems,
        request,
        scope,
        limits,
        admit(gold, systems, request, scope=scope, limits=limits),
        progress,
    )
    with ExitStack() as stack:
        run.open(stack)
        kept = stack.enter_context(Journal(journal, run.key)) if journal else None
        with rare_collections():
            run.search_all(kept if run.resumable else None, kept)
        for name, check in run.checks.items():
            check.check_unchanged(name)
        report = run.report(command)
        if kept:
            kept.remove()
    return report


@dataclass
class _Run:
    gold: GoldDataset
    systems: Mapping[str, SearchSystem]
    request: EvaluationRequest
    scope: Scope
    limits: Limits
    admission: Admission
    progress: Progress | None
    started: float = field(default_factory=time.time)
    clock: float = field(default_factory=time.monotonic)
    checks: dict[str, CorpusCheck] = field(default_factory=dict)
    finished: dict[tuple[str, int, str], Finished] = field(default_factory=dict)
    n_resumed: int = 0
    artifact_bytes: int = 0

    def __post_init__(self) -> None:
        self.sessions: dict[tuple[str, int], SearchSession] = {}
        self.recorded: dict[tuple[str, int], RecordedSession] = {}
        self.caller: TimedCaller[QueryResult] = TimedCaller()
        seconds = self.request.deadline_s
        self.deadline = None if seconds is None else self.clock + seconds

    def open(self, stack: ExitStack) -> None:
        """Open every session, and take the cut of each pinned corpus."""
        stack.callback(self.caller.close)
        budget = HydrationBudget(self.limits)
        for name in self.admission.capabilities:
            for repetition in range(self.request.repetitions):
                context = SearchContext(
                    snapshot_id=self.request.snapshot_id,
                    scope=self.scope,
                    seed=self.request.seed,
                    repetition=repetition,
                    offline=self.request.offline,
                    deadline=self.deadline,
                )
                session = stack.enter_context(closing(self.systems[name].open(context)))
                self.sessions[name, repetition] = session
                if isinstance(session, RecordedSession):
                    self.recorded[name, repetition] = session
                    session.expect([case.case_id for case in self.admission.cases])
                if not isinstance(session, PinnedCorpus):
                    continue
                if name not in self.checks:
                    self.checks[name] = CorpusCheck(session, self.admission.cases, budget)
                elif session.cut() != self.checks[name].cut:
                    raise InvalidatedError(f"system {name!r} changed between its sessions")

    @property
    def key(self) -> str:
        """Digest of everything that decides the results."""
        return digest(
            {
                "gold": self.gold.version_sha,
                "request": self.request.model_dump(mode="json", exclude={"limits", "deadline_s"}),
                "scope": self.scope.model_dump(mode="json"),
                "measures": self.admission.measures,
                "configs": dict(self.admission.config_ids),
                "cuts": {name: check.cut.model_dump() for name, check in self.checks.items()},
                "versions": versions(),
            }
        )

    @property
    def resumable(self) -> bool:
        """Whether every system's identity pins what it does."""
        return all(c.versioned for c in self.admission.capabilities.values())

    def search_all(self, resume: Journal | None, journal: Journal | None) -> None:
        """Run every job that the journal does not hold yet, variants side by side."""
        for entry in resume.finished if resume else ():
            key = (entry.result.variant, entry.result.repetition, entry.result.case_id)
            self.finished[key] = entry
        self.n_resumed = len(self.finished)
        total = len(self.admission.jobs) * self.request.repetitions
        for repetition, job in self._order():
            key = (job.variant.name, repetition, job.case.case_id)
            if key not in self.finished:
                entry = self._search(job, repetition)
                line = entry.result.model_dump_json().encode()
                self.artifact_bytes += len(line)
                self._check_artifacts()
                if journal:
                    journal.append(line, entry.latency_ms)
                self.finished[key] = entry
            if self.progress:
                self.progress(len(self.finished), total)

    def _order(self) -> Iterator[tuple[int, Job]]:
        # Case by case, so that a slow minute of the machine meets every variant alike.
        n_cases = len(self.admission.cases)
        jobs = self.admission.jobs
        for repetition in range(self.request.repetitions):
            for position in range(n_cases):
                for job in jobs[position::n_cases]:
                    yield repetition, job

    def _check_artifacts(self) -> None:
        check_limit(
            "retained case results, bytes",
            self.artifact_bytes,
            self.limits.artifact_bytes,
            argument="limits=evalnb.Limits(artifact_bytes=N)",
        )

    def _search(self, job: Job, repetition: int) -> Finished:
        case, name = job.case, job.variant.system
        check = self.checks.get(name)
        result, latency = self._call(job, repetition)
        units = check.content_units.get(case.case_id, ()) if check and case.content else None
        scores = score_result(
            case,
            result,
            self.admission.plan,
            limit=job.controls.limit,
            content_units=None if units is None else frozenset(units),
            extractions=check.owners(result) if check else None,
            kinds=self.admission.capabilities[name].kinds,
        )
        return Finished(
            CaseResult.model_construct(
                variant=job.variant.name,
                repetition=repetition,
                case_id=case.case_id,
                seed=self.request.seed,
                request=case.request,
                controls=job.controls,
                result=result,
                candidates={},
                duplicates_dropped=duplicates_dropped(result, self.admission.plan),
                scores=scores,
            ),
            latency,
        )

    def _call(self, job: Job, repetition: int) -> tuple[QueryResult, float | None]:
        if job.refusal is not None:
            return _unavailable(job.refusal), None
        name = job.variant.system
        session = self.sessions[name, repetition]
        seconds = self._seconds(name)
        began = time.perf_counter()
        try:
            if (recorded := self.recorded.get((name, repetition))) is not None:
                result = recorded.answer(job.case.case_id, job.controls)
            elif seconds is None:
                result = session.search(job.case.request, job.controls)
            elif seconds <= 0:
                raise SearchTimeoutError("the deadline of the request has passed")
            else:
                result = self.caller.call(
                    lambda: session.search(job.case.request, job.controls), seconds
                )
        except EvalnbError as error:
            return _unavailable(f"{error.code}: {error}"), None
        except (Exception, SystemExit) as error:  # a user's function may raise anything
            return _unavailable(f"SEARCH_FAILED: {type(error).__name__}: {error}"), None
        return result, (time.perf_counter() - began) * 1000

    def _seconds(self, name: str) -> float | None:
        own = self.admission.capabilities[name].timeout_s
        left = None if self.deadline is None else self.deadline - time.monotonic()
        given = [s for s in (self.request.timeout_s, own, left) if s is not None]
        return min(given) if given else None

    def report(self, command: str | None) -> EvaluationReport:
        """Put the finished searches together, in canonical order."""
        entries = [
            self.finished[job.variant.name, repetition, job.case.case_id]
            for job in self.admission.jobs
            for repetition in range(self.request.repetitions)
        ]
        ids, results = _in_columns([entry.result for entry in entries])
        return EvaluationReport(
            dataset=DatasetRecord(
                id=self.gold.dataset_id,
                name=self.gold.name,
                version_sha=self.gold.version_sha,
                split=self.request.split,
                notes=self.gold.notes,
                families=self.gold.has_families,
            ),
            request=self.request,
            scope=self.scope,
            limits=self.limits.raised(),
            compared=self.admission.compared,
            measures=self.admission.measures,
            kinds=self.admission.plan.kinds,
            variants=tuple(self._variants()),
            cuts={
                name: self.checks[name].cut if name in self.checks else None
                for name in self.admission.capabilities
            },
            cases=self.admission.cases,
            content_units={name: dict(check.content_units) for name, check in self.checks.items()},
            results=results,
            ids=ids,
            aggregates=aggregate(self.admission.cases, results),
            integrity=_integrity(results),
            notes=self._notes(results),
            versions=versions(),
            observed=Observed(
                started_at=_timestamp(self.started),
                finished_at=_timestamp(time.time()),
                duration_s=round(time.monotonic() - self.clock, 3),
                latency_ms=tuple(entry.latency_ms for entry in entries),
                hardware=hardware(),
                git_revision=git_revision(),
                command=command,
                n_resumed=self.n_resumed,
            ),
        )

    def _variants(self) -> Iterator[VariantRecord]:
        for variant in self.request.variants:
            yield VariantRecord(
                name=variant.name,
                label=variant.label,
                system=variant.system,
                config_id=self.admission.config_ids[variant.name],
                overrides=variant.overrides.model_dump(mode="json", exclude_none=True),
                identity=self.admission.capabilities[variant.system].identity,
            )

    def _notes(self, results: tuple[CaseResult, ...]) -> tuple[str, ...]:
        notes = list(doubts(self.admission.cases, results))
        if not self.gold.has_families:
            notes.append("No family is named: every case is treated as independent.")
        if any(case.content for case in self.admission.cases) and self.checks:
            notes.append(
                "Content gold: R, AP and nDCG of units are not comparable across chunkings; use "
                "RR, Success or the token budgets there."
            )
        return tuple(notes)


def _unavailable(reason: str) -> QueryResult:
    line = _ADDRESS.sub("0x...", " ".join(reason.split()))
    if len(line) > REASON_LENGTH:
        line = line[: REASON_LENGTH - 3] + "..."
    return QueryResult(status="unavailable", reason=line.encode(errors="replace").decode())


def _in_columns(
    results: list[CaseResult],
) -> tuple[tuple[str, ...], tuple[CaseResult, ...]]:
    """Move candidates into columns over one id table, in order of first appearance."""
    table: dict[str, int] = {}

    def move(result: CaseResult) -> CaseResult:
        found = result.result.candidates
        if not found:
            return result
        columns = {
            channel: CandidateColumns(
                positions=tuple(table.setdefault(key, len(table)) for key in listed.ids),
                scores=listed.scores,
            )
            for channel, listed in found.items()
        }
        bare = result.result.model_copy(update={"candidates": {}})
        return result.model_copy(update={"result": bare, "candidates": columns})

    moved = tuple(move(result) for result in results)
    return tuple(table), moved


def _integrity(results: tuple[CaseResult, ...]) -> Integrity:
    checked = [
        (result, score)
        for result in results
        for score in result.scores
        if score.measure == "LocatorValidity" and score.status == "ok"
    ]
    invalid = tuple(
        InvalidLocator(
            variant=result.variant,
            repetition=result.repetition,
            case_id=result.case_id,
            reason=score.reason or "a locator does not resolve",
        )
        for result, score in checked
        if score.value is not None and score.value < 1
    )
    return Integrity(ok=not invalid, n_checked=len(checked), invalid=invalid)


def _timestamp(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds, tz=dt.UTC).isoformat(timespec="seconds")
