"""``evalnb score`` as a person or a script sees it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from evalnb.cli.main import main

QRELS = "q1 0 a 1\nq1 0 b 3\nq2 0 c 1\nq3 0 a 0\n"
RUN = "q1 Q0 a 1 2.0 t\nq1 Q0 b 2 1.0 t\nq3 Q0 a 1 1.0 t\nq9 Q0 x 1 1.0 t\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.qrels").write_text(QRELS)
    (tmp_path / "x.run").write_text(RUN)
    (tmp_path / "y.run").write_text("q2 Q0 c 1 1.0 t\n")
    monkeypatch.chdir(tmp_path)


def _score(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["score", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.mark.usefixtures("files")
def test_means_stand_beside_their_counts(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = _score(capsys, "x.qrels", "x.run", "-m", "nDCG@10", "-m", "recip_rank")
    assert status == 0
    assert out == (
        "nDCG@10\tall\t0.3984\tn=2\tn_undefined=1\nRR\tall\t0.5000\tn=2\tn_undefined=1\n"
    )
    assert err == (
        "x.run: judged but not in the run, counted as empty: 1 of 3 queries (q2)\n"
        "x.run: in the run but not judged, not scored: 1 queries (q9)\n"
    )


@pytest.mark.usefixtures("files")
def test_per_query_rows(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = _score(capsys, "x.qrels", "x.run", "-m", "P.1,2", "-q", "-n")
    assert out.splitlines() == [
        "P@1\tq1\t1.0000", "P@2\tq1\t1.0000", "P@1\tq2\t0.0000", "P@2\tq2\t0.0000",
        "P@1\tq3\tN/A", "P@2\tq3\tN/A",
    ]  # fmt: skip


@pytest.mark.usefixtures("files")
def test_several_runs_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = _score(capsys, "x.qrels", "x.run", "y.run", "-m", "AP")
    assert [line.split("\t")[:4] for line in out.splitlines()] == [
        ["x.run", "AP", "all", "0.5000"], ["y.run", "AP", "all", "0.5000"],
    ]  # fmt: skip


@pytest.mark.usefixtures("files")
def test_json_lines_carry_every_digit_and_null(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = _score(capsys, "x.qrels", "x.run", "-m", "nDCG@10", "-q", "-o", "jsonl")
    first, _, third, mean = map(json.loads, out.splitlines())
    assert first["value"] == pytest.approx(0.796708, abs=5e-7)
    assert (third["query"], third["value"], third["status"]) == ("q3", None, "undefined")
    assert (mean["query"], mean["n"], mean["n_undefined"]) == ("all", 2, 1)


@pytest.mark.usefixtures("files")
def test_level_profile_and_self(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, err = _score(capsys, "x.qrels", "x.run", "-l", "2", "-m", "RR", "-m", "nDCG@10")
    assert out.splitlines()[0].startswith("RR(rel=2)\tall\t0.5000\tn=1\tn_undefined=2")
    assert "nDCG reads the grades themselves; level 2 does not touch it" in err
    _, out, _ = _score(capsys, "x.qrels", "x.run", "-m", "RR", "--profile", "trec")
    assert out == "RR\tall\t0.3333\tn=3\tn_undefined=0\n"
    Path("self.run").write_text("q1 Q0 q1 1 9 t\nq1 Q0 a 2 1 t\n")
    for options, mean in (((), "0.2500"), (("--drop-self",), "0.5000")):
        _, out, _ = _score(capsys, "x.qrels", "self.run", "-m", "RR", *options)
        assert out.split("\t")[2] == mean


@pytest.mark.usefixtures("files")
def test_ties_beside_the_value(capsys: pytest.CaptureFixture[str]) -> None:
    Path("tied.run").write_text("q1 Q0 x 1 1 t\nq1 Q0 b 2 1 t\nq2 Q0 c 1 1 t\n")
    options = ("x.qrels", "tied.run", "--ties", "-q", "-m", "RR")
    _, out, _ = _score(capsys, *options)
    assert out.splitlines() == [
        "RR\tq1\t0.5000\t0.5000\t0.7500\t1.0000",
        "RR\tq2\t1.0000\t1.0000\t1.0000\t1.0000",
        "RR\tq3\tN/A\tN/A\tN/A\tN/A",
        "RR\tall\t0.7500\t0.7500\t0.8750\t1.0000\tn=2\tn_undefined=1",
    ]
    _, out, _ = _score(capsys, *options, "-o", "jsonl")
    found = [
        [row[key] for key in ("worst", "expected", "best")]
        for row in map(json.loads, out.splitlines())
    ]
    assert found == [[0.5, 0.75, 1.0], [1.0, 1.0, 1.0], [None] * 3, [0.75, 0.875, 1.0]]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("run", "remark"),
    [
        ("q1 Q0 a 1 1 t\nq1 Q0 b 2 1 t\n", "2 of 2 positions share their score"),
        ("q1 Q0 a 1 1 t\nq1 Q0 b 2 2 t\n", "contradicts the scores; rows: 1"),
        ("\ufeffq1 Q0 a 1 1 t\n", "byte order mark"),
    ],
)
def test_remarks_go_to_stderr(run: str, remark: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("z.run").write_text(run)
    status, out, err = _score(capsys, "x.qrels", "z.run", "-m", "RR")
    assert (status, out.count("\n")) == (0, 1)
    assert remark in err


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["x.qrels", "none.run"], 2, "NOT_FOUND"),
        (["x.run", "x.run"], 2, "GOLD_INVALID: x.run:1"),
        (["x.qrels", "x.run", "-m", "ndgc@10"], 2, "near names: nDCG"),
        (["x.qrels", "x.run", "-m", "official"], 2, "name the measures"),
        (["x.qrels", "x.run", "-n"], 2, "add -q"),
        (["x.qrels", "x.run", "-l", "0"], 2, "relevance level"),
        (["x.qrels", "x.run", "--profile", "beir"], 2, "profile"),
        (["x.qrels"], 2, "Missing argument"),
        (["x.qrels", "other.run"], 3, "3 judged (q1, q2, q3), 1 in the run (8)"),
    ],
)
def test_refusals(
    arguments: list[str], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("other.run").write_text("8 Q0 a 1 1.0 t\n")
    found, out, err = _score(capsys, *arguments)
    assert (found, out) == (status, "")
    assert message in err


@pytest.mark.usefixtures("files")
def test_the_default_measures() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "evalnb", "score", "x.qrels", "x.run"],
        capture_output=True,
        text=True,
        check=True,
    )
    names = [line.split("\t")[0] for line in done.stdout.splitlines()]
    assert names == ["AP", "RR", "nDCG@10", "R@100", "P@10"]
