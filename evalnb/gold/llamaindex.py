"""LlamaIndex's ``rag_dataset.json``: questions with the contexts that they were made from."""

from __future__ import annotations

from typing import Any

from evalnb.errors import GoldError
from evalnb.gold.cases import GoldCase, LabelProvenance, Parsed, Split, imported_case
from evalnb.strict_json import take_objects
from evalnb.wording import shown


def parse_rag_dataset(document: Any, *, where: str, split: Split = "development") -> Parsed:
    """Read ``{"examples": [{"query", "reference_contexts", ...}]}``.

    The contexts are alternative phrases. An example without any is a case without labels. What a
    model asked is labelled as synthetic.

    Raises
    ------
    GoldError
        Naming the example and what is missing or of another kind.
    """
    cases: list[GoldCase] = []
    for place, example in take_objects(document, "examples", where=where):
        contexts = example.get("reference_contexts") or []
        if not isinstance(contexts, list):
            raise GoldError(
                f"reference_contexts: expected a list of texts, found {shown(contexts)}",
                where=place,
            )
        asker = example.get("query_by")
        by_model = isinstance(asker, dict) and asker.get("type") == "ai"
        fields = {
            "request": {"query": example.get("query")},
            "content": [{"content_contains": list(dict.fromkeys(contexts))}] if contexts else [],
            "label_provenance": LabelProvenance(method="synthetic" if by_model else "imported"),
        }
        cases.append(imported_case(len(cases) + 1, fields, split=split, where=place))
    if not cases:
        raise GoldError("there are no examples", where=where)
    notes = ["a result counts when its text holds a whole reference context, not half of one"]
    if bare := sum(not case.content for case in cases):
        notes.append(f"examples without reference contexts, kept without labels: {bare}")
    return Parsed(tuple(cases), tuple(notes))
