"""Many runs in memory against one set of judgements, by any list of measures in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, repeat

import numpy as np

from evalnb.evaluation.ranked_runs import load_qrels
from evalnb.evaluation.runfiles import DEFAULT_RUN_MEASURES, check_shared, run_measures
from evalnb.gold.nested import run_from_dict
from evalnb.gold.trec import Qrels, rank_documents
from evalnb.measures.coded import CodedGold, CodedRankings, Flags, Floats, Ints
from evalnb.measures.judgements import Judgements

Scores = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, eq=False)
class RunTable:
    """Runs by judged queries by measures.

    Attributes
    ----------
    runs, queries, measures
        The names along each axis.
    values
        NaN where a measure is undefined; shape (runs, queries, measures).
    """

    runs: tuple[str, ...]
    queries: tuple[str, ...]
    measures: tuple[str, ...]
    values: Floats

    def means(self) -> Floats:
        """Return means over the queries where a measure is defined; shape (runs, measures)."""
        n = np.isfinite(self.values).sum(axis=1)
        means: Floats = np.nansum(self.values, axis=1) / np.where(n, n, np.nan)
        return means


def score_runs(
    qrels: Qrels | Mapping[str, Mapping[str, int]],
    runs: Mapping[str, Scores],
    measures: Iterable[str] = DEFAULT_RUN_MEASURES,
    *,
    level: int = 1,
) -> RunTable:
    """Score many runs, each of them query to document to score.

    A query that a run does not have counts as an empty ranking; queries without judgements are
    left out. Documents are ordered by score, then by id, both descending.

    Parameters
    ----------
    qrels, measures, level
        As for :func:`~evalnb.evaluation.runfiles.score_run`.
    runs
        By name.

    Raises
    ------
    BadInputError, NotEvaluatedError
        As :func:`~evalnb.evaluation.runfiles.score_run`.

    Examples
    --------
    >>> runs = {"a": {"q": {"d1": 2.0, "d2": 1.0}}, "b": {"q": {"d1": 1.0, "d2": 2.0}}}
    >>> score_runs({"q": {"d1": 1}}, runs, ["RR", "P@2"]).values.tolist()
    [[[1.0, 0.5]], [[0.5, 0.5]]]
    """
    wanted = run_measures(measures, level)
    judgements = load_qrels(qrels)
    grades = judgements.grades
    gold = CodedGold([Judgements(judged) for judged in grades.values()])
    plain = {name: _checked(run, judgements, name) for name, run in runs.items()}
    found = _rankings(gold, grades, plain)
    values = [found.score(measure, measure.k).values for measure in wanted]
    shape = (len(plain), len(grades), len(wanted))
    table = np.stack(values, axis=-1).reshape(shape)
    return RunTable(tuple(plain), tuple(grades), tuple(map(str, wanted)), table)


def _checked(run: Scores, qrels: Qrels, name: str) -> Scores:
    """Check a run, one by one only if its types are not the plainest."""
    check_shared(qrels, run, name)
    rows = run.values()
    plain = set(map(type, rows)) <= {dict}
    if plain and set(map(type, chain(run, set().union(*rows)))) == {str}:
        kinds = set(map(type, chain.from_iterable(row.values() for row in rows)))
        if kinds <= {float}:
            return run
    return run_from_dict(run, name=name).scores


def _rankings(
    gold: CodedGold, grades: Mapping[str, Mapping[str, int]], runs: Mapping[str, Scores]
) -> CodedRankings:
    """Rank every query of every run, and find the judged documents."""
    starts = gold.starts.tolist()
    entries = [
        {key: start + at for at, key in enumerate(judged)}
        for start, judged in zip(starts, grades.values(), strict=False)
    ]
    none: Mapping[str, float] = {}
    rows = [run.get(query, none) for run in runs.values() for query in grades]
    sizes = np.array([len(row) for row in rows], np.int64)
    n = int(sizes.sum())
    scores = np.fromiter(chain.from_iterable(row.values() for row in rows), np.float64, n)
    if not np.isfinite(scores).all():
        for name, run in runs.items():
            run_from_dict(run, name=name)  # says which one is none
    indexes = chain.from_iterable(repeat(entries, len(runs)))
    known = (map(index.get, row, repeat(-1)) for index, row in zip(indexes, rows, strict=True))
    places = np.fromiter(chain.from_iterable(known), np.int64, n)
    begins = np.cumsum(sizes) - sizes
    row_of = np.repeat(np.arange(len(rows)), sizes)
    places, tied = _ordered(places, scores, row_of)
    for at in np.unique(row_of[:-1][tied]).tolist():
        index = entries[at % len(entries)]
        places[begins[at] : begins[at] + sizes[at]] = [
            index.get(key, -1) for key in rank_documents(rows[at])
        ]
    judged = np.flatnonzero(places >= 0)
    at_row = row_of[judged]
    return CodedRankings.at_entries(
        gold,
        case=np.tile(np.arange(len(gold)), len(runs)),
        n_ranked=sizes,
        row=at_row,
        ranks=judged - begins[at_row] + 1,
        entries=places[judged],
    )


def _ordered(places: Ints, scores: Floats, row: Ints) -> tuple[Ints, Flags]:
    """Bring places into the order of the scores, and say which share theirs with the next."""
    inside = row[1:] == row[:-1]
    if (inside & (scores[1:] > scores[:-1])).any():
        order = np.lexsort((-scores, row))
        places, scores = places[order], scores[order]
    return places, inside & (scores[1:] == scores[:-1])
