"""One figure under the rules of several tools, and which rule makes the difference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from evalnb.errors import BadInputError, NotFoundError
from evalnb.evaluation.report import AnyReport, CaseResult, EvaluationReport, record_of
from evalnb.gold.cases import GoldCase
from evalnb.measures.judgements import Judgements, ranked_ids, result_by_label
from evalnb.measures.names import Measure, parse_measure
from evalnb.measures.ranking import place, score_ranking
from evalnb.search.result import Kind
from evalnb.wording import near_names

OWN = "evalnb"


@dataclass(frozen=True, slots=True)
class Reading:
    """One value of the figure under one set of rules.

    Attributes
    ----------
    rule
        Whose rules, or which single rule is another one.
    value
        Null where the figure is undefined under them.
    because
        What these rules do otherwise; empty for evalnb's own.
    """

    rule: str
    value: float | None
    because: str = ""


@dataclass(frozen=True, slots=True)
class Placed:
    """One returned id, its rank, and its grade; null if nobody judged it."""

    rank: int
    id: str
    grade: int | None
    target: bool
    document: str | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """One case of one variant: the figure under every rule, and what it is made of.

    Attributes
    ----------
    readings
        evalnb's first.
    hits
        What was returned, down to the cutoff.
    missed
        Targets that were not.
    """

    variant: str
    measure: str
    kind: Kind
    readings: tuple[Reading, ...]
    hits: tuple[Placed, ...]
    missed: tuple[str, ...]


def explain_case(report: AnyReport, case_id: str, measure: str) -> tuple[Explanation, ...]:
    """Explain one measure of one case, for every variant that answered.

    Raises
    ------
    NotFoundError
        If the report has no such case.
    UnknownMeasureError, BadInputError
        If it is no measure, or none of a ranking.
    """
    report = record_of(report)
    known = {case.case_id: case for case in report.cases}
    if case_id not in known:
        raise NotFoundError(
            f"the report has no case {case_id!r}{near_names(case_id, known)}", where="case"
        )
    asked = parse_measure(measure)
    if not asked.ranked or asked.tokens:
        raise BadInputError(
            f"{asked} is no measure of a ranking", remedy="such as nDCG@10 or RR@10"
        )
    kinds = (asked.kind,) if asked.kind else report.kinds
    return tuple(
        _explained(_Ranked.of(report, known[case_id], result, kind), asked)
        for result in report.results
        if result.case_id == case_id and result.repetition == 0 and result.result.status == "ok"
        for kind in kinds
    )


@dataclass(frozen=True, slots=True)
class _Ranked:
    """One result as a ranking of one kind; ``raw`` still has its repeats."""

    variant: str
    case_id: str
    kind: Kind
    judged: Judgements
    ids: tuple[str, ...]
    raw: tuple[str, ...]
    documents: Mapping[str, str | None]
    limit: int

    @classmethod
    def of(
        cls, report: EvaluationReport, case: GoldCase, result: CaseResult, kind: Kind
    ) -> _Ranked:
        named = [
            (getattr(hit.ids, f"{kind}_id", None), hit)
            for hit in result_by_label(case, result.result).hits
        ]
        return cls(
            variant=result.variant,
            case_id=case.case_id,
            kind=kind,
            judged=report.judged(case, result.variant, kind),
            ids=ranked_ids(case, result.result, kind),
            raw=tuple(key for key, _ in named if key is not None),
            documents={key: hit.document_name for key, hit in named if key is not None},
            limit=result.controls.limit,
        )


def _explained(ranked: _Ranked, measure: Measure) -> Explanation:
    k = measure.k or ranked.limit
    targets = ranked.judged.targets(measure.rel)
    return Explanation(
        variant=ranked.variant,
        measure=str(measure),
        kind=ranked.kind,
        readings=tuple(_readings(measure, ranked, k)),
        hits=tuple(
            Placed(
                rank, key, ranked.judged.grades.get(key), key in targets, ranked.documents.get(key)
            )
            for rank, key in enumerate(ranked.ids[:k], start=1)
        ),
        missed=tuple(sorted(targets.difference(ranked.ids[:k]))),
    )


def _readings(measure: Measure, ranked: _Ranked, k: int) -> Iterator[Reading]:
    judged, ids = ranked.judged, ranked.ids

    def value(found: Sequence[str], m: Measure = measure, cut: int | None = k) -> float | None:
        return score_ranking(m, place(found, judged), judged, cut).value

    own = value(ids)
    yield Reading(OWN, own)
    flat = replace(judged, expected=frozenset())
    trec = score_ranking(measure, place(ids, flat), flat, k).value
    yield Reading("trec_eval", trec, "every id graded at the level or above is a target")
    if measure.name == "nDCG":
        if measure.dcg == "log2":
            exponential = value(ids, replace(measure, dcg="exp-log2"))
            yield Reading("exponential gain", exponential, "gains 2^grade - 1")
        else:
            yield Reading("linear gain", value(ids, replace(measure, dcg="log2")), "gains grade")
        uncut = value(ids[:k], measure, None)
        yield Reading("uncut ideal", uncut, f"the ideal is not cut at {k}")
    targets = len(judged.targets(measure.rel))
    if measure.name == "R" and targets > k and own is not None:
        because = f"divides by {k}, not by all {targets} targets"
        yield Reading("capped recall", own * targets / k, because)
    if measure.name == "P" and own is not None and 0 < len(ids) < k:
        because = f"divides by {len(ids)}, not by {k}"
        yield Reading("of what came back", own * k / len(ids), because)
    if ranked.case_id in ids:
        others = [key for key in ids if key != ranked.case_id]
        because = "leaves out the document named as the query"
        yield Reading("drop-self", value(others), because)
    if len(ids) < len(ranked.raw):
        repeats = len(ranked.raw) - len(ids)
        because = f"{repeats} of {len(ranked.raw)} hits repeat an id"
        yield Reading("repeats keep their rank", value(_spread(ranked.raw)), because)


def _spread(raw: Sequence[str]) -> list[str]:
    """Put a filler where an id comes again, so that what follows keeps its rank."""
    seen: set[str] = set()
    spread = []
    for rank, key in enumerate(raw):
        spread.append(f"\x00repeat {rank}" if key in seen else key)
        seen.add(key)
    return spread


def deciding(explanation: Explanation) -> tuple[Reading, ...]:
    """Return the readings that give another value than evalnb's."""
    own, *others = explanation.readings
    return tuple(
        reading
        for reading in others
        if (reading.value is None) != (own.value is None)
        or (
            reading.value is not None
            and own.value is not None
            and abs(reading.value - own.value) > 1e-9
        )
    )
