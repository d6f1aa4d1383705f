"""Questions with the contexts that answer them: data sets of LlamaIndex, test sets of Ragas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from evalnb.errors import GoldError
from evalnb.gold.cases import Parsed, Split, imported_cases
from evalnb.gold.labels import LabelProvenance
from evalnb.strict_json import take_objects
from evalnb.wording import shown


class _Example(NamedTuple):
    where: str
    query: Any
    contexts: Any
    by_model: bool


def parse_rag_dataset(document: Any, *, where: str, split: Split = "development") -> Parsed:
    """Read LlamaIndex's ``{"examples": [{"query", "reference_contexts", ...}]}``.

    The contexts are alternative phrases. An example without any is a case without labels. What a
    model asked is labelled as synthetic.

    Raises
    ------
    GoldError
        Naming the example and what is missing or of another kind.
    """
    examples = []
    for place, fields in take_objects(document, "examples", where=where):
        asker = fields.get("query_by")
        by_model = isinstance(asker, dict) and asker.get("type") == "ai"
        contexts = fields.get("reference_contexts")
        examples.append(_Example(place, fields.get("query"), contexts, by_model))
    return _parsed(examples, where, split)


def parse_ragas(
    rows: Iterable[Mapping[str, Any]], *, where: str, split: Split = "development"
) -> Parsed:
    """Read the rows of Ragas, with ``user_input`` and ``reference_contexts``.

    As :func:`parse_rag_dataset`; a row that names its ``synthesizer_name`` was asked by a model.
    """
    examples = [
        _Example(
            f"{where}: row {number}",
            row.get("user_input"),
            row.get("reference_contexts"),
            bool(row.get("synthesizer_name")),
        )
        for number, row in enumerate(rows, 1)
    ]
    return _parsed(examples, where, split)


def _parsed(examples: list[_Example], where: str, split: Split) -> Parsed:
    entries = ((example.where, _fields(example)) for example in examples)
    cases = imported_cases(entries, split=split, where=where)
    notes = ["a result counts when its text holds a whole reference context, not half of one"]
    if bare := sum(not case.content for case in cases):
        notes.append(f"examples without reference contexts, kept without labels: {bare}")
    return Parsed(cases, tuple(notes))


def _fields(example: _Example) -> dict[str, Any]:
    contexts = example.contexts or []
    if not isinstance(contexts, list) or not all(isinstance(text, str) for text in contexts):
        raise GoldError(
            f"reference_contexts: expected a list of texts, found {shown(contexts)}",
            where=example.where,
        )
    method = "synthetic" if example.by_model else "imported"
    return {
        "request": {"query": example.query},
        "content": [{"content_contains": list(dict.fromkeys(contexts))}] if contexts else [],
        "label_provenance": LabelProvenance.model_validate({"method": method}),
    }
