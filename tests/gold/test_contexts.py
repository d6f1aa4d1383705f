"""Data sets with reference contexts become content gold: what a question was made from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalnb.errors import GoldError
from evalnb.gold.contexts import parse_rag_dataset, parse_ragas
from evalnb.gold.loading import load_gold

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
        ([], "x: there are no cases"),
        (["q"], "x: examples[0]: expected an object, found 'q'"),
        ([EXAMPLE, {"reference_contexts": []}], "x: examples[1]: request.query: expected a text"),
        ([EXAMPLE | {"reference_contexts": "c"}], "reference_contexts: expected a list of texts"),
        ([EXAMPLE | {"reference_contexts": [["c"]]}], "reference_contexts: expected a list of te"),
        ([EXAMPLE | {"reference_contexts": [""]}], "an empty phrase"),
    ],
)
def test_another_shape_is_refused_with_its_place(examples: Any, finding: str) -> None:
    with pytest.raises(GoldError) as caught:
        parse_rag_dataset({"examples": examples}, where="x")
    assert finding in str(caught.value)


RAGAS = [
    {"user_input": "What grew?", "reference_contexts": ["Revenue grew."], "synthesizer_name": "s"},
    {"user_input": "And then?", "reference_contexts": None, "reference": "Nothing."},
]


def test_rows_of_ragas() -> None:
    (first, second), notes = parse_ragas(RAGAS, where="x", split="test")
    assert first.content[0].content_contains == ("Revenue grew.",)
    assert [case.label_provenance and case.label_provenance.method for case in (first, second)] == [
        "synthetic",
        "imported",
    ]
    assert notes[1] == "examples without reference contexts, kept without labels: 1"
    with pytest.raises(GoldError, match=r"x: row 1: request.query: expected a text, found None"):
        parse_ragas([{"reference_contexts": []}], where="x")


def test_test_sets_of_ragas_are_recognised(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in RAGAS))
    pq.write_table(pa.Table.from_pylist(RAGAS), tmp_path / "a.parquet")
    lines, columns = (load_gold(tmp_path / name) for name in ("a.jsonl", "a.parquet"))
    assert len(lines) == len(columns) == 2
    assert lines.version_sha == columns.version_sha
