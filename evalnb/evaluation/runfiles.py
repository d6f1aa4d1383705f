"""Score run files against judgements: plain rows, no frames."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import Literal, NamedTuple

from evalnb.errors import BadInputError, NotEvaluatedError
from evalnb.evaluation.ranked_runs import load_qrels, rank_run
from evalnb.gold.trec import Qrels, Run
from evalnb.measures.judgements import Judgements
from evalnb.measures.names import Measure, parse_measures
from evalnb.measures.ranking import Placed, Score, Status
from evalnb.measures.ties import Spread, Tie, mean_spread, score_ties
from evalnb.wording import listed

DEFAULT_RUN_MEASURES = ("AP", "RR", "nDCG@10", "R@100", "P@10")
Profile = Literal["trec"]

# What trec_eval prints for a query without anything relevant.
_TREC_ZERO = Score(0.0, reason="undefined, scored as 0 by profile trec")


class RunScore(NamedTuple):
    """One measure of one judged query."""

    query: str
    measure: str
    k: int | None
    value: float | None
    numerator: float | None
    denominator: float | None
    status: Status
    reason: str | None


class RunMean(NamedTuple):
    """One measure over the queries where it is defined; null if there is none."""

    measure: str
    mean: float | None
    n: int
    n_undefined: int


@dataclass(frozen=True, slots=True)
class RunScores:
    """One run against one set of judgements.

    Attributes
    ----------
    rows
        Every judged query by every measure, in the order of the judgements.
    missing
        Judged queries that the run does not have; each counts as an empty ranking.
    unjudged
        Queries of the run without judgements; they are not scored.
    n_positions, n_tied
        Positions of the judged queries' rankings, and those that share their score with another:
        their order follows the ids, descending.
    n_rank_contradictions
        Rows whose rank column contradicts the scores; the column is not used.
    n_self
        Documents left out because their id is the query's.
    notes
        What was dropped or merged while the files were read.
    spreads, mean_spreads
        On request, what each of ``rows`` and ``means`` could be over the orders of equal scores.
    """

    run: str
    measures: tuple[str, ...]
    rows: tuple[RunScore, ...]
    means: tuple[RunMean, ...]
    missing: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    n_positions: int = 0
    n_tied: int = 0
    n_rank_contradictions: int = 0
    n_self: int = 0
    notes: tuple[str, ...] = ()
    spreads: tuple[Spread, ...] = ()
    mean_spreads: tuple[Spread, ...] = ()


def score_run(
    qrels: Qrels | Mapping[str, Mapping[str, int]] | str | Path,
    run: Run | Mapping[str, Mapping[str, float]] | str | Path,
    measures: Iterable[str] | None = None,
    *,
    level: int = 1,
    profile: Profile | None = None,
    drop_self: bool = False,
    ties: bool = False,
) -> RunScores:
    """Score one run.

    Parameters
    ----------
    qrels, run
        Files of TREC or ranx by path, or dicts of dicts: query to document to grade, or to score.
        A grade is a whole number, a score any finite real number; ids are text.
    measures
        Names in any spelling; without a cutoff, the whole list and the uncut ideal.
    level
        The relevance level of measures that have one and name none.
    profile
        ``trec`` scores as 0 what is undefined.
    drop_self
        Leave out a document whose id is the query's, as BEIR does.
    ties
        Also say the worst, expected and best score over all orders of equal scores.

    Raises
    ------
    GoldError
        For a file that is not what its format promises, with its line.
    BadInputError
        For a measure that a run file cannot carry, or a dict with something else than ids, whole
        grades and finite scores, naming query and document.
    NotEvaluatedError
        If judgements and run share no query, naming both sides.
    """
    wanted = run_measures(DEFAULT_RUN_MEASURES if measures is None else measures, level)
    judged = load_qrels(qrels)
    ranked = rank_run(run, judged, drop_self=drop_self)
    queries = ranked.queries
    check_shared(judged, queries, ranked.run.name)
    cases = [Judgements(grades) for grades in judged.grades.values()]
    placed = [ranked.place(*each) for each in zip(judged.grades, cases, strict=True)]
    columns = ranked.columns(wanted, cases, placed)
    rows = tuple(_rows(judged.grades, wanted, columns, profile))
    spreads: tuple[Spread, ...] = ()
    n_spread = len(wanted) if ties else 0
    if ties:
        groups = [ranked.ties(*each) for each in zip(judged.grades, placed, strict=True)]
        spreads = tuple(_spreads(wanted, zip(placed, groups, cases, strict=True), profile))
    return RunScores(
        run=ranked.run.name,
        measures=tuple(map(str, wanted)),
        rows=rows,
        means=run_means(rows, wanted),
        missing=tuple(query for query in judged.grades if query not in queries),
        unjudged=tuple(query for query in queries if query not in judged.grades),
        n_positions=ranked.n_positions,
        n_tied=ranked.n_tied,
        n_rank_contradictions=ranked.run.n_rank_contradictions,
        n_self=ranked.n_self,
        notes=tuple(dict.fromkeys((*judged.notes, *ranked.run.notes))),
        spreads=spreads,
        mean_spreads=tuple(mean_spread(spreads[n :: len(wanted)]) for n in range(n_spread)),
    )


def run_measures(names: Iterable[str], level: int) -> tuple[Measure, ...]:
    """Parse names of measures.

    Raises
    ------
    UnknownMeasureError, BadInputError
        For a name that is no measure, or one that a run file cannot carry.
    """
    parsed = parse_measures(*names)
    for measure in parsed:
        if not measure.ranked or measure.tokens or measure.kind not in (None, "document"):
            raise BadInputError(
                f"{measure} cannot be measured on a run file: it holds ranked document ids only",
                remedy="evaluate the system itself, or leave the measure out",
            )
    return tuple(dict.fromkeys(measure.at_level(level) for measure in parsed))


def check_shared(qrels: Qrels, queries: Collection[str], name: str) -> None:
    """Refuse a run that answers none of the judged queries.

    Raises
    ------
    NotEvaluatedError
        Naming both sides.
    """
    if qrels.grades.keys().isdisjoint(queries):
        raise NotEvaluatedError(
            f"no query is both judged and in the run: {len(qrels.grades)} judged "
            f"({listed(qrels.grades)}), {len(queries)} in the run ({listed(queries)})",
            where=name,
            remedy="the two files spell their query ids differently, or belong to different sets",
        )


def _rows(
    queries: Iterable[str],
    measures: Sequence[Measure],
    columns: Sequence[Sequence[Score]],
    profile: Profile | None,
) -> Iterator[RunScore]:
    named = [(str(measure), measure.k) for measure in measures]
    for query, *scores in zip(queries, *columns, strict=True):
        for (name, k), score in zip(named, scores, strict=True):
            zero = profile == "trec" and score.status == "undefined"
            yield RunScore(query, name, k, *(_TREC_ZERO if zero else score))


def _spreads(
    measures: Sequence[Measure],
    rankings: Iterable[tuple[Placed, Sequence[Tie], Judgements]],
    profile: Profile | None,
) -> Iterator[Spread]:
    for placed, ties, judged in rankings:
        for measure in measures:
            spread = score_ties(measure, placed, ties, judged, measure.k)
            zero = profile == "trec" and spread.best is None
            yield Spread(0.0, 0.0, 0.0) if zero else spread


def run_means(rows: Sequence[RunScore], measures: Sequence[Measure]) -> tuple[RunMean, ...]:
    """Average each measure over the queries where it is defined."""
    means = []
    for position, measure in enumerate(measures):
        column = rows[position :: len(measures)]
        values = [row.value for row in column if row.value is not None]
        mean = fsum(values) / len(values) if values else None
        means.append(RunMean(str(measure), mean, len(values), len(column) - len(values)))
    return tuple(means)
