"""Cutting extractions into the units that a snapshot pins, with what each is looked up by."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from evalnb.search.ids import canonical_id
from evalnb.workspace.admission import next_key
from evalnb.workspace.chunking import Chunking, Heading, heading_paths
from evalnb.workspace.documents import find_identifiers, find_places
from evalnb.workspace.store import Store, batches


class _Unit(NamedTuple):
    unit_id: str
    extraction: int
    start: int
    end: int
    text_sha256: str
    heading: str
    text: str


def cut_extractions(store: Store, chunking: Chunking, extractions: Iterable[int]) -> int:
    """Cut extractions into units where this way of cutting was not applied yet.

    Returns
    -------
    int
        The store's key of the chunking.
    """
    with store.transaction() as db:
        db.execute("INSERT OR IGNORE INTO chunkings (key) VALUES (?)", (chunking.key,))
        row = db.execute("SELECT chunking FROM chunkings WHERE key = ?", (chunking.key,))
        key = int(row.fetchone()[0])
    done = store.db.execute("SELECT DISTINCT extraction FROM chunks WHERE chunking = ?", (key,))
    cut = {extraction for (extraction,) in done}
    sizes: list[tuple[int, int]] = store.db.execute(
        "SELECT extraction, payload_bytes FROM extractions "
        "WHERE extraction IN (SELECT value FROM json_each(?)) ORDER BY extraction",
        (json.dumps([each for each in extractions if each not in cut]),),
    ).fetchall()
    for batch in batches(sizes, lambda row: row[1]):
        with store.transaction() as db:
            _cut_batch(db, chunking, key, [extraction for extraction, _ in batch])
    return key


def _cut_batch(
    db: sqlite3.Connection, chunking: Chunking, chunking_key: int, extractions: list[int]
) -> None:
    units: list[_Unit] = []
    carried: list[set[str]] = []  # identifiers of each unit
    for extraction in extractions:
        extraction_id, declared, headings, text = db.execute(
            "SELECT extraction_id, identifiers, headings, text FROM extractions "
            "WHERE extraction = ?",
            (extraction,),
        ).fetchone()
        cut = list(_units(chunking, extraction, extraction_id, headings, text))
        units += cut
        carried += _identifiers(cut, json.loads(declared), text)
    keys: dict[str, int] = dict(  # another way of cutting may have made the same unit
        db.execute(
            "SELECT unit_id, unit FROM units WHERE unit_id IN (SELECT value FROM json_each(?))",
            (json.dumps([unit.unit_id for unit in units]),),
        )
    )
    first = next_key(db, "units")
    new = [
        (unit, names)
        for unit, names in zip(units, carried, strict=True)
        if unit.unit_id not in keys
    ]
    keys |= {unit.unit_id: first + n for n, (unit, _) in enumerate(new)}
    db.executemany(
        "INSERT INTO units VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        ((keys[unit.unit_id], *unit) for unit, _ in new),
    )
    db.executemany(
        "INSERT INTO identifiers VALUES (?, ?)",
        ((name, keys[unit.unit_id]) for unit, names in new for name in names),
    )
    db.executemany(
        "INSERT INTO chunks VALUES (?, ?, ?)",
        ((chunking_key, unit.extraction, keys[unit.unit_id]) for unit in units),
    )


def _units(
    chunking: Chunking, extraction: int, extraction_id: str, stored_headings: str, text: str
) -> Iterator[_Unit]:
    headings = [Heading(*row) for row in json.loads(stored_headings)]
    spans = list(chunking.spans(text, headings))
    paths = heading_paths(headings, (start for start, _ in spans))
    for (start, end), path in zip(spans, paths, strict=True):
        piece = text[start:end]
        yield _Unit(
            canonical_id("unit", extraction_id, start, end),
            extraction,
            start,
            end,
            hashlib.sha256(piece.encode()).hexdigest(),
            "\n".join(path),
            piece,
        )


def _identifiers(units: list[_Unit], declared: list[str], text: str) -> list[set[str]]:
    """Return what each unit is looked up by.

    A declared identifier belongs to the units that show a part of it; one that stands nowhere in
    the text names the document, and with it every unit. Both depend on the unit and its document
    alone: a later way of cutting changes nothing for the units that it shares.
    """
    names = [find_identifiers(unit.text) for unit in units]
    ends = [unit.end for unit in units]
    for identifier in declared:
        places = find_places(identifier, text) or [(0, len(text))]
        for start, end in places:
            at = bisect_right(ends, start)
            while at < len(units) and units[at].start < end:
                names[at].add(identifier)
                at += 1
    return names
