"""On which surface of a result something shows that must not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.evaluation.report import AnyReport, record_of
from evalnb.measures.evidence import forbidden_candidates, forbidden_leakage
from evalnb.search.result import QueryResult

if TYPE_CHECKING:
    import pandas as pd

SURFACES = {
    "hits": "hits",
    "context": "context",
    "structured": "structured records",
    "citations": "citations",
    "visual_proxies": "visual proxies",
    "graph": "graph support",
    "decisions": "decisions",
    "references": "references",
}
CONSIDERED = "candidates (not shown)"
COLUMNS = ("variant", "surface", "n", "n_exposed", "cases")


def exposure_frame(report: AnyReport) -> pd.DataFrame:
    """Count by variant and surface the cases that show something forbidden.

    Returns
    -------
    pandas.DataFrame
        Columns variant, surface, n (cases with forbidden labels that were answered), n_exposed,
        cases (their ids, a tuple). A surface has rows if any variant exposes anything on it, the
        hits always; no rows at all where nothing is labelled forbidden. The last surface are the
        candidates, which no reader sees.
    """
    import pandas as pd

    report = record_of(report)
    labelled = {case.case_id: case for case in report.cases if any(vars(case.forbidden).values())}
    names = [variant.name for variant in report.variants]
    exposed: dict[tuple[str, str], list[str]] = {}
    answered = dict.fromkeys(names, 0)
    for result in report.results:
        case = labelled.get(result.case_id)
        if case is None or result.repetition or result.result.status != "ok":
            continue
        answered[result.variant] += 1
        full = result.result
        for part, surface in SURFACES.items():
            alone = QueryResult.model_construct(**{part: getattr(full, part)})
            if forbidden_leakage(case, alone).numerator:
                exposed.setdefault((surface, result.variant), []).append(case.case_id)
        considered = QueryResult.model_construct(
            hits=full.hits, candidates=report.candidates(result), rerank_scores=full.rerank_scores
        )
        if forbidden_candidates(case, considered).numerator:
            exposed.setdefault((CONSIDERED, result.variant), []).append(case.case_id)
    shown = [s for s in (*SURFACES.values(), CONSIDERED) if any(s == e for e, _ in exposed)]
    rows = []
    if labelled:
        for surface in dict.fromkeys(["hits", *shown]):
            for name in names:
                found = tuple(exposed.get((surface, name), ()))
                rows.append((name, surface, answered[name], len(found), found))
    return pd.DataFrame(rows, columns=list(COLUMNS))
