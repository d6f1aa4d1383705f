"""Where each missed case was lost, and what would help."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from evalnb.comparison.stages import target_ranks
from evalnb.evaluation.report import AnyReport, CaseResult, EvaluationReport, record_of
from evalnb.gold.cases import GoldCase
from evalnb.measures.judgements import Judgements, labelled_documents, ranked_ids
from evalnb.search.fusion import DEFAULT_CANDIDATES, DEFAULT_RERANK_DEPTH, fuse
from evalnb.search.result import Candidates, Kind

if TYPE_CHECKING:
    import pandas as pd

Reason = Literal[
    "search failed",
    "not in the corpus",
    "in no channel's candidates",
    "cut by fusion",
    "demoted by the reranker",
    "below the limit",
    "not returned",
]
REMEDIES: dict[Reason, str] = {
    "search failed": "repair the system first",
    "not in the corpus": "ingest what is missing, or correct the label",
    "in no channel's candidates": "another channel, language or chunking; more candidates",
    "cut by fusion": "weigh the channel that has it more, or lower rrf_k",
    "demoted by the reranker": "another reranker, or none",
    "below the limit": "a higher limit, or a reranker",
    "not returned": "look at the case; channels composed with evalnb.fused would say more",
}


@dataclass(frozen=True, slots=True)
class Lost:
    """One case for which a variant returned nothing relevant.

    Attributes
    ----------
    detail
        The ranks that tell it: in each channel, and after fusion.
    n_unjudged
        Hits that nobody judged; if all are, the judgements may be what is missing.
    """

    variant: str
    case_id: str
    reason: Reason
    detail: str
    n_unjudged: int

    @property
    def remedy(self) -> str:
        """What would help."""
        return REMEDIES[self.reason]


def lost_cases(report: AnyReport) -> tuple[Lost, ...]:
    """Find why each missed case was missed, of every variant's first repetition.

    A case is missed if it has targets and none of them was returned.
    """
    report = record_of(report)
    if not report.kinds:
        return ()
    kind, documents = report.kinds[0], report.documents_by_id()
    cases = {case.case_id: case for case in report.cases}
    searches = (
        _Search(report, cases[result.case_id], result, kind, documents)
        for result in report.results
        if not result.repetition
    )
    return tuple(lost for search in searches if (lost := search.lost()) is not None)


def lost_frame(report: AnyReport) -> pd.DataFrame:
    """Count lost cases: one row a reason, one column a variant, in the order of the reasons."""
    import pandas as pd

    report = record_of(report)
    counts = Counter((each.reason, each.variant) for each in lost_cases(report))
    names = [variant.name for variant in report.variants]
    rows = {
        reason: [counts[reason, name] for name in names]
        for reason in REMEDIES
        if any(counts[reason, name] for name in names)
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=names)


@dataclass(frozen=True)
class _Search:
    report: EvaluationReport
    case: GoldCase
    result: CaseResult
    kind: Kind
    documents: Mapping[str, tuple[str, str | None]]

    @cached_property
    def judged(self) -> Judgements:
        return self.report.judged(self.case, self.result.variant, self.kind)

    @cached_property
    def targets(self) -> frozenset[str]:
        return self.judged.targets()

    @cached_property
    def labels(self) -> frozenset[str]:
        return labelled_documents(self.case)

    @cached_property
    def returned(self) -> tuple[str, ...]:
        return ranked_ids(self.case, self.result.result, self.kind)

    def lost(self) -> Lost | None:
        nowhere = self.judged.content and self.judged.enumerated and not self.targets
        if not self.targets and not nowhere:
            return None
        if self.result.result.status != "ok":
            return self._because("search failed", self.result.result.reason or "")
        if nowhere:
            return self._because("not in the corpus", "its phrases match no unit")
        return None if self.targets.intersection(self.returned) else self._traced()

    def _because(self, reason: Reason, detail: str) -> Lost:
        unjudged = sum(key not in self.judged.grades for key in self.returned)
        return Lost(self.result.variant, self.case.case_id, reason, detail, unjudged)

    def _traced(self) -> Lost:
        lists = self.report.candidates(self.result)
        if not lists or self.kind not in ("unit", "document"):
            return self._because("not returned", "")
        ranks = {name: rank for name, c in lists.items() if (rank := self._rank(c)) is not None}
        if not ranks:
            return self._because("in no channel's candidates", ", ".join(self._depths(lists)))
        controls, hints = self.result.controls, self.result.controls.hints
        fused = fuse(lists, hints) if len(lists) > 1 else next(iter(lists.values()))
        place = self._rank(fused)
        assert place is not None
        told = ", ".join(f"{name} {rank}" for name, rank in sorted(ranks.items()))
        told += f", fused {place}" if len(lists) > 1 else ""
        depth = hints.rerank_depth or DEFAULT_RERANK_DEPTH
        if controls.rerank and place <= max(depth, controls.limit):
            return self._because("demoted by the reranker", told)
        if len(lists) > 1 and min(ranks.values()) <= controls.limit:
            return self._because("cut by fusion", told)
        return self._because("below the limit", f"{told}, limit {controls.limit}")

    def _rank(self, found: Candidates) -> int | None:
        """Return the rank of the first target in a list of candidates."""
        labels = None if self.kind == "unit" else self.labels
        ranks = target_ranks(found.ids, self.targets, labels=labels, documents=self.documents)
        return min(ranks.values(), default=None)

    def _depths(self, lists: Mapping[str, Candidates]) -> Iterator[str]:
        asked = self.result.controls.hints.candidates or DEFAULT_CANDIDATES
        for name, found in sorted(lists.items()):
            yield f"{name} has {len(found.ids)} of {asked} candidates"
