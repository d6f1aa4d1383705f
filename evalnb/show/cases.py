"""One case as a reader wants to see it: what was asked, what was expected, what came back."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from evalnb.comparison.stages import Course, courses
from evalnb.evaluation.frames import HitLabel, Labels, labels_of
from evalnb.evaluation.report import CaseResult, EvaluationReport
from evalnb.gold.cases import GoldCase
from evalnb.measures.content import match_content
from evalnb.measures.judgements import ranking, result_by_label
from evalnb.measures.scoring import ScoreRow
from evalnb.search.result import AssetLocator, Hit, QueryResult
from evalnb.show.excerpts import EXCERPT_LABELLED, EXCERPT_OTHER, Excerpt, cut_excerpt
from evalnb.show.expected import describe_expected, document_names, ids_in_words
from evalnb.show.text import plural

Sign = Literal["relevant", "forbidden", "not relevant", "unjudged"]
SIGNS: dict[Sign, str] = {"relevant": "✓", "forbidden": "✗", "not relevant": "–", "unjudged": "?"}


@dataclass(frozen=True, slots=True)
class HitView:
    """One hit with its label, and where the baseline had the same thing.

    ``asset`` is the id of what a hit pictures and, where it is known, the SHA-256 of its bytes.
    """

    rank: int
    sign: Sign
    grade: int | None
    name: str
    key: str
    url: str | None
    score: float | None
    channels: tuple[tuple[str, int], ...]
    moved: str
    is_code: bool
    excerpt: Excerpt | None
    asset: tuple[str, str | None] | None


@dataclass(frozen=True, slots=True)
class VariantView:
    """One variant's answer to one case; its first repetition is shown in full.

    ``first_ranks`` holds the rank of the first relevant hit per repetition, None for a miss;
    ``courses`` the way of each relevant id, None where the candidates were not recorded; ``limit``
    is how many hits were asked for.
    """

    name: str
    failure: str | None
    first_ranks: tuple[int | None, ...]
    scores: tuple[ScoreRow, ...]
    hits: tuple[HitView, ...]
    courses: tuple[Course, ...] | None
    decisions: tuple[str, ...] | None
    duplicates_dropped: int
    limit: int

    @property
    def outcome(self) -> str:
        """The rank of the first relevant hit, ``miss``, or ``n/a``; one per repetition."""
        if self.failure is not None:
            return "n/a"
        ranks = ["miss" if rank is None else str(rank) for rank in self.first_ranks]
        return ranks[0] if len(set(ranks)) == 1 else " / ".join(ranks)


@dataclass(frozen=True, slots=True)
class Change:
    """One case's difference to the baseline in a measure, and the same with better as positive."""

    measure: str
    difference: float
    gain: float


@dataclass(frozen=True, slots=True)
class CaseView:
    """One case over all variants.

    ``labelled`` says whether anything could be found at all; ``changes`` maps a candidate to its
    change in the first compared measure, where there is one.
    """

    case: GoldCase
    labelled: bool
    expected: tuple[str, ...]
    forbidden: tuple[str, ...]
    variants: tuple[VariantView, ...]
    changes: Mapping[str, Change]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one case ended under one variant, in its first repetition.

    ``rank`` is that of the first relevant hit; ``labelled`` says whether there is any to be found.
    """

    case_id: str
    variant: str
    failed: bool
    labelled: bool
    rank: int | None
    leaks: bool


class CaseSource:
    """A report laid out so that one case can be viewed without reading the others.

    Parameters
    ----------
    baseline
        The variant whose ranks the others are set against; none if empty.
    changes
        candidate -> case_id -> change.
    """

    def __init__(
        self,
        report: EvaluationReport,
        *,
        baseline: str = "",
        changes: Mapping[str, Mapping[str, Change]] | None = None,
    ) -> None:
        self.report, self.baseline, self._changes = report, baseline, changes or {}
        self.cases = {case.case_id: case for case in report.cases}
        self._names, self._documents = document_names(report), report.documents_by_id()
        self._results: dict[str, dict[str, list[CaseResult]]] = {key: {} for key in self.cases}
        for result in report.results:
            self._results[result.case_id].setdefault(result.variant, []).append(result)

    def view(self, case_id: str, variants: Collection[str] | None = None) -> CaseView:
        """View one case, under some of the variants or all."""
        case, results = self.cases[case_id], self._results[case_id]
        base = results.get(self.baseline)
        before = _ranks(result_by_label(case, base[0].result)) if base else None
        shown = [name for name in results if variants is None or name in variants]
        labels = labels_of(self.report, (case,))
        return CaseView(
            case=case,
            labelled=any(_has_targets(labels[name, case_id]) for name in shown),
            expected=tuple(describe_expected(case, self._names)),
            forbidden=tuple(ids_in_words(case, self._names, forbidden=True)),
            variants=tuple(
                self._view_variant(
                    results[name],
                    labels[name, case_id],
                    None if name == self.baseline else before,
                )
                for name in shown
            ),
            changes={
                candidate: rows[case_id]
                for candidate, rows in self._changes.items()
                if case_id in rows
            },
        )

    def words(self, case_id: str) -> str:
        """Return what a case can be found by: its id, question, note and labels."""
        case = self.cases[case_id]
        labels = describe_expected(case, self._names)
        forbidden = ids_in_words(case, self._names, forbidden=True)
        return " ".join([case_id, case.request.query, case.description or "", *labels, *forbidden])

    def outcomes(self) -> Iterator[Outcome]:
        """Say how each case ended under each variant; much faster than to view them."""
        for case_id, results in self._results.items():
            labels = labels_of(self.report, (self.cases[case_id],))
            for name, (first, *_) in results.items():
                mine = labels[name, case_id]
                failed = first.result.status != "ok"
                leaks = bool(mine.forbidden) and any(
                    mine.of(hit).forbidden for hit in first.result.hits
                )
                rank = None if failed else _first_rank(first, mine)
                yield Outcome(case_id, name, failed, _has_targets(mine), rank, leaks)

    def _view_variant(
        self, repetitions: list[CaseResult], labels: Labels, before: Mapping[str, int] | None
    ) -> VariantView:
        first = repetitions[0]
        result = result_by_label(labels.case, first.result)
        trace = result.trace.decisions if result.trace else result.decisions or None
        return VariantView(
            name=first.variant,
            failure=(result.reason or "no reason given") if result.status != "ok" else None,
            first_ranks=tuple(_first_rank(each, labels) for each in repetitions),
            scores=first.scores,
            hits=tuple(_view_hit(hit, labels.of(hit), labels.case, before) for hit in result.hits),
            courses=courses(self.report, labels.case, first, documents=self._documents),
            decisions=None
            if trace is None
            else tuple(
                f"{step.step}: {step.detail or plural(len(step.ids), 'id')}" for step in trace
            ),
            duplicates_dropped=first.duplicates_dropped,
            limit=first.controls.limit,
        )


def view_cases(
    report: EvaluationReport,
    *,
    baseline: str = "",
    changes: Mapping[str, Mapping[str, Change]] | None = None,
    case_ids: Collection[str] | None = None,
) -> Iterator[CaseView]:
    """View cases one by one, in the report's order; all unless some are given.

    The other parameters are those of :class:`CaseSource`.
    """
    source = CaseSource(report, baseline=baseline, changes=changes)
    wanted = source.cases.keys() if case_ids is None else set(case_ids)
    yield from (source.view(case_id) for case_id in source.cases if case_id in wanted)


def _first_rank(result: CaseResult, labels: Labels) -> int | None:
    """Return the rank that the measures see: of distinct ids, not of hits."""
    ranks = []
    named = result_by_label(labels.case, result.result)
    for kind, judged in labels.judged.items():
        targets = judged.targets()
        ids = ranking(named, kind).ids
        ranks += [rank for rank, key in enumerate(ids, start=1) if key in targets][:1]
    if not ranks and labels.by_text:
        seen: dict[str, None] = {}
        for hit in result.result.hits:
            seen.setdefault(hit_key(hit))
            if labels.matches(hit):
                return len(seen)
    return min(ranks, default=None)


def hit_key(hit: Hit) -> str:
    """Return the most specific id of a hit."""
    ids = hit.ids
    own = (ids.unit_id, ids.definition_id, ids.asset_id, ids.file_id, ids.document_id)
    return next((key for key in own if key), ids.revision_id or ids.source_id or "")


def _ranks(result: QueryResult) -> dict[str, int]:
    return {hit_key(hit): hit.rank for hit in reversed(result.hits)}  # the first of several counts


def _view_hit(
    hit: Hit, label: HitLabel, case: GoldCase, before: Mapping[str, int] | None
) -> HitView:
    key = hit_key(hit)
    was = hit.rank if before is None else before.get(key)
    url = hit.metadata.get("url")
    spans = _spans(hit, label, case)
    size = EXCERPT_LABELLED if spans or label.relevant or label.forbidden else EXCERPT_OTHER
    return HitView(
        rank=hit.rank,
        sign=_sign(label),
        grade=label.grade,
        name=hit.document_name or key,
        key=key,
        url=url if isinstance(url, str) else None,
        score=hit.score,
        channels=tuple((name, at.rank) for name, at in hit.channels.items()),
        moved="new" if was is None else "" if was == hit.rank else f"was {was}",
        is_code=hit.locator is not None and hit.locator.type == "lines",
        excerpt=cut_excerpt(hit.text, spans, size) if hit.text else None,
        asset=_asset(hit),
    )


def _asset(hit: Hit) -> tuple[str, str | None] | None:
    if isinstance(hit.locator, AssetLocator):
        return hit.locator.asset_id, hit.locator.sha256
    return (hit.ids.asset_id, None) if hit.ids.asset_id else None


def _sign(label: HitLabel) -> Sign:
    if label.forbidden:
        return "forbidden"
    if label.relevant:
        return "relevant"
    return "unjudged" if label.grade is None else "not relevant"


def _spans(hit: Hit, label: HitLabel, case: GoldCase) -> list[tuple[int, int]]:
    """Return what of a hit's text the gold asks for: matched phrases and expected spans."""
    spans = list(match_content(case, hit.document_name, hit.text) or ()) if label.relevant else []
    if hit.span and hit.text:
        for gold in case.spans:
            if gold.revision_id == hit.ids.revision_id:
                start = max(gold.start, hit.span.start) - hit.span.start
                end = min(gold.end, hit.span.end) - hit.span.start
                if start < end:
                    spans.append((start, end))
    return spans


def _has_targets(labels: Labels) -> bool:
    return bool(labels.case.content) or any(j.targets() for j in labels.judged.values())
