"""``evalnb score`` on one large run file, against pytrec_eval-terrier: whole processes.

Run: python benchmarks/score_run_files.py [--queries 6980] [--depth 1000] [--rounds 3] [--digits 6]
Prints seconds of wall and processor time, peak memory, and the ratios; the figures must agree.
The rounds alternate, and the best of each counts: the least disturbed one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

MEASURES = {
    "map": "AP",
    "recip_rank": "RR",
    "ndcg_cut.10": "nDCG@10",
    "recall.100": "R@100",
    "P.10": "P@10",
}
PYTREC_EVAL = """
import sys
import pytrec_eval
with open(sys.argv[1]) as file:
    qrels = pytrec_eval.parse_qrel(file)
with open(sys.argv[2]) as file:
    run = pytrec_eval.parse_run(file)
scores = pytrec_eval.RelevanceEvaluator(qrels, set(sys.argv[3:])).evaluate(run)
for name in sys.argv[3:]:
    key = name.replace(".", "_")
    print(f"{name}\\tall\\t{sum(row[key] for row in scores.values()) / len(qrels):.4f}")
"""


class Cost(NamedTuple):
    """What one process took."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def main() -> None:
    """Write a run like those of a passage collection, time both, and compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--queries", type=int, default=6980)
    parser.add_argument("--depth", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--digits", type=int, default=6, help="digits of a score; 17 as repr writes"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        qrels, run = Path(folder) / "large.qrels", Path(folder) / "large.run"
        _write(qrels, run, queries=given.queries, depth=given.depth, digits=given.digits)
        print(f"{given.queries} x {given.depth}, {run.stat().st_size / 1e6:.0f} MB")
        options = [part for name in MEASURES.values() for part in ("-m", name)]
        ours = [sys.executable, "-m", "evalnb", "score", str(qrels), str(run), *options]
        theirs = [sys.executable, "-c", PYTREC_EVAL, str(qrels), str(run), *MEASURES]
        costs: dict[str, list[Cost]] = {"evalnb": [], "pytrec_eval": []}
        printed = {}
        for _ in range(given.rounds):
            for name, command in (("evalnb", ours), ("pytrec_eval", theirs)):
                cost, output = _run(command)
                costs[name].append(cost)
                printed[name] = [line.split("\t")[2] for line in output.splitlines()]
    assert printed["evalnb"] == printed["pytrec_eval"], printed
    best = {name: Cost(*map(min, zip(*rows, strict=True))) for name, rows in costs.items()}
    for name, cost in best.items():
        print(f"{name:12} {cost.wall_s:6.2f} s wall {cost.cpu_s:6.2f} s cpu {cost.peak_mb:6.0f} MB")
    ratios = (a / b for a, b in zip(best["evalnb"], best["pytrec_eval"], strict=True))
    print("ratio        {:6.3f}        {:6.3f}       {:6.3f}".format(*ratios))


def _write(qrels: Path, run: Path, *, queries: int, depth: int, digits: int) -> None:
    rng = np.random.default_rng(0)
    with qrels.open("w") as judged, run.open("w") as ranked:
        for query in rng.choice(1_200_000, queries, replace=False).tolist():
            documents = rng.choice(8_841_823, depth, replace=False).tolist()
            scores = np.sort(rng.gamma(3, 3, depth) + 3)[::-1].tolist()
            written = map(repr, scores) if digits == 17 else (f"{s:.{digits}f}" for s in scores)
            ranked.writelines(
                f"{query} Q0 {document} {rank} {score} bm25\n"
                for rank, (document, score) in enumerate(zip(documents, written, strict=True), 1)
            )
            relevant = {documents[place] for place in rng.integers(0, min(60, depth), 2).tolist()}
            judged.writelines(f"{query} 0 {document} 1\n" for document in sorted(relevant))


def _run(command: list[str]) -> tuple[Cost, str]:
    """Run a process to its end; its peak memory and times are those of the process alone."""
    began = time.perf_counter()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        assert status == 0, command
        output.seek(0)
        text = output.read()
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024), text


if __name__ == "__main__":
    main()
