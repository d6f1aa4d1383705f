"""What the sign-flip comparison costs beside its one matrix product, scipy and ranx.

    python benchmarks/comparison_flips.py            # ranx too where it is installed; two minutes

Prints times, their ratios with the bounds beside them, and how time grows over three decades of
cases and of variants; leaves with status 1 past a bound. One thread each, so that another load
disturbs all alike.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter

import numpy as np
import pandas as pd
from scipy.stats import permutation_test
from threadpoolctl import threadpool_limits

from evalnb.comparison.flips import flip_tests
from evalnb.comparison.paired import compare_frames
from evalnb.comparison.signs import SAMPLED_VECTORS

VARIANTS, MEASURES, CASES = 23, 5, 6_980
HYPOTHESES = VARIANTS * MEASURES
SOME = 2  # hypotheses that scipy and ranx are timed on; each takes seconds
OVER_PRODUCT, OVER_OTHERS, STEEPEST = 2.0, 0.01, 1.1
DECADES = (1, 10, 100, 1_000)


def fastest(call: Callable[[], object], *, times: int) -> float:
    """Return the seconds of the fastest of several calls."""
    durations = []
    for _ in range(times):
        start = perf_counter()
        call()
        durations.append(perf_counter() - start)
    return min(durations)


def reciprocal_differences(hypotheses: int, cases: int) -> np.ndarray:
    values = np.array([0, 0, 0, 0.5, -0.5, 0.1, -0.1, 1 / 3, -1 / 3])
    return np.random.default_rng(0).choice(values, size=(hypotheses, cases))


def by_scipy(rows: np.ndarray) -> None:
    def mean(x: np.ndarray, axis: int = -1) -> np.ndarray:
        return x.mean(axis=axis)

    for row in rows:
        permutation_test(
            (row,),
            mean,
            permutation_type="samples",
            vectorized=True,
            n_resamples=SAMPLED_VECTORS,
            batch=500,
            rng=np.random.default_rng(0),
        )


def by_ranx(rows: np.ndarray) -> Callable[[], None] | None:
    """Return ranx's test of the same rows, compiled; None where it is not installed."""
    try:
        from numba import set_num_threads
        from ranx.statistical_tests import fisher_randomization_test
    except ImportError:
        return None
    set_num_threads(1)
    zeros = np.zeros(rows.shape[1])
    fisher_randomization_test(zeros, rows[0], 10)

    def run() -> None:
        for row in rows:
            fisher_randomization_test(zeros, row, SAMPLED_VECTORS)

    return run


def ratios() -> bool:
    sums = reciprocal_differences(HYPOTHESES, CASES)
    sizes, some = np.ones_like(sums), sums[:SOME]
    signs = np.random.default_rng(1).integers(0, 2, (SAMPLED_VECTORS, CASES)).astype(np.float64)
    # In turns, so that another load disturbs both alike.
    pairs = [
        (
            fastest(lambda: signs @ sums.T, times=1),
            fastest(lambda: flip_tests(sums, sizes), times=1),
        )
        for _ in range(5)
    ]
    product, own = (min(times) for times in zip(*pairs, strict=True))
    print(f"{HYPOTHESES} hypotheses x {CASES} cases x {SAMPLED_VECTORS} sign vectors, one thread")
    print(f"  p, step-down maxT, simultaneous intervals {own:9.2f} s")
    fine = said("the float64 matrix product alone", product, own, OVER_PRODUCT)
    scipy = fastest(lambda: by_scipy(some), times=1) * HYPOTHESES / SOME
    fine &= said(f"scipy.stats.permutation_test, from {SOME} of them", scipy, own, OVER_OTHERS)
    ranx = by_ranx(some)
    if ranx is None:
        print("  ranx is not installed: no ratio")
        return fine
    seconds = fastest(ranx, times=1) * HYPOTHESES / SOME
    return fine & said(f"ranx's Fisher test, from {SOME} of them", seconds, own, OVER_OTHERS)


def said(name: str, seconds: float, own: float, bound: float) -> bool:
    ratio = own / seconds
    print(f"  {name:<41} {seconds:9.2f} s   ratio {ratio:.4f} (bound {bound:g})")
    return ratio <= bound


def slopes() -> bool:
    """Fit time = c * size^exponent to whole comparisons; the smallest is overhead, so left out."""
    by_cases = [(100 * n, compared(10, 100 * n)) for n in DECADES]
    by_variants = [(n, compared(n, 200)) for n in DECADES]
    fine = said_slope("cases, 10 variants", by_cases)
    return said_slope("variants, 200 cases", by_variants) and fine


def compared(candidates: int, cases: int) -> float:
    """Return the seconds from a scores frame to the rows and changed cases of a comparison."""
    names, ids = [f"v{n}" for n in range(candidates + 1)], [f"c{n}" for n in range(cases)]
    values = np.vstack([np.full(cases, 0.5), 0.5 + reciprocal_differences(candidates, cases)])
    scores = pd.DataFrame(
        {
            "variant": np.repeat(names, cases),
            "repetition": 0,
            "case_id": np.tile(ids, len(names)),
            "family_key": np.tile(ids, len(names)),
            "measure": "RR",
            "k": None,
            "kind": "document",
            "value": values.ravel(),
            "status": "ok",
        }
    )
    return fastest(lambda: compare_frames(scores, baseline="v0", resolution=False), times=2)


def said_slope(name: str, points: list[tuple[int, float]]) -> bool:
    counts, seconds = zip(*points, strict=True)
    exponent = float(np.polyfit(np.log(counts[1:]), np.log(seconds[1:]), 1)[0])
    shown = ", ".join(f"{n:,}: {s:.2f} s" for n, s in points)
    print(f"comparisons by {name}: {shown}; exponent {exponent:.2f} (bound {STEEPEST:g})")
    return exponent <= STEEPEST


def main() -> int:
    with threadpool_limits(1):
        fine = ratios()
        fine = slopes() and fine
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
