"""A pinned corpus during one comparison: its cut, its content gold, its verified locators."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from hashlib import sha256

from evalnb.errors import GoldError, InvalidatedError
from evalnb.gold.cases import GoldCase
from evalnb.gold.labels import GoldSpan
from evalnb.limits import Limits, check_limit
from evalnb.measures.content import matching_units
from evalnb.search.result import Citation, Hit, Kind, QueryResult, VisualProxy
from evalnb.search.system import Extraction, PinnedCorpus, Unit
from evalnb.wording import listed

BOUND_KINDS: tuple[Kind, ...] = ("revision", "unit", "asset")  # ids that a corpus can bind


class HydrationBudget:
    """What locator verification may read, counted over the whole comparison."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.payload_bytes = 0
        self.rows = 0

    def take(self, payload_bytes: int, rows: int) -> None:
        """Count an extraction before it is read.

        Raises
        ------
        LimitExceededError
            If it would pass a bound.
        """
        self.payload_bytes += payload_bytes
        self.rows += rows
        check_limit(
            "extraction payload read to verify locators, bytes",
            self.payload_bytes,
            self._limits.hydration_bytes,
            argument="limits=evalnb.Limits(hydration_bytes=N)",
        )
        check_limit(
            "binding rows read to verify locators",
            self.rows,
            self._limits.hydration_rows,
            argument="limits=evalnb.Limits(hydration_rows=N)",
        )


def check_span(case_id: str, span: GoldSpan, text: str) -> None:
    """Check that a span's quote, or its digest, is what stands there.

    Raises
    ------
    GoldError
        Saying what stands there, and whether the numbers count UTF-16 or UTF-8 units instead.
    """
    found = text[span.start : span.end]
    if span.quote is not None and found != span.quote:
        unit = _counted_in(span, text)
        raise GoldError(
            f"the quote {_short(span.quote)} does not stand at [{span.start}, {span.end}) of "
            f"revision {span.revision_id}; there stands {_short(found)}",
            where=f"case {case_id}",
            remedy=f"the numbers count {unit}; count codepoints, as Python's str does"
            if unit
            else "spans are half-open codepoint ranges of the extracted text",
        )
    if span.text_sha256 is not None and sha256(found.encode()).hexdigest() != span.text_sha256:
        raise GoldError(
            f"the text at [{span.start}, {span.end}) of revision {span.revision_id} has another "
            "digest than text_sha256",
            where=f"case {case_id}",
            remedy="label the span again on this revision",
        )


def _counted_in(span: GoldSpan, text: str) -> str | None:
    assert span.quote is not None
    for name, encoding, width in (("UTF-16 units", "utf-16-le", 2), ("UTF-8 bytes", "utf-8", 1)):
        units = text.encode(encoding)[span.start * width : span.end * width]
        if units == span.quote.encode(encoding):
            return name
    return None


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def absent_labels(
    corpus: PinnedCorpus, cases: Iterable[GoldCase], documents: Collection[str]
) -> Iterator[str]:
    """Say which labelled ids the corpus does not have; they stay in every denominator.

    So is said which documents and revisions a request is restricted to that are not there.

    Documents are looked up in ``documents``, which holds ids and names, revisions, units and
    assets in the corpus; ids of other kinds cannot be.
    """
    for kind in ("document", *BOUND_KINDS):
        labelled = {key for case in cases for key in _labelled(case, kind)}
        asked = {key for case in cases for key in getattr(case.request, f"{kind}_ids", ())}
        for what, ids in (("judged", labelled), ("asked for", asked)):
            if not ids:
                continue
            there = documents if kind == "document" else corpus.bindings(ids).keys()
            if missing := sorted(ids.difference(there)):
                yield f"{kind} ids {what} but not in the corpus: {len(missing)} ({listed(missing)})"


def _labelled(case: GoldCase, kind: Kind) -> set[str]:
    ids = {*case.expected.of(kind), *case.forbidden.of(kind), *case.relevance(kind)}
    if kind == "revision":
        ids |= {span.revision_id for span in case.spans}
    return ids


def document_labels(unit: Unit) -> tuple[str, str, str]:
    """Return what a label may call a unit's document: its id, its name, its file name."""
    return unit.document_id, unit.document_name, unit.document_name.rpartition("/")[2]


class CorpusCheck:
    """One system's pinned corpus, read no further than its results need.

    Only extractions that own returned ids are read; each is measured before and read once.
    """

    def __init__(
        self, corpus: PinnedCorpus, cases: tuple[GoldCase, ...], budget: HydrationBudget
    ) -> None:
        self.cut = corpus.cut()
        self._corpus = corpus
        self._budget = budget
        self._extractions: dict[str, Extraction] = {}
        self._owner: dict[str, Extraction] = {}
        self.languages: Counter[str] = Counter()
        self.document_of: dict[str, tuple[str, str | None]] = {}
        self.content_units: Mapping[str, tuple[str, ...]] = {}
        documents: set[str] = set()
        if with_content := tuple(case for case in cases if case.content):
            self.content_units = matching_units(with_content, self._enumerated(documents))
        elif any(_labelled(case, "document") for case in cases):
            deque(self._enumerated(documents), maxlen=0)
        self.absent = tuple(absent_labels(corpus, cases, documents))
        self._check_spans(cases)

    def _enumerated(self, documents: set[str]) -> Iterator[Unit]:
        """Yield every unit, noting its language and what its document is called."""
        for unit in self._corpus.units():
            self.languages[unit.language or ""] += 1
            documents.update(document_labels(unit))
            self.document_of[unit.unit_id] = unit.document_id, unit.document_name
            yield unit

    def owners(self, result: QueryResult) -> Mapping[str, Extraction]:
        """Return the extraction that owns each returned unit or asset of this result."""
        items: tuple[Hit | Citation | VisualProxy, ...] = (
            *result.hits,
            *result.citations,
            *result.visual_proxies,
        )
        returned = {
            key
            for item in items
            for key in (item.ids.unit_id, item.ids.asset_id)
            if key is not None
        }
        self._read_owners(returned)
        return self._owner

    def _read_owners(self, ids: set[str]) -> None:
        missing = ids - self._owner.keys()
        if not missing:
            return
        for key, binding in self._corpus.bindings(missing).items():
            if binding.extraction_id not in self._extractions:
                self._budget.take(binding.payload_bytes, binding.rows)
                self._extractions[binding.extraction_id] = self._corpus.extraction(
                    binding.extraction_id
                )
            self._owner[key] = self._extractions[binding.extraction_id]

    def _check_spans(self, cases: tuple[GoldCase, ...]) -> None:
        """Refuse gold whose quotes do not stand where it says, before the first search."""
        quoting = [case for case in cases if any(s.quote or s.text_sha256 for s in case.spans)]
        self._read_owners({span.revision_id for case in quoting for span in case.spans})
        for case in quoting:
            for span in case.spans:
                if (owner := self._owner.get(span.revision_id)) is not None:
                    check_span(case.case_id, span, owner.text)

    def check_unchanged(self, system: str) -> None:
        """Refuse results whose pinned state is no longer the same.

        Raises
        ------
        InvalidatedError
            If the cut or an epoch changed since the comparison began.
        """
        now = self._corpus.cut()
        # An index that was built meanwhile took no part.
        kept = {name: now.indexes.get(name) for name in self.cut.indexes}
        if now.model_copy(update={"indexes": kept}) != self.cut:
            raise InvalidatedError(
                f"system {system!r} changed while it was measured: cut {self.cut} became {now}",
                remedy="run the evaluation again",
            )
