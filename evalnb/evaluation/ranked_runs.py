"""The rankings of a run, and where the judged documents stand in them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evalnb.errors import BadInputError
from evalnb.gold.nested import qrels_from_dict, read_qrels, read_run, run_from_dict
from evalnb.gold.trec import Qrels, Run, rank_documents
from evalnb.measures.judgements import Judgements
from evalnb.measures.names import Measure
from evalnb.measures.ranking import Placed, Score, place, placed_at, score_ranking
from evalnb.measures.ties import Tie, tied_groups
from evalnb.wording import shown

if TYPE_CHECKING:
    from evalnb.gold.trec_scan import Scan

LARGE_RUN = 2 * 1024 * 1024  # bytes from which reading by columns pays for loading numpy


def load_qrels(qrels: Qrels | Mapping[str, Mapping[str, int]] | str | Path) -> Qrels:
    """Read judgements from a file, or check those of a dict.

    Raises
    ------
    GoldError, BadInputError
        For a file that is not what its format promises, or a dict of something else.
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
        For a file that is not what its format promises, or a dict of something else.
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


@dataclass(slots=True)
class Ranked:
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

    def ties(self, query: str, placed: Placed) -> list[Tie]:
        """Return the tied group of each judged position."""
        scores = self.run.scores.get(query, {})
        ids = [key for key in rank_documents(scores) if not (self.drop_self and key == query)]
        groups = tied_groups(scores[key] for key in ids)
        return [groups[rank - 1] for rank in placed.ranks]

    @staticmethod
    def columns(
        measures: Sequence[Measure], judged: Sequence[Judgements], placed: Sequence[Placed]
    ) -> list[list[Score]]:
        """Score every ranking by every measure; one by one, since numpy takes longer to load."""
        pairs = list(zip(placed, judged, strict=True))
        return [[score_ranking(m, *pair, m.k) for pair in pairs] for m in measures]


@dataclass(slots=True)
class Scanned:
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
        n_ranked, found = self.run.n_ranked.get(query, 0), self._found(query)
        self.n_positions += n_ranked
        if self._own(query) is not None:
            n_ranked -= 1
            self.n_self += 1
        return placed_at(n_ranked, [rank for rank, _ in found], [key for _, key in found], judged)

    def _own(self, query: str) -> int | None:
        """Return the rank of a document that is left out."""
        return self.run.self_ranks.get(query) if self.drop_self else None

    def _found(self, query: str) -> list[tuple[int, str]]:
        found, own = self.run.found.get(query, []), self._own(query)
        if own is None:
            return found
        return [(rank - (rank > own), key) for rank, key in found if key != query]

    def ties(self, query: str, placed: Placed) -> list[Tie]:
        """Return the tied group of each judged position."""
        del placed
        known, own, found = self.run.ties.get(query, {}), self._own(query), []
        for rank, key in self._found(query):
            above, size = known.get(key, (rank - 1, 1))
            if own is not None and key in known:
                size -= above < own <= above + size
                above -= own <= above
            found.append(Tie(above, size))
        return found

    @staticmethod
    def columns(
        measures: Sequence[Measure], judged: Sequence[Judgements], placed: Sequence[Placed]
    ) -> list[list[Score]]:
        """Score every ranking by every measure, all at once."""
        from evalnb.measures.coded import CodedGold, code_rankings

        rankings = code_rankings(CodedGold(judged), placed)
        return [rankings.score(measure, measure.k).scores() for measure in measures]


def rank_run(
    run: Run | Mapping[str, Mapping[str, float]] | str | Path, judged: Qrels, *, drop_self: bool
) -> Ranked | Scanned:
    """Read a run and rank its documents, by columns if it is a large file.

    Raises
    ------
    GoldError, BadInputError
        For a file that is not what its format promises, or a dict of something else.
    """
    if isinstance(run, str | Path) and _is_large(run):
        from evalnb.gold.trec_scan import scan_run

        scan = scan_run(run, judged.grades, with_selves=drop_self)
        if scan is not None:
            return Scanned(scan, drop_self)
    return Ranked(load_run(run), drop_self)


def _is_large(path: str | Path) -> bool:
    try:
        return os.stat(path).st_size >= LARGE_RUN
    except OSError:
        return False  # the reader says what is wrong
