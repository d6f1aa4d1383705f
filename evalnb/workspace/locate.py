"""Reading units and extractions of a snapshot: hits, content gold, locators to verify."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from evalnb.search.request import Scalar
from evalnb.search.result import ChannelRank, Hit, Identities, Span, TextLocator
from evalnb.search.system import Binding, Extraction, Unit
from evalnb.workspace.eligibility import Eligibility
from evalnb.workspace.snapshot import Snapshot
from evalnb.workspace.store import Store

_HITS_SQL = """
    SELECT u.unit_id, u.extraction_id, u.start, u.end, u.heading, u.text_sha256, u.text,
           m.source_id, m.document_id, m.revision_id, r.file_id, r.title, d.path
    FROM units u
    JOIN members m ON m.snapshot_id = ? AND m.extraction_id = u.extraction_id
    JOIN revisions r ON r.revision_id = m.revision_id
    JOIN documents d ON d.document_id = m.document_id
    WHERE u.unit_id IN ({marks})
"""

_UNITS_SQL = """
    SELECT u.unit_id, m.source_id, m.document_id, d.path, u.text, coalesce(m.language, ?)
    FROM members m
    JOIN chunks c ON c.chunking = ? AND c.extraction_id = m.extraction_id
    JOIN units u ON u.unit_id = c.unit_id
    JOIN documents d ON d.document_id = m.document_id
    WHERE m.snapshot_id = ?
    ORDER BY u.unit_id
"""

_BINDINGS_SQL = """
    SELECT u.unit_id, e.extraction_id, e.payload_bytes, m.source_id, m.document_id,
           (SELECT count(*) FROM chunks WHERE chunking = ?2 AND extraction_id = e.extraction_id)
    FROM json_each(?1) asked
    JOIN units u ON u.unit_id = asked.value
    JOIN chunks c ON c.chunking = ?2 AND c.extraction_id = u.extraction_id
                 AND c.unit_id = u.unit_id
    JOIN members m ON m.snapshot_id = ?3 AND m.extraction_id = u.extraction_id
    JOIN extractions e ON e.extraction_id = u.extraction_id
    UNION ALL
    SELECT asked.value, e.extraction_id, e.payload_bytes, m.source_id, m.document_id,
           (SELECT count(*) FROM chunks WHERE chunking = ?2 AND extraction_id = e.extraction_id)
    FROM json_each(?1) asked
    JOIN extractions e ON e.revision_id = asked.value
    JOIN members m ON m.snapshot_id = ?3 AND m.extraction_id = e.extraction_id
"""

_EXTRACTION_SQL = """
    SELECT e.revision_id, m.document_id, m.source_id, d.path, r.file_id, e.text
    FROM members m
    JOIN extractions e ON e.extraction_id = m.extraction_id
    JOIN revisions r ON r.revision_id = m.revision_id
    JOIN documents d ON d.document_id = m.document_id
    WHERE m.snapshot_id = ? AND m.extraction_id = ?
"""

_EXACT_SQL = """
    SELECT c.unit_id, i.identifier, m.source_id, m.document_id, m.revision_id, e.modality
    FROM identifiers i
    JOIN members m ON m.snapshot_id = ?1 AND m.extraction_id = i.extraction_id
    JOIN chunks c ON c.chunking = ?2 AND c.extraction_id = i.extraction_id
    JOIN units u ON u.unit_id = c.unit_id
    JOIN extractions e ON e.extraction_id = i.extraction_id
    WHERE i.identifier IN (SELECT value FROM json_each(?3))
      AND (i.start < 0 OR (u.start <= i.start AND i.end <= u.end))
"""


@dataclass(frozen=True, slots=True)
class LocatedUnit:
    """One unit with everything that a hit says about it."""

    ids: Identities
    document_name: str
    text: str
    text_sha256: str
    span: Span
    locator: TextLocator
    metadata: dict[str, Scalar]

    def hit(
        self,
        rank: int,
        *,
        score: float | None,
        channels: dict[str, ChannelRank],
        exact_identifiers: int = 0,
    ) -> Hit:
        """Place the unit in a ranking."""
        exact: dict[str, Scalar] = (
            {"exact_identifiers": exact_identifiers} if exact_identifiers else {}
        )
        return Hit.model_construct(
            rank=rank,
            kind="unit",
            ids=self.ids,
            document_name=self.document_name,
            text=self.text,
            text_sha256=self.text_sha256,
            span=self.span,
            locator=self.locator,
            score=score,
            channels=channels,
            metadata=self.metadata | exact,
        )


def located_units(
    store: Store, snapshot: Snapshot, unit_ids: Sequence[str]
) -> dict[str, LocatedUnit]:
    """Read units by id, with the document that they stand in."""
    marks = ",".join("?" * len(unit_ids))
    rows = store.db.execute(
        _HITS_SQL.format(marks=marks), (snapshot.snapshot_id, *unit_ids)
    ).fetchall()
    return {row[0]: _located(row) for row in rows}


def _located(row: tuple[Any, ...]) -> LocatedUnit:
    unit_id, extraction_id, start, end, heading, text_sha256, text, *document = row
    source_id, document_id, revision_id, file_id, title, path = document
    about = {"title": title, "heading": heading.replace("\n", " > ")}
    return LocatedUnit(
        ids=Identities.model_construct(
            source_id=source_id,
            document_id=document_id,
            revision_id=revision_id,
            unit_id=unit_id,
            file_id=file_id,
        ),
        document_name=path,
        text=text,
        text_sha256=text_sha256,
        span=Span.model_construct(extraction_id=extraction_id, start=start, end=end),
        locator=TextLocator.model_construct(path=path, start=start, end=end),
        metadata={name: value for name, value in about.items() if value},
    )


def exact_units(
    store: Store, snapshot: Snapshot, identifiers: Iterable[str], eligible: Eligibility
) -> dict[str, int]:
    """Return the units that carry identifiers, with how many different ones each carries."""
    found: dict[str, set[str]] = {}
    asked = json.dumps(list(identifiers), ensure_ascii=False)
    for unit_id, identifier, source, document, revision, modality in store.db.execute(
        _EXACT_SQL, (snapshot.snapshot_id, snapshot.chunking, asked)
    ):
        if eligible.admits(source=source, document=document, revision=revision, modality=modality):
            found.setdefault(unit_id, set()).add(identifier)
    return {unit_id: len(names) for unit_id, names in found.items()}


def pinned_units(
    store: Store, snapshot: Snapshot, visible: Eligibility, *, language: str | None
) -> Iterator[Unit]:
    """Enumerate the units that a caller sees, in id order."""
    for unit_id, source_id, document_id, path, text, of_language in store.db.execute(
        _UNITS_SQL, (language, snapshot.chunking, snapshot.snapshot_id)
    ):
        if visible.admits(source=source_id, document=document_id):
            yield Unit(unit_id, document_id, path, text, of_language)


def bindings(
    store: Store, snapshot: Snapshot, visible: Eligibility, ids: Collection[str]
) -> dict[str, Binding]:
    """Map units and revisions of the snapshot to their extractions, measured but not read."""
    rows = store.db.execute(
        _BINDINGS_SQL, (json.dumps(sorted(ids)), snapshot.chunking, snapshot.snapshot_id)
    )
    return {
        unit_id: Binding(extraction_id, payload_bytes, n_units + 1)
        for unit_id, extraction_id, payload_bytes, source_id, document_id, n_units in rows
        if visible.admits(source=source_id, document=document_id)
    }


def read_extraction(store: Store, snapshot: Snapshot, extraction_id: str) -> Extraction | None:
    """Read an extraction of the snapshot with the spans of its units."""
    row = store.db.execute(_EXTRACTION_SQL, (snapshot.snapshot_id, extraction_id)).fetchone()
    if row is None:
        return None
    revision_id, document_id, source_id, path, file_id, text = row
    spans = store.db.execute(
        "SELECT u.unit_id, u.start, u.end FROM chunks c JOIN units u ON u.unit_id = c.unit_id "
        "WHERE c.chunking = ? AND c.extraction_id = ?",
        (snapshot.chunking, extraction_id),
    )
    return Extraction(
        extraction_id=extraction_id,
        revision_id=revision_id,
        document_id=document_id,
        source_id=source_id,
        path=path,
        file_id=file_id,
        text=text,
        units={unit_id: (start, end) for unit_id, start, end in spans},
    )
