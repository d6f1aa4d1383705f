"""Score run files against judgements: plain rows, no frames."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from evalnb.errors import BadInputError, NotEvaluatedError
from evalnb.gold.nested import qrels_from_dict, read_qrels, read_run, run_from_dict
from evalnb.gold.trec import Qrels, Run, rank_documents
from evalnb.measures.judgements import Judgements
from evalnb.measures.names import Measure, parse_measures
from evalnb.measures.ranking import Placed, Score, Status, place, placed_at, score_ranking
from evalnb.wording import listed, shown

if TYPE_CHECKING:
    from evalnb.gold.trec_scan import Scan

DEFAULT_RUN_MEASURES = ("AP", "RR", "nDCG@10", "R@100", "P@10")
Profile = Literal["trec"]
LARGE_RUN = 2 * 1024 * 1024  # bytes from which reading by columns pays for loading numpy

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


def score_run(
    qrels: Qrels | Mapping[str, Mapping[str, int]] | str | Path,
    run: Run | Mapping[str, Mapping[str, float]] | str | Path,
    measures: Iterable[str] | None = None,
    *,
    level: int = 1,
    profile: Profile | None = None,
    drop_self: bool = False,
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
    ranked = _ranked(run, judged, drop_self=drop_self)
    queries = ranked.queries
    check_shared(judged, queries, ranked.run.name)
    cases = [Judgements(grades) for grades in judged.grades.values()]
    placed = [ranked.place(*each) for each in zip(judged.grades, cases, strict=True)]
    columns = ranked.columns(wanted, cases, placed)
    rows = tuple(_rows(judged.grades, wanted, columns, profile))
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
    )


def load_qrels(qrels: Qrels | Mapping[str, Mapping[str, int]] | str | Path) -> Qrels:
    """Read judgements from a file, or check those of a dict.

    Raises
    ------
    GoldError, BadInputError
        As :func:`score_run`.
    """
    if isinstance(qrels, Qrels):
        return qrels
    if isinstance(qrels, Mapping):
        return qrels_from_dict(qrels)
    return read_qrels(_file(qrels, "qrels"))


def load_run(run: Run | Mapping[str, Mapping[str, float]] | str | Path) -> Run:
    """Read a run from a file, or check that of a dict.

    Raises
    ------
    GoldError, BadInputError
        As :func:`score_run`.
    """
    if isinstance(run, Run):
        return run
    if isinstance(run, Mapping):
        return run_from_dict(run)
    return read_run(_file(run, "run"))


def _file(given: object, what: str) -> Path:
    if not isinstance(given, str | Path):
        raise BadInputError(
            f"{what} is {shown(given)}, expected a path or a dict of dicts",
            remedy="such as {'q1': {'d1': 1}}",
        )
    return Path(given)


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


@dataclass(slots=True)
class _Ranked:
    """The rankings of a run, with counts of what a reader ought to know about them."""

    run: Run
    drop_self: bool
    n_positions: int = 0
    n_tied: int = 0
    n_self: int = 0

    @property
    def queries(self) -> Collection[str]:
        """The query ids of the run."""
        return self.run.scores

    def place(self, query: str, judged: Judgements) -> Placed:
        """Rank one query's documents and find the judged ones."""
        scores = self.run.scores.get(query, {})
        counts = Counter(scores.values())
        self.n_positions += len(scores)
        self.n_tied += sum(n for n in counts.values() if n > 1)
        ids = rank_documents(scores)
        if self.drop_self and query in scores:
            ids.remove(query)
            self.n_self += 1
        return place(ids, judged)

    @staticmethod
    def columns(
        measures: Sequence[Measure], judged: Sequence[Judgements], placed: Sequence[Placed]
    ) -> list[list[Score]]:
        """Score every ranking by every measure; one by one, since numpy takes longer to load."""
        pairs = list(zip(placed, judged, strict=True))
        return [[score_ranking(m, *pair, m.k) for pair in pairs] for m in measures]


@dataclass(slots=True)
class _Scanned:
    """The same of a large run file, whose rows were never read one by one."""

    run: Scan
    drop_self: bool
    n_positions: int = 0
    n_self: int = 0

    @property
    def queries(self) -> Collection[str]:
        """The query ids of the run."""
        return self.run.n_ranked

    @property
    def n_tied(self) -> int:
        """Positions that share their score with another."""
        return self.run.n_tied

    def place(self, query: str, judged: Judgements) -> Placed:
        """Take one query's judged documents."""
        n_ranked, found = self.run.n_ranked.get(query, 0), self.run.found.get(query, [])
        self.n_positions += n_ranked
        own = self.run.self_ranks.get(query) if self.drop_self else None
        if own is not None:
            n_ranked -= 1
            self.n_self += 1
            found = [(rank - (rank > own), key) for rank, key in found if key != query]
        return placed_at(n_ranked, [rank for rank, _ in found], [key for _, key in found], judged)

    @staticmethod
    def columns(
        measures: Sequence[Measure], judged: Sequence[Judgements], placed: Sequence[Placed]
    ) -> list[list[Score]]:
        """Score every ranking by every measure, all at once."""
        from evalnb.measures.coded import CodedGold, code_rankings

        rankings = code_rankings(CodedGold(judged), placed)
        return [rankings.score(measure, measure.k).scores() for measure in measures]


def _ranked(
    run: Run | Mapping[str, Mapping[str, float]] | str | Path, judged: Qrels, *, drop_self: bool
) -> _Ranked | _Scanned:
    """Read a run, by columns if it is a large file."""
    if isinstance(run, str | Path) and _is_large(run):
        from evalnb.gold.trec_scan import scan_run

        scan = scan_run(run, judged.grades, with_selves=drop_self)
        if scan is not None:
            return _Scanned(scan, drop_self)
    return _Ranked(load_run(run), drop_self)


def _is_large(path: str | Path) -> bool:
    try:
        return os.stat(path).st_size >= LARGE_RUN
    except OSError:
        return False  # the reader says what is wrong


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


def run_means(rows: Sequence[RunScore], measures: Sequence[Measure]) -> tuple[RunMean, ...]:
    """Average each measure over the queries where it is defined."""
    means = []
    for position, measure in enumerate(measures):
        column = rows[position :: len(measures)]
        values = [row.value for row in column if row.value is not None]
        mean = fsum(values) / len(values) if values else None
        means.append(RunMean(str(measure), mean, len(values), len(column) - len(values)))
    return tuple(means)
