"""Judgements and runs as ranx has them: JSON and Parquet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.errors import EvalnbError, GoldError
from evalnb.gold.nested import read_qrels, read_run

RUN = {"q1": {"d1": 1.5, "d2": 2}, "gümüş": {"007": -0.25}}
QRELS = {"q1": {"d1": 2, "d2": 0}, "q2": {"NA": -1}}


def parquet(
    rows: list[tuple[Any, ...]], names: tuple[str, ...] = ("q_id", "doc_id", "score")
) -> bytes:
    sink = pa.BufferOutputStream()
    columns = [list(column) for column in zip(*rows, strict=True)]
    pq.write_table(pa.table(dict(zip(names, columns, strict=True))), sink)
    return bytes(sink.getvalue())


def rows(nested: dict[str, dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(query, key, value) for query, found in nested.items() for key, value in found.items()]


def test_a_run_and_judgements_in_json() -> None:
    assert read_run(json.dumps(RUN).encode()).scores == RUN
    assert read_qrels(json.dumps(QRELS, indent=2).encode()).grades == QRELS


def test_a_run_and_judgements_in_parquet() -> None:
    scores = {query: {key: float(value) for key, value in d.items()} for query, d in RUN.items()}
    assert read_run(parquet(rows(scores))).scores == scores
    assert read_qrels(parquet(rows(QRELS))).grades == QRELS


def test_other_bytes_are_read_as_trec() -> None:
    assert read_run(b"q1 Q0 {d} 1 2.5 t\n").scores == {"q1": {"{d}": 2.5}}
    assert read_qrels(b"q1 0 d1 1\n", encoding="ascii").grades == {"q1": {"d1": 1}}


def test_judgements_of_other_layouts_are_recognised() -> None:
    beir = b"\xef\xbb\xbfquery-id\tcorpus-id\tscore\r\nq1\td1\t2\r\n"
    assert read_qrels(beir).grades == {"q1": {"d1": 2}}
    ltr = b"# qid:1: boots\n4 qid:1 # 75\n"
    assert read_qrels(ltr).grades == {"1": {"75": 4}}


REFUSED = {
    b'{"q1": {"d1": 1}, "q1": {"d2": 1}}': 'x:1: the key "q1" stands twice in one object',
    b'{"q1": {"d1": 1, "d1": 1}}': 'the key "d1" stands twice',
    b'{"q1": {"d1": NaN}}': "q1.d1: nan is not a finite number",
    b'{"q1": {"d1": "1"}}': "query 'q1', document 'd1': found 'd1': '1', expected a text and a fin",
    b'{"q1": {"d1": true}}': "found 'd1': True",
    b'{"q1": ["d1"]}': "found 'q1': ['d1'], expected query id: {document id: number}",
    b'{"q1": {"": 1}}': "x: query 'q1': an id must not be empty",
    b'{" ": {"d": 1}}': "x: query ' ': an id must not be empty",
    b'{"q1": {"d1": 1}': "x:1: not strict JSON",
    b"{}": "x: the file holds no queries",
    b"\x04\x22\x4d\x18\x44\x40": "x: a packed file, as ranx saves it under .lz4 (save it as .json",
    parquet([("q1", "d1", 1.0)])[:-9]: "x: the Parquet file is damaged",
    parquet([("q1", "d1", 1.0), ("q1", "d1", 2.0)]): "x row 2: query 'q1' has document 'd1' twice",
    parquet([("q1", 7, 1.0)]): "x row 1: found 7, expected an id, which is text",
    parquet([("q1", "d1", None)]): "found 'd1': None",
    parquet([("q1", "d1", 1.0)], ("qid", "doc_id", "score")): "no column 'q_id'; it has qid",
}  # fmt: skip


@pytest.mark.parametrize("data", REFUSED, ids=range(len(REFUSED)))
def test_a_file_is_refused(data: bytes) -> None:
    with pytest.raises(GoldError) as caught:
        read_run(data, name="x")
    assert REFUSED[data] in str(caught.value)


def test_a_fractional_grade_is_refused() -> None:
    for data in (b'{"q1": {"d1": 0.5}}', b'{"q1": {"d1": 1.0}}', parquet([("q1", "d1", 1.0)])):
        with pytest.raises(GoldError, match="expected a text and a whole grade"):
            read_qrels(data)


@pytest.mark.soak
@given(st.binary(max_size=40), st.integers(0, 400))
def test_damaged_bytes_give_a_typed_error_or_a_run(noise: bytes, at: int) -> None:
    for whole in (json.dumps(RUN).encode(), parquet([("q1", "d1", 1.0), ("q2", "d1", 0.5)])):
        at %= len(whole)
        try:
            read_run(whole[:at] + noise + whole[at + len(noise) :])
        except EvalnbError:
            continue


def test_ranx_files_are_scored_and_answer_as_systems(tmp_path: Path) -> None:
    from evalnb.evaluation.runfiles import score_run
    from evalnb.systems.runs import RunFileSystem

    (tmp_path / "qrels.json").write_text(json.dumps(QRELS))
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    (tmp_path / "run.parquet").write_bytes(parquet([("q1", "d2", 2.0), ("q1", "d1", 1.5)]))
    for run in ("run.json", "run.parquet"):
        scores = score_run(tmp_path / "qrels.json", tmp_path / run, ["RR"])
        assert [row.value for row in scores.rows] == [0.5, None]
        assert RunFileSystem(tmp_path / run).capabilities().kinds == ("document",)
