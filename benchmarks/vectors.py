"""One query over a text index's vectors, against faiss's flat index on one thread.

Run: pip install faiss-cpu, then python benchmarks/vectors.py [--units N] [--queries N]
Prints a ratio of medians and fails past its bound, or where both find different units. The two are
timed in turns, so that a slow minute of the machine meets both. Vectors are random; both searches
are exact, so no result depends on what they are.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import faiss
import numpy as np
from threadpoolctl import threadpool_limits

from evalnb.workspace.eligibility import Eligibility
from evalnb.workspace.embedding import load_vectors
from evalnb.workspace.vectors import OWNERS, Owners, best_places

BOUND = 1.2
POOL = 100
Search = Callable[[np.ndarray], object]


def make_vectors(n: int, dimensions: int, rng: np.random.Generator) -> np.ndarray:
    """Draw vectors of length 1, one a row."""
    rows = rng.standard_normal((n, dimensions), dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def in_turns(searches: dict[str, Search], queries: np.ndarray) -> dict[str, float]:
    """Return the median time of each search in milliseconds, after one warm-up."""
    times: dict[str, list[float]] = {name: [] for name in searches}
    for turn, query in enumerate(queries):
        for name, search in searches.items():
            start = time.perf_counter()
            search(query)
            if turn:
                times[name].append((time.perf_counter() - start) * 1e3)
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--units", type=int, default=100_000)
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--queries", type=int, default=100)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    rows = make_vectors(options.units, options.dimensions, rng)
    queries = make_vectors(options.queries + 1, options.dimensions, rng)
    flat = faiss.IndexFlatIP(options.dimensions)
    flat.add(rows)
    faiss.omp_set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        np.save(Path(folder) / "vectors.npy", np.ascontiguousarray(rows.T))
        np.save(Path(folder) / "columns.npy", np.arange(options.units, dtype=np.int32))
        vectors = load_vectors(Path(folder))
        codes = np.tile(np.arange(options.units, dtype=np.int32) % 100, (len(OWNERS), 1))
        owners = Owners(codes, tuple({f"id{n}": n for n in range(100)} for _ in OWNERS))
        few = Eligibility(sources=frozenset({"id7", "id8"}))

        def ours(query: np.ndarray) -> np.ndarray:
            return best_places(vectors.scores(query), POOL)

        def restricted(query: np.ndarray) -> np.ndarray:
            return best_places(vectors.scores(query), POOL, admitted=owners.admitted(few))

        def theirs(query: np.ndarray) -> np.ndarray:
            return flat.search(query[None], POOL)[1][0]

        for query in queries[:20]:
            if set(ours(query)) != set(theirs(query)):
                print("both have to find the same units")
                return 1
        found = in_turns({"evalnb": ours, "restricted": restricted, "faiss": theirs}, queries)
    ratio = found["evalnb"] / found["faiss"]
    print(
        f"{options.units:,} x {options.dimensions}, top {POOL}: {ratio:.2f}x of faiss Flat "
        f"({found['evalnb']:.2f} and {found['faiss']:.2f} ms; bound {BOUND}x); "
        f"2 % of the units admitted: {found['restricted']:.2f} ms"
    )
    return 0 if ratio <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
