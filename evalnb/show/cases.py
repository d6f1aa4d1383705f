"""One case as a reader wants to see it: what was asked, what was expected, what came back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from evalnb.evaluation.frames import HitLabel, Labels, labels_of
from evalnb.evaluation.report import CaseResult, EvaluationReport
from evalnb.gold.cases import GoldCase
from evalnb.measures.content import match_content
from evalnb.measures.judgements import ranking, result_by_label
from evalnb.measures.scoring import ScoreRow
from evalnb.search.result import Candidates, Hit, QueryResult
from evalnb.show.excerpts import EXCERPT_LABELLED, EXCERPT_OTHER, Excerpt, cut_excerpt
from evalnb.show.expected import describe_expected, document_names, ids_in_words
from evalnb.show.text import plural

LOST_SHOWN = 8  # relevant ids listed as not selected, per variant

Sign = Literal["relevant", "forbidden", "not relevant", "unjudged"]
SIGNS: dict[Sign, str] = {"relevant": "✓", "forbidden": "✗", "not relevant": "–", "unjudged": "?"}


@dataclass(frozen=True, slots=True)
class HitView:
    """One hit with its label, and where the baseline had the same thing."""

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


@dataclass(frozen=True, slots=True)
class LostView:
    """A relevant id that was not selected, and the rank each channel's candidates had it at."""

    key: str
    ranks: tuple[tuple[str, int | None], ...]


@dataclass(frozen=True, slots=True)
class VariantView:
    """One variant's answer to one case; its first repetition is shown in full.

    ``first_ranks`` holds the rank of the first relevant hit per repetition, None for a miss;
    ``lost`` is None where the candidates were not recorded.
    """

    name: str
    failure: str | None
    first_ranks: tuple[int | None, ...]
    scores: tuple[ScoreRow, ...]
    hits: tuple[HitView, ...]
    lost: tuple[LostView, ...] | None
    decisions: tuple[str, ...] | None
    duplicates_dropped: int

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


def view_cases(
    report: EvaluationReport,
    *,
    baseline: str = "",
    changes: Mapping[str, Mapping[str, Change]] | None = None,
    case_ids: Collection[str] | None = None,
) -> Iterator[CaseView]:
    """View cases one by one, in the report's order.

    Parameters
    ----------
    baseline
        The variant whose ranks the others are set against; none if empty.
    changes
        candidate -> case_id -> change.
    case_ids
        Only these; all unless given.
    """
    wanted = {case.case_id for case in report.cases} if case_ids is None else set(case_ids)
    labels, names = labels_of(report), document_names(report)
    ids_of = _ids_by_name(names)
    found: dict[str, dict[str, list[CaseResult]]] = defaultdict(lambda: defaultdict(list))
    for result in report.results:
        if result.case_id in wanted:
            found[result.case_id][result.variant].append(result)
    for case in report.cases:
        if case.case_id not in wanted:
            continue
        results = found[case.case_id]
        base = results.get(baseline)
        before = _ranks(result_by_label(case, base[0].result)) if base else None
        mine = {variant: labels[variant, case.case_id] for variant in results}
        yield CaseView(
            case=case,
            labelled=any(_has_targets(label) for label in mine.values()),
            expected=tuple(describe_expected(case, names)),
            forbidden=tuple(ids_in_words(case, names, forbidden=True)),
            variants=tuple(
                _view_variant(
                    report,
                    repetitions,
                    mine[variant],
                    ids_of,
                    None if variant == baseline else before,
                )
                for variant, repetitions in results.items()
            ),
            changes={
                candidate: rows[case.case_id]
                for candidate, rows in (changes or {}).items()
                if case.case_id in rows
            },
        )


def _view_variant(
    report: EvaluationReport,
    repetitions: list[CaseResult],
    labels: Labels,
    ids_of: Mapping[str, set[str]],
    before: Mapping[str, int] | None,
) -> VariantView:
    first = repetitions[0]
    result = result_by_label(labels.case, first.result)
    judged = [labels.of(hit) for hit in result.hits]
    trace = result.trace.decisions if result.trace else result.decisions or None
    return VariantView(
        name=first.variant,
        failure=(result.reason or "no reason given") if result.status != "ok" else None,
        first_ranks=tuple(_first_rank(each, labels) for each in repetitions),
        scores=first.scores,
        hits=tuple(
            _view_hit(hit, label, labels.case, before)
            for hit, label in zip(result.hits, judged, strict=True)
        ),
        lost=_lost(report.candidates(first), first.result, result, labels, ids_of),
        decisions=None
        if trace is None
        else tuple(f"{step.step}: {step.detail or plural(len(step.ids), 'id')}" for step in trace),
        duplicates_dropped=first.duplicates_dropped,
    )


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
    )


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


def _ids_by_name(names: Mapping[str, str]) -> dict[str, set[str]]:
    """Map names of documents, and their file names, to the ids that systems gave them."""
    found: dict[str, set[str]] = defaultdict(set)
    for key, name in names.items():
        found[name].add(key)
        found[name.rpartition("/")[2]].add(key)
    return found


def _lost(
    candidates: Mapping[str, Candidates],
    returned: QueryResult,
    named: QueryResult,
    labels: Labels,
    ids_of: Mapping[str, set[str]],
) -> tuple[LostView, ...] | None:
    """Find where the relevant ids stood that were not selected.

    Candidates of one kind say nothing about labels of another, so those are passed over. So is a
    name whose id no hit tells, where the candidates go by id: it may stand among them or not.
    """
    if not candidates:
        return None
    places = {
        channel: {key: rank for rank, key in enumerate(listed.ids, start=1)}
        for channel, listed in candidates.items()
    }
    known = set().union(*places.values())
    shared = (k for k in labels.kinds if any(hit.ids.of(k) in known for hit in returned.hits))
    kind = next(shared, None)  # of whose ids the candidates are
    if kind is None:
        return ()
    shown = {hit.ids.of(kind) for hit in named.hits}
    found = []
    for key in sorted(labels.judged[kind].targets() - shown):
        aliases = {key} | (ids_of.get(key, set()) if kind == "document" else set())
        ranks = tuple(
            (channel, min((at[alias] for alias in aliases & at.keys()), default=None))
            for channel, at in places.items()
        )
        if named is returned or len(aliases) > 1 or any(rank for _, rank in ranks):
            found.append(LostView(key, ranks))
    found.sort(key=lambda lost: min((r for _, r in lost.ranks if r), default=10**9))
    return tuple(found[:LOST_SHOWN])
