"""SQuAD, versions 1.1 and 2.0: questions about paragraphs, with the passages that answer them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from evalnb.errors import GoldError
from evalnb.gold.cases import Parsed, Split, imported_cases
from evalnb.strict_json import take_objects
from evalnb.wording import listed, shown


class _Asked(NamedTuple):
    """One question, with the place where it stands and what it is about."""

    where: str
    title: str | None
    context: str
    fields: Mapping[str, Any]


def parse_squad(document: Any, *, where: str, split: Split = "development") -> Parsed:
    """Read ``{"data": [{"title"?, "paragraphs": [{"context", "qas": [...]}]}]}``.

    The ``id`` of a question is its case_id. Its answers are alternative phrases, in a document
    whose name contains the article's title where there is one. A question that has none, as the
    impossible ones of version 2.0, is a case without labels.

    Raises
    ------
    GoldError
        Naming the place of what is missing or of another kind.
    """
    asked = list(_questions(document, where))
    entries = ((question.where, _fields(question)) for question in asked)
    cases = imported_cases(entries, split=split, where=where)
    notes = []
    if impossible := sum(not case.content for case in cases):
        notes.append(f"questions without an answer, kept without labels: {impossible}")
    astray = [
        case.case_id
        for case, question in zip(cases, asked, strict=True)
        for entry in case.content
        if not all(answer in question.context for answer in entry.content_contains)
    ]
    if astray:
        notes.append(f"an answer does not stand in its paragraph: {len(astray)} ({listed(astray)})")
    if titles := {entry.document for case in cases for entry in case.content if entry.document}:
        notes.append(
            "answers count in documents named like their article: "
            f"{len(titles)} ({listed(sorted(titles))})"
        )
    return Parsed(cases, tuple(notes))


def _questions(document: Any, where: str) -> Iterator[_Asked]:
    for place, article in take_objects(document, "data", where=where):
        title = article.get("title")
        if title is not None and not isinstance(title, str):
            raise GoldError(f"title: expected a text, found {shown(title)}", where=place)
        for below, paragraph in take_objects(article, "paragraphs", where=place):
            context = paragraph.get("context")
            if not isinstance(context, str):
                raise GoldError(f"context: expected a text, found {shown(context)}", where=below)
            for at, fields in take_objects(paragraph, "qas", where=below):
                yield _Asked(at, title or None, context, fields)


def _fields(asked: _Asked) -> dict[str, Any]:
    answers = list(dict.fromkeys(_answers(asked)))
    return {
        "request": {"query": asked.fields.get("question")},
        "content": [{"document": asked.title, "content_contains": answers}] if answers else [],
        **({"case_id": asked.fields["id"]} if "id" in asked.fields else {}),
    }


def _answers(asked: _Asked) -> Iterator[str]:
    if asked.fields.get("is_impossible") is True:
        return
    for place, answer in take_objects(asked.fields, "answers", where=asked.where):
        if not isinstance(text := answer.get("text"), str):
            raise GoldError(f"text: expected a text, found {shown(text)}", where=place)
        yield text
