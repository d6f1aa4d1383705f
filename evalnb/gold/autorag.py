"""AutoRAG's ``qa.parquet``: questions with the ids of the passages that answer them."""

from __future__ import annotations

from typing import Any

from evalnb.errors import GoldError
from evalnb.gold.cases import Parsed, Split, imported_cases
from evalnb.gold.parquet import read_parquet
from evalnb.wording import shown


def parse_autorag(data: bytes, *, where: str, split: Split = "development") -> Parsed:
    """Read ``query`` and ``retrieval_gt``, and ``qid`` as the case_id.

    ``retrieval_gt`` lists groups of ids of which one is enough; here every id is expected.

    Raises
    ------
    GoldError
        Naming the row and what is of another kind.
    """
    columns = read_parquet(data, where=where, columns=("query", "retrieval_gt"), optional=("qid",))
    entries, alternatives = [], 0
    for number, (query, groups, *key) in enumerate(zip(*columns.values(), strict=True), 1):
        place = f"{where}: row {number}"
        ids, grouped = _ids(groups, place)
        alternatives += grouped
        fields = {"request": {"query": query}, "expected": {"document_ids": ids}}
        entries.append((place, fields | {"case_id": key[0]} if key else fields))
    cases = imported_cases(entries, split=split, where=where)
    notes = []
    if bare := sum(not case.expected.document_ids for case in cases):
        notes.append(f"questions without passages, kept without labels: {bare}")
    if alternatives:
        notes.append(
            f"questions with alternative passages, all of which are expected: {alternatives}"
        )
    return Parsed(cases, tuple(notes))


def _ids(groups: Any, where: str) -> tuple[list[str], bool]:
    """Return the ids of all groups, and whether any group has several."""
    nested = [groups] if isinstance(groups, str) else groups or []
    if isinstance(nested, list):
        lists = [group if isinstance(group, list) else [group] for group in nested]
        ids = [key for group in lists for key in group]
        if all(isinstance(key, str) for key in ids):
            return list(dict.fromkeys(ids)), any(len(group) > 1 for group in lists)
    raise GoldError(f"retrieval_gt: expected lists of ids, found {shown(groups)}", where=where)
