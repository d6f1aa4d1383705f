"""AutoRAG's questions: every passage that answers one is expected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalnb.errors import BadInputError, GoldError
from evalnb.gold.autorag import parse_autorag
from evalnb.gold.loading import load_gold


def parquet(**columns: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return bytes(sink.getvalue())


QA = parquet(
    qid=["a", "b", "c"],
    query=["q1", "q2", "q3"],
    retrieval_gt=[[["d1"]], [["d2", "d3"], ["d4", "d2"]], []],
    generation_gt=[["x"], ["y"], ["z"]],
)


def test_passages_are_expected_ids(tmp_path: Path) -> None:
    (tmp_path / "qa.parquet").write_bytes(QA)
    gold = load_gold(tmp_path / "qa.parquet", split="test")
    assert [(c.case_id, c.request.query, c.expected.document_ids, c.split) for c in gold] == [
        ("a", "q1", ("d1",), "test"),
        ("b", "q2", ("d2", "d3", "d4"), "test"),
        ("c", "q3", (), "test"),
    ]
    assert gold.notes == (
        "questions without passages, kept without labels: 1",
        "questions with alternative passages, all of which are expected: 1",
    )


@pytest.mark.parametrize("passages", [["d1", "d2"], [["d1", "d2"]], [["d1"], ["d2"]]])
def test_lists_of_any_depth(passages: list[Any]) -> None:
    cases, _ = parse_autorag(parquet(query=["q"], retrieval_gt=[passages]), where="x")
    assert cases[0].expected.document_ids == ("d1", "d2")
    assert cases[0].case_id.startswith("0001-")


@pytest.mark.parametrize(
    ("data", "finding"),
    [
        (parquet(query=["q"]), "x: no column 'retrieval_gt'; it has query (columns that are read"),
        (parquet(query=["q"], retrieval_gt=[7]), "x: row 1: retrieval_gt: expected lists of ids"),
        (parquet(query=["q"], retrieval_gt=[[7]]), "x: row 1: retrieval_gt: expected lists of ids"),
        (
            parquet(query=["q"], retrieval_gt=[[["d"], [None]]]),
            "expected lists of ids, found [['d'",
        ),
        (parquet(query=["q"], retrieval_gt=[[[["d"]]]]), "expected lists of ids, found [[['d']]]"),
        (parquet(query=["q"], retrieval_gt=[[[" "]]]), "expected.document_ids[0]: an id must not"),
        (parquet(query=[None], retrieval_gt=[["d"]]), "row 1: request.query: expected a text"),
        (parquet(query=[], retrieval_gt=[]), "x: there are no cases"),
        (QA[:-20], "x: the Parquet file is damaged"),
    ],
)
def test_a_row_is_refused(data: bytes, finding: str) -> None:
    with pytest.raises(GoldError) as caught:
        parse_autorag(data, where="x")
    assert finding in str(caught.value)


def test_other_columns_are_none_of_gold(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(parquet(query=["q"], expected=["d"]))
    with pytest.raises(BadInputError, match="pass the DataFrame itself"):
        load_gold(tmp_path / "a.parquet")
