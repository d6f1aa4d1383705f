"""New weights to new means: 200 cases, 5 channels, 100 candidates; beside ranx, if it is there.

Run: pip install ranx, then python benchmarks/replay.py
Prints the median time of a replay, and its ratio to ranx's fuse and evaluate of the same lists.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable

import evalnb as ev
from evalnb.comparison.replay import Replay
from evalnb.gold.cases import GoldCase, dataset_from_cases

CASES, CHANNELS, CANDIDATES, ROUNDS = 200, 5, 100, 15
BOUND_MS, BOUND = 16, 1 / 20
Lists = dict[str, dict[str, float]]


def channel(seed: int) -> Callable[[str], list[tuple[str, float]]]:
    """Return a search that always finds the same hundred of two thousand documents."""

    def search(query: str) -> list[tuple[str, float]]:
        found = random.Random(f"{seed} {query}").sample(range(2_000), CANDIDATES)
        return [(f"d{n}", 1 / (rank + 1)) for rank, n in enumerate(found)]

    return search


def median_ms(run: Callable[[int], object]) -> float:
    """Return the median time of a run, after a first one."""
    times = []
    for n in range(ROUNDS + 1):
        began = time.perf_counter()
        run(n)
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times[1:])


def ranx_ms(judged: dict[str, dict[str, int]], channels: dict[str, Lists]) -> float | None:
    """Return what ranx takes for the same weights; None where it is not installed."""
    try:
        from ranx import Qrels, Run, evaluate, fuse
    except ImportError:
        return None
    qrels, runs = Qrels(judged), [Run(found) for found in channels.values()]

    def run(n: int) -> object:
        weights = {"weights": tuple(1 + (n + c) / 7 for c in range(CHANNELS))}
        fused = fuse(runs=runs, norm="min-max", method="wsum", params=weights)
        return evaluate(qrels, fused, ["ndcg@10", "mrr@10", "recall@10"])

    return median_ms(run)


def main() -> int:
    chance = random.Random(0)
    judged = {
        f"q{n}": {f"d{chance.randrange(2_000)}": grade for grade in (3, 2, 1)} for n in range(CASES)
    }
    cases = (
        GoldCase(case_id=q, split="development", request={"query": q}, document_relevance=grades)
        for q, grades in judged.items()
    )
    channels = {f"c{n}": channel(n) for n in range(CHANNELS)}
    report = ev.evaluate(
        dataset_from_cases(tuple(cases), dataset_id="replay"),
        {"all": ev.fused(channels)},
        limits=ev.Limits(artifact_bytes=2**30, report_bytes=2**30),
    )
    replay = Replay(report.record, "all")

    def run(n: int) -> object:
        weights = {name: 1 + (n + c) / 7 for c, name in enumerate(channels)}
        return replay.run({"hints": {"weights": weights}}).means()

    own = median_ms(run)
    print(f"replay  {own:.1f} ms (bound {BOUND_MS} ms)")
    lists = {name: {q: dict(search(q)) for q in judged} for name, search in channels.items()}
    other = ranx_ms(judged, lists)
    if other is None:
        print("ranx is not installed: no ratio")
        return 0
    print(f"ranx    {other:.1f} ms; replay takes {own / other:.3f}x (bound {BOUND:.3f}x)")
    return 0 if own <= BOUND_MS and own / other <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
