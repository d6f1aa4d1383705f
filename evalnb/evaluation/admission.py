"""Everything that can be refused is refused before the first search."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from evalnb.errors import BadInputError, CapabilityError, NotFoundError
from evalnb.evaluation.canonical import digest
from evalnb.evaluation.request import (
    DEFAULT_MEASURES,
    REPORTED_MEASURES,
    EvaluationRequest,
    Variant,
)
from evalnb.gold.cases import GoldCase, GoldDataset
from evalnb.limits import Limits, check_limit
from evalnb.measures.names import parse_measure
from evalnb.measures.scoring import ScoringPlan, plan_scoring
from evalnb.search.request import (
    RESTRICTIONS,
    Controls,
    Hints,
    Overrides,
    QueryRequest,
    Scope,
    resolve_controls,
)
from evalnb.search.system import Capabilities, NetworkedSystem, SearchSystem


@dataclass(frozen=True, slots=True)
class Job:
    """One case under one variant: its controls, or the reason it cannot be evaluated."""

    variant: Variant
    case: GoldCase
    controls: Controls
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class Admission:
    """A request that may run."""

    cases: tuple[GoldCase, ...]
    compared: tuple[str, ...]
    measures: tuple[str, ...]
    plan: ScoringPlan
    jobs: tuple[Job, ...]
    capabilities: Mapping[str, Capabilities]
    config_ids: Mapping[str, str]


def admit(
    gold: GoldDataset,
    systems: Mapping[str, SearchSystem],
    request: EvaluationRequest,
    *,
    scope: Scope,
    limits: Limits,
) -> Admission:
    """Check a request whole.

    Raises
    ------
    NotFoundError
        If the split, a system or the gold version is not there.
    LimitExceededError
        If it asks for more searches than the bound.
    CapabilityError
        If a variant needs what its system lacks, unless ``allow_unavailable`` is set.
    BadInputError
        If a case cannot be resolved under a variant, or a measure is unknown.
    """
    _check_identity(gold, request)
    cases = gold.split(request.split)
    check_limit(
        "searches (cases x variants x repetitions)",
        len(cases) * len(request.variants) * request.repetitions,
        limits.searches,
        argument="limits=evalnb.Limits(searches=N) or --max-searches N",
    )
    compared = _canonical(request.measures or DEFAULT_MEASURES)
    measures = tuple(dict.fromkeys((*compared, *_canonical(REPORTED_MEASURES))))
    capabilities = _capabilities(systems, request)
    if request.snapshot_id and not any(found.pinned for found in capabilities.values()):
        raise BadInputError(
            f"the request pins snapshot {request.snapshot_id!r}, and no system here has snapshots",
            remedy="leave snapshot_id out, or evaluate a workspace",
        )
    jobs = tuple(
        job
        for variant in request.variants
        for job in _admit_variant(
            variant,
            cases,
            systems[variant.system],
            capabilities[variant.system],
            scope=scope,
            offline=request.offline,
            allow_unavailable=request.allow_unavailable,
        )
    )
    return Admission(
        cases=cases,
        compared=compared,
        measures=measures,
        plan=plan_scoring(cases, measures),
        jobs=jobs,
        capabilities=capabilities,
        config_ids={
            variant.name: _config_id(variant, capabilities[variant.system])
            for variant in request.variants
        },
    )


def _canonical(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(parse_measure(name)) for name in names))


def _check_identity(gold: GoldDataset, request: EvaluationRequest) -> None:
    if request.dataset_id is not None and request.dataset_id != gold.dataset_id:
        raise BadInputError(
            f"the request names gold set {request.dataset_id!r}, the one given is "
            f"{gold.dataset_id!r}",
            remedy="name the set that is given, or give the set that is named",
        )
    if request.version_sha is not None and request.version_sha != gold.version_sha:
        raise BadInputError(
            f"the request pins version {request.version_sha[:12]} of {gold.dataset_id!r}, the one "
            f"given is {gold.version_sha[:12]}",
            remedy="evaluate the pinned version, or pin the new one",
        )


def _capabilities(
    systems: Mapping[str, SearchSystem], request: EvaluationRequest
) -> dict[str, Capabilities]:
    found = {}
    for variant in request.variants:
        if variant.system not in systems:
            near = difflib.get_close_matches(variant.system, systems, n=1)
            raise NotFoundError(
                f"variant {variant.name!r} names system {variant.system!r}, which is not given",
                remedy=f"did you mean {near[0]!r}?"
                if near
                else f"systems given: {', '.join(sorted(systems)) or 'none'}",
            )
        if variant.system not in found:
            capabilities = systems[variant.system].capabilities()
            if request.limit is not None:
                configuration = capabilities.configuration.model_copy(
                    update={"limit": request.limit}
                )
                capabilities = capabilities.model_copy(update={"configuration": configuration})
            found[variant.system] = capabilities
    return found


def _admit_variant(
    variant: Variant,
    cases: tuple[GoldCase, ...],
    system: SearchSystem,
    capabilities: Capabilities,
    *,
    scope: Scope,
    offline: bool,
    allow_unavailable: bool,
) -> list[Job]:
    jobs = []
    plain: Controls | None = None
    checked: dict[str, str | None] = {}
    refusals: dict[int, str | None] = {}  # by the identity of controls that several jobs share
    for case in cases:
        controls = plain if case.request.model_fields_set == {"query"} else None
        if controls is None:
            controls = _resolve(case, variant, capabilities)
            if case.request.model_fields_set == {"query"}:
                plain = controls
            key = controls.model_dump_json()
            if key not in checked:
                checked[key] = _refusal(
                    variant,
                    system,
                    controls,
                    offline=offline,
                    allow_unavailable=allow_unavailable,
                )
            refusals[id(controls)] = checked[key]
        unmet = _unmet_restriction(case.request, controls, scope, capabilities)
        jobs.append(Job(variant, case, controls, unmet or refusals[id(controls)]))
    return jobs


def _resolve(case: GoldCase, variant: Variant, capabilities: Capabilities) -> Controls:
    request, overrides = case.request, variant.overrides
    if not capabilities.channels:
        # A mode is a preset of channels, and hints tune them: a case's say nothing to a system
        # without any. What a variant sets is checked by the system.
        options = request.hints and Hints(system_options=request.hints.system_options)
        request = request.model_copy(update={"mode": None, "hints": options})
    try:
        return resolve_controls(request, overrides, capabilities.configuration)
    except ValueError as error:
        raise BadInputError(
            f"case {case.case_id!r} under variant {variant.name!r}: {error}"
        ) from error


def _refusal(
    variant: Variant,
    system: SearchSystem,
    controls: Controls,
    *,
    offline: bool,
    allow_unavailable: bool,
) -> str | None:
    try:
        if offline and isinstance(system, NetworkedSystem):
            system.check_offline(controls)
        system.check(controls)
    except CapabilityError as error:
        if not allow_unavailable:
            raise CapabilityError(
                f"variant {variant.name!r}: {error.message}",
                where=error.where,
                remedy="; ".join(
                    part
                    for part in (
                        error.remedy,
                        "or report it as n/a with allow_unavailable=True (--allow-unavailable)",
                    )
                    if part
                ),
            ) from error
        return str(error)
    return None


def _unmet_restriction(
    request: QueryRequest, controls: Controls, scope: Scope, capabilities: Capabilities
) -> str | None:
    asked = {field for field in RESTRICTIONS if getattr(request, field)}
    asked |= {field for field in ("modalities", "exact_only") if getattr(controls, field)}
    asked |= {field for field in ("source_ids", "document_ids") if getattr(scope, field)}
    unmet = sorted(asked - capabilities.restrictions)
    return f"the system does not honour {', '.join(unmet)}" if unmet else None


def _config_id(variant: Variant, capabilities: Capabilities) -> str:
    blank = QueryRequest(query="-", exact_identifiers=("-",))
    overrides: Overrides = variant.overrides
    controls = resolve_controls(blank, overrides, capabilities.configuration)
    return digest(
        {"controls": controls.model_dump(mode="json"), "identity": capabilities.identity}
    )[:16]
