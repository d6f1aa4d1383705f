"""A report as TREC files: what was judged, and every variant's ranking as a run."""

from __future__ import annotations

from pathlib import Path

from evalnb.errors import BadInputError
from evalnb.evaluation.report import EvaluationReport
from evalnb.files import safe_file_name, write_file
from evalnb.gold.trec import format_qrels, format_run
from evalnb.measures.judgements import judgements, ranked_ids
from evalnb.search.result import Kind


def write_runs(report: EvaluationReport, folder: Path, *, kind: Kind | None = None) -> list[Path]:
    """Write judgements and runs of one kind of id, so that any TREC tool scores them alike.

    ``VARIANT.run`` holds each case's ranking (with several repetitions the first), and
    ``qrels.txt`` the judgements; where phrases are the gold and several corpora were searched,
    each system has a ``SYSTEM.qrels`` of its own. The scores count down: a TREC tool reads the
    order from them, and the system's own may be tied, missing or in another order.

    Parameters
    ----------
    kind
        The kind of id; the one that the report's measures read unless given.

    Raises
    ------
    BadInputError
        If the measures read several kinds and none is chosen, or none at all.
    GoldError
        For an id that a TREC file cannot carry.
    """
    if kind is None:
        if len(report.kinds) != 1:
            raise BadInputError(
                f"the cases are judged by {', '.join(report.kinds) or 'nothing'}",
                remedy="choose one kind of id",
            )
        (kind,) = report.kinds
    judged = _qrels(report, kind)
    texts = {f"{name}.qrels" if name else "qrels.txt": text for name, text in judged.items()}
    for variant in report.variants:
        tag = "-".join(variant.name.split())
        texts[f"{variant.name}.run"] = format_run(_scores(report, variant.name, kind), tag=tag)
    written = []
    for name, text in texts.items():
        path = folder / safe_file_name(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, text.encode())
        written.append(path)
    return written


def _qrels(report: EvaluationReport, kind: Kind) -> dict[str, str]:
    """Return the judgements by system, or under "" where all systems share them."""
    found = {}
    for system in report.cuts:
        units = report.content_units.get(system, {})
        grades = {
            case.case_id: judgements(case, kind, frozenset(units.get(case.case_id, ()))).grades
            for case in report.cases
        }
        found[system] = format_qrels({key: judged for key, judged in grades.items() if judged})
    shared = set(found.values())
    return {"": shared.pop()} if len(shared) == 1 else found


def _scores(report: EvaluationReport, variant: str, kind: Kind) -> dict[str, dict[str, float]]:
    cases = {case.case_id: case for case in report.cases}
    found = {
        result.case_id: ranked_ids(cases[result.case_id], result.result, kind)
        for result in report.results
        if result.variant == variant and result.repetition == 0
    }
    return {
        case_id: {key: float(len(ids) - n) for n, key in enumerate(ids)}
        for case_id, ids in found.items()
    }
