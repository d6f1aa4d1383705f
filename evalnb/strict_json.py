"""Strict JSON: what other readers would refuse, or read differently, is refused here.

Refused at any depth: a repeated key, NaN, Infinity and numbers past the range of a float (1e999),
integers past 64 bits, invalid UTF-8, lone surrogates, NUL, and nesting past 100 levels.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import jiter
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from evalnb.errors import GoldError
from evalnb.files import decode_text, open_bounded, refuse_lfs_pointer
from evalnb.wording import near_names, shown

MAX_DEPTH = 100  # no record nests deeper than ten; parsers of other languages stop near 1,000
_WORD_64 = 1 << 63
_POSITION = re.compile(r"(.*) at line (\d+) column (\d+)", re.DOTALL)

Model = TypeVar("Model", bound=BaseModel)


def parse_strict(data: bytes, *, where: str, line: int | None = None) -> Any:
    """Parse one strict JSON document.

    Parameters
    ----------
    data
        UTF-8; a leading byte order mark is dropped.
    where
        The file, for errors.
    line
        The line of ``where`` that ``data`` is, if it is one line of it.

    Raises
    ------
    GoldError
        Naming the line, and the key or field.
    """
    text, _ = decode_text(data, where=where, first_line=line or 1)
    try:
        value = jiter.from_json(text.encode(), allow_inf_nan=True, catch_duplicate_keys=True)
    except ValueError as error:
        raise _unparsed(error, where=where, line=line) from error
    check_values(value, where=where if line is None else f"{where}:{line}")
    return value


def _unparsed(error: ValueError, *, where: str, line: int | None) -> GoldError:
    found = _POSITION.fullmatch(str(error))
    finding, row, column = found.groups() if found else (str(error), "1", "0")
    place = f"{where}:{line or row}"
    if finding.startswith("Detected duplicate key "):
        key = finding.removeprefix("Detected duplicate key ")
        return GoldError(
            f"the key {key} stands twice in one object",
            where=place,
            remedy="the two values cannot both be meant; keep one",
        )
    finding = {
        "recursion limit exceeded": f"nested past {MAX_DEPTH} levels",
        "number out of range": "an integer past 64 bits",
        "unexpected end of hex escape": "a lone surrogate, or a cut \\u escape,",
        "lone leading surrogate in hex escape": "a lone surrogate",
        "invalid unicode code point": "invalid UTF-8",
    }.get(finding, finding)
    return GoldError(f"not strict JSON: {finding} at column {column}", where=place)


def check_values(value: object, *, where: str) -> None:
    """Refuse values that strict JSON cannot carry, in a tree of dicts, lists and scalars.

    Raises
    ------
    GoldError
        Naming the field.
    """
    pending: list[tuple[object, tuple[str | int, ...]]] = [(value, ())]
    while pending:
        item, path = pending.pop()
        if isinstance(item, dict):
            pending.extend((child, (*path, key)) for key, child in item.items())
            problem = next(filter(None, map(_text_problem, item)), None)
        elif isinstance(item, (list, tuple)):
            pending.extend((child, (*path, index)) for index, child in enumerate(item))
            problem = None
        else:
            problem = _scalar_problem(item)
        if len(path) >= MAX_DEPTH and isinstance(item, (dict, list, tuple)):
            path, problem = path[:3], f"nested past {MAX_DEPTH} levels"
        if problem:
            raise GoldError(f"{format_path(path) or 'the document'}: {problem}", where=where)


def _scalar_problem(value: object) -> str | None:
    if isinstance(value, str):
        return _text_problem(value)
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value} is not a finite number"
    if isinstance(value, int) and not -_WORD_64 <= value < _WORD_64:
        return "an integer past 64 bits"
    return None


def _text_problem(text: object) -> str | None:
    if not isinstance(text, str):
        return f"the key {shown(text)} is not a text"
    if "\x00" in text:
        return "the text holds a NUL character"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "the text holds a lone surrogate"
    return None


def load_strict(model: type[Model], data: bytes, *, where: str) -> Model:
    """Parse strict JSON into a record.

    Raises
    ------
    GoldError
        Naming the field and what was found there.
    """
    parse_strict(data, where=where)
    text, _ = decode_text(data, where=where)
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        known = model.model_fields
        raise GoldError(describe_validation_error(error, known=known), where=where) from error


def read_json_lines(path: Path, *, bound: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a file that has one a line, with their line numbers.

    Raises
    ------
    GoldError
        For a line that is no object in strict JSON, an empty file, a Git LFS pointer.
    NotFoundError, LimitExceededError, BadInputError
        As :func:`~evalnb.files.open_bounded`.
    """
    with open_bounded(path, bound=bound, what=path.name) as file:
        head = file.peek(1024)
        refuse_lfs_pointer(head, where=str(path))
        if not head:
            raise GoldError("the file is empty", where=str(path))
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            record = parse_strict(line, where=str(path), line=number)
            if not isinstance(record, dict):
                raise GoldError(
                    f"expected an object, found {shown(record)}", where=f"{path}:{number}"
                )
            yield number, record


def take_objects(record: Any, key: str, *, where: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the objects listed under a key, each with its place.

    Raises
    ------
    GoldError
        If there is no such list, or it holds anything but objects.
    """
    found = record.get(key) if isinstance(record, Mapping) else None
    if not isinstance(found, list):
        raise GoldError(f"{key}: expected a list of objects, found {shown(found)}", where=where)
    for at, item in enumerate(found):
        place = f"{where}{'.' if ': ' in where else ': '}{key}[{at}]"
        if not isinstance(item, Mapping):
            raise GoldError(f"expected an object, found {shown(item)}", where=place)
        yield place, item


def describe_validation_error(error: ValidationError, *, known: Iterable[str] = ()) -> str:
    """Turn pydantic's findings into one sentence: the field, what was found, what was expected.

    Parameters
    ----------
    known
        Field names to suggest where a key is unknown.
    """
    problems = error.errors(include_url=False)
    # An unknown key explains a missing one better than the other way round.
    problems.sort(key=lambda problem: problem["type"] != "extra_forbidden")
    first = problems[0]
    location = first["loc"]
    if first["type"].endswith("_type") and location[-1:] and location[-1] in _UNION_MEMBERS:
        location = location[:-1]
    missing = {str(p["loc"][-1]) for p in problems if p["type"] == "missing" and p["loc"]}
    path, finding = format_path(location), _finding(first, missing | set(known))
    if first["type"] == "missing":
        sentence = f"{path} is missing"
    else:
        sentence = f"{path}: {finding}" if path else finding
    more = len({problem["loc"][:1] for problem in problems}) - 1
    return f"{sentence} ({more} more of its fields are wrong)" if more else sentence


def format_path(location: Iterable[str | int]) -> str:
    """Spell the place of a field.

    >>> format_path(("expected", "document_ids", 2))
    'expected.document_ids[2]'
    """
    spelled = ""
    for part in location:
        if isinstance(part, int):
            spelled += f"[{part}]"
        elif part.isidentifier():
            spelled += f".{part}" if spelled else part
        elif part != "[key]":  # pydantic's mark for a dict's key; the key stands before it
            spelled += f"[{shown(part)}]"
    return spelled


def _finding(problem: ErrorDetails, known: Iterable[str]) -> str:
    kind, found = problem["type"], problem["input"]
    if kind == "extra_forbidden":
        return f"unknown key{near_names(str(problem['loc'][-1]), known)}"
    if kind == "missing":
        return "missing"
    if kind == "value_error":
        return str(problem["ctx"]["error"])
    if kind == "json_invalid":
        return f"not a whole JSON document: {problem['ctx']['error']}"
    message = problem["msg"].removeprefix("Input should be ")
    message = message.replace("String should match pattern", "a text of the form")
    return f"expected {_EXPECTED.get(kind, message)}, found {shown(found)}"


_UNION_MEMBERS = frozenset({"str", "int", "float", "bool"})
_EXPECTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "tuple_type": "a list",
    "date_type": "a date such as 2026-01-31",
    "date_from_datetime_parsing": "a date such as 2026-01-31",
}
