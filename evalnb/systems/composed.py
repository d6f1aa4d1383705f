"""A hybrid made of the user's own channels: ask each, fuse, rerank, keep every candidate."""

from __future__ import annotations

import difflib
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from pydantic import ValidationError

from evalnb.errors import BadInputError, CapabilityError, EvalnbError, SearchFailedError
from evalnb.limits import RESULT_LIMIT, check_limit
from evalnb.search.calling import TimedCaller
from evalnb.search.fusion import DEFAULT_NORMALISATION, RRF_K, fuse
from evalnb.search.metering import metered, summed_usage
from evalnb.search.request import (
    RESTRICTIONS,
    Configuration,
    Controls,
    Hints,
    Mode,
    Overrides,
    QueryRequest,
    check_id,
    resolve_controls,
)
from evalnb.search.result import Candidates, Decision, QueryResult, Trace
from evalnb.search.system import Capabilities, SearchContext, SearchSession, SearchSystem
from evalnb.systems.function import FunctionSystem
from evalnb.systems.hits import UnreadSession, parse_hits
from evalnb.systems.merging import Merged, merge_hits
from evalnb.systems.reranking import Reranker

DEFAULT_CANDIDATES = 100
DEFAULT_RERANK_DEPTH = 50
# A mode asks for one leg by the field's name for it; both spellings are common.
LEGS: dict[Mode, tuple[str, ...]] = {
    "keyword": ("keyword", "lexical"),
    "semantic": ("semantic", "text"),
}
FUSION_HINTS = ("fusion", "rrf_k", "weights", "normalisation", "candidates", "rerank_depth")
# Hints that a plain function cannot execute; a language only describes the query.
SEARCH_HINTS = tuple(
    name
    for name in Hints.model_fields
    if name not in (*FUSION_HINTS, "reranker", "language", "system_options")
)

Searcher = Callable[..., Any] | SearchSystem | tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class Channel:
    """One channel: a system, and the overrides it is always searched with."""

    system: SearchSystem
    overrides: Overrides

    def controls(self, controls: Controls, configuration: Configuration) -> Controls:
        """Resolve what this channel is asked for out of what the whole system is asked for."""
        passed = controls.hints.model_copy(update=dict.fromkeys((*FUSION_HINTS, "reranker")))
        asked = QueryRequest(query="-", exact_identifiers=("-",), hints=passed)
        own = resolve_controls(asked, self.overrides, configuration)
        depth = max(controls.limit, controls.hints.candidates or DEFAULT_CANDIDATES)
        return own.model_copy(
            update={
                "limit": self.overrides.limit or depth,
                "modalities": controls.modalities or own.modalities,
                "exact_only": controls.exact_only or own.exact_only,
            }
        )


class ComposedSystem:
    """Channels of the user's own, fused and perhaps reranked.

    Every channel's candidates stay in the result, so that other fusions can be replayed without
    searching again. A result's hits are the channels' hits; other surfaces of a channel's result
    (context, citations, graph) stay behind.

    Parameters
    ----------
    channels
        A function, a search system, or a pair (system, overrides), by channel name.
    rerank
        A function of the query and the hits; see :class:`~evalnb.systems.reranking.Reranker`.
        With one, reranking is on unless a variant says otherwise.
    k, weights
        Of reciprocal rank fusion; weights are by channel name, 1 unless given.
    candidates
        How many each channel is asked for, at least the limit.

    Raises
    ------
    BadInputError
        If a channel is nothing that searches, or a setting names or is something impossible.
    """

    def __init__(
        self,
        channels: Mapping[str, Searcher],
        *,
        rerank: Callable[..., Any] | None = None,
        k: int = RRF_K,
        weights: Mapping[str, float] | None = None,
        candidates: int = DEFAULT_CANDIDATES,
    ) -> None:
        if not channels:
            raise BadInputError("no channel is given", remedy='pass {"name": function}')
        self.channels = {_name(name): _channel(name, given) for name, given in channels.items()}
        self.reranker = None if rerank is None else Reranker(rerank)
        self.hints = _hints(
            rrf_k=k, weights=dict(weights) if weights else None, candidates=candidates
        )
        self._check_fusion(tuple(self.channels), self.hints)

    def capabilities(self) -> Capabilities:
        """Say what all channels can do; versioned if every channel and the reranker are."""
        found = {name: channel.system.capabilities() for name, channel in self.channels.items()}
        identity = {
            f"channels.{name}.{key}": value
            for name, c in found.items()
            for key, value in c.identity.items()
        }
        identity |= {
            f"channels.{name}.overrides": channel.overrides.model_dump_json(exclude_none=True)
            for name, channel in self.channels.items()
            if channel.overrides != Overrides()
        }
        identity |= {"fusion": self.hints.model_dump_json(exclude_none=True)}
        identity |= self.reranker.identity if self.reranker else {}
        # A pinned corpus is versioned by its cut, which a composition does not show.
        versioned = all(c.versioned and "version" in c.identity for c in found.values())
        return Capabilities(
            channels=tuple(self.channels),
            restrictions=RESTRICTIONS.intersection(*(c.restrictions for c in found.values())),
            identity=identity,
            configuration=Configuration(
                mode="hybrid" if self.reranker is None else "hybrid_rerank",
                modes=self._modes(),
                hints=self.hints,
            ),
            versioned=versioned and (self.reranker is None or self.reranker.version is not None),
        )

    def check(self, controls: Controls) -> None:
        """Refuse what a channel, the fusion or the reranking cannot execute.

        Raises
        ------
        CapabilityError
            If a channel does not exist or refuses, or there is no reranker.
        BadInputError
            If a weight names no channel, or the channels chosen weigh nothing.
        """
        chosen = controls.channels or tuple(self.channels)
        for name in chosen:
            self._check_channel(name, controls)
        self._check_fusion(chosen, controls.hints)
        if controls.hints.reranker is not None:
            raise CapabilityError(
                f"a composed system has no rerankers by name, found {controls.hints.reranker!r}",
                remedy="pass the function as rerank=, and one system per reranker",
            )
        if controls.rerank and self.reranker is None:
            raise CapabilityError("no reranker is given", remedy="pass a function as rerank=")

    def open(self, context: SearchContext) -> ComposedSession:
        """Open a session; each channel's own is opened when it is first asked."""
        return ComposedSession(self, context)

    def _modes(self) -> dict[Mode, tuple[str, ...]]:
        every = tuple(self.channels)
        legs: dict[Mode, tuple[str, ...]] = {"hybrid": every, "hybrid_rerank": every}
        for mode, names in LEGS.items():
            leg = next((name for name in names if name in self.channels), None)
            if leg is not None:
                legs[mode] = (leg,)
        return legs

    def _check_channel(self, name: str, controls: Controls) -> None:
        if name not in self.channels:
            near = difflib.get_close_matches(name, self.channels, n=1)
            raise CapabilityError(
                f"there is no channel {name!r}",
                remedy=f"did you mean {near[0]!r}?"
                if near
                else f"channels: {', '.join(self.channels)}",
            )
        channel = self.channels[name]
        if isinstance(channel.system, FunctionSystem):
            unmet = [hint for hint in SEARCH_HINTS if getattr(controls.hints, hint) is not None]
            if unmet:
                raise CapabilityError(
                    f"channel {name!r} is a function, which cannot execute {', '.join(unmet)}",
                    remedy="give the function itself the parameter, or pass one system per setting",
                )
        with _named(name):
            configuration = channel.system.capabilities().configuration
            channel.system.check(channel.controls(controls, configuration))

    def _check_fusion(self, chosen: tuple[str, ...], hints: Hints) -> None:
        unknown = sorted(set(hints.weights or ()) - set(self.channels))
        if unknown:
            raise BadInputError(
                f"weights name {unknown[0]!r}, which is no channel",
                remedy=f"channels: {', '.join(self.channels)}",
            )
        if hints.candidates is not None:
            check_limit("candidates of a channel", hints.candidates, RESULT_LIMIT, argument="")
        fuse({name: Candidates() for name in chosen}, hints)  # refuses impossible weights


class ComposedSession:
    """One session of a composed system; channels with a timeout are asked one at a time."""

    def __init__(self, system: ComposedSystem, context: SearchContext) -> None:
        self._system = system
        self._context = context
        self._capabilities = {
            name: channel.system.capabilities() for name, channel in system.channels.items()
        }
        self._sessions: dict[str, SearchSession] = {}
        self._caller: TimedCaller[QueryResult] = TimedCaller()
        self._lock = threading.Lock()  # a caller serves one call at a time

    def search(self, request: QueryRequest, controls: Controls) -> QueryResult:
        """Ask every enabled channel, fuse, rerank.

        Raises
        ------
        EvalnbError
            If a channel fails: its own error with the channel's name; never a partial result.
        """
        return metered(lambda: self._searched(request, controls))

    def _searched(self, request: QueryRequest, controls: Controls) -> QueryResult:
        names = tuple(dict.fromkeys(controls.channels or self._system.channels))
        found = {name: self._ask(name, request, controls) for name in names}
        merged = merge_hits({name: result.hits for name, result in found.items()})
        lists = merged.candidates()
        fused = fuse(lists, controls.hints)
        reranked = self._rerank(request.query, merged, fused, controls)
        ranking = fused if reranked is None else _followed(reranked, fused)
        limit = controls.limit
        return QueryResult(
            hits=merged.ranked(ranking.ids[:limit], ranking.scores[:limit]),
            usage=summed_usage([result.usage for result in found.values()]),
            n_returned=len(ranking.ids),
            candidates=lists,
            rerank_scores=reranked,
            trace=_trace(lists, ranking, reranked, controls) if request.trace else None,
        )

    def close(self) -> None:
        """Close the channels' sessions."""
        self._caller.close()
        while self._sessions:
            self._sessions.popitem()[1].close()

    def _ask(self, name: str, request: QueryRequest, controls: Controls) -> QueryResult:
        can = self._capabilities[name]
        asked = self._system.channels[name].controls(controls, can.configuration)
        with _named(name):
            session = self._session(name)

            def read() -> QueryResult:
                if isinstance(session, UnreadSession):
                    returned = session.call(request, asked)
                    return parse_hits(returned, limit=asked.limit, numbered=False)
                return session.search(request, asked)

            def search() -> QueryResult:
                return metered(read)  # where the channel runs: that may be another thread

            seconds = can.timeout_s
            if seconds is None:
                result = search()
            else:
                with self._lock:
                    result = self._caller.call(search, seconds)
            if result.status != "ok":
                raise SearchFailedError(result.reason or "unavailable, without a reason")
            return result

    def _session(self, name: str) -> SearchSession:
        with self._lock:
            if name not in self._sessions:
                self._sessions[name] = self._system.channels[name].system.open(self._context)
            return self._sessions[name]

    def _rerank(
        self, query: str, merged: Merged, fused: Candidates, controls: Controls
    ) -> Candidates | None:
        reranker = self._system.reranker
        if not controls.rerank:
            return None
        if reranker is None:
            raise CapabilityError("no reranker is given", remedy="pass a function as rerank=")
        if self._context.offline and reranker.needs_network:
            raise CapabilityError("the reranker needs the network, and the request is offline")
        depth = controls.hints.rerank_depth or DEFAULT_RERANK_DEPTH
        ids = fused.ids[:depth]
        return reranker.rerank(query, ids, merged.ranked(ids, fused.scores[:depth]))


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise BadInputError(f"the name of a channel has to be text, found {name!r}")
    try:
        return check_id(name)
    except ValueError as error:
        raise BadInputError(f"the name of a channel: {error}") from None


def _channel(name: str, given: Searcher) -> Channel:
    searcher, overrides = given if isinstance(given, tuple) else (given, {})
    with _named(name):
        try:
            chosen = Overrides.model_validate(
                overrides if isinstance(overrides, dict) else dict(overrides)
            )
        except ValidationError as error:
            raise BadInputError(_described(error)) from None
        if all(hasattr(searcher, method) for method in ("capabilities", "check", "open")):
            return Channel(cast("SearchSystem", searcher), chosen)
        return Channel(FunctionSystem(cast("Callable[..., Any]", searcher)), chosen)


def _hints(**settings: Any) -> Hints:
    try:
        return Hints(**settings)
    except ValidationError as error:
        raise BadInputError(_described(error)) from None


def _described(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    return f"{field}: {first['msg']}, found {first['input']!r}"


@contextmanager
def _named(name: str) -> Iterator[None]:
    try:
        yield
    except EvalnbError as error:
        message = f"channel {name!r}: {error.message}"
        raise type(error)(message, where=error.where, remedy=error.remedy) from error
    except Exception as error:  # a user's function may raise anything
        raise SearchFailedError(f"channel {name!r}: {type(error).__name__}: {error}") from error


def _followed(reranked: Candidates, fused: Candidates) -> Candidates:
    """Append what was not reranked; it has no score on the reranker's scale."""
    rest = fused.ids[len(reranked.ids) :]
    return Candidates(ids=reranked.ids + rest, scores=reranked.scores + (None,) * len(rest))


def _trace(
    lists: Mapping[str, Candidates],
    ranking: Candidates,
    reranked: Candidates | None,
    controls: Controls,
) -> Trace:
    hints = controls.hints
    decisions = [
        Decision(step=f"channel {name}", detail=f"{len(listed.ids)} candidates", ids=listed.ids)
        for name, listed in lists.items()
    ]
    detail = f"k {hints.rrf_k or RRF_K}"
    if hints.fusion == "weighted":
        detail = hints.normalisation or DEFAULT_NORMALISATION
    decisions.append(Decision(step=f"fusion {hints.fusion or 'rrf'}", detail=detail))
    if reranked is not None:
        decisions.append(
            Decision(step="rerank", detail=f"the first {len(reranked.ids)}", ids=reranked.ids)
        )
    decisions.append(
        Decision(
            step="cut",
            detail=f"limit {controls.limit} of {len(ranking.ids)}",
            ids=ranking.ids[controls.limit :],
        )
    )
    return Trace(decisions=tuple(decisions))
