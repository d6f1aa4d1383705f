"""Hybrid search beside the sum of its channels, and what a searching process holds in memory.

Run: python benchmarks/hybrid.py [--units N] [--queries N]
Prints a ratio of medians of CPU time, and the memory above the mapped vectors, of a process that
only searches. Leaves with status 1 past a bound.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from lexical import fill_workspace, make_texts

from evalnb.search.request import Overrides, QueryRequest, resolve_controls
from evalnb.search.system import SearchContext
from evalnb.workspace.system import open_workspace

RATIO, MEMORY_MIB = 1.2, 300
INDEX = "text:lsa-256"


def search(folder: Path, queries: list[str]) -> bool:
    """Search in turns by every mode, and compare."""
    workspace = open_workspace(folder)
    session = workspace.open(SearchContext())
    times: dict[str, list[float]] = {"keyword": [], "semantic": [], "hybrid": []}
    for number, query in enumerate(queries):
        request = QueryRequest(query=query)
        for mode, found in times.items():
            overrides = Overrides.model_validate({"mode": mode})
            controls = resolve_controls(request, overrides, workspace.capabilities().configuration)
            began = time.process_time()
            session.search(request, controls)
            if number:  # the first one opens the indexes
                found.append(1000 * (time.process_time() - began))
    medians = {mode: statistics.median(found) for mode, found in times.items()}
    whole, parts = medians["hybrid"], medians["keyword"] + medians["semantic"]
    shown = ", ".join(f"{mode} {value:.2f}" for mode, value in medians.items())
    print(f"hybrid  {whole / parts:.2f}x of its channels ({shown} CPU ms; bound {RATIO}x)")
    mapped = sum(path.stat().st_size for path in folder.glob("indexes/text*/*/vectors.npy"))
    above = (psutil.Process().memory_info().rss - mapped) / 2**20
    print(f"memory  {above:.0f} MiB above the {mapped / 2**20:.0f} MiB mapped (bound {MEMORY_MIB})")
    return whole / parts <= RATIO and above <= MEMORY_MIB


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--units", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--search", type=Path)
    options = parser.parse_args()
    if options.search:
        return 0 if search(options.search, sys.stdin.read().splitlines()) else 1
    texts, rng, words, weights = make_texts(options.units)
    queries = [" ".join(rng.choice(words, size=5, p=weights)) for _ in range(options.queries)]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "ws"
        workspace = fill_workspace(folder, texts)
        workspace.index()
        workspace.index(INDEX)
        command = [sys.executable, __file__, "--search", str(folder)]
        return subprocess.run(command, input="\n".join(queries), text=True, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
