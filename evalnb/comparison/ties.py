"""What a report's means could be, had a system ordered hits of equal scores otherwise."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from evalnb.errors import BadInputError
from evalnb.evaluation.report import AnyReport, record_of
from evalnb.measures.judgements import ranked_ids
from evalnb.measures.names import parse_measure
from evalnb.measures.ranking import place
from evalnb.measures.ties import Spread, mean_spread, score_ties, tied_groups


@dataclass(frozen=True, slots=True)
class TiedMean:
    """One variant's mean over all orders of hits with equal scores.

    Attributes
    ----------
    n, n_tied
        Cases where the measure is defined, and those among them that hold hits of equal scores.
    spread
        The mean of the worst, the expected and the best value of each case.
    """

    variant: str
    measure: str
    n: int
    n_tied: int
    spread: Spread


def tied_means(report: AnyReport, measure: str) -> tuple[TiedMean, ...]:
    """Say what the mean of each variant could be, had it ordered hits of equal scores otherwise.

    Only hits that follow each other with the very same score are tied; a hit without a score ties
    with none. What the limit cut off is not known: a tie that it divides counts as it was returned.

    Raises
    ------
    UnknownMeasureError, BadInputError
        If it is no measure, or none of a ranking.
    """
    report, asked = record_of(report), parse_measure(measure)
    if not asked.ranked or asked.tokens:
        raise BadInputError(f"{asked} reads no ranking, so ties do not touch it")
    kind = asked.kind or next(iter(report.kinds), None)
    cases = {case.case_id: case for case in report.cases}
    spreads: dict[str, list[Spread]] = defaultdict(list)
    n_tied: dict[str, int] = defaultdict(int)
    for found in report.results:
        if kind is None or found.repetition or found.result.status != "ok":
            continue
        case, result = cases[found.case_id], found.result
        judged = report.judged(case, found.variant, kind)
        scores: dict[str, float | None] = {}
        for hit in result.hits:
            alone = result.model_copy(update={"hits": (hit,)})
            for key in ranked_ids(case, alone, kind):
                scores.setdefault(key, hit.score)
        placed, groups = place(list(scores), judged), tied_groups(scores.values())
        ties = [groups[rank - 1] for rank in placed.ranks]
        spread = score_ties(asked, placed, ties, judged, asked.k or found.controls.limit)
        if spread.best is not None:
            spreads[found.variant].append(spread)
            n_tied[found.variant] += any(tie.size > 1 for tie in groups)
    return tuple(
        TiedMean(
            variant,
            str(asked),
            n=len(rows),
            n_tied=n_tied[variant],
            spread=mean_spread(rows),
        )
        for variant, rows in spreads.items()
    )
