"""Judgements and runs as ``{query: {document: number}}``: in memory, and in the files of ranx.

ranx saves them as JSON and as Parquet with the columns ``q_id``, ``doc_id`` and ``score``. It keeps
the order of equal scores; here they are ordered by id, as those of every run.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

from evalnb.errors import GoldError
from evalnb.gold.layouts import is_beir, is_ltr, parse_beir_qrels, parse_ltr
from evalnb.gold.parquet import MAGIC, read_parquet
from evalnb.gold.trec import Qrels, Run, parse_qrels, parse_run
from evalnb.gold.trec_rows import Source, read_source
from evalnb.limits import GRADE_RANGE
from evalnb.search.kinds import check_id
from evalnb.wording import shown

_LZ4, _JSON = b"\x04\x22\x4d\x18", b"{"


def read_qrels(source: Source, *, name: str | None = None, encoding: str = "utf-8") -> Qrels:
    """Read judgements of TREC, BEIR, learning to rank or ranx; the file tells which.

    Raises
    ------
    GoldError
        As :func:`~evalnb.gold.trec.parse_qrels`; for a file of ranx naming query and document.
    NotFoundError
        If there is no such file.
    """
    data, where = read_source(source, name)
    if is_beir(data):
        return parse_beir_qrels(data, name=where, encoding=encoding)
    if is_ltr(data):
        return parse_ltr(data, name=where, encoding=encoding)[0]
    found = _read_nested(data, where)
    if found is None:
        return parse_qrels(data, name=where, encoding=encoding)
    return qrels_from_dict(found, name=where)


def read_run(source: Source, *, name: str | None = None) -> Run:
    """Read a run from a TREC file or one of ranx, which its first bytes tell.

    Raises
    ------
    GoldError
        As :func:`~evalnb.gold.trec.parse_run`; for a file of ranx naming query and document.
    NotFoundError
        If there is no such file.
    """
    data, where = read_source(source, name)
    found = _read_nested(data, where)
    return parse_run(data, name=where) if found is None else run_from_dict(found, name=where)


def qrels_from_dict(given: Mapping[Any, Any], *, name: str = "qrels") -> Qrels:
    """Check judgements.

    Raises
    ------
    GoldError
        For anything but ids and whole grades, naming query and document.
    """
    return Qrels(name, _checked(given, _grade, name, f"a whole grade of up to {GRADE_RANGE}"))


def run_from_dict(given: Mapping[Any, Any], *, name: str = "run") -> Run:
    """Check a run.

    Raises
    ------
    GoldError
        For anything but ids and finite scores, naming query and document.
    """
    return Run(name, _checked(given, _score, name, "a finite real score"))


def _checked(
    given: Mapping[Any, Any], convert: Callable[[Any], Any], name: str, expected: str
) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for query, values in given.items():
        if not isinstance(query, str) or not isinstance(values, Mapping):
            raise GoldError(
                f"found {query!r}: {shown(values)}, expected query id: {{document id: number}}",
                where=name,
                remedy="ids are text: '7', not 7",
            )
        row = found[query] = {}
        for document, value in values.items():
            number = convert(value) if isinstance(document, str) else None
            if number is None:
                raise GoldError(
                    f"found {document!r}: {shown(value)}, expected a text and {expected}",
                    where=f"{name}: query {query!r}, document {document!r}",
                )
            row[document] = number
    return found


def _grade(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        grade = operator.index(value)
    except TypeError:
        return None
    return grade if abs(grade) <= GRADE_RANGE else None


def _score(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        return None
    try:
        number = float(value)
    except (OverflowError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _read_nested(data: bytes, where: str) -> Mapping[str, Any] | None:
    """Read a file of ranx; None if it is none."""
    if data.startswith(MAGIC):
        found = _from_columns(data, where)
    elif data.startswith(_LZ4):
        raise GoldError(
            "a packed file, as ranx saves it under .lz4",
            where=where,
            remedy="save it as .json or .parquet",
        )
    elif data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(_JSON):
        from evalnb.strict_json import parse_strict

        found = parse_strict(data, where=where)
    else:
        return None
    if not found:
        raise GoldError("the file holds no queries", where=where)
    for query, values in found.items():
        for key in (query, *(values if isinstance(values, dict) else ())):
            try:
                check_id(key)
            except ValueError as error:
                raise GoldError(str(error), where=f"{where}: query {query!r}") from None
    return found


def _from_columns(data: bytes, where: str) -> dict[str, dict[str, Any]]:
    columns = read_parquet(data, where=where, columns=("q_id", "doc_id", "score"))
    found: dict[str, dict[str, Any]] = {}
    for row, (query, document, number) in enumerate(zip(*columns.values(), strict=True), 1):
        place = f"{where} row {row}"
        for key in (query, document):
            if not isinstance(key, str):
                raise GoldError(f"found {shown(key)}, expected an id, which is text", where=place)
        if document in (judged := found.setdefault(query, {})):
            raise GoldError(f"query {query!r} has document {document!r} twice", where=place)
        judged[document] = number
    return found
