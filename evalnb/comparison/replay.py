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
from pydantic import ValidationError

from evalnb.comparison.fused_lists import FusedLists, Settings
from evalnb.errors import BadInputError, NotFoundError
from evalnb.evaluation.report import AnyReport, CaseResult, EvaluationReport, record_of
from evalnb.measures.judgements import Judgements, label_of, labelled_documents
from evalnb.measures.names import Measure, parse_measures
from evalnb.measures.ranking import Score, place, score_ranking, unavailable
from evalnb.search.fusion import (
    DEFAULT_CANDIDATES,
    fuse,
)
from evalnb.search.request import Hints, Overrides
from evalnb.search.result import Candidates, Kind
from evalnb.strict_json import describe_validation_error
from evalnb.wording import listed

if TYPE_CHECKING:
    import pandas as pd

REPLAYED_HINTS = frozenset(
    {"fusion", "rrf_k", "weights", "normalisation", "candidates", "rerank_depth"}
)
NEEDS_LIVE = "needs live search"


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
        report: AnyReport,
        variant: str,
        *,
        measures: Sequence[str] | None = None,
        kind: Kind | None = None,
    ) -> None:
        report = record_of(report)
        records = {record.name: record for record in report.variants}
        if variant not in records:
            raise NotFoundError(
                f"there is no variant {variant!r}", remedy=f"variants: {', '.join(records)}"
            )
        self.report = report
        self.variant = variant
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
        self._lists = FusedLists([report.candidates(result) for result in self.results])

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
            If they change anything but channels, fusion, candidates, reranking and limit, or
            name a channel that was not searched.
        """
        try:
            chosen = Overrides.model_validate(overrides)
        except ValidationError as error:
            raise BadInputError(describe_validation_error(error)) from None
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
        if missing := sorted(set(hints.weights or ()) - set(self.channels)):
            raise BadInputError(
                f"weights name {missing[0]!r}, which was not searched",
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
        for result, fused in zip(self.results, self._lists.top(settings, wanted), strict=True):
            why = self._why_live(result, settings)
            ids = reranked(result, fused, settings.depth) if settings.rerank else fused
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

    @cached_property
    def _judged(self) -> list[Judgements]:
        return [self.report.judged(case, self.variant, self.kind) for case in self.cases]

    @cached_property
    def _labels(self) -> Sequence[Mapping[str, str]]:
        """What each candidate's document is called by each case's labels."""
        if self.kind == "unit":
            return [{}] * len(self.cases)
        known = self.report.documents_by_id()
        found = []
        for case, ids in zip(self.cases, self._lists.columns, strict=True):
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


def reranked(result: CaseResult, fused: list[str], depth: int) -> list[str] | None:
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
