"""Unjudged results: how far they could move a mean, and which to judge first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from evalnb.errors import BadInputError
from evalnb.evaluation.report import AnyReport, EvaluationReport, check_variant, record_of
from evalnb.gold.cases import GoldCase
from evalnb.measures.judgements import Judgements, ranked_ids
from evalnb.measures.names import Measure, parse_measure
from evalnb.measures.ranking import place, score_ranking
from evalnb.search.result import Kind


@dataclass(frozen=True, slots=True)
class Bounds:
    """The two ends that unjudged results leave a mean.

    Attributes
    ----------
    mean
        As reported: what nobody judged counts as not relevant.
    if_relevant
        The mean if every unjudged result down to the cutoff were relevant, at grade 1.
    n_unjudged
        Results without a judgement down to the cutoff, over all cases.
    """

    variant: str
    measure: str
    n: int
    mean: float
    if_relevant: float
    n_unjudged: int


@dataclass(frozen=True, slots=True)
class ToJudge:
    """One result that nobody judged.

    Attributes
    ----------
    effect
        By how much the difference between the candidate and the baseline would move, at most over
        the candidates, if it were relevant.
    ranks
        Its rank in each variant that returned it.
    """

    case_id: str
    query: str
    id: str
    effect: float
    ranks: Mapping[str, int]


def unjudged_bounds(report: AnyReport, measure: str) -> tuple[Bounds, ...]:
    """Bound every variant's mean of a measure by what its unjudged results could be.

    Raises
    ------
    UnknownMeasureError, BadInputError
        If it is no measure, or none of a ranking.
    """
    report = record_of(report)
    asked = _ranked(measure)
    found: dict[str, list[tuple[float, float, int]]] = defaultdict(list)
    for search in _searches(report, asked):
        none = search.value(())
        if none is None:
            continue
        every = search.value(search.unjudged)
        found[search.variant].append((none, none if every is None else every, len(search.unjudged)))
    return tuple(
        Bounds(
            variant,
            str(asked),
            n=len(rows),
            mean=sum(none for none, _, _ in rows) / len(rows),
            if_relevant=sum(every for _, every, _ in rows) / len(rows),
            n_unjudged=sum(n for _, _, n in rows),
        )
        for variant, rows in found.items()
    )


def judge_next(
    report: AnyReport, *, baseline: str, measure: str | None = None, n: int = 20
) -> tuple[ToJudge, ...]:
    """Order unjudged results by what judging them would do to the decision.

    A result that all variants return at one rank moves them alike and comes last, however high it
    stands.

    Raises
    ------
    NotFoundError
        If the baseline is no variant.
    BadInputError
        If ``n`` is negative.
    """
    report = record_of(report)
    if n < 0:
        raise BadInputError(f"n must not be negative, is {n}")
    names = [variant.name for variant in report.variants]
    check_variant(baseline, names, baseline=True)
    asked = _ranked(measure or next(iter(report.compared), "nDCG@10"))
    by_case: dict[str, dict[str, _Search]] = defaultdict(dict)
    for search in _searches(report, asked):
        by_case[search.case.case_id][search.variant] = search
    found = []
    for searches in by_case.values():
        holes = dict.fromkeys(key for search in searches.values() for key in search.unjudged)
        found += [_to_judge(key, searches, baseline) for key in holes]
    found.sort(key=lambda each: (-each.effect, each.case_id, each.id))
    return tuple(found[:n])


def _to_judge(key: str, searches: Mapping[str, _Search], baseline: str) -> ToJudge:
    moved = {name: search.moved_by(key) for name, search in searches.items()}
    base = moved.get(baseline, 0.0)
    case = next(iter(searches.values())).case
    ranks = {
        name: search.ids.index(key) + 1 for name, search in searches.items() if key in search.ids
    }
    effect = max((abs(each - base) for name, each in moved.items() if name != baseline), default=0)
    return ToJudge(case.case_id, case.request.query, key, round(effect, 12), ranks)


@dataclass(frozen=True, slots=True)
class _Search:
    """One result under one measure, with judgements that can be changed."""

    variant: str
    case: GoldCase
    measure: Measure
    judged: Judgements
    ids: tuple[str, ...]
    k: int

    @property
    def unjudged(self) -> tuple[str, ...]:
        return tuple(key for key in self.ids[: self.k] if key not in self.judged.grades)

    def value(self, relevant: Sequence[str]) -> float | None:
        """Return the measure if some unjudged ids were relevant; null where it is undefined."""
        judged = self.judged
        if relevant:
            grade = max(1, self.measure.rel)
            judged = replace(
                judged,
                grades={**judged.grades, **dict.fromkeys(relevant, grade)},
                expected=judged.expected | set(relevant) if judged.expected else frozenset(),
            )
        return score_ranking(self.measure, place(self.ids, judged), judged, self.k).value

    def moved_by(self, key: str) -> float:
        """Return by how much one judgement would move the value, wherever the id stands."""
        before, after = self.value(()), self.value((key,))
        return 0.0 if before is None or after is None else after - before


def _ranked(name: str) -> Measure:
    measure = parse_measure(name)
    if not measure.ranked or measure.tokens or measure.name == "Judged":
        raise BadInputError(f"{measure} does not change with judgements of a ranking")
    return measure


def _searches(report: EvaluationReport, measure: Measure) -> Iterator[_Search]:
    cases = {case.case_id: case for case in report.cases}
    kind: Kind | None = measure.kind or next(iter(report.kinds), None)
    if kind is None:
        return
    for result in report.results:
        if result.repetition == 0 and result.result.status == "ok":
            case = cases[result.case_id]
            judged = report.judged(case, result.variant, kind)
            ids = ranked_ids(case, result.result, kind)
            k = measure.k or result.controls.limit
            yield _Search(result.variant, case, measure, judged, ids, k)
