"""One case's scores, as the report keeps them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate

from evalnb.gold.cases import GoldCase
from evalnb.measures import evidence
from evalnb.measures.content import match_content
from evalnb.measures.judgements import (
    Judgements,
    judgements,
    ranking,
    result_by_label,
    target_kinds,
)
from evalnb.measures.locators import NO_BINDINGS, locator_validity
from evalnb.measures.names import Measure, parse_measures
from evalnb.measures.ranking import (
    NO_GOLD,
    NOT_ENUMERATED,
    NOTHING_MATCHES,
    Placed,
    Score,
    Status,
    place,
    score_ranking,
    unavailable,
)
from evalnb.search.request import Finite, Record
from evalnb.search.result import Hit, Kind, QueryResult
from evalnb.search.system import Extraction

__all__ = [
    "Column",
    "ScoreRow",
    "ScoringPlan",
    "Status",
    "duplicates_dropped",
    "plan_scoring",
    "score_result",
]

_TOKEN = re.compile(r"\w+|[^\w\s]")
_EMPTY = Placed(0, (), (), ())
# Undefined whatever a search returns, so also if it fails.
_IN_ANY_CASE = frozenset({NO_GOLD, NOT_ENUMERATED, NOTHING_MATCHES, NO_BINDINGS})


class ScoreRow(Record):
    """One measure of one case.

    ``value`` is null unless ``status`` is ``ok``. ``numerator`` and ``denominator`` are what the
    value was divided from; ``k`` is null for measures without a cutoff or with a token budget.
    ``reason`` says why a value is missing; beside one it is a note.
    """

    measure: str
    k: int | None = None
    kind: str | None = None
    value: Finite | None = None
    numerator: Finite | None = None
    denominator: Finite | None = None
    status: Status
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """One row of every scored result: a measure, and the kind of id that it ranks."""

    measure: Measure
    kind: Kind | None
    name: str


@dataclass(frozen=True, slots=True)
class ScoringPlan:
    """What is measured of every case of a data set, decided once.

    Attributes
    ----------
    measures
        The measures asked for.
    kinds
        The kinds that a measure without a prefix reads; empty if no case is labelled.
    columns
        The rows that every result gets, in order.
    """

    measures: tuple[Measure, ...]
    kinds: tuple[Kind, ...]
    columns: tuple[Column, ...]
    _judged: dict[tuple[str, Kind, frozenset[str] | None], tuple[GoldCase, Judgements]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def judged(
        self, case: GoldCase, kind: Kind, content_units: frozenset[str] | None
    ) -> Judgements:
        """Return a case's judgements of one kind; they are collected once."""
        key = (case.case_id, kind, content_units if case.content else None)
        found = self._judged.get(key)
        if found is None or found[0] is not case:
            found = (case, judgements(case, kind, content_units))
            self._judged[key] = found
        return found[1]


def plan_scoring(cases: Iterable[GoldCase], measure_names: Iterable[str]) -> ScoringPlan:
    """Decide what is measured: the measures, their kinds, the rows of every result.

    Parameters
    ----------
    cases
        Every case of the data set that is evaluated: the target kind is chosen over all of them.
    measure_names
        Names in any spelling.

    Raises
    ------
    UnknownMeasureError, BadInputError
        For a name that is no measure, or asks of one what it does not take.
    """
    cases = tuple(cases)
    measures, kinds = parse_measures(*measure_names), target_kinds(cases)
    wanted = list(measures)
    if Measure("ForbiddenLeakage") in measures and any(map(_has_forbidden, cases)):
        wanted.append(Measure("ForbiddenCandidates"))
    columns = [
        Column(measure, kind, str(measure))
        for measure in dict.fromkeys(wanted)
        for kind in _kinds_of(measure, kinds)
    ]
    return ScoringPlan(measures, kinds, tuple(columns))


def _has_forbidden(case: GoldCase) -> bool:
    return any(case.forbidden.__dict__.values())


def _kinds_of(measure: Measure, targets: tuple[Kind, ...]) -> tuple[Kind | None, ...]:
    if not measure.ranked:
        return (None,)
    return (measure.kind,) if measure.kind else targets or (None,)


def score_result(
    case: GoldCase,
    result: QueryResult,
    plan: ScoringPlan,
    *,
    limit: int,
    content_units: frozenset[str] | None = None,
    extractions: Mapping[str, Extraction] | None = None,
    kinds: Collection[Kind] = (),
) -> tuple[ScoreRow, ...]:
    """Score one result by every measure of the plan.

    Parameters
    ----------
    case, result
        The gold case and what one search returned for it.
    plan
        What is measured.
    limit
        The variant's limit: the cutoff of measures that name none.
    content_units
        The units of the pinned corpus that match the case's content; None if the system's units
        cannot be enumerated.
    extractions
        The extraction that owns each returned unit or asset id; None without bindings.
    kinds
        The kinds of id that the system declares its hits to carry; empty if that is known only
        from what it returns.

    Returns
    -------
    tuple of ScoreRow
        One for each column of the plan. A failed search is unavailable with its reason, but
        undefined where the gold gives nothing to measure. A kind, text or span that the system
        does not return is unavailable, never 0; an empty list is ok and 0.
    """
    scorer = _Scorer(case, result, plan, limit, content_units, extractions, kinds)
    failed = None if result.status == "ok" else unavailable(result.reason or "the search failed")
    rows = []
    for column in plan.columns:
        score, k = scorer.score(column)
        if failed is not None and score not in _IN_ANY_CASE:
            score = failed
        rows.append(_row(column.name, k, column.kind, score))
    return tuple(rows)


def duplicates_dropped(result: QueryResult, plan: ScoringPlan) -> int:
    """Count the later occurrences of an id that the plan's rankings leave out; the most of them."""
    dropped = (ranking(result, kind).duplicates_dropped for kind in plan.kinds)
    return max(dropped, default=0)


@lru_cache(maxsize=4096)  # a few values make most rows, and a row is immutable
def _row(name: str, k: int | None, kind: Kind | None, score: Score) -> ScoreRow:
    return ScoreRow.model_validate({"measure": name, "k": k, "kind": kind, **score._asdict()})


@dataclass(slots=True)
class _Scorer:
    """One result under one plan; what several measures need is worked out once."""

    case: GoldCase
    returned: QueryResult
    plan: ScoringPlan
    limit: int
    content_units: frozenset[str] | None
    extractions: Mapping[str, Extraction] | None
    kinds: Collection[Kind]
    result: QueryResult = field(init=False)
    _placed: dict[tuple[Kind, int | None], tuple[Judgements, Placed | Score]] = field(
        default_factory=dict
    )

    def __post_init__(self) -> None:
        self.result = result_by_label(self.case, self.returned)

    def score(self, column: Column) -> tuple[Score, int | None]:
        """Score one column; also the cutoff that its row carries."""
        measure = column.measure
        if not measure.ranked:
            return self._evidence(measure), None
        k = measure.k
        if k is None and measure.family.cutoff and not measure.tokens:
            k = self.limit
        if column.kind is None:
            return NO_GOLD, k
        key = (column.kind, measure.tokens)
        if key not in self._placed:
            judged = self.plan.judged(self.case, column.kind, self.content_units)
            self._placed[key] = (judged, self._place(column.kind, judged, measure.tokens))
        judged, placed = self._placed[key]
        if isinstance(placed, Score):
            gold = score_ranking(measure, _EMPTY, judged, k)
            return (gold if gold in _IN_ANY_CASE else placed), k
        score = score_ranking(measure, placed, judged, k)
        if score.status == "ok":
            if measure.tokens:
                score = self._noted(score, measure.tokens)
            elif k is not None and k > self.limit:
                score = score._replace(reason=f"the limit {self.limit} is below the cutoff")
        return score, k

    def _evidence(self, measure: Measure) -> Score:
        result = self.result
        if measure.tokens and self.case.spans:
            hits = _within(result.hits, measure.tokens)
            if isinstance(hits, Score):
                return hits
            result = result.model_copy(update={"hits": hits})
        score = _EVIDENCE[measure.name](self, result)
        if measure.tokens and score.status == "ok":
            return self._noted(score, measure.tokens)
        return score

    def _place(self, kind: Kind, judged: Judgements, tokens: int | None) -> Placed | Score:
        """Find the judged ids in the result, or say what the system does not return."""
        result = self.result
        if tokens is not None:
            hits = _within(result.hits, tokens)
            if isinstance(hits, Score):
                return hits
            result = result.model_copy(update={"hits": hits})
        if not judged.enumerated:
            return self._place_content(result.hits, judged)
        ids = ranking(result, kind).ids
        if not ids and kind not in self.kinds:
            if self.kinds:
                return unavailable(f"the system returns no {kind}_id")
            if result.hits:
                return unavailable(f"no hit carries {kind}_id")
        return place(ids, judged)

    def _place_content(self, hits: tuple[Hit, ...], judged: Judgements) -> Placed | Score:
        """Match the hits themselves, where the units of the corpus cannot be enumerated."""
        needs_name = any(entry.document is not None for entry in self.case.content)
        needs_text = any(entry.content_contains for entry in self.case.content)
        if hits and needs_text and all(hit.text is None for hit in hits):
            return unavailable("no hit carries text; return each id with its text")
        if hits and needs_name and all(hit.document_name is None for hit in hits):
            return unavailable("no hit carries document_name")
        distinct, targets = _distinct(hits), judged.targets()
        ranks = [
            rank
            for rank, hit in enumerate(distinct, start=1)
            if hit.ids.unit_id in targets
            or match_content(self.case, hit.document_name, hit.text) is not None
        ]
        return Placed(len(distinct), ranks, [1] * len(ranks), [True] * len(ranks))

    def _noted(self, score: Score, tokens: int) -> Score:
        used = sum(_count_tokens(hit.text or "") for hit in _distinct(self.result.hits))
        if used >= tokens:
            return score
        return score._replace(reason=f"the limit {self.limit} ends before the token budget")


def _distinct(hits: Iterable[Hit]) -> list[Hit]:
    """Drop a unit's later hits; a hit without a unit id is its own."""
    found: dict[str | int, Hit] = {}
    for position, hit in enumerate(hits):
        key = hit.ids.unit_id
        found.setdefault(position if key is None else key, hit)
    return list(found.values())


def _within(hits: tuple[Hit, ...], tokens: int) -> tuple[Hit, ...] | Score:
    """Return the longest prefix of the distinct hits whose texts fit a budget of tokens."""
    if hits and all(hit.text is None for hit in hits):
        return unavailable("no hit carries text; return each id with its text")
    distinct = _distinct(hits)
    used = accumulate(_count_tokens(hit.text or "") for hit in distinct)
    return tuple(distinct[: sum(total <= tokens for total in used)])


def _count_tokens(text: str) -> int:
    return sum(1 for _ in _TOKEN.finditer(text))


_EVIDENCE: dict[str, Callable[[_Scorer, QueryResult], Score]] = {
    "SpanCompleteness": lambda s, result: evidence.span_completeness(s.case, result, s.extractions),
    # Verified against what the system itself said, not against the labels' names for it.
    "LocatorValidity": lambda s, _: locator_validity(s.returned, s.extractions),
    "ForbiddenLeakage": lambda s, result: evidence.forbidden_leakage(
        s.case, result, s.extractions, s.kinds
    ),
    "ForbiddenCandidates": lambda s, result: evidence.forbidden_candidates(
        s.case, result, s.extractions
    ),
    "PathP": lambda s, result: evidence.path_precision(s.case, result),
    "PathR": lambda s, result: evidence.path_recall(s.case, result),
    "EdgeP": lambda s, result: evidence.edge_precision(s.case, result),
    "ReferenceResolution": lambda s, result: evidence.reference_resolution(s.case, result),
}
