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

from evalnb.comparison.fused_lists import Floats, FusedLists, Ints, Settings
from evalnb.errors import BadInputError
from evalnb.evaluation.report import (
    AnyReport,
    CaseResult,
    EvaluationReport,
    check_variant,
    record_of,
)
from evalnb.measures.coded import CodedGold, CodedRankings, CodedScores, Flags
from evalnb.measures.judgements import Judgements, label_of, labelled_documents
from evalnb.measures.names import Measure, parse_measures
from evalnb.measures.ranking import Score, unavailable
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
    needs_live
        Why a case cannot be replayed, by case.
    """

    replay: Replay
    settings: Settings
    needs_live: Mapping[str, str]
    _codes: Ints

    @cached_property
    def rankings(self) -> Mapping[str, tuple[str, ...]]:
        """The ids that a live run would return, by case; without the cases of ``needs_live``."""
        return {
            case.case_id: tuple(self.replay.lists.ids(at, self._codes[at]))
            for at, case in enumerate(self.replay.cases)
            if case.case_id not in self.needs_live
        }

    def scores(self) -> dict[str, dict[str, Score]]:
        """Return every measure of every case: measure -> case -> score."""
        answered, columns = self._scored()
        live = f"{NEEDS_LIVE}: {{}}".format
        missing = {case: unavailable(live(why)) for case, why in self.needs_live.items()}
        cases = [case.case_id for case in self.replay.cases]
        found = {}
        for measure, column in columns.items():
            known = missing | dict(
                zip((cases[at] for at in answered), column.scores(), strict=True)
            )
            found[measure] = {case: known[case] for case in cases}
        return found

    def values(self) -> dict[str, Floats]:
        """Return every measure of every case; NaN where it has none; shape (cases,)."""
        answered, columns = self._scored()
        found = {measure: np.full(len(self.replay.cases), np.nan) for measure in columns}
        for measure, column in columns.items():
            found[measure][answered] = column.values
        return found

    def means(self) -> dict[str, float]:
        """Return the mean of every measure over the cases where it is defined."""
        defined = {measure: v[np.isfinite(v)] for measure, v in self.values().items()}
        return {measure: float(v.mean()) for measure, v in defined.items() if len(v)}

    def _scored(self) -> tuple[list[int], dict[str, CodedScores]]:
        """Score the cases that were replayed; also their positions."""
        replay = self.replay
        known = [case.case_id not in self.needs_live for case in replay.cases]
        answered = np.flatnonzero(known)
        rankings = replay.judged(answered, self._codes[answered])
        return answered.tolist(), {
            str(measure): rankings.score(measure, measure.k or self.settings.limit)
            for measure in replay.measures
        }

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
        check_variant(variant, records)
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
        self.lists = FusedLists([report.candidates(result) for result in self.results])
        self._live: dict[tuple[tuple[str, ...], int], dict[str, str]] = {}

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
        depth = settings.depth if settings.rerank else 0
        codes = self.lists.top(settings, max(settings.limit, depth))
        needs_live = dict(self._why_live(settings.channels, settings.pool))
        if settings.rerank:
            for at, result in enumerate(self.results):
                ids = reranked(result, self.lists.ids(at, codes[at]), depth)
                if ids is None:
                    needs_live.setdefault(result.case_id, "no rerank score")
                else:
                    self.lists.put(codes, at, ids)
        return Replayed(self, settings, needs_live, codes[:, : settings.limit])

    def _why_live(self, channels: tuple[str, ...], pool: int) -> dict[str, str]:
        """Say which cases these lists cannot stand for, and why."""
        if (channels, pool) not in self._live:
            found = ((r.case_id, _why_live(r, channels, pool)) for r in self.results)
            self._live[channels, pool] = {case: why for case, why in found if why is not None}
        return self._live[channels, pool]

    @cached_property
    def _judged(self) -> list[Judgements]:
        return [self.report.judged(case, self.variant, self.kind) for case in self.cases]

    @cached_property
    def _gold(self) -> CodedGold:
        return CodedGold(self._judged)

    @cached_property
    def _names(self) -> list[list[str]]:
        """What each candidate's document is called by each case's labels."""
        if self.kind == "unit":
            return self.lists.columns
        known = self.report.documents_by_id()
        return [
            [_label(key, known.get(key), labels) for key in ids]
            for ids, labels in zip(
                self.lists.columns, map(labelled_documents, self.cases), strict=True
            )
        ]

    @cached_property
    def _entries(self) -> tuple[Ints, Ints]:
        """Of each case's candidates the judgement, -1 if none, and the first of the same name.

        The last column stands for what is not there.
        """
        width = 1 + max(map(len, self._names))
        entries, firsts = np.full((2, len(self.cases), width), -1)
        for at, (names, judged) in enumerate(zip(self._names, self._judged, strict=True)):
            places = {key: self._gold.starts[at] + n for n, key in enumerate(judged.grades)}
            entries[at, : len(names)] = [places.get(key, -1) for key in names]
            first: dict[str, int] = {}
            firsts[at, : len(names)] = [first.setdefault(key, n) for n, key in enumerate(names)]
        return entries, firsts

    def judged(self, cases: Ints, codes: Ints) -> CodedRankings:
        """Find what is judged in one ranking for each of some cases."""
        entries, firsts = (table[cases[:, None], codes] for table in self._entries)
        found = (codes >= 0) & _is_first(firsts)
        hits = found & (entries >= 0)
        return CodedRankings.at_entries(
            self._gold,
            case=cases,
            n_ranked=found.sum(axis=1),
            row=np.nonzero(hits)[0],
            ranks=np.cumsum(found, axis=1, dtype=np.int64)[hits],
            entries=entries[hits],
        )

    def frame(self, replayed: Replayed, name: str) -> pd.DataFrame:
        """Return a scores frame; see :meth:`Replayed.frame`."""
        from evalnb.evaluation.frames import case_scores_frame

        cases = {case.case_id: case for case in self.cases}
        scores = replayed.scores()
        rows = (
            (name, cases[case_id], str(measure), measure.k or replayed.settings.limit, score)
            for measure in self.measures
            for case_id, score in scores[str(measure)].items()
        )
        return case_scores_frame(rows, kind=self.kind)


def _is_first(codes: Ints) -> Flags:
    """Say of each code whether it stands in its row for the first time."""
    order = np.argsort(codes, axis=1, kind="stable")
    ordered = np.take_along_axis(codes, order, axis=1)
    first = np.ones(codes.shape, np.bool_)
    np.put_along_axis(first, order[:, 1:], ordered[:, 1:] != ordered[:, :-1], axis=1)
    return first


def _why_live(result: CaseResult, channels: Sequence[str], pool: int) -> str | None:
    if result.result.status != "ok":
        return result.result.reason or "the search failed"
    if result.request.exact_identifiers:
        return "exact identifiers come first"
    recorded = max(result.controls.limit, result.controls.hints.candidates or DEFAULT_CANDIDATES)
    lists = (result.candidates[name] for name in channels if name in result.candidates)
    if pool > recorded and any(len(found.positions) >= recorded for found in lists):
        return "deeper candidates than were kept"
    return None


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
