"""Judgements of Quepid: a csv file with the columns query, docid and rating."""

from __future__ import annotations

import re
from dataclasses import replace

from evalnb.gold.tabular.table import Table

MAPPING = {"query": "query", "expected": "docid", "grade": "rating"}


def is_quepid(head: bytes) -> bool:
    """Whether the first line of a file names Quepid's columns, and no other one."""
    line = head.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0]
    names = {name.decode(errors="replace") for name in re.split(rb'[,;\t"\s]+', line.lower())}
    return names - {""} == set(MAPPING.values())


def leave_unrated(table: Table) -> Table:
    """Leave out documents without a rating: they were shown to a judge, not judged."""
    names = [str(name).strip().casefold() for name in table.header]
    if not {"docid", "rating"} <= {*names}:
        return table  # its columns are refused where they are read
    document, rating = names.index("docid"), names.index("rating")
    rows, unrated = [], 0
    for number, cells in table.rows:
        given = [*map(str, cells), *("" for _ in names)]
        if given[document].strip() and not given[rating].strip():
            given[document] = ""
            unrated += 1
        rows.append((number, given[: len(names)]))
    notes = ["read as judgements of Quepid: docid is expected, rating its grade", *table.notes]
    if unrated:
        notes.append(f"documents without a rating, not judged: {unrated}")
    return replace(table, rows=rows, notes=notes)
