"""Other fusions of a report's retained candidates, without searching again.

What a live run would return is returned, to the last tie. A case is counted as needing a live
search where a rerank score is missing, where candidates deeper than the retained ones are asked
for, or where exact identifiers decide what comes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evalnb.errors import BadInputError, NotFoundError
from evalnb.evaluation.report import CaseResult, EvaluationReport
from evalnb.measures.judgements import Judgements, judgements, label_of, labelled_documents
from evalnb.measures.names import Measure, parse_measures
from evalnb.measures.ranking import Score, place, score_ranking, unavailable
from evalnb.search.fusion import (
    DEFAULT_CANDIDATES,
    DEFAULT_NORMALISATION,
    DEFAULT_RERANK_DEPTH,
    RRF_K,
    distinct,
    fuse,
    normalise,
)
from evalnb.search.request import Hints, Overrides
from evalnb.search.result import Candidates, Kind
from evalnb.wording import listed

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
REPLAYED_HINTS = frozenset(
    {"fusion", "rrf_k", "weights", "normalisation", "candidates", "rerank_depth"}
)
NEEDS_LIVE = "needs live search"
NEAR = 1e-12  # sums this close may be one sum, rounded in another order


@dataclass(frozen=True, slots=True)
class Settings:
    """What is replayed: channels, fusion, reranking and the cut."""

    channels: tuple[str, ...]
    hints: Hints
    rerank: bool
    limit: int

    @property
    def pool(self) -> int:
        """How many candidates a live run would ask each channel for."""
        return max(self.limit, self.hints.candidates or DEFAULT_CANDIDATES)

    @property
    def depth(self) -> int:
        """How many of the fused list would be reranked."""
        return self.hints.rerank_depth or DEFAULT_RERANK_DEPTH


@dataclass(frozen=True, eq=False)
class Replayed:
    """One replay.

    Attributes
    ----------
    rankings
        The ids that a live run would return, by case; without the cases of ``needs_live``.
    needs_live
        Why a case cannot be replayed, by case.
    """

    replay: Replay
    settings: Settings
    rankings: Mapping[str, tuple[str, ...]]
    needs_live: Mapping[str, str]

    def scores(self) -> dict[str, dict[str, Score]]:
        """Return every measure of every case: measure -> case -> score."""
        return self.replay.scored(self)

    def means(self) -> dict[str, float]:
        """Return the mean of every measure over the cases where it is defined."""
        found = {}
        for measure, scores in self.scores().items():
            values = [score.value for score in scores.values() if score.value is not None]
            if values:
                found[measure] = float(np.mean(values))
        return found

    def frame(self, name: str = "replayed") -> pd.DataFrame:
        """Return the scores frame of a variant of this name."""
        return self.replay.frame(self, name)


class Replay:
    """One variant's candidates, laid out so that another fusion costs milliseconds.

    Parameters
    ----------
    report
        A report whose variant searched the channels that are to be tuned.
    variant
        Its name.
    measures
        Ranking measures; those that the report compares unless given.
    kind
        The kind of id that is judged; the one that the report's measures read unless given.

    Raises
    ------
    NotFoundError
        If there is no such variant.
    BadInputError
        If it kept no candidates, a measure is none of a ranking, or the kind is neither unit nor
        document.
    """

    def __init__(
        self,
        report: EvaluationReport,
        variant: str,
        *,
        measures: Sequence[str] | None = None,
        kind: Kind | None = None,
    ) -> None:
        records = {record.name: record for record in report.variants}
        if variant not in records:
            raise NotFoundError(
                f"there is no variant {variant!r}", remedy=f"variants: {', '.join(records)}"
            )
        self.report = report
        self.variant = variant
        self.system = records[variant].system
        self.measures = _ranked_measures(measures or report.compared)
        self.kind = _replayed_kind(kind, report, self.measures)
        results = {
            r.case_id: r for r in report.results if r.variant == variant and not r.repetition
        }
        self.cases = [case for case in report.cases if case.case_id in results]
        self.results = [results[case.case_id] for case in self.cases]
        self.channels = tuple(dict.fromkeys(c for r in self.results for c in r.candidates))
        if not self.channels:
            raise BadInputError(
                f"{variant} kept no candidates",
                remedy="evaluate a workspace, or channels composed with evalnb.fused",
            )
        self._lists = [
            {name: distinct(found) for name, found in report.candidates(r).items()}
            for r in self.results
        ]
        self._parts: dict[tuple[Any, ...], Floats] = {}  # what other weights need again

    @property
    def recorded(self) -> Settings:
        """What was run."""
        controls = next(r.controls for r in self.results if r.candidates)
        return Settings(
            tuple(controls.channels or self.channels),
            controls.hints,
            controls.rerank,
            controls.limit,
        )

    def settings(self, overrides: Overrides | Mapping[str, Any]) -> Settings:
        """Resolve what a variant with these overrides would run.

        Raises
        ------
        BadInputError
            If they change anything but channels, fusion, candidates, reranking and limit.
        """
        chosen = Overrides.model_validate(overrides)
        hints = chosen.hints or Hints()
        unmet = [name for name in hints.model_fields_set if name not in REPLAYED_HINTS]
        unmet += chosen.model_fields_set - {"hints", "channels", "rerank", "limit"}
        if unmet:
            raise BadInputError(f"{NEEDS_LIVE}: {', '.join(sorted(unmet))} changes what is found")
        recorded = self.recorded
        channels = chosen.channels or recorded.channels
        if missing := sorted(set(channels) - set(self.channels)):
            raise BadInputError(
                f"{NEEDS_LIVE}: {listed(missing)} was not searched",
                remedy=f"channels that were: {', '.join(self.channels)}",
            )
        return Settings(
            tuple(channels),
            recorded.hints.merged(hints),
            recorded.rerank if chosen.rerank is None else chosen.rerank,
            chosen.limit or recorded.limit,
        )

    def run(self, overrides: Overrides | Mapping[str, Any]) -> Replayed:
        """Replay every case under other settings; see :meth:`settings` for what may change."""
        settings = self.settings(overrides)
        fuse({name: Candidates() for name in settings.channels}, settings.hints)  # checks weights
        wanted = max(settings.limit, settings.depth if settings.rerank else 0)
        needs_live: dict[str, str] = {}
        rankings: dict[str, tuple[str, ...]] = {}
        for result, fused in zip(self.results, self._top(settings, wanted), strict=True):
            why = self._why_live(result, settings)
            ids = _reranked(result, fused, settings.depth) if settings.rerank else fused
            if why or ids is None:
                needs_live[result.case_id] = why or "no rerank score"
            else:
                rankings[result.case_id] = tuple(ids[: settings.limit])
        return Replayed(self, settings, rankings, needs_live)

    def _why_live(self, result: CaseResult, settings: Settings) -> str:
        if result.result.status != "ok":
            return result.result.reason or "the search failed"
        if result.request.exact_identifiers:
            return "exact identifiers come first"
        recorded = max(
            result.controls.limit, result.controls.hints.candidates or DEFAULT_CANDIDATES
        )
        lists = (result.candidates[name] for name in settings.channels if name in result.candidates)
        if settings.pool > recorded and any(len(found.positions) >= recorded for found in lists):
            return "deeper candidates than were kept"
        return ""

    def _top(self, settings: Settings, wanted: int) -> list[list[str]]:
        """Return the fused list of each case, as far as it is wanted."""
        if len(settings.channels) == 1:
            (name,) = settings.channels
            empty = Candidates()
            return [
                list(lists.get(name, empty).ids[: settings.pool])[:wanted] for lists in self._lists
            ]
        scores = self._fused(settings)
        width = min(wanted + 1, scores.shape[1])
        top = np.argpartition(-scores, width - 1, axis=1)[:, :width]
        values = np.take_along_axis(scores, top, axis=1)
        order = np.lexsort((top, -values), axis=1)
        top = np.take_along_axis(top, order, axis=1)
        values = np.take_along_axis(values, order, axis=1)
        with np.errstate(invalid="ignore"):  # between two absent ids
            gaps = np.abs(np.diff(values, axis=1))
        close = (gaps <= NEAR * np.abs(values[:, :-1])) & np.isfinite(values[:, 1:])
        exactly = (gaps == 0) & close
        # Equal sums are in the order of their ids, unless the cut may divide them.
        doubtful = (close & ~exactly).any(axis=1) | (
            close[:, -1] if width < scores.shape[1] else False
        )
        return [
            self._exactly(row, settings)[:wanted]
            if doubtful[row]
            else [
                self._columns[row][at]
                for at, v in zip(top[row], values[row], strict=True)
                if v > -np.inf
            ][:wanted]
            for row in range(len(self.cases))
        ]

    def _exactly(self, row: int, settings: Settings) -> list[str]:
        lists = {
            name: _first(self._lists[row][name], settings.pool)
            for name in settings.channels
            if name in self._lists[row]
        }
        return list(fuse(lists, settings.hints).ids)

    @cached_property
    def _columns(self) -> list[list[str]]:
        """The ids of each case, ascending."""
        return [sorted({key for c in lists.values() for key in c.ids}) for lists in self._lists]

    @cached_property
    def _ranks(self) -> dict[str, Floats]:
        """The rank of each id of each case in each channel, (cases, ids); infinite if absent."""
        width = max(1, *map(len, self._columns))
        ranks = {name: np.full((len(self.cases), width), np.inf) for name in self.channels}
        for row, (ids, lists) in enumerate(zip(self._columns, self._lists, strict=True)):
            place_of = {key: at for at, key in enumerate(ids)}
            for name, found in lists.items():
                places = [place_of[key] for key in found.ids]
                ranks[name][row, places] = np.arange(1, len(places) + 1)
        return ranks

    def _fused(self, settings: Settings) -> Floats:
        """Return the fused score of each id of each case; lowest where no channel has it."""
        weights = settings.hints.weights or {}
        weighed = {name: weight for name in settings.channels if (weight := weights.get(name, 1.0))}
        total = self._absent((*weighed, settings.pool)).copy()
        for name, weight in weighed.items():
            total += weight * self._part(name, settings)
        return total

    def _part(self, name: str, settings: Settings) -> Floats:
        """Return what a channel adds at weight 1."""
        hints = settings.hints
        by_score = hints.fusion == "weighted"
        k = RRF_K if hints.rrf_k is None else hints.rrf_k
        key = (name, settings.pool, by_score, hints.normalisation if by_score else k)
        if (found := self._parts.get(key)) is None:
            found = (
                self._by_score(name, settings)
                if by_score
                else 1 / (k + self._within(name, settings.pool))
            )
            self._parts[key] = found
        return found

    def _absent(self, key: tuple[Any, ...]) -> Floats:
        """Return minus infinity where no channel of a choice has an id, else 0."""
        if (found := self._parts.get(key)) is None:
            *names, pool = key
            present = [np.isfinite(self._within(name, pool)) for name in names]
            found = self._parts[key] = np.where(np.any(present, axis=0), 0.0, -np.inf)
        return found

    def _within(self, name: str, pool: int) -> Floats:
        """Return a channel's ranks; infinite where an id is absent or below the pool."""
        ranks = self._ranks[name]
        return np.where(ranks <= pool, ranks, np.inf)

    def _by_score(self, name: str, settings: Settings) -> Floats:
        """Return a channel's normalised scores, with its lowest, or 0, where an id is absent."""
        method = settings.hints.normalisation or DEFAULT_NORMALISATION
        table = np.zeros_like(self._ranks[name])
        for row, lists in enumerate(self._lists):
            kept = _first(lists.get(name, Candidates()), settings.pool)
            if not kept.ids:
                continue
            if None in kept.scores or not kept.scores:
                fuse({name: kept}, settings.hints)  # says which score is missing
            values = normalise([float(s) for s in kept.scores if s is not None], method)
            table[row] = min(0.0, *values)
            ranks = self._ranks[name][row]
            inside = ranks <= settings.pool
            table[row, inside] = np.array(values)[ranks[inside].astype(int) - 1]
        return table

    @cached_property
    def _judged(self) -> list[Judgements]:
        units = self.report.content_units.get(self.system, {})
        found = []
        for case in self.cases:
            matching = units.get(case.case_id)
            content = None if matching is None else frozenset(matching)
            found.append(judgements(case, self.kind, content))
        return found

    @cached_property
    def _labels(self) -> Sequence[Mapping[str, str]]:
        """What each candidate's document is called by each case's labels."""
        if self.kind == "unit":
            return [{}] * len(self.cases)
        known = self.report.documents_by_id()
        found = []
        for case, ids in zip(self.cases, self._columns, strict=True):
            labels = labelled_documents(case)
            named = {key: _label(key, known.get(key), labels) for key in ids}
            found.append({} if all(k == v for k, v in named.items()) else named)
        return found

    def scored(self, replayed: Replayed) -> dict[str, dict[str, Score]]:
        """Score rankings; see :meth:`Replayed.scores`."""
        names = tuple(map(str, self.measures))
        found: dict[str, dict[str, Score]] = {name: {} for name in names}
        for at, case in enumerate(self.cases):
            ids = replayed.rankings.get(case.case_id)
            if ids is None:
                reason = f"{NEEDS_LIVE}: {replayed.needs_live[case.case_id]}"
                for scores in found.values():
                    scores[case.case_id] = unavailable(reason)
                continue
            if labels := self._labels[at]:
                ids = tuple(dict.fromkeys(labels[key] for key in ids))
            judged = self._judged[at]
            placed = place(ids, judged)
            for measure, name in zip(self.measures, names, strict=True):
                k = measure.k or replayed.settings.limit
                found[name][case.case_id] = score_ranking(measure, placed, judged, k)
        return found

    def frame(self, replayed: Replayed, name: str) -> pd.DataFrame:
        """Return a scores frame; see :meth:`Replayed.frame`."""
        from evalnb.evaluation.frames import case_scores_frame

        cases = {case.case_id: case for case in self.cases}
        rows = (
            (name, cases[case_id], str(measure), measure.k or replayed.settings.limit, score)
            for measure in self.measures
            for case_id, score in replayed.scores()[str(measure)].items()
        )
        return case_scores_frame(rows, kind=self.kind)


def _ranked_measures(names: Sequence[str]) -> tuple[Measure, ...]:
    measures = tuple(m for m in parse_measures(*names) if m.ranked and not m.tokens)
    if not measures:
        raise BadInputError(f"{', '.join(names)}: none is a measure of a ranking")
    return measures


def _replayed_kind(
    kind: Kind | None, report: EvaluationReport, measures: Sequence[Measure]
) -> Kind:
    asked = {m.kind for m in measures if m.kind} or set(report.kinds if kind is None else (kind,))
    if kind is not None:
        asked = {kind}
    if len(asked) != 1 or not asked <= {"unit", "document"}:
        raise BadInputError(
            f"candidates are judged as units or documents, here by {', '.join(sorted(asked))}",
            remedy="give kind='unit' or kind='document'",
        )
    return asked.pop()


def _label(key: str, document: tuple[str, str | None] | None, labels: frozenset[str]) -> str:
    """Name a candidate's document; a chunk that no hit shows is named after what it was cut of."""
    if document is not None:
        return label_of(*document, labels) or key
    whole = key.rpartition("#")[0]
    return whole if whole in labels and key not in labels else key


def _first(found: Candidates, n: int) -> Candidates:
    if len(found.ids) <= n:
        return found
    return Candidates.model_construct(ids=found.ids[:n], scores=found.scores[:n])


def _reranked(result: CaseResult, fused: list[str], depth: int) -> list[str] | None:
    """Put the pool in the reranker's order; None if it did not see all of the pool."""
    pool, rest = fused[:depth], fused[depth:]
    known = result.result.rerank_scores
    if not pool:
        return fused
    if known is None or not set(pool) <= set(known.ids):
        return None
    if None in known.scores:  # an order alone says nothing of another pool
        return [*known.ids, *rest] if set(pool) == set(known.ids) else None
    scores = dict(zip(known.ids, known.scores, strict=True))
    return [*sorted(pool, key=lambda key: (-(scores[key] or 0.0), key)), *rest]
