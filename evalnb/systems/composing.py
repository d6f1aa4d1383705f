"""Sessions of a hybrid made of channels: ask each, fuse, rerank, keep every candidate."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from evalnb.errors import CapabilityError, EvalnbError, NotFoundError, SearchFailedError
from evalnb.search.calling import TimedCaller
from evalnb.search.fusion import (
    DEFAULT_CANDIDATES,
    DEFAULT_NORMALISATION,
    DEFAULT_RERANK_DEPTH,
    RRF_K,
    fuse,
)
from evalnb.search.metering import metered, summed_usage
from evalnb.search.request import (
    Configuration,
    Controls,
    Overrides,
    QueryRequest,
    resolve_controls,
)
from evalnb.search.result import Candidates, Decision, QueryResult, Trace
from evalnb.search.system import (
    Binding,
    Cut,
    Extraction,
    PinnedCorpus,
    RecordedSession,
    SearchContext,
    SearchSession,
    SearchSystem,
    Unit,
)
from evalnb.systems.hits import UnreadSession, parse_hits
from evalnb.systems.merging import Merged, merge_hits
from evalnb.systems.reranking import Reranker

FUSION_HINTS = ("fusion", "rrf_k", "weights", "normalisation", "candidates", "rerank_depth")


@dataclass(frozen=True, slots=True)
class Channel:
    """One channel: a system, and the overrides it is always searched with."""

    system: SearchSystem
    overrides: Overrides

    def controls(self, controls: Controls, configuration: Configuration | None = None) -> Controls:
        """Resolve what this channel is asked for out of what the whole system is asked for."""
        configuration = configuration or self.system.capabilities().configuration
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


class ComposedSession:
    """One session of a composed system; channels with a timeout are asked one at a time."""

    def __init__(
        self, channels: Mapping[str, Channel], reranker: Reranker | None, context: SearchContext
    ) -> None:
        self._channels = channels
        self._reranker = reranker
        self._context = context
        self._capabilities = {name: c.system.capabilities() for name, c in channels.items()}
        self._sessions: dict[int, SearchSession] = {}  # channels on one system share one
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
        found = {name: self._ask(name, request, controls) for name in self._chosen(controls)}
        return self._fused(found, request.query, controls, trace=request.trace)

    def _chosen(self, controls: Controls) -> tuple[str, ...]:
        return tuple(dict.fromkeys(controls.channels or self._channels))

    def _fused(
        self, found: Mapping[str, QueryResult], query: str, controls: Controls, *, trace: bool
    ) -> QueryResult:
        merged = merge_hits({name: result.hits for name, result in found.items()})
        lists = merged.candidates()
        fused = fuse(lists, controls.hints)
        reranked = self._rerank(query, merged, fused, controls)
        ranking = fused if reranked is None else _followed(reranked, fused)
        limit = controls.limit
        return QueryResult(
            hits=merged.ranked(ranking.ids[:limit], ranking.scores[:limit]),
            usage=summed_usage([result.usage for result in found.values()]),
            n_returned=len(ranking.ids),
            candidates=lists,
            rerank_scores=reranked,
            trace=_trace(lists, ranking, reranked, controls) if trace else None,
        )

    def close(self) -> None:
        """Close the channels' sessions."""
        self._caller.close()
        while self._sessions:
            self._sessions.popitem()[1].close()

    def _ask(self, name: str, request: QueryRequest, controls: Controls) -> QueryResult:
        can = self._capabilities[name]
        asked = self._channels[name].controls(controls, can.configuration)
        with named(name):
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
        system = self._channels[name].system
        with self._lock:
            if id(system) not in self._sessions:
                self._sessions[id(system)] = system.open(self._context)
            return self._sessions[id(system)]

    def _rerank(
        self, query: str, merged: Merged, fused: Candidates, controls: Controls
    ) -> Candidates | None:
        reranker = self._reranker
        if not controls.rerank:
            return None
        if reranker is None:
            raise CapabilityError("no reranker is given", remedy="pass a function as rerank=")
        if self._context.offline and reranker.needs_network:
            raise CapabilityError("the reranker needs the network, and the request is offline")
        depth = controls.hints.rerank_depth or DEFAULT_RERANK_DEPTH
        ids = fused.ids[:depth]
        return reranker.rerank(query, ids, merged.ranked(ids, fused.scores[:depth]))


class RecordedComposedSession(ComposedSession):
    """A session whose channels were all searched before: their answers to a case are fused."""

    def expect(self, case_ids: Collection[str]) -> None:
        """Refuse cases of which a channel has no answer to any.

        Raises
        ------
        NotEvaluatedError
            Naming the channel, and both sides.
        """
        for name in self._channels:
            with named(name):
                self._recorded(name).expect(case_ids)

    def answer(self, case_id: str, controls: Controls) -> QueryResult:
        """Fuse the recorded rankings of a case."""
        found = {
            name: self._recorded(name).answer(case_id, self._channels[name].controls(controls))
            for name in self._chosen(controls)
        }
        return self._fused(found, "", controls, trace=False)

    def _recorded(self, name: str) -> RecordedSession:
        session = self._session(name)
        assert isinstance(session, RecordedSession)
        return session


class PinnedComposedSession(ComposedSession):
    """A session whose channels all pin their corpora: what it returns can be verified."""

    def __init__(
        self, channels: Mapping[str, Channel], reranker: Reranker | None, context: SearchContext
    ) -> None:
        super().__init__(channels, reranker, context)
        self._corpora: dict[str, PinnedCorpus] = {}  # by the name of the first channel on each
        try:
            for name in channels:
                corpus = self._session(name)
                assert isinstance(corpus, PinnedCorpus)
                if corpus.cut() not in [known.cut() for known in self._corpora.values()]:
                    self._corpora[name] = corpus
        except BaseException:
            self.close()
            raise

    def cut(self) -> Cut:
        """Return the corpus' cut; where channels have several, each named by its channel."""
        cuts = {name: corpus.cut() for name, corpus in self._corpora.items()}
        if len(cuts) == 1:
            return next(iter(cuts.values()))
        return Cut(
            snapshot_id=", ".join(f"{name}: {cut.snapshot_id}" for name, cut in cuts.items()),
            indexes={f"{n}: {key}": v for n, cut in cuts.items() for key, v in cut.indexes.items()},
            epochs={f"{n}: {key}": v for n, cut in cuts.items() for key, v in cut.epochs.items()},
        )

    def units(self) -> Iterator[Unit]:
        """Enumerate the units of every corpus, each once, in id order."""
        seen = ""
        found = heapq.merge(*(c.units() for c in self._corpora.values()), key=lambda u: u.unit_id)
        for unit in found:
            if unit.unit_id != seen:
                yield unit
            seen = unit.unit_id

    def bindings(self, ids: Collection[str]) -> dict[str, Binding]:
        """Map each id to the extraction that owns it in the first corpus that has it."""
        found: dict[str, Binding] = {}
        for corpus in self._corpora.values():
            found = {**corpus.bindings(ids), **found}
        return found

    def extraction(self, extraction_id: str) -> Extraction:
        """Read one extraction.

        Raises
        ------
        NotFoundError
            If no corpus has it.
        """
        *others, last = self._corpora.values()
        for corpus in others:
            with suppress(NotFoundError):
                return corpus.extraction(extraction_id)
        return last.extraction(extraction_id)


@contextmanager
def named(name: str) -> Iterator[None]:
    """Put the name of a channel before whatever it raises."""
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
