"""Reading units of a snapshot: as hits, in full, and by what they are looked up by."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from evalnb.search.result import Hit
from evalnb.workspace.eligibility import Eligibility
from evalnb.workspace.snapshot import Snapshot
from evalnb.workspace.store import Store

_HITS_SQL = """
    SELECT u.unit_id, e.extraction_id, u.start, u.end, u.heading, u.text_sha256, u.text,
           s.source_id, d.document_id, r.revision_id, r.file_id, r.title, d.path, e.pages
    FROM units u
    JOIN members m ON m.snapshot = ? AND m.extraction = u.extraction
    JOIN extractions e ON e.extraction = u.extraction
    JOIN revisions r ON r.revision = m.revision
    JOIN documents d ON d.document = m.document
    JOIN sources s ON s.source = m.source
    WHERE u.unit_id IN ({marks})
"""

_MEMBERS_SQL = """
    SELECT m.extraction, r.title, d.path, s.source_id, d.document_id, r.revision_id, m.modality,
           m.language
    FROM members m
    JOIN revisions r ON r.revision = m.revision
    JOIN documents d ON d.document = m.document
    JOIN sources s ON s.source = m.source
    WHERE m.snapshot = ?
"""

_UNITS_SQL = """
    SELECT unit_id, text, heading, extraction FROM units
    WHERE unit IN (
        SELECT c.unit FROM members m
        JOIN chunks c ON c.chunking = ? AND c.extraction = m.extraction
        WHERE m.snapshot = ?
    )
    ORDER BY unit_id
"""

_EXACT_SQL = """
    SELECT u.unit_id, i.identifier, s.source_id, d.document_id, r.revision_id, m.modality
    FROM identifiers i
    JOIN units u ON u.unit = i.unit
    JOIN chunks c ON c.chunking = ?1 AND c.extraction = u.extraction AND c.unit = u.unit
    JOIN members m ON m.snapshot = ?2 AND m.extraction = u.extraction
    JOIN revisions r ON r.revision = m.revision
    JOIN documents d ON d.document = m.document
    JOIN sources s ON s.source = m.source
    WHERE i.identifier IN (SELECT value FROM json_each(?3))
"""


_HIT_IDS = ("source_id", "document_id", "revision_id", "unit_id", "file_id")


class Member(NamedTuple):
    """One pinned document, as an index and content gold see it."""

    title: str | None
    path: str
    source_id: str
    document_id: str
    revision_id: str
    modality: str
    language: str | None


class UnitRow(NamedTuple):
    """One unit of a pinned document."""

    unit_id: str
    text: str
    heading: str
    document: Member

    @property
    def above(self) -> str:
        """The title and the headings over the unit, one a line."""
        headings = self.heading.split("\n") if self.heading else []
        title = self.document.title
        if title and title not in headings[:1]:  # the first heading often is the title
            headings.insert(0, title)
        return "\n".join(headings)


class LocatedUnit(NamedTuple):
    """One unit with everything that a hit says about it."""

    unit_id: str
    extraction_id: str
    start: int
    end: int
    heading: str
    text_sha256: str
    text: str
    source_id: str
    document_id: str
    revision_id: str
    file_id: str
    title: str | None
    path: str
    pages: str

    def hit(
        self,
        rank: int,
        *,
        score: float | None,
        channels: Mapping[str, Mapping[str, int | float | None]],
        exact_identifiers: int = 0,
    ) -> Hit:
        """Place the unit in a ranking; ``channels`` has rank and score in each."""
        start, end = self.start, self.end
        about = {
            "title": self.title,
            "heading": self.heading.replace("\n", " > "),
            "page": bisect_right(json.loads(self.pages), start),  # 0: it has no pages
            "exact_identifiers": exact_identifiers,
        }
        # One validation of the whole costs a third of making its records one by one.
        return Hit.model_validate(
            {
                "rank": rank,
                "kind": "unit",
                "ids": {kind: getattr(self, kind) for kind in _HIT_IDS},
                "document_name": self.path,
                "text": self.text,
                "text_sha256": self.text_sha256,
                "span": {"extraction_id": self.extraction_id, "start": start, "end": end},
                "locator": {"type": "text", "path": self.path, "start": start, "end": end},
                "score": score,
                "channels": channels,
                "metadata": {name: value for name, value in about.items() if value},
            }
        )


def located_units(
    store: Store, snapshot: Snapshot, unit_ids: Sequence[str]
) -> dict[str, LocatedUnit]:
    """Read units by id, with the document that they stand in."""
    marks = ",".join("?" * len(unit_ids))
    rows = store.db.execute(_HITS_SQL.format(marks=marks), (snapshot.key, *unit_ids))
    return {row[0]: LocatedUnit._make(row) for row in rows}


def unit_rows(store: Store, snapshot: Snapshot) -> Iterator[UnitRow]:
    """Read every unit of a snapshot, in id order.

    Id order is random order on the disk. The documents are read in theirs and kept, because
    joining them to each unit would take three times as long as reading the units.
    """
    members = {
        row[0]: Member._make(row[1:]) for row in store.db.execute(_MEMBERS_SQL, (snapshot.key,))
    }
    for unit_id, text, heading, extraction in store.db.execute(
        _UNITS_SQL, (snapshot.chunking_key, snapshot.key)
    ):
        yield UnitRow(unit_id, text, heading, members[extraction])


def exact_units(
    store: Store, snapshot: Snapshot, identifiers: Iterable[str], eligible: Eligibility
) -> dict[str, int]:
    """Return the units that carry identifiers, with how many different ones each carries."""
    found: dict[str, set[str]] = {}
    asked = json.dumps(list(identifiers), ensure_ascii=False)
    for unit_id, identifier, source, document, revision, modality in store.db.execute(
        _EXACT_SQL, (snapshot.chunking_key, snapshot.key, asked)
    ):
        if eligible.admits(source=source, document=document, revision=revision, modality=modality):
            found.setdefault(unit_id, set()).add(identifier)
    return {unit_id: len(names) for unit_id, names in found.items()}
