"""A pinned corpus during one comparison: its cut, its content gold, its verified locators."""

from __future__ import annotations

from collections.abc import Mapping

from evalnb.errors import InvalidatedError
from evalnb.gold.cases import GoldCase
from evalnb.limits import Limits, check_limit
from evalnb.measures.content import matching_units
from evalnb.search.result import QueryResult
from evalnb.search.system import Extraction, PinnedCorpus


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
        with_content = tuple(case for case in cases if case.content)
        self.content_units: Mapping[str, tuple[str, ...]] = (
            matching_units(with_content, corpus.units()) if with_content else {}
        )

    def owners(self, result: QueryResult) -> Mapping[str, Extraction]:
        """Return the extraction that owns each returned unit or asset of this result."""
        returned = {
            key
            for item in (*result.hits, *result.citations, *result.visual_proxies)
            for key in (item.ids.unit_id, item.ids.asset_id)
            if key is not None
        }
        missing = returned - self._owner.keys()
        if missing:
            for key, binding in self._corpus.bindings(missing).items():
                if binding.extraction_id not in self._extractions:
                    self._budget.take(binding.payload_bytes, binding.rows)
                    self._extractions[binding.extraction_id] = self._corpus.extraction(
                        binding.extraction_id
                    )
                self._owner[key] = self._extractions[binding.extraction_id]
        return self._owner

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
