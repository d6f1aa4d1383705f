"""One search: what may be returned, each channel's candidates, exact hits first, the cut."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from evalnb.errors import BadInputError, CapabilityError
from evalnb.search.request import WORKSPACE_CHANNELS, Controls, QueryRequest, Scope
from evalnb.search.result import Candidates, ChannelRank, Decision, Hit, QueryResult, Trace
from evalnb.workspace.channels import Ranking, lexical_ranking
from evalnb.workspace.eligibility import Eligibility, eligibility
from evalnb.workspace.indexes import LexicalIndex
from evalnb.workspace.locate import exact_units, located_units
from evalnb.workspace.settings import chosen_lexical_index
from evalnb.workspace.snapshot import Snapshot
from evalnb.workspace.store import Store

DEFAULT_CANDIDATES = 100


@dataclass(frozen=True, slots=True)
class Pinned:
    """The state that a search runs on: one snapshot, its indexes, what its caller may see."""

    store: Store
    snapshot: Snapshot
    scope: Scope
    lexical: Callable[[str], LexicalIndex]


def check_controls(controls: Controls, lexical: Callable[[str], object]) -> None:
    """Refuse controls that cannot be executed as they are.

    Raises
    ------
    CapabilityError
        With what is missing and the command that builds it.
    """
    if not controls.channels:
        raise BadInputError("no channel is chosen", remedy="choose a mode, or channels")
    for channel in controls.channels:
        if channel not in WORKSPACE_CHANNELS:
            raise CapabilityError(
                f"a workspace has no channel {channel!r}",
                remedy=f"its channels: {', '.join(sorted(WORKSPACE_CHANNELS))}",
            )
        if channel != "lexical":
            raise CapabilityError(
                f"no {channel} index in this snapshot; only its lexical indexes are built",
                remedy="search with mode keyword, or channels lexical",
            )
    if controls.rerank:
        raise CapabilityError(
            "this workspace has no reranker", remedy="search without rerank, or with mode keyword"
        )
    if controls.hints.system_options:
        raise CapabilityError("system_options are for outside systems; a workspace has none")
    lexical(chosen_lexical_index(controls.hints))


def run_search(pinned: Pinned, request: QueryRequest, controls: Controls) -> QueryResult:
    """Run one search on a pinned state."""
    if request.image_asset_id is not None:
        raise CapabilityError("no image index in this snapshot: image_asset_id cannot be searched")
    check_controls(controls, pinned.lexical)
    eligible = eligibility(pinned.store, pinned.snapshot, pinned.scope, request, controls)
    pool = max(controls.limit, controls.hints.candidates or DEFAULT_CANDIDATES)
    lists = {
        channel: lexical_ranking(
            pinned.lexical(chosen_lexical_index(controls.hints)),
            request.query,
            hints=controls.hints,
            eligible=eligible,
            pool=pool,
        )
        for channel in controls.channels
    }
    exact = (
        exact_units(pinned.store, pinned.snapshot, request.exact_identifiers, eligible)
        if request.exact_identifiers
        else {}
    )
    ranked = _exact_first(_fused(lists), exact, only=controls.exact_only)
    selected = ranked[: controls.limit]
    return QueryResult.model_construct(
        hits=_hits(pinned, selected, lists, exact),
        candidates={
            name: Candidates.model_construct(ids=tuple(found.ids), scores=tuple(found.scores))
            for name, found in lists.items()
        },
        trace=_trace(lists, eligible, exact, ranked, controls) if request.trace else None,
    )


def _fused(lists: Mapping[str, Ranking]) -> dict[str, float]:
    """Merge the channels' lists into one, best first; a single one keeps its own scores."""
    (only,) = lists.values()
    return dict(zip(only.ids, only.scores, strict=True))


def _exact_first(
    fused: Mapping[str, float], exact: Mapping[str, int], *, only: bool
) -> list[tuple[str, float | None]]:
    """Put units that carry asked identifiers first: most identifiers, then rank, then id."""
    place = {unit_id: rank for rank, unit_id in enumerate(fused)}
    first = sorted(exact, key=lambda unit: (-exact[unit], place.get(unit, len(place)), unit))
    rest = () if only else (unit_id for unit_id in fused if unit_id not in exact)
    return [(unit_id, fused.get(unit_id)) for unit_id in (*first, *rest)]


def _hits(
    pinned: Pinned,
    selected: Sequence[tuple[str, float | None]],
    lists: Mapping[str, Ranking],
    exact: Mapping[str, int],
) -> tuple[Hit, ...]:
    located = located_units(pinned.store, pinned.snapshot, [unit_id for unit_id, _ in selected])
    channels: dict[str, dict[str, ChannelRank]] = {unit_id: {} for unit_id, _ in selected}
    for name, found in lists.items():
        for rank, (unit_id, score) in enumerate(zip(found.ids, found.scores, strict=True), 1):
            if unit_id in channels:
                channels[unit_id][name] = ChannelRank.model_construct(rank=rank, score=score)
    return tuple(
        located[unit_id].hit(
            rank,
            score=score,
            channels=channels[unit_id],
            exact_identifiers=exact.get(unit_id, 0),
        )
        for rank, (unit_id, score) in enumerate(selected, 1)
    )


def _trace(
    lists: Mapping[str, Ranking],
    eligible: Eligibility,
    exact: Mapping[str, int],
    ranked: Sequence[tuple[str, float | None]],
    controls: Controls,
) -> Trace:
    """Write down what was decided, in order; a step that changed nothing is no decision."""
    decisions = []
    limits = [f"{name}: {len(allowed)} allowed" for name, allowed in eligible.filters.items()]
    if eligible.lapsed:
        limits.append(f"revision: {len(eligible.lapsed)} not valid at the date")
    if limits:
        decisions.append(Decision(step="restrict", detail="; ".join(limits)))
    for name, found in lists.items():
        decisions.append(
            Decision(step=name, detail=f"{found.detail} -> {len(found.ids)} candidates")
        )
    if exact:
        decisions.append(
            Decision(step="exact", detail=f"{len(exact)} first", ids=tuple(sorted(exact)))
        )
    left_out = [unit_id for unit_id, _ in ranked[controls.limit :]]
    decisions.append(
        Decision(
            step="cut",
            detail=f"limit {controls.limit} of {len(ranked)}",
            ids=tuple(left_out),
        )
    )
    return Trace(decisions=tuple(decisions))
