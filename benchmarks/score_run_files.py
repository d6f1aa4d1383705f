"""``evalnb score`` on one large run file, sorted and shuffled, beside other tools: whole processes.

Run: python benchmarks/score_run_files.py [--queries 6980] [--depth 1000] [--rounds 3] [--digits 6]
Prints seconds of wall and processor time, peak memory, and the ratios; the figures must agree.
The rounds alternate, and the best of each counts: the least disturbed one. Beside pytrec_eval,
ranx (pip install ranx; once before, so that it is compiled) and trec_eval, if it is on the path,
on the sorted file; beside pytrec_eval on the shuffled one, whose rows are in no order.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
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


SHUFFLE = """
import random, sys
with open(sys.argv[1], "rb") as file:
    lines = file.readlines()
random.Random(0).shuffle(lines)
with open(sys.argv[2], "wb") as file:
    file.writelines(lines)
"""
RANX = """
import sys
from ranx import Qrels, Run, evaluate
qrels = Qrels.from_file(sys.argv[1], kind="trec")
run = Run.from_file(sys.argv[2], kind="trec")
scores = evaluate(qrels, run, sys.argv[3:], make_comparable=True)
for name, score in scores.items():
    print(f"{name}\\tall\\t{score:.4f}")
"""
RANX_NAMES = ("map", "mrr", "ndcg@10", "recall@100", "precision@10")
BOUNDS = {"pytrec_eval": 0.2, "ranx": 0.2, "trec_eval": 0.3}
BOUND_SHUFFLED, BOUND_MB = 0.5, 700


class Cost(NamedTuple):
    """What one process took."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def main() -> None:
    """Write a run like those of a passage collection, time all of them, and compare."""
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
        print(f"{given.queries} x {given.depth}, {run.stat().st_size / 1e6:.0f} MB, sorted")
        _compare(_commands(qrels, run), rounds=given.rounds, bounds=BOUNDS)
        shuffled = Path(folder) / "shuffled.run"
        # Apart, since a process that was started counts the memory of the one that started it.
        subprocess.run([sys.executable, "-c", SHUFFLE, str(run), str(shuffled)], check=True)
        print("the same, shuffled")
        commands = _commands(qrels, shuffled)
        two = {name: commands[name] for name in ("evalnb", "pytrec_eval")}
        _compare(two, rounds=given.rounds, bounds={"pytrec_eval": BOUND_SHUFFLED})


def _commands(qrels: Path, run: Path) -> dict[str, list[str]]:
    files = [str(qrels), str(run)]
    options = [part for name in MEASURES.values() for part in ("-m", name)]
    commands = {
        "evalnb": [sys.executable, "-m", "evalnb", "score", *files, *options],
        "pytrec_eval": [sys.executable, "-c", PYTREC_EVAL, *files, *MEASURES],
    }
    if importlib.util.find_spec("ranx"):
        commands["ranx"] = [sys.executable, "-c", RANX, *files, *RANX_NAMES]
    else:
        print("ranx is not installed: no ratio")
    if binary := shutil.which("trec_eval"):
        options = [part for name in MEASURES for part in ("-m", name)]
        commands["trec_eval"] = [binary, "-c", *options, *files]
    else:
        print("trec_eval is not on the path: no ratio")
    return commands


def _compare(
    commands: Mapping[str, list[str]], *, rounds: int, bounds: Mapping[str, float]
) -> None:
    if "ranx" in commands:
        _run(commands["ranx"])  # compiles
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    printed = {}
    for _ in range(rounds):
        for name, command in commands.items():
            cost, output = _run(command)
            costs[name].append(cost)
            printed[name] = _means(name, output)
    for figures in printed.values():
        assert np.allclose(figures, printed["evalnb"], atol=1.01e-4), printed
    best = {name: Cost(*map(min, zip(*rows, strict=True))) for name, rows in costs.items()}
    for name, cost in best.items():
        line = f"{name:12} {cost.wall_s:6.2f} s wall {cost.cpu_s:6.2f} s cpu {cost.peak_mb:6.0f} MB"
        if name in bounds:
            wall, cpu, _ = (a / b for a, b in zip(best["evalnb"], cost, strict=True))
            line += f"; evalnb takes {wall:.3f}x wall, {cpu:.3f}x cpu (bound {bounds[name]}x)"
        elif name == "evalnb":
            line += f" (bound {BOUND_MB} MB)"
        print(line)


def _means(name: str, output: str) -> list[float]:
    """Read the figures that a tool printed, in one order for all."""
    rows = [line.split() for line in output.splitlines()]
    found = {row[0].replace(".", "_"): float(row[2]) for row in rows}
    own = [key.replace(".", "_") for key in MEASURES]
    return [found[key] for key in {"evalnb": MEASURES.values(), "ranx": RANX_NAMES}.get(name, own)]


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
