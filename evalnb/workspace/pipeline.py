"""One search: each channel's candidates, fusion, reranking, exact hits first, the cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from evalnb.errors import BadInputError, CapabilityError
from evalnb.search.fusion import (
    DEFAULT_CANDIDATES,
    DEFAULT_NORMALISATION,
    DEFAULT_RERANK_DEPTH,
    RRF_K,
    fuse,
)
from evalnb.search.request import WORKSPACE_CHANNELS, Controls, Hints, QueryRequest, Scope
from evalnb.search.result import Candidates, Decision, Hit, QueryResult, Trace
from evalnb.workspace.channels import lexical_detail, lexical_ranking
from evalnb.workspace.eligibility import Eligibility, eligibility
from evalnb.workspace.locate import exact_units, located_units
from evalnb.workspace.parts import Parts
from evalnb.workspace.rerank import Reranker, rerank
from evalnb.workspace.snapshot import Snapshot
from evalnb.workspace.store import Store

CHANNELS = ("lexical", "text")


@dataclass(frozen=True, slots=True)
class Pinned:
    """The state that a search runs on: one snapshot, its parts, what its caller may see."""

    store: Store
    snapshot: Snapshot
    scope: Scope
    parts: Parts


def check_controls(controls: Controls, parts: Parts) -> None:
    """Refuse controls that cannot be executed as they are.

    Raises
    ------
    CapabilityError
        With what is missing and the command that builds it.
    BadInputError
        If no channel is chosen, or the weights of the fusion are impossible.
    """
    if not controls.channels:
        raise BadInputError("no channel is chosen", remedy="choose a mode, or channels")
    for channel in controls.channels:
        if channel not in WORKSPACE_CHANNELS:
            raise CapabilityError(
                f"a workspace has no channel {channel!r}",
                remedy=f"its channels: {', '.join(sorted(WORKSPACE_CHANNELS))}",
            )
        if channel not in CHANNELS:
            raise CapabilityError(
                f"no {channel} index in this snapshot; its channels are {', '.join(CHANNELS)}"
            )
    hints = controls.hints
    if hints.system_options:
        raise CapabilityError("system_options are for outside systems; a workspace has none")
    unknown = sorted(set(hints.weights or ()) - WORKSPACE_CHANNELS)
    if unknown:
        raise BadInputError(
            f"weights name {unknown[0]!r}, which is no channel",
            remedy=f"channels: {', '.join(sorted(WORKSPACE_CHANNELS))}",
        )
    fuse({name: Candidates() for name in controls.channels}, hints)  # refuses impossible weights
    if "lexical" in controls.channels:
        parts.lexical(hints)
    if "text" in controls.channels:
        parts.text(hints)
    if controls.rerank:
        parts.reranker(hints)


def run_search(pinned: Pinned, request: QueryRequest, controls: Controls) -> QueryResult:
    """Run one search on a pinned state."""
    if request.image_asset_id is not None:
        raise CapabilityError("no image index in this snapshot: image_asset_id cannot be searched")
    check_controls(controls, pinned.parts)
    eligible = eligibility(pinned.store, pinned.snapshot, pinned.scope, request, controls)
    candidates = _candidates(pinned.parts, request, controls, eligible)
    several = len(candidates) > 1  # a single list keeps its own scores
    fused = fuse(candidates, controls.hints) if several else next(iter(candidates.values()))
    reranked = _reranked(pinned, request.query, fused, controls) if controls.rerank else None
    exact = (
        exact_units(pinned.store, pinned.snapshot, request.exact_identifiers, eligible)
        if request.exact_identifiers
        else {}
    )
    ranking = fused if reranked is None else _followed(reranked, fused)
    ranked = _exact_first(ranking, exact, only=controls.exact_only)
    decided = _decisions(
        pinned.parts,
        request,
        controls,
        eligible=eligible,
        candidates=candidates,
        reranked=reranked,
        exact=exact,
        ranked=ranked,
    )
    return QueryResult.model_construct(
        hits=_hits(pinned, ranked[: controls.limit], candidates, exact),
        candidates=candidates,
        rerank_scores=reranked,
        trace=Trace(decisions=tuple(decided)) if request.trace else None,
    )


def _candidates(
    parts: Parts, request: QueryRequest, controls: Controls, eligible: Eligibility
) -> dict[str, Candidates]:
    hints, query = controls.hints, request.query
    pool = max(controls.limit, hints.candidates or DEFAULT_CANDIDATES)
    ways = {
        "lexical": lambda: lexical_ranking(
            parts.lexical(hints), query, hints=hints, eligible=eligible, pool=pool
        ),
        "text": lambda: parts.text(hints).top(query, eligible, pool),
    }
    return {channel: ways[channel]() for channel in dict.fromkeys(controls.channels)}


def _reranked(pinned: Pinned, query: str, fused: Candidates, controls: Controls) -> Candidates:
    pool = fused.ids[: controls.hints.rerank_depth or DEFAULT_RERANK_DEPTH]
    if not pool:
        return Candidates()
    located = located_units(pinned.store, pinned.snapshot, pool)
    texts = [located[unit_id].text for unit_id in pool]
    return rerank(pinned.parts.reranker(controls.hints), query, pool, texts)


def _followed(reranked: Candidates, fused: Candidates) -> Candidates:
    """Append what was not reranked; it has no score on the reranker's scale."""
    rest = fused.ids[len(reranked.ids) :]
    return Candidates.model_construct(
        ids=reranked.ids + rest, scores=reranked.scores + (None,) * len(rest)
    )


def _exact_first(
    ranking: Candidates, exact: Mapping[str, int], *, only: bool
) -> list[tuple[str, float | None]]:
    """Put units that carry asked identifiers first: most identifiers, then rank, then id."""
    scores = dict(zip(ranking.ids, ranking.scores, strict=True))
    place = {unit_id: rank for rank, unit_id in enumerate(scores)}
    first = sorted(exact, key=lambda unit: (-exact[unit], place.get(unit, len(place)), unit))
    rest = () if only else (unit_id for unit_id in scores if unit_id not in exact)
    return [(unit_id, scores.get(unit_id)) for unit_id in (*first, *rest)]


def _hits(
    pinned: Pinned,
    selected: Sequence[tuple[str, float | None]],
    candidates: Mapping[str, Candidates],
    exact: Mapping[str, int],
) -> tuple[Hit, ...]:
    located = located_units(pinned.store, pinned.snapshot, [unit_id for unit_id, _ in selected])
    channels: dict[str, dict[str, dict[str, int | float | None]]] = {
        unit_id: {} for unit_id, _ in selected
    }
    for name, found in candidates.items():
        for rank, (unit_id, score) in enumerate(zip(found.ids, found.scores, strict=True), 1):
            if unit_id in channels:
                channels[unit_id][name] = {"rank": rank, "score": score}
    return tuple(
        located[unit_id].hit(
            rank, score=score, channels=channels[unit_id], exact_identifiers=exact.get(unit_id, 0)
        )
        for rank, (unit_id, score) in enumerate(selected, 1)
    )


def _decisions(
    parts: Parts,
    request: QueryRequest,
    controls: Controls,
    *,
    eligible: Eligibility,
    candidates: Mapping[str, Candidates],
    reranked: Candidates | None,
    exact: Mapping[str, int],
    ranked: Sequence[tuple[str, float | None]],
) -> Iterator[Decision]:
    """Say what was decided, in order; a step that changed nothing is no decision."""
    hints = controls.hints
    limits = [f"{name}: {len(allowed)} allowed" for name, allowed in eligible.filters.items()]
    if eligible.lapsed:
        limits.append(f"revision: {len(eligible.lapsed)} not valid at the date")
    if limits:
        yield Decision(step="restrict", detail="; ".join(limits))
    for name, found in candidates.items():
        looked_for = (
            lexical_detail(parts.lexical(hints), request.query, hints)
            if name == "lexical"
            else parts.text(hints).name
        )
        yield Decision(step=name, detail=f"{looked_for} -> {len(found.ids)} candidates")
    if len(candidates) > 1:
        yield Decision(step="fuse", detail=_fusion_detail(hints))
    if reranked is not None:
        yield _reranked_step(parts.reranker(hints), reranked)
    if exact:
        yield Decision(step="exact", detail=f"{len(exact)} first", ids=tuple(sorted(exact)))
    left_out = tuple(unit_id for unit_id, _ in ranked[controls.limit :])
    yield Decision(step="cut", detail=f"limit {controls.limit} of {len(ranked)}", ids=left_out)


def _fusion_detail(hints: Hints) -> str:
    method = (
        f"weighted, {hints.normalisation or DEFAULT_NORMALISATION}"
        if hints.fusion == "weighted"
        else f"rrf, k {RRF_K if hints.rrf_k is None else hints.rrf_k}"
    )
    weights = sorted((hints.weights or {}).items())
    return ", ".join([method, *(f"{name} weighs {weight:g}" for name, weight in weights)])


def _reranked_step(reranker: Reranker, reranked: Candidates) -> Decision:
    made_by = [f"{name} {value[:12]}" for name, value in sorted(reranker.identity.items())]
    detail = f"{reranker.name}, the first {len(reranked.ids)}; {', '.join(made_by)}"
    return Decision(step="rerank", detail=detail, ids=reranked.ids)
