"""Loading and verifying a gold set of 64 MiB in 100,000 lines, strict parsing included.

Prints the CPU time of `load_gold_dir` and of `verify_gold_dir` as a ratio to the plain way
(`json.loads` and `model_validate` on the same record, nothing hashed and nothing refused), and the
peak memory of verifying. Every measurement runs in a process of its own, the best of three counts.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

LINES, SIZE = 100_000, 64 * 1024 * 1024
TEXT = "what did revenue do in the third quarter how long is a token valid büyük şehir"


def write_gold(folder: Path) -> None:
    """Write a gold directory of labelled cases that fills both bounds exactly."""
    from evalnb.gold.dataset import pin_gold_dir

    chance = random.Random(7)
    width = SIZE // LINES
    lines = []
    for number in range(LINES):
        ids = [f"doc_{chance.getrandbits(64):016x}" for _ in range(4)]
        case = {
            "case_id": f"q{number:06d}",
            "family_key": f"family-{number // 2}",
            "split": "development",
            "language": "en",
            "request": {"query": " ".join(chance.choices(TEXT.split(), k=9)), "mode": "keyword"},
            "expected": {"document_ids": ids[:2]},
            "document_relevance": dict(zip(ids, (3, 1, 0, -1), strict=True)),
            "content": [{"document": "report.pdf", "content_contains": ["grew", "gelirleri"]}],
            "label_provenance": {"method": "human", "annotators": 2, "independent": True},
            "description": "",
        }
        line = json.dumps(case, ensure_ascii=False)
        case["description"] = "x" * (width - len(line.encode()) - 1)
        lines.append(json.dumps(case, ensure_ascii=False).encode() + b"\n")
    (folder / "cases.jsonl").write_bytes(b"".join(lines))
    pin_gold_dir(folder, "bench", "bench")


def load(folder: Path) -> object:
    from evalnb.gold.dataset import load_gold_dir

    return load_gold_dir(folder)


def verify(folder: Path) -> object:
    from evalnb.gold.dataset import verify_gold_dir

    return verify_gold_dir(folder)


def plain(folder: Path) -> object:
    from evalnb.gold.cases import GoldCase

    with (folder / "cases.jsonl").open("rb") as file:
        return [GoldCase.model_validate(json.loads(line)) for line in file]


TASKS = {task.__name__: task for task in (load, verify, plain)}


def run(task: str, folder: Path) -> list[float]:
    """Run one task in a fresh process; CPU seconds and peak memory in MiB."""
    done = subprocess.run(
        [sys.executable, __file__, task, str(folder)], capture_output=True, text=True, check=True
    )
    return [float(figure) for figure in done.stdout.split()]


def measure(task: Callable[[Path], object], folder: Path) -> None:
    import evalnb.gold.dataset  # noqa: F401  # imports are not what is measured

    start = time.process_time()
    kept = task(folder)
    spent = time.process_time() - start
    del kept
    print(spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run("write", folder)  # in a process of its own too: a child inherits the peak of its parent
        rounds = [{task: run(task, folder) for task in TASKS} for _ in range(3)]
        best = {task: min(figures[task] for figures in rounds) for task in TASKS}
    size = f"{LINES:,} lines, {SIZE / 2**20:.0f} MiB"
    print(f"{size}: plain {best['plain'][0]:.2f} s CPU, {best['plain'][1]:.0f} MiB peak")
    for task in ("load", "verify"):
        seconds, peak = best[task]
        ratio = seconds / best["plain"][0]
        print(f"{task}: {seconds:.2f} s CPU, ratio {ratio:.2f}, {peak:.0f} MiB peak")


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            main()
        case ["write", name]:
            write_gold(Path(name))
        case [task, name]:
            measure(TASKS[task], Path(name))
