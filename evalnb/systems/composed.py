"""A hybrid made of the user's own channels: ask each, fuse, rerank, keep every candidate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from pydantic import ValidationError

from evalnb.errors import BadInputError, CapabilityError
from evalnb.limits import RESULT_LIMIT, check_limit
from evalnb.search.fusion import DEFAULT_CANDIDATES, RRF_K, fuse
from evalnb.search.request import (
    RESTRICTIONS,
    Configuration,
    Controls,
    Hints,
    Mode,
    Overrides,
    check_id,
)
from evalnb.search.result import Candidates
from evalnb.search.system import Capabilities, NetworkedSystem, SearchContext, SearchSystem
from evalnb.systems.composing import (
    FUSION_HINTS,
    Channel,
    ComposedSession,
    PinnedComposedSession,
    RecordedComposedSession,
    named,
)
from evalnb.systems.function import FunctionSystem
from evalnb.systems.providers import Endpoint, ListwiseReranker
from evalnb.systems.reranking import Reranker
from evalnb.systems.runs import RunFileSystem
from evalnb.systems.settings import near_name, parse_settings

# A mode asks for one leg by the field's name for it; both spellings are common.
LEGS: dict[Mode, tuple[str, ...]] = {
    "keyword": ("keyword", "lexical"),
    "semantic": ("semantic", "text"),
}
# Hints that a plain function cannot execute; a language only describes the query.
SEARCH_HINTS = tuple(
    name
    for name in Hints.model_fields
    if name not in (*FUSION_HINTS, "reranker", "language", "system_options")
)

Searcher = Callable[..., Any] | SearchSystem | tuple[Any, Any]


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
        A function of the query and the hits; see :class:`~evalnb.systems.reranking.Reranker`. Or
        the settings of a chat model that orders the hits, such as ``{"url": ..., "model": ...}``;
        see :class:`~evalnb.systems.providers.Endpoint`. With one, reranking is on unless ``mode``
        or a variant says otherwise.
    k, weights
        Of reciprocal rank fusion; weights are by channel name, 1 unless given.
    candidates
        How many each channel is asked for, at least the limit.
    mode
        What a search without a mode runs.

    Raises
    ------
    BadInputError
        If a channel is nothing that searches, or a setting names or is something impossible.
    """

    def __init__(
        self,
        channels: Mapping[str, Searcher],
        *,
        rerank: Callable[..., Any] | Mapping[str, Any] | None = None,
        k: int = RRF_K,
        weights: Mapping[str, float] | None = None,
        candidates: int = DEFAULT_CANDIDATES,
        mode: Mode | None = None,
    ) -> None:
        if not channels:
            raise BadInputError("no channel is given", remedy='pass {"name": function}')
        self.channels = {_name(name): _channel(name, given) for name, given in channels.items()}
        if isinstance(rerank, Mapping):
            rerank = ListwiseReranker(parse_settings(Endpoint, rerank, where="rerank"))
        self.reranker = None if rerank is None else Reranker(rerank)
        self.mode: Mode = mode or ("hybrid" if rerank is None else "hybrid_rerank")
        self.hints = _hints(
            rrf_k=k,
            weights=dict(weights) if weights else None,
            candidates=candidates,
            reranker=self.reranker and self.reranker.name,
        )
        self._check_fusion(tuple(self.channels), self.hints)
        self.recorded = self._all_recorded()

    def _all_recorded(self) -> bool:
        """Whether every channel is a run file; some of them cannot be asked with the others."""
        kinds = {n: isinstance(c.system, RunFileSystem) for n, c in self.channels.items()}
        if any(kinds.values()) and not all(kinds.values()):
            run, live = (
                next(n for n, is_run in kinds.items() if is_run is kind) for kind in (True, False)
            )
            raise BadInputError(
                f"channel {run!r} is a run file, which answers cases, and channel {live!r} is "
                "asked for texts",
                remedy="fuse run files with run files",
            )
        if all(kinds.values()) and self.reranker is not None:
            raise BadInputError("run files hold no texts to rerank", remedy="leave rerank out")
        return all(kinds.values())

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
        pinned = all(c.pinned for c in found.values())
        # A pinned corpus is versioned by its cut, which is shown only if all channels have one.
        versioned = all(c.versioned and (pinned or "version" in c.identity) for c in found.values())
        return Capabilities(
            channels=tuple(self.channels),
            restrictions=RESTRICTIONS.intersection(*(c.restrictions for c in found.values())),
            identity=identity,
            configuration=Configuration(
                mode=self.mode,
                modes=self._modes(),
                hints=self.hints,
            ),
            versioned=versioned and (self.reranker is None or self.reranker.version is not None),
            pinned=pinned,
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
        if controls.hints.reranker != self.hints.reranker:
            raise CapabilityError(
                f"the reranker here is {self.hints.reranker or 'not named'}, found "
                f"{controls.hints.reranker!r}",
                remedy="give it as rerank=, in one system per reranker",
            )
        if controls.rerank:
            if self.reranker is None:
                raise CapabilityError("no reranker is given", remedy="pass a function as rerank=")
            self.reranker.check()

    def check_offline(self, controls: Controls) -> None:
        """Refuse channels and a reranker that need the network.

        Raises
        ------
        CapabilityError
            Naming the channel, or the reranker.
        """
        for name in sorted(self.channels.keys() & set(controls.channels or self.channels)):
            channel = self.channels[name]
            if isinstance(channel.system, NetworkedSystem):
                with named(name):
                    channel.system.check_offline(channel.controls(controls))
        if controls.rerank and self.reranker is not None and self.reranker.needs_network:
            raise CapabilityError("the reranker needs the network, and the request is offline")

    def open(self, context: SearchContext) -> ComposedSession:
        """Open a session; each channel's own is opened when it is first asked.

        Where every channel pins its corpus, all are opened at once, and the session is a
        :class:`~evalnb.search.system.PinnedCorpus` too; where every channel is a run file, it is a
        :class:`~evalnb.search.system.RecordedSession`.
        """
        if self.recorded:
            return RecordedComposedSession(self.channels, self.reranker, context)
        if all(channel.system.capabilities().pinned for channel in self.channels.values()):
            return PinnedComposedSession(self.channels, self.reranker, context)
        return ComposedSession(self.channels, self.reranker, context)

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
            raise CapabilityError(
                f"there is no channel {name!r}", remedy=near_name(name, self.channels)
            )
        channel = self.channels[name]
        if isinstance(channel.system, FunctionSystem):
            unmet = [hint for hint in SEARCH_HINTS if getattr(controls.hints, hint) is not None]
            if unmet:
                raise CapabilityError(
                    f"channel {name!r} is a function, which cannot execute {', '.join(unmet)}",
                    remedy="give the function itself the parameter, or pass one system per setting",
                )
        with named(name):
            channel.system.check(channel.controls(controls))

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


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise BadInputError(f"the name of a channel has to be text, found {name!r}")
    try:
        return check_id(name)
    except ValueError as error:
        raise BadInputError(f"the name of a channel: {error}") from None


def _channel(name: str, given: Searcher) -> Channel:
    searcher, overrides = given if isinstance(given, tuple) else (given, {})
    with named(name):
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
