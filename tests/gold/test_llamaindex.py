"""LlamaIndex's datasets become content gold: the contexts that a question was made from."""

from __future__ import annotations

from typing import Any

import pytest

from evalnb.errors import GoldError
from evalnb.gold.llamaindex import parse_rag_dataset

WHOLE = "a result counts when its text holds a whole reference context, not half of one"
EXAMPLE: dict[str, Any] = {
    "query": "What grew?",
    "query_by": {"model_name": "m", "type": "ai"},
    "reference_contexts": ["Revenue grew.", "It grew by 3.", "Revenue grew."],
    "reference_answer": "Revenue.",
    "reference_answer_by": None,
}


def test_contexts_are_phrases() -> None:
    (case,), notes = parse_rag_dataset({"examples": [EXAMPLE]}, where="x", split="test")
    assert (case.request.query, case.split) == ("What grew?", "test")
    assert [entry.content_contains for entry in case.content] == [
        ("Revenue grew.", "It grew by 3.")
    ]
    assert case.label_provenance is not None
    assert case.label_provenance.method == "synthetic"
    assert notes == (WHOLE,)


def test_an_example_without_contexts_is_a_case_without_labels() -> None:
    by_hand = {"query": "q", "query_by": {"type": "human"}, "reference_contexts": None}
    (case,), notes = parse_rag_dataset({"examples": [by_hand]}, where="x")
    assert case.content == ()
    assert case.label_provenance is not None
    assert case.label_provenance.method == "imported"
    assert notes == (WHOLE, "examples without reference contexts, kept without labels: 1")


@pytest.mark.parametrize(
    ("examples", "finding"),
    [
        (None, "x: examples: expected a list of objects, found None"),
        ([], "x: there are no examples"),
        (["q"], "x: examples[0]: expected an object, found 'q'"),
        ([EXAMPLE, {"reference_contexts": []}], "x: examples[1]: request.query: expected a text"),
        ([EXAMPLE | {"reference_contexts": "c"}], "reference_contexts: expected a list of texts"),
        ([EXAMPLE | {"reference_contexts": [""]}], "an empty phrase"),
    ],
)
def test_another_shape_is_refused_with_its_place(examples: Any, finding: str) -> None:
    with pytest.raises(GoldError) as caught:
        parse_rag_dataset({"examples": examples}, where="x")
    assert finding in str(caught.value)
