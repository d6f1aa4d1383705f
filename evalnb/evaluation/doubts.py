"""Figures that are more likely a slip than a finding, said beside them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from evalnb.evaluation.report import CaseResult
from evalnb.gold.cases import GoldCase
from evalnb.measures.judgements import labelled_documents, ranked_ids

MOST = 0.9  # so few hits of any label are seldom a search's fault


def doubts(cases: tuple[GoldCase, ...], results: tuple[CaseResult, ...]) -> Iterator[str]:
    """Say of which variants no, or hardly any, labelled document ever came back.

    Ids that differ in case, folder or ending, or questions joined to the wrong judgements, look
    like a search that finds nothing.
    """
    labelled = {case.case_id: case for case in cases if labelled_documents(case)}
    missed: dict[str, list[tuple[str, str]]] = defaultdict(list)
    searched: dict[str, int] = defaultdict(int)
    for result in results:
        case = labelled.get(result.case_id)
        if case is None or result.result.status != "ok" or not result.result.hits:
            continue
        wanted = labelled_documents(case)
        returned = ranked_ids(case, result.result, "document")
        if not returned:
            continue
        searched[result.variant] += 1
        if wanted.isdisjoint(returned):
            names = {hit.ids.document_id: hit.document_name for hit in result.result.hits}
            first = names.get(returned[0]) or returned[0]  # a label may be either
            missed[result.variant].append((min(wanted), first))
    for variant, examples in missed.items():
        if searched[variant] >= 2 and len(examples) >= MOST * searched[variant]:
            label, found = examples[0]
            yield (
                f"{variant}: no labelled document came back in {len(examples)} of "
                f"{searched[variant]} searches. Do the ids agree? The gold says {label!r}, the "
                f"system returned {found!r}."
            )
