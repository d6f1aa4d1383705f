"""Whether what a result points at is really there: every locator against the pinned corpus."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

from evalnb.measures.ranking import NOTHING_RETURNED, Score, share, undefined
from evalnb.search.result import (
    AssetLocator,
    Citation,
    Hit,
    LineLocator,
    QueryResult,
    Span,
    TextLocator,
    VisualProxy,
)
from evalnb.search.system import Extraction

_Located = Hit | Citation | VisualProxy

NO_BINDINGS = undefined("no bindings to verify against")
SHOWN_FAULTS = 3  # a reason is one line; the first faults tell what kind they are


def locator_validity(result: QueryResult, extractions: Mapping[str, Extraction] | None) -> Score:
    """How many of the returned locators hold: LocatorValidity.

    Valid locators over the locators of hits, citations and visual proxies. One holds if its unit or
    asset is a member of the pinned cut, belongs to the extraction and the documents that it names,
    its path, span and lines resolve there, and the text there, or the asset's bytes, is what was
    returned. Undefined without bindings and if no locator was returned. The reason of a value below
    1 names the first locators that do not hold.

    Parameters
    ----------
    result
        One search's result.
    extractions
        The extraction that owns each returned unit and asset id; None if there are no bindings.
    """
    if extractions is None:
        return NO_BINDINGS
    items = list(_located(result))
    if not items:
        return NOTHING_RETURNED
    found = ((name, next(_faults(item, extractions), None)) for name, item in items)
    faults = [f"{name}: {fault}" for name, fault in found if fault is not None]
    more = [f"{len(faults) - SHOWN_FAULTS} more"] * (len(faults) > SHOWN_FAULTS)
    reason = "; ".join(faults[:SHOWN_FAULTS] + more)
    return share(len(items) - len(faults), len(items))._replace(reason=reason or None)


def _located(result: QueryResult) -> Iterator[tuple[str, _Located]]:
    """Yield everything that points at evidence, named by its place."""
    for rank, hit in enumerate(result.hits, start=1):
        if hit.span is not None or hit.locator is not None:
            yield f"hit {rank}", hit
    for position, citation in enumerate(result.citations, start=1):
        if citation.span is not None or citation.locator is not None:
            yield f"citation {position}", citation
    for position, proxy in enumerate(result.visual_proxies, start=1):
        if proxy.locator is not None:
            yield f"visual proxy {position}", proxy


def _faults(item: _Located, extractions: Mapping[str, Extraction]) -> Iterator[str]:
    locator, unit_id, asset_id = item.locator, item.ids.unit_id, item.ids.asset_id
    if isinstance(locator, AssetLocator):
        if asset_id not in (None, locator.asset_id):
            yield f"the asset is {asset_id!r}, its locator says {locator.asset_id!r}"
        asset_id = locator.asset_id
    key = asset_id if unit_id is None else unit_id
    if key is None:
        yield "it names no unit and no asset"
    elif (owner := extractions.get(key)) is None:
        yield f"{key!r} is no member of the pinned cut"
    else:
        if unit_id is not None and unit_id not in owner.units:
            yield f"unit {unit_id!r} is not of {owner.extraction_id!r}"
        if asset_id is not None and asset_id not in owner.assets:
            yield f"asset {asset_id!r} is not of {owner.extraction_id!r}"
        yield from _ownership_faults(item, owner)
        yield from _text_faults(item, owner)


def _ownership_faults(item: _Located, owner: Extraction) -> Iterator[str]:
    ids, locator = item.ids, item.locator
    for name, given, real in (
        ("source", ids.source_id, owner.source_id),
        ("document", ids.document_id, owner.document_id),
        ("revision", ids.revision_id, owner.revision_id),
        ("file", ids.file_id, owner.file_id),
    ):
        if given not in (None, real):
            yield f"the {name} is {given!r}, the corpus has {real!r}"
    if isinstance(locator, AssetLocator):
        if owner.assets.get(locator.asset_id) != locator.sha256:
            yield f"the bytes of asset {locator.asset_id!r} have another digest"
    elif locator is not None and locator.path != owner.path:
        yield f"the path is {locator.path!r}, the corpus has {owner.path!r}"


def _text_faults(item: _Located, owner: Extraction) -> Iterator[str]:
    """Check the codepoints that a span and a text locator name, and the lines they fall on."""
    span = None if isinstance(item, VisualProxy) else item.span
    if span is not None and span.extraction_id != owner.extraction_id:
        yield f"the span is in {span.extraction_id!r}, its unit in {owner.extraction_id!r}"
    places = (span, item.locator)
    ranges = dict.fromkeys((p.start, p.end) for p in places if isinstance(p, Span | TextLocator))
    for start, end in ranges:
        if not start < end <= len(owner.text):
            yield f"[{start}, {end}) does not stand in a text of {len(owner.text)} codepoints"
        first, last = owner.units.get(item.ids.unit_id or "", (0, len(owner.text)))
        if not first <= start <= end <= last:
            yield f"[{start}, {end}) leaves its unit [{first}, {last})"
        yield from _difference(item, owner.text[start:end], f"[{start}, {end})")
    if isinstance(item.locator, LineLocator):
        yield from _line_faults(item.locator, span, owner.text)


def _difference(item: _Located, text: str, place: str) -> Iterator[str]:
    if isinstance(item, Hit) and item.text not in (None, text):
        yield f"the text at {place} is not the text returned"
    digest = None if isinstance(item, VisualProxy) else item.text_sha256
    if digest not in (None, hashlib.sha256(text.encode()).hexdigest()):
        yield f"the text at {place} has another digest than the one returned"


def _line_faults(locator: LineLocator, span: Span | None, text: str) -> Iterator[str]:
    """Check lines of a file, and that a span beside them falls on the same ones."""
    first, last = locator.first_line, locator.last_line
    n_lines = text.count("\n") + (not text.endswith("\n"))
    if not first <= last <= n_lines:
        yield f"lines {first} to {last} do not stand in a file of {n_lines}"
    if span is not None:
        start = text.count("\n", 0, span.start) + 1
        end = text.count("\n", 0, span.end - 1) + 1
        if (start, end) != (first, last):
            yield f"lines {first} to {last} are lines {start} to {end} by the span"
