"""golden.json: questions with the text that answers them, in one file that a person can write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from evalnb.errors import BadInputError, GoldError
from evalnb.gold.cases import Parsed, Split, imported_cases
from evalnb.gold.labels import ContentExpectation
from evalnb.gold.options import spell_option
from evalnb.search.request import Query, Record, Text
from evalnb.strict_json import describe_validation_error
from evalnb.wording import near_names, shown

# What a mapping may name in another tool's layout, where everything lies flat in the element.
MAPPABLE = ("query", "description", "document", "content", "expected")


class GoldenCase(Record):
    """One question as golden.json spells it."""

    description: Text | None = None
    query: Query
    expect: ContentExpectation


def parse_golden(
    document: Any,
    *,
    where: str,
    split: Split = "development",
    mapping: Mapping[str, str] | None = None,
) -> Parsed:
    """Read ``{"cases": [...]}`` or a bare list.

    Keys that begin with ``_`` are comments; an element that has only such keys is left out and
    noted.

    Parameters
    ----------
    where
        The file, for errors.
    mapping
        For another tool's layout: which of its keys holds the ``query``, ``description``,
        ``document``, ``content`` (phrases) or ``expected`` (document ids). A document or phrase
        may be a list of alternatives. Keys that it does not name are left out and noted.

    Raises
    ------
    GoldError
        Naming the element by its index, the keys found and the keys expected.
    """
    mapping = checked_mapping(mapping, MAPPABLE)
    prefix, elements = _elements(document, where)
    entries: list[tuple[str, dict[str, Any]]] = []
    notes: list[str] = []
    unread: dict[str, int] = {}
    for index, element in enumerate(elements):
        place = f"{where}: {prefix}[{index}]"
        if not isinstance(element, dict):
            raise GoldError(f"expected an object, found {shown(element)}", where=place)
        fields = {key: value for key, value in element.items() if not key.startswith("_")}
        if element and not fields:
            notes.append(f"{prefix}[{index}] holds only comments and was left out")
            continue
        if mapping:
            labels = _map_fields(fields, mapping, place, unread)
        else:
            labels = _golden_fields(fields, place)
        entries.append((place, labels))
    notes += (f"key {key!r} was not read ({count} times)" for key, count in unread.items())
    return Parsed(imported_cases(entries, split=split, where=where), tuple(notes))


def _elements(document: Any, where: str) -> tuple[str, Sequence[Any]]:
    if isinstance(document, list):
        return "", document
    if isinstance(document, dict):
        keys = [key for key in document if not key.startswith("_")]
        if keys == ["cases"] and isinstance(document["cases"], list):
            return "cases", document["cases"]
        found = f"an object with {_listed(keys)}"
    else:
        found = shown(document)
    raise GoldError(f'expected {{"cases": [...]}} or a list of cases, found {found}', where=where)


def _golden_fields(fields: dict[str, Any], place: str) -> dict[str, Any]:
    if "query" not in fields:
        raise GoldError(
            f"no query: found {_listed(fields)}, expected query, expect and maybe description",
            where=place,
            remedy="read another layout with a mapping, such as "
            + spell_option("--map", {"query": "q", "document": "file"}, place.partition(": ")[0]),
        )
    try:
        case = GoldenCase.model_validate(fields)
    except ValidationError as error:
        known = (*GoldenCase.model_fields, *ContentExpectation.model_fields)
        raise GoldError(describe_validation_error(error, known=known), where=place) from error
    return {
        "description": case.description,
        "request": {"query": case.query},
        "content": [case.expect],
    }


def _map_fields(
    fields: dict[str, Any], mapping: Mapping[str, str], place: str, unread: dict[str, int]
) -> dict[str, Any]:
    given = {ours: fields[theirs] for ours, theirs in mapping.items() if theirs in fields}
    if "query" not in given:
        raise GoldError(
            f"no {mapping.get('query', 'query')!r}, which the mapping reads as the query: found "
            f"{_listed(fields)}",
            where=place,
        )
    for key in fields.keys() - set(mapping.values()):
        unread[key] = unread.get(key, 0) + 1
    phrases, documents, expected = (
        _texts(given.get(name), name, place) for name in ("content", "document", "expected")
    )
    content: list[dict[str, Any]]
    content = [{"document": name, "content_contains": phrases} for name in documents]
    if phrases and not documents:
        content = [{"content_contains": phrases}]
    return {
        "description": given.get("description"),
        "request": {"query": given["query"]},
        "content": content,
        "expected": {"document_ids": list(dict.fromkeys(expected))},
    }


def _texts(value: Any, name: str, place: str) -> list[str]:
    values: list[str] = [] if value is None else value if isinstance(value, list) else [value]
    for text in values:
        if not isinstance(text, str):
            raise GoldError(
                f"{name}: expected a text or a list of texts, found {shown(value)}", where=place
            )
    return values


def checked_mapping(mapping: Mapping[str, str] | None, names: Iterable[str]) -> dict[str, str]:
    """Check that a mapping goes from names that are read here to names in the file.

    Raises
    ------
    BadInputError
        For a name that is not read here, listing those that are.
    """
    known = tuple(names)
    checked: dict[str, str] = {}
    for name, theirs in (mapping or {}).items():
        ours = "content" if name == "content_contains" else name
        if ours not in known:
            raise BadInputError(
                f"the mapping names {name!r}, which is not read here{near_names(name, known)}",
                remedy=f"names on the left: {', '.join(known)}; on the right: those of the file",
            )
        checked[ours] = theirs
    return checked


def _listed(keys: Iterable[str]) -> str:
    return ", ".join(keys) or "no keys"
