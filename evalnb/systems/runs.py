"""A TREC run file as a search system: what was searched before, answered again."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from functools import cached_property
from pathlib import Path

from evalnb.errors import CapabilityError, NotEvaluatedError, SearchFailedError
from evalnb.gold.nested import read_run
from evalnb.gold.trec import Run, rank_documents
from evalnb.gold.trec_rows import read_source
from evalnb.search.request import Controls, QueryRequest
from evalnb.search.result import Hit, Identities, QueryResult
from evalnb.search.system import Capabilities, SearchContext


class RunFileSystem:
    """The rankings of a run file; a case's answer is that of the query with its case_id.

    Hits are documents, ordered by score and then by id, both descending, and kept to the limit. A
    case that the run does not have is an empty result, as in scoring: it counts.

    Parameters
    ----------
    path
        A run in TREC format, gzip recognised, or as ranx saves it.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @cached_property
    def _content(self) -> tuple[Run, str]:
        data, name = read_source(self.path)
        return read_run(data, name=name), hashlib.sha256(data).hexdigest()

    def capabilities(self) -> Capabilities:
        """Say what the file can answer, which reads it.

        Raises
        ------
        GoldError
            If it is no run, naming the line.
        NotFoundError
            If there is no such file.
        """
        run, digest = self._content
        return Capabilities(
            kinds=("document",), texts=False, identity={"run": run.tag, "sha256": digest}
        )

    def check(self, controls: Controls) -> None:
        """Refuse what would have to be searched again: a file holds what was recorded.

        Raises
        ------
        CapabilityError
            Naming it.
        """
        wanted = [*controls.channels, *(["rerank"] if controls.rerank else ())]
        if wanted := [*wanted, *controls.hints.given]:
            raise CapabilityError(
                f"a run file cannot execute {', '.join(wanted)}",
                where=str(self.path),
                remedy="evaluate the system itself, or pass one run file per variant",
            )

    def open(self, context: SearchContext) -> RunFileSession:
        """Open the file; the context changes nothing."""
        return RunFileSession(self._content[0])


class RunFileSession:
    """A session of :class:`RunFileSystem`."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def expect(self, case_ids: Collection[str]) -> None:
        """Refuse a run that has no answer for any of the cases.

        Raises
        ------
        NotEvaluatedError
            Naming queries of both sides.
        """
        if not self._run.scores.keys() & set(case_ids):
            asked, had = (", ".join(list(ids)[:10]) for ids in (case_ids, self._run.scores))
            raise NotEvaluatedError(
                f"the run answers none of the {len(case_ids)} cases ({asked}); it has {had}",
                where=self._run.name,
                remedy="the query ids of a run are the case ids of the gold set",
            )

    def answer(self, case_id: str, controls: Controls) -> QueryResult:
        """Return the recorded ranking of a case, kept to the limit."""
        scores = self._run.scores.get(case_id, {})
        ranked = rank_documents(scores)
        hits = tuple(
            Hit(
                rank=rank,
                ids=Identities(document_id=document),
                document_name=document,
                score=scores[document],
            )
            for rank, document in enumerate(ranked[: controls.limit], start=1)
        )
        return QueryResult(hits=hits, n_returned=len(ranked))

    def search(self, request: QueryRequest, controls: Controls) -> QueryResult:
        """Answer a query that is itself a query id of the run.

        Raises
        ------
        SearchFailedError
            If the run has no query of this id: a text that was never searched has no answer.
        """
        if request.query not in self._run.scores:
            raise SearchFailedError(
                f"the run has no query id {request.query!r}",
                where=self._run.name,
                remedy="a run file answers recorded queries only, by their ids",
            )
        return self.answer(request.query, controls)

    def close(self) -> None:
        """Do nothing: the file is read whole."""
