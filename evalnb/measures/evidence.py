"""Measures of evidence: spans covered, what must not be shown, paths, edges, references."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain

from evalnb.gold.cases import GoldCase
from evalnb.measures.ranking import (
    NO_GOLD,
    NOTHING_RETURNED,
    Score,
    share,
    unavailable,
    undefined,
)
from evalnb.search.result import (
    KINDS,
    AssetLocator,
    Citation,
    Excerpt,
    Hit,
    Identities,
    Kind,
    QueryResult,
    TextLocator,
    VisualProxy,
)
from evalnb.search.system import Extraction

Extractions = Mapping[str, Extraction]
_Range = tuple[int, int]

NOT_RECORDED = undefined("no candidates and no trace are recorded")
NO_REFERENCES = undefined("the system extracts no references")

# What contains what: a thing's ancestors are the kinds before its own.
_COARSE_FIRST: tuple[Kind, ...] = ("source", "document", "revision", "file")


def span_completeness(
    case: GoldCase, result: QueryResult, extractions: Extractions | None = None
) -> Score:
    """How much of the expected evidence the hits cover: SpanCompleteness.

    Expected codepoints covered by the union of the selected hits' spans, over expected codepoints.
    Ranges are half-open; overlaps count once; other revisions cover nothing. Undefined without
    expected spans; unavailable if there are hits and none has a span.
    """
    if not case.spans:
        return NO_GOLD
    expected: dict[str, list[_Range]] = {}
    for gold in case.spans:
        expected.setdefault(gold.revision_id, []).append((gold.start, gold.end))
    covered: dict[str, list[_Range]] = {}
    located = False
    for hit in result.hits:
        place, revision = _span_of(hit), _revision_of(hit.ids, extractions)
        if place is not None and revision is not None:
            located = True
            covered.setdefault(revision, []).append(place)
    if result.hits and not located:
        return unavailable("no hit carries span")
    wanted = {revision: _merged(ranges) for revision, ranges in expected.items()}
    n = sum(_overlap(ranges, _merged(covered.get(key, ()))) for key, ranges in wanted.items())
    return share(n, sum(end - start for ranges in wanted.values() for start, end in ranges))


def _span_of(hit: Hit) -> _Range | None:
    place = hit.span or (hit.locator if isinstance(hit.locator, TextLocator) else None)
    return None if place is None else (place.start, place.end)


def _revision_of(ids: Identities, extractions: Extractions | None) -> str | None:
    if ids.revision_id is not None:
        return ids.revision_id
    owner = (extractions or {}).get(ids.unit_id or "")
    return None if owner is None else owner.revision_id


def _merged(ranges: Iterable[_Range]) -> list[_Range]:
    merged: list[_Range] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _overlap(one: list[_Range], other: list[_Range]) -> int:
    return sum(max(0, min(b, d) - max(a, c)) for a, b in one for c, d in other)


def forbidden_leakage(
    case: GoldCase,
    result: QueryResult,
    extractions: Extractions | None = None,
    kinds: Collection[Kind] = (),
) -> Score:
    """How much of what must not be shown is shown: ForbiddenLeakage, lower is better.

    Forbidden ids exposed over forbidden ids labelled. Exposed is what stands on any surface of the
    result: hits, context, structured records, citations, visual proxies, graph support, decisions,
    references; the id itself or a descendant, such as a unit of a forbidden source. Undefined
    without forbidden ids; unavailable if the system's results cannot show a forbidden kind.
    """
    labelled = _forbidden(case)
    if not labelled:
        return NO_GOLD
    shown = list(_shown_identities(result))
    typed = {pair for ids in shown for pair in _pairs(ids, extractions)}
    for kind in dict.fromkeys(kind for kind, _ in labelled):
        known = kind in kinds if kinds else any(kind == pair[0] for pair in typed)
        if result.hits and not known:
            return unavailable(f"no hit carries {kind}_id")
    exposed = typed | _named(_bare_ids(result), labelled, shown, extractions)
    return share(sum(pair in exposed for pair in labelled), len(labelled))


def forbidden_candidates(
    case: GoldCase, result: QueryResult, extractions: Extractions | None = None
) -> Score:
    """How much of what must not be shown was considered: ForbiddenCandidates, for information.

    As :func:`forbidden_leakage`, over the channels' candidates, the reranked pool and the trace,
    which no reader sees. Undefined if none of them is recorded.
    """
    labelled = _forbidden(case)
    if not labelled:
        return NO_GOLD
    lists = list(result.candidates.values()) + [result.rerank_scores] * bool(result.rerank_scores)
    if not lists and result.trace is None:
        return NOT_RECORDED
    steps = result.trace.decisions if result.trace is not None else ()
    ids = chain.from_iterable(part.ids for part in (*lists, *steps) if part is not None)
    exposed = _named(ids, labelled, _shown_identities(result), extractions)
    return share(sum(pair in exposed for pair in labelled), len(labelled))


_Pair = tuple[Kind, str]


def _forbidden(case: GoldCase) -> list[_Pair]:
    if not any(case.forbidden.__dict__.values()):  # nearly every case, and this runs per search
        return []
    return [(kind, key) for kind in KINDS for key in dict.fromkeys(case.forbidden.of(kind))]


def _shown_identities(result: QueryResult) -> Iterator[Identities]:
    surfaces: tuple[tuple[Hit | Excerpt | Citation | VisualProxy, ...], ...] = (
        result.hits,
        result.context,
        result.citations,
        result.visual_proxies,
    )
    for item in chain.from_iterable(surfaces):
        yield item.ids
    yield from result.structured


def _bare_ids(result: QueryResult) -> Iterator[str]:
    """Yield the ids that stand on a surface without their kind."""
    yield from result.references or ()
    for decision in result.decisions:
        yield from decision.ids
    if result.graph is not None:
        yield from result.graph.nodes
        for edge in result.graph.edges:
            yield from (edge.source, edge.target)
        for path in result.graph.paths:
            yield from path
    for locator in chain(
        (hit.locator for hit in result.hits),
        (citation.locator for citation in result.citations),
        (proxy.locator for proxy in result.visual_proxies),
    ):
        if isinstance(locator, AssetLocator):
            yield locator.asset_id


def _pairs(ids: Identities, extractions: Extractions | None) -> Iterator[_Pair]:
    """Yield a thing's own ids and those of everything that contains it."""
    for kind in KINDS:
        if (key := ids.of(kind)) is not None:
            yield kind, key
    for key in (ids.unit_id, ids.asset_id):
        yield from _containers(key, extractions)


def _containers(key: str | None, extractions: Extractions | None) -> Iterator[_Pair]:
    owner = (extractions or {}).get(key or "")
    if owner is not None:
        for kind in _COARSE_FIRST:
            if (container := getattr(owner, f"{kind}_id")) is not None:
                yield kind, container


def _named(
    bare: Iterable[str],
    labelled: Collection[_Pair],
    shown: Iterable[Identities],
    extractions: Extractions | None,
) -> set[_Pair]:
    """Find the forbidden things that ids without a kind name, or lie in."""
    ids = set(bare)
    found = {pair for pair in labelled if pair[1] in ids}
    found.update(pair for key in ids for pair in _containers(key, extractions))
    for one in shown:
        chained = [(kind, key) for kind in KINDS if (key := one.of(kind)) is not None]
        ranks = [_depth(kind) for kind, key in chained if key in ids]
        found.update(pair for pair in chained if ranks and _depth(pair[0]) < max(ranks))
    return found


def _depth(kind: Kind) -> int:
    return _COARSE_FIRST.index(kind) if kind in _COARSE_FIRST else len(_COARSE_FIRST)


def path_precision(case: GoldCase, result: QueryResult) -> Score:
    """How many of the returned paths are expected: PathP.

    Matched over returned distinct paths, a path being its ordered node ids. Undefined without
    expected paths and if none was returned.
    """
    if not case.paths:
        return NO_GOLD
    returned = set(result.graph.paths) if result.graph is not None else set()
    return share(len(returned & set(case.paths)), len(returned)) if returned else NOTHING_RETURNED


def path_recall(case: GoldCase, result: QueryResult) -> Score:
    """How many of the expected paths were returned: PathR.

    Matched over expected distinct paths. Undefined without expected paths; unavailable if there
    are hits without any graph support.
    """
    if not case.paths:
        return NO_GOLD
    if result.graph is None and result.hits:
        return unavailable("the result carries no graph")
    returned = set(result.graph.paths) if result.graph is not None else set()
    expected = set(case.paths)
    return share(len(returned & expected), len(expected))


def edge_precision(case: GoldCase, result: QueryResult) -> Score:
    """How many of the returned judged edges are relevant: EdgeP.

    Relevant over judged ones among the returned distinct edges (source, target, kind), which are
    directed; unjudged edges are left out. Undefined without judged edges in gold or result.
    """
    if not case.edges:
        return NO_GOLD
    judged = {(edge.source, edge.target, edge.kind): edge.relevant for edge in case.edges}
    edges = result.graph.edges if result.graph is not None else ()
    returned = {(edge.source, edge.target, edge.kind) for edge in edges} & judged.keys()
    if not returned:
        return undefined("no judged edge returned")
    return share(sum(judged[edge] for edge in returned), len(returned))


def reference_resolution(case: GoldCase, result: QueryResult) -> Score:
    """How many of the expected references were returned resolved: ReferenceResolution.

    Undefined without expected references and for a system whose references are null.
    """
    if not case.references:
        return NO_GOLD
    if result.references is None:
        return NO_REFERENCES
    expected = set(case.references)
    return share(len(expected & set(result.references)), len(expected))
