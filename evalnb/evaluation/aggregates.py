"""Means over cases, each beside its counts: section 7 of the measures' specification."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import fsum

from evalnb.evaluation.report import AggregateRow, CaseResult
from evalnb.gold.cases import GoldCase
from evalnb.measures.names import parse_measure
from evalnb.measures.scoring import ScoreRow, Status

_WORST: dict[Status, int] = {"ok": 0, "undefined": 1, "unavailable": 2}
# Measures of evidence are also summed over all cases: every span or locator then counts alike.
MICRO = frozenset(
    {
        "SpanCompleteness",
        "LocatorValidity",
        "ForbiddenLeakage",
        "ForbiddenCandidates",
        "PathP",
        "PathR",
        "EdgeP",
        "ReferenceResolution",
    }
)
_Key = tuple[str, str, int | None, str | None]


@dataclass(frozen=True, slots=True)
class CaseScore:
    """One measure of one case, its repetitions averaged; ok only if all of them are."""

    case: GoldCase
    status: Status
    value: float
    numerator: float
    denominator: float


def aggregate(
    cases: tuple[GoldCase, ...], results: tuple[CaseResult, ...]
) -> tuple[AggregateRow, ...]:
    """Aggregate every variant, measure and slice."""
    by_id = {case.case_id: case for case in cases}
    rows: dict[_Key, dict[str, list[ScoreRow]]] = defaultdict(lambda: defaultdict(list))
    notes: dict[_Key, Counter[str]] = defaultdict(Counter)
    for result in results:
        for score in result.scores:
            key = (result.variant, score.measure, score.k, score.kind)
            rows[key][result.case_id].append(score)
            if score.status == "ok" and score.reason:
                notes[key][score.reason] += 1
    slices = {case.case_id: tuple(slices_of(case)) for case in cases}
    found = []
    for key, per_case in rows.items():
        scores = [average(by_id[case_id], given) for case_id, given in per_case.items()]
        n_searches = sum(map(len, per_case.values()))
        note = _note(notes[key], n_searches) if key[1] not in MICRO else ""
        note = "; ".join(filter(None, [note, _wavering(per_case.values())]))
        for name, members in _sliced(scores, slices):
            found.append(_row(key, name, members, note))
    return tuple(found)


def average(case: GoldCase, repetitions: list[ScoreRow]) -> CaseScore:
    """Average a case's repetitions; it takes the worst status among them."""
    n = len(repetitions)
    if n == 1:
        only = repetitions[0]
        return CaseScore(
            case, only.status, only.value or 0.0, only.numerator or 0.0, only.denominator or 0.0
        )
    status = max((row.status for row in repetitions), key=_WORST.__getitem__)
    if status != "ok":
        return CaseScore(case, status, 0.0, 0.0, 0.0)
    return CaseScore(
        case,
        status,
        fsum(row.value or 0.0 for row in repetitions) / n,
        fsum(row.numerator or 0.0 for row in repetitions) / n,
        fsum(row.denominator or 0.0 for row in repetitions) / n,
    )


def slices_of(case: GoldCase) -> Iterator[str]:
    """Name the slices that a case belongs to; slices carry no verdict."""
    yield "all"
    if case.intent:
        yield f"intent={case.intent}"
    if case.language:
        yield f"language={case.language}"
    for key, value in sorted(case.tags.items()):
        yield f"tag:{key}={value}"


def _note(reasons: Counter[str], n_searches: int) -> str:
    """Repeat what the scores note, with how many searches it concerns unless it is all."""
    return "; ".join(
        reason if n == n_searches else f"{reason} in {n} of {n_searches} searches"
        for reason, n in sorted(reasons.items())
    )


def _wavering(cases: Iterable[list[ScoreRow]]) -> str:
    """Say how far repetitions differ: in how many cases, and their means over the ok cases."""
    ok = [rows for rows in cases if all(row.status == "ok" for row in rows)]
    differing = sum(len({row.value for row in rows}) > 1 for rows in ok)
    if not differing:
        return ""
    by_repetition: dict[int, list[float]] = defaultdict(list)
    for rows in ok:
        for repetition, row in enumerate(rows):
            by_repetition[repetition].append(row.value or 0.0)
    means = [fsum(values) / len(values) for values in by_repetition.values()]
    return (
        f"repetitions differ in {differing} of {len(ok)} cases, their means from "
        f"{min(means):.3g} to {max(means):.3g}"
    )


def _sliced(
    scores: list[CaseScore], slices: dict[str, tuple[str, ...]]
) -> Iterable[tuple[str, list[CaseScore]]]:
    members: dict[str, list[CaseScore]] = defaultdict(list)
    for score in scores:
        for name in slices[score.case.case_id]:
            members[name].append(score)
    return sorted(members.items(), key=lambda item: (item[0] != "all", item[0]))


def _row(key: _Key, name: str, scores: list[CaseScore], note: str) -> AggregateRow:
    variant, measure, k, kind = key
    ok = [score for score in scores if score.status == "ok"]
    n_unavailable = sum(score.status == "unavailable" for score in scores)
    tried = len(ok) + n_unavailable
    total = fsum(score.value for score in ok)
    weights = [score.case.weight for score in ok]
    denominator = fsum(score.denominator for score in ok)
    higher = parse_measure(measure).higher_is_better
    return AggregateRow(
        variant=variant,
        slice=name,
        measure=measure,
        k=k,
        kind=kind,
        n=len(ok),
        n_undefined=len(scores) - tried,
        n_unavailable=n_unavailable,
        mean=total / len(ok) if ok else None,
        weighted_mean=(
            fsum(w * s.value for w, s in zip(weights, ok, strict=True)) / fsum(weights)
            if ok and any(weight != 1.0 for weight in weights)
            else None
        ),
        micro=(
            fsum(score.numerator for score in ok) / denominator
            if measure.partition("@")[0] in MICRO and denominator
            else None
        ),
        success_rate=len(ok) / tried if tried else None,
        # A failure counted as 0 would be the best value of a lower-is-better measure.
        mean_failed_zero=total / tried if tried and higher else None,
        note=note,
    )
