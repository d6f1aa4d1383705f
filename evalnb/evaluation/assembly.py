"""Score finished searches, and put them together to a report in canonical order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evalnb.evaluation.admission import Admission, Job
from evalnb.evaluation.aggregates import aggregate
from evalnb.evaluation.doubts import doubts
from evalnb.evaluation.integrity import CorpusCheck
from evalnb.evaluation.machine import versions
from evalnb.evaluation.report import (
    CandidateColumns,
    CaseResult,
    DatasetRecord,
    DocumentName,
    EvaluationReport,
    Integrity,
    InvalidLocator,
    Observed,
    VariantRecord,
)
from evalnb.evaluation.request import EvaluationRequest
from evalnb.gold.cases import GoldDataset
from evalnb.limits import Limits
from evalnb.measures.scoring import duplicates_dropped, score_result
from evalnb.search.request import Scope
from evalnb.search.result import QueryResult


def case_result(
    job: Job,
    result: QueryResult,
    *,
    admission: Admission,
    check: CorpusCheck | None,
    seed: int,
    repetition: int,
) -> CaseResult:
    """Score what one search returned; its locators are verified where there is a corpus."""
    case = job.case
    units = check.content_units.get(case.case_id, ()) if check and case.content else None
    scores = score_result(
        case,
        result,
        admission.plan,
        limit=job.controls.limit,
        content_units=None if units is None else frozenset(units),
        extractions=check.owners(result) if check else None,
        kinds=admission.capabilities[job.variant.system].kinds,
    )
    return CaseResult.model_construct(
        variant=job.variant.name,
        repetition=repetition,
        case_id=case.case_id,
        seed=seed,
        request=case.request,
        controls=job.controls,
        result=result,
        candidates={},
        duplicates_dropped=duplicates_dropped(result, admission.plan),
        scores=scores,
    )


def assemble_report(
    gold: GoldDataset,
    request: EvaluationRequest,
    *,
    scope: Scope,
    limits: Limits,
    admission: Admission,
    checks: Mapping[str, CorpusCheck],
    results: Sequence[CaseResult],
    observed: Observed,
) -> EvaluationReport:
    """Make the report of one run; ``results`` stand in canonical order."""
    ids, moved = _in_columns(results)
    documents, id_documents = _documents(ids, checks, results)
    return EvaluationReport(
        dataset=DatasetRecord(
            id=gold.dataset_id,
            name=gold.name,
            version_sha=gold.version_sha,
            split=request.split,
            notes=gold.notes,
            families=gold.has_families,
        ),
        request=request,
        scope=scope,
        limits=limits.raised(),
        compared=admission.compared,
        measures=admission.measures,
        kinds=admission.plan.kinds,
        variants=tuple(_variants(request, admission)),
        cuts={
            name: checks[name].cut if name in checks else None for name in admission.capabilities
        },
        cases=admission.cases,
        content_units={name: dict(check.content_units) for name, check in checks.items()},
        languages={name: dict(check.languages) for name, check in checks.items()},
        results=moved,
        ids=ids,
        documents=documents,
        id_documents=id_documents,
        aggregates=aggregate(admission.cases, moved),
        integrity=_integrity(moved),
        notes=tuple(_notes(gold, admission, moved, checks)),
        versions=versions(),
        observed=observed,
    )


def _variants(request: EvaluationRequest, admission: Admission) -> Iterator[VariantRecord]:
    for variant in request.variants:
        yield VariantRecord(
            name=variant.name,
            label=variant.label,
            system=variant.system,
            config_id=admission.config_ids[variant.name],
            overrides=variant.overrides.model_dump(mode="json", exclude_none=True),
            identity=admission.capabilities[variant.system].identity,
        )


def _in_columns(
    results: Sequence[CaseResult],
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


def _documents(
    ids: Sequence[str], checks: Mapping[str, CorpusCheck], results: Sequence[CaseResult]
) -> tuple[tuple[DocumentName, ...], tuple[int, ...]]:
    """Say which document each candidate belongs to: the corpus knows, else hits that show it."""
    if not ids:
        return (), ()
    known: dict[str, tuple[str, str | None]] = {}
    for result in results:
        for hit in result.result.hits:
            if (own := hit.ids.document_id) is not None:
                known[hit.ids.unit_id or own] = own, hit.document_name
    for check in checks.values():
        known |= check.document_of
    table: dict[tuple[str, str | None], int] = {}
    positions = tuple(
        table.setdefault(known[key], len(table)) if key in known else -1 for key in ids
    )
    return tuple(DocumentName(id=own, name=name) for own, name in table), positions


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


def _notes(
    gold: GoldDataset,
    admission: Admission,
    results: tuple[CaseResult, ...],
    checks: Mapping[str, CorpusCheck],
) -> Iterator[str]:
    for name, check in checks.items():
        yield from (f"{name}: {note}" if len(checks) > 1 else note for note in check.absent)
    yield from doubts(admission.cases, results)
    if not gold.has_families:
        yield "No family is named: every case is treated as independent."
    if checks and any(case.content for case in admission.cases):
        yield (
            "Content gold: R, AP and nDCG of units are not comparable across chunkings; use "
            "RR, Success or the token budgets there."
        )
