"""From a gold set to files for people and other tools, naming what they cannot carry."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from evalnb.errors import BadInputError, GoldError
from evalnb.files import write_file
from evalnb.gold.beir import write_beir_dir
from evalnb.gold.cases import GoldCase, GoldDataset
from evalnb.gold.labels import ContentExpectation
from evalnb.gold.tabular.sheets import format_table
from evalnb.gold.tabular.table import COLUMNS
from evalnb.gold.trec import format_qrels, format_topics

_READ_BACK: tuple[object, ...] = ("development", {})  # what a case that says nothing gets
_GOLDEN_FIELDS = frozenset({"request.query", "description", "content"})
_QRELS_FIELDS = frozenset(
    {"case_id", "request.query", "expected.document_ids", "document_relevance"}
)
_SHARED = ("split", "family_key", "tags", "language", "intent", "description")
_TABLE_FIELDS = frozenset(
    {*_GOLDEN_FIELDS, *_QRELS_FIELDS, *_SHARED, "forbidden.document_ids"} - {"case_id"}
)


def export_gold(dataset: GoldDataset, path: str | Path) -> tuple[str, ...]:
    """Write a set as golden.json, csv, xlsx or qrels, by the ending; without one, a BEIR folder.

    Beside ``NAME.qrels``, the queries go into ``NAME.topics.tsv``.

    Returns
    -------
    tuple of str
        What the format cannot carry, and in how many cases.

    Raises
    ------
    BadInputError
        For another ending, or a file that stands there already.
    GoldError
        For a case that the format cannot express at all, naming it.
    """
    target = Path(path)
    if not target.suffix:
        return _export_folder(dataset, target)
    if target.suffix.lower() not in _WRITERS:
        raise BadInputError(
            f"no format ends in {target.suffix!r}",
            where=str(target),
            remedy=f"endings: {', '.join(_WRITERS)}, or none for a BEIR folder",
        )
    write, fields = _WRITERS[target.suffix.lower()]
    files, notes = write(dataset.cases, target)
    for file in files:
        if file.exists():
            raise BadInputError("a file stands here already", where=str(file))
    for file, content in files.items():
        write_file(file, content)
    return (*_left_out(dataset.cases, fields), *notes)


def _export_folder(dataset: GoldDataset, target: Path) -> tuple[str, ...]:
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise BadInputError("something else stands here already", where=str(target))
    write_beir_dir(dataset, target)
    return (
        *_left_out(dataset.cases, _QRELS_FIELDS | {"split"}),
        *_promoted(dataset.cases),
        *_unjudged(dataset.cases),
        "corpus.jsonl was not written: gold has no texts of documents",
    )


Written = tuple[dict[Path, bytes], list[str]]


def _write_golden(cases: Sequence[GoldCase], target: Path) -> Written:
    elements = []
    for case in cases:
        element: dict[str, Any] = {"query": case.request.query, "expect": _one_expectation(case)}
        if case.description is not None:
            element = {"description": case.description, **element}
        elements.append(element)
    text = json.dumps({"cases": elements}, ensure_ascii=False, indent=2)
    return {target: text.encode() + b"\n"}, []


def _one_expectation(case: GoldCase) -> dict[str, Any]:
    """Put the alternatives of a case into the one expectation that golden.json has."""
    documents = {entry.document for entry in case.content}
    bare = any(not entry.content_contains for entry in case.content)
    if len(documents) != 1 or (bare and len(case.content) > 1):
        found = f"{len(case.content)} alternatives" if case.content else "no expected content"
        raise GoldError(
            f"case {case.case_id!r} has {found}; golden.json carries one document with phrases",
            remedy="export to csv",
        )
    whole = ContentExpectation(
        document=documents.pop(),
        content_contains=tuple(p for entry in case.content for p in entry.content_contains),
    )
    return whole.model_dump(mode="json", exclude_defaults=True)


def _write_table(cases: Sequence[GoldCase], target: Path) -> Written:
    rows, notes = _table(cases)
    return {target: format_table(rows, target.suffix, title="gold")}, notes


def _write_qrels(cases: Sequence[GoldCase], target: Path) -> Written:
    judged = {case.case_id: grades for case in cases if (grades := case.document_grades())}
    texts = {case.case_id: case.request.query for case in cases}
    files = {
        target: format_qrels(judged).encode(),
        target.with_suffix(".topics.tsv"): format_topics(texts).encode(),
    }
    return files, [*_promoted(cases), *_unjudged(cases)]


_WRITERS: dict[str, tuple[Callable[[Sequence[GoldCase], Path], Written], frozenset[str]]] = {
    ".json": (_write_golden, _GOLDEN_FIELDS),
    ".csv": (_write_table, _TABLE_FIELDS),
    ".xlsx": (_write_table, _TABLE_FIELDS),
    ".qrels": (_write_qrels, _QRELS_FIELDS),
}


def _table(cases: Sequence[GoldCase]) -> tuple[list[list[str]], list[str]]:
    rows = [row for case in cases for row in _case_rows(case)]
    used = [name for name in COLUMNS if any(name in row for row in rows)]
    notes = _promoted(cases)
    shared = sum(n - 1 for n in Counter(case.request.query for case in cases).values())
    if shared:
        notes.append(f"cases that share a query and are one case when read back: {shared}")
    blank = sum(text != text.strip() for row in rows for text in row.values())
    if blank:
        notes.append(f"cells that lose outer blanks when read back: {blank}")
    return [used, *([row.get(name, "") for name in used] for row in rows)], notes


def _case_rows(case: GoldCase) -> Iterator[dict[str, str]]:
    said = {name: text for name in _SHARED if (text := getattr(case, name))}
    said["query"] = case.request.query
    if case.tags:
        said["tags"] = "\n".join(f"{key}={value}" for key, value in case.tags.items())
    if "family_key" in said:
        said["family"] = said.pop("family_key")
    labels = [*_judgement_rows(case), *_content_rows(case)]
    yield from ({**said, **label} for label in labels or [{}])


def _judgement_rows(case: GoldCase) -> Iterator[dict[str, str]]:
    forbidden = dict.fromkeys(case.forbidden.document_ids)
    for key in dict.fromkeys((*case.expected.document_ids, *case.document_relevance)):
        grade = case.document_relevance.get(key)
        row = {"expected": key}
        if grade is not None:
            row["grade"] = str(grade)
        if key in forbidden:
            row["forbidden"] = "yes"
            del forbidden[key]
        yield row
    yield from ({"forbidden": key} for key in forbidden)


def _content_rows(case: GoldCase) -> Iterator[dict[str, str]]:
    for entry in case.content:
        document = {} if entry.document is None else {"document": entry.document}
        for phrase in entry.content_contains:
            yield {**document, "content": phrase}
        if not entry.content_contains:
            yield document


def _promoted(cases: Iterable[GoldCase]) -> list[str]:
    """Note cases whose graded ids are no recall targets, which these formats cannot say."""
    count = sum(
        any(
            grade >= 1 and key not in case.expected.document_ids
            for key, grade in case.document_relevance.items()
        )
        for case in cases
    )
    what = "cases with a graded document that is not expected, and is when read back"
    return [f"{what}: {count}"] if count else []


def _unjudged(cases: Iterable[GoldCase]) -> list[str]:
    count = sum(not case.document_grades() for case in cases)
    what = "cases without judged documents, of which the query alone is written"
    return [f"{what}: {count}"] if count else []


def _left_out(cases: Sequence[GoldCase], carried: frozenset[str]) -> list[str]:
    counts = Counter(name for case in cases for name in _fields(case) if name not in carried)
    return [f"not carried: {name} ({n} of {len(cases)} cases)" for name, n in counts.items()]


def _fields(case: GoldCase) -> Iterator[str]:
    """Name the fields that a case sets, one level into its request and labels."""
    for name, value in case.model_dump(exclude_defaults=True).items():
        if name in {"request", "expected", "forbidden"}:
            yield from (f"{name}.{inner}" for inner in value)
        elif value not in _READ_BACK:
            yield name
