"""Ranking measures over arrays and dicts, beside ranx and pytrec_eval; and how their time grows.

Run: python benchmarks/measures.py [--queries 6980] [--depth 1000] [--rounds 7]
The ratio to ranx needs: pip install ranx. Rounds alternate, and the best of each counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from evalnb.evaluation.many_runs import score_runs
from evalnb.measures.coded import CodedGold, CodedRankings
from evalnb.measures.judgements import Judgements
from evalnb.measures.names import parse_measures

MEASURES = ["AP", "RR", "nDCG@10", "R@100", "P@10"]
PYTREC_EVAL = {"map", "recip_rank", "ndcg_cut.10", "recall.100", "P.10"}
RANX = ["map", "mrr", "ndcg@10", "recall@100", "precision@10"]
BOUND_ARRAYS, BOUND_DICTS = 0.03, 1.1
Lists = dict[str, dict[str, float]]


def best_s(
    rounds: int, *runs: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Return the best time of each, the runs taking turns after a first one."""
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(rounds + 1):
        for run, found in zip(runs, times, strict=True):
            began = clock()
            run()
            found.append(clock() - began)
    return [min(found[1:]) for found in times]


def from_codes(gold: CodedGold, entries: NDArray[np.int32]) -> list[float]:
    """Score rankings of ids coded as entries of the gold, -1 where nobody judged them."""
    n, depth = entries.shape
    at = np.flatnonzero(entries >= 0)
    row, place = np.divmod(at, depth)
    found = CodedRankings.at_entries(
        gold,
        np.arange(n),
        n_ranked=np.full(n, depth),
        row=row,
        ranks=place + 1,
        entries=entries.ravel()[at],
    )
    return [np.nanmean(found.score(m, m.k).values) for m in parse_measures(*MEASURES)]


def beside_ranx(n: int, depth: int, rounds: int) -> None:
    """Score one large run from arrays."""
    rng = np.random.default_rng(0)
    places = np.sort(rng.integers(0, min(60, depth), (n, 2)), axis=1)
    judged = [{f"d{place}": 1 for place in row} for row in places.tolist()]
    gold = CodedGold([Judgements(grades) for grades in judged])
    entries = np.full((n, depth), -1, np.int32)
    for row, grades in enumerate(judged):
        for at, key in enumerate(grades):
            entries[row, int(key[1:])] = gold.starts[row] + at
    try:
        from ranx import Qrels, Run, evaluate
    except ImportError:
        (own,) = best_s(rounds, lambda: from_codes(gold, entries))
        print(f"{n} x {depth} from arrays: {1000 * own:.1f} ms; ranx is not installed: no ratio")
        return
    row = {f"d{place}": float(depth - place) for place in range(depth)}
    qrels = Qrels({f"q{n:06}": grades for n, grades in enumerate(judged)})
    run = Run({f"q{query:06}": row for query in range(n)})
    theirs = evaluate(qrels, run, RANX)
    assert np.allclose(from_codes(gold, entries), [theirs[name] for name in RANX])
    own, other = best_s(
        rounds, lambda: from_codes(gold, entries), lambda: evaluate(qrels, run, RANX)
    )
    print(
        f"{n} x {depth} from arrays: {1000 * own:.1f} ms, ranx evaluate {1000 * other:.0f} ms: "
        f"{own / other:.4f}x (bound {BOUND_ARRAYS}x)"
    )


def beside_pytrec_eval(rounds: int) -> None:
    """Score many runs in dicts."""
    import pytrec_eval

    rng = np.random.default_rng(0)
    qrels = {
        f"q{q}": {
            f"d{d}": int(g) for d, g in zip(*rng.integers(0, (300, 4), (6, 2)).T, strict=True)
        }
        for q in range(200)
    }
    runs: dict[str, Lists] = {
        f"v{v}": {
            q: {f"d{d}": 10.0 - n for n, d in enumerate(rng.choice(300, 10, replace=False))}
            for q in qrels
        }
        for v in range(24)
    }

    def theirs() -> object:
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, PYTREC_EVAL)
        return [evaluator.evaluate(run) for run in runs.values()]

    own, other = best_s(
        3 * rounds, lambda: score_runs(qrels, runs, MEASURES), theirs, clock=time.process_time
    )
    print(
        f"200 x 10 x 24 from dicts: {1000 * own:.1f} ms, pytrec_eval {1000 * other:.1f} ms: "
        f"{own / other:.2f}x (bound {BOUND_DICTS}x)"
    )


def slope(name: str, sizes: list[int], make: Callable[[int], CodedRankings], rounds: int) -> None:
    """Print the processor time of each size, and the exponent of a power law through them."""
    seconds = []
    for size in sizes:
        found = make(size)

        def score(found: CodedRankings = found) -> object:
            return [found.score(m, m.k) for m in parse_measures(*MEASURES)]

        (best,) = best_s(rounds, score, clock=time.process_time)
        seconds.append(best)
        n = len(found.case)
        print(f"{size:9,} {name}: {1e3 * best:8.2f} ms, {1e6 * best / n:6.2f} us a ranking")
    exponent = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    print(f"time grows with {name} to the power of {exponent:.2f} (linear is 1)")


def rankings(n_cases: int, n_variants: int) -> CodedRankings:
    """Return rankings with three judged positions each."""
    gold = CodedGold([Judgements({"a": 2, "b": 1, "c": 0})] * n_cases)
    n = n_cases * n_variants
    case = np.tile(np.arange(n_cases), n_variants)
    ranks = np.sort(np.random.default_rng(0).integers(1, 100, (n, 3)), axis=1)
    ranks += np.arange(3)
    entries = gold.starts[case][:, None] + np.arange(3)
    row = np.repeat(np.arange(n), 3)
    return CodedRankings.at_entries(
        gold,
        case,
        n_ranked=np.full(n, 110),
        row=row,
        ranks=ranks.ravel(),
        entries=entries.ravel(),
    )


def main() -> None:
    """Print ratios, then times over three decades."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--queries", type=int, default=6980)
    parser.add_argument("--depth", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    beside_ranx(given.queries, given.depth, given.rounds)
    beside_pytrec_eval(given.rounds)
    slope("cases", [1_000, 10_000, 100_000, 1_000_000], lambda n: rankings(n, 1), given.rounds)
    slope("variants", [10, 100, 1_000, 10_000], lambda n: rankings(100, n), given.rounds)


if __name__ == "__main__":
    main()
