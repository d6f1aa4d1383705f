"""Where the relevant ids of one search stood: in each channel, fused, reranked, returned."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalnb.comparison.replay import reranked
from evalnb.evaluation.report import CaseResult, EvaluationReport
from evalnb.gold.cases import GoldCase
from evalnb.measures.judgements import label_of, labelled_documents, result_by_label
from evalnb.search.fusion import DEFAULT_RERANK_DEPTH, fuse
from evalnb.search.result import Candidates, Kind

if TYPE_CHECKING:
    import pandas as pd

Documents = Mapping[str, tuple[str, str | None]]
Ranks = tuple[tuple[str, int | None], ...]
STAGE_COLUMNS = ("target", "name", "step", "stage", "rank")
ID_SHOWN = 12  # enough of a digest to tell chunks of one document apart


@dataclass(frozen=True, slots=True)
class Course:
    """One relevant id on its way: its rank in each list, None where it is not in it.

    Attributes
    ----------
    name
        The id as a reader knows it: by its document's name, where that is known.
    channels
        By channel, side by side.
    stages
        What followed: ``fused`` and ``reranked`` where they took place, then ``returned``.
    """

    target: str
    name: str
    channels: Ranks
    stages: Ranks

    @property
    def returned(self) -> int | None:
        """The rank among the hits."""
        return self.stages[-1][1]

    @property
    def known(self) -> bool:
        """Whether any list has it."""
        return any(rank for _, rank in (*self.channels, *self.stages))


def courses(
    report: EvaluationReport, case: GoldCase, result: CaseResult, *, documents: Documents
) -> tuple[Course, ...] | None:
    """Follow every relevant id of a case through one search; those returned first.

    Ranks are positions in each list, as hits show them, so a document stands where its first chunk
    does. Nothing is said of a document that no list has if a candidate's name is not known: it may
    be that one.

    Parameters
    ----------
    documents
        The report's ``documents_by_id()``.

    Returns
    -------
    tuple of Course or None
        None if no candidates were recorded; empty if the case has no labels of their kind.
    """
    lists = report.candidates(result)
    if not lists:
        return None
    kind = _kind_of(report, result, lists)
    targets = report.judged(case, result.variant, kind).targets() if kind else frozenset()
    if kind is None or not targets:
        return ()
    labels = labelled_documents(case) if kind == "document" else None
    channels = {
        name: target_ranks(found.ids, targets, labels=labels, documents=documents)
        for name, found in lists.items()
    }
    stages = {
        name: target_ranks(ids, targets, labels=labels, documents=documents)
        for name, ids in _later(result, lists)
    } | {"returned": _returned(case, result, kind, targets)}
    found = [
        Course(
            target,
            _name(target, documents),
            tuple((name, ranks.get(target)) for name, ranks in channels.items()),
            tuple((name, ranks.get(target)) for name, ranks in stages.items()),
        )
        for target in sorted(targets)
    ]
    doubtful = kind == "document" and _has_unknown_names(lists, documents)
    kept = [course for course in found if course.known or not doubtful]
    return tuple(sorted(kept, key=_best_first))


def courses_frame(found: Iterable[Course]) -> pd.DataFrame:
    """Return one row per relevant id and list: target, name, step (channel or not), stage, rank.

    ``rank`` is missing where the list does not have the id.
    """
    import pandas as pd

    rows = [
        (course.target, course.name, step, stage, rank)
        for course in found
        for step, ranks in (("channel", course.channels), ("later", course.stages))
        for stage, rank in ranks
    ]
    frame = pd.DataFrame(rows, columns=list(STAGE_COLUMNS))
    return frame.astype({"rank": "Int64"})


def target_ranks(
    ids: Iterable[str],
    targets: Collection[str],
    *,
    labels: frozenset[str] | None,
    documents: Documents,
) -> dict[str, int]:
    """Return the first rank of each target in a list of candidates.

    Parameters
    ----------
    labels
        What the case calls documents, to find them by; None if targets are ids of candidates.
    """
    found: dict[str, int] = {}
    for rank, key in enumerate(ids, 1):
        if key in targets:
            found.setdefault(key, rank)
        if labels is not None:
            own, name = documents.get(key, (key.rpartition("#")[0] or key, None))
            label = label_of(own, name, labels)
            if label in targets:
                found.setdefault(str(label), rank)
    return found


def _name(target: str, documents: Documents) -> str:
    own, name = documents.get(target, (target, None))
    if name is None or own == target:
        return name or target
    return f"{name} · {target if len(target) <= ID_SHOWN else target[:ID_SHOWN] + '…'}"


def _kind_of(
    report: EvaluationReport, result: CaseResult, lists: Mapping[str, Candidates]
) -> Kind | None:
    """Return the kind of label that can be looked for among the candidates."""
    known = {key for found in lists.values() for key in found.ids}
    units = {hit.ids.unit_id for hit in result.result.hits}
    for kind in report.kinds:
        if kind == "document" or (kind == "unit" and (not units or units & known)):
            return kind
    return None


def _later(
    result: CaseResult, lists: Mapping[str, Candidates]
) -> Iterator[tuple[str, Sequence[str]]]:
    hints = result.controls.hints
    fused = list((fuse(lists, hints) if len(lists) > 1 else next(iter(lists.values()))).ids)
    if len(lists) > 1:
        yield "fused", fused
    if result.controls.rerank:
        order = reranked(result, fused, hints.rerank_depth or DEFAULT_RERANK_DEPTH)
        if order is not None:
            yield "reranked", order


def _returned(
    case: GoldCase, result: CaseResult, kind: Kind, targets: Collection[str]
) -> dict[str, int]:
    hits = result_by_label(case, result.result).hits
    return {key: hit.rank for hit in reversed(hits) if (key := hit.ids.of(kind)) in targets and key}


def _has_unknown_names(lists: Mapping[str, Candidates], documents: Documents) -> bool:
    keys = {key for found in lists.values() for key in found.ids}
    known = [documents[key] for key in keys if key in documents]
    return len(known) < len(keys) and any(name not in (None, own) for own, name in known)


def _best_first(course: Course) -> tuple[float, float, str]:
    ranks = [rank for _, rank in (*course.channels, *course.stages) if rank]
    return course.returned or float("inf"), min(ranks, default=float("inf")), course.target
