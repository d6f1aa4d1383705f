"""What the sign-flip comparison costs beside its one matrix product, and how often it errs.

    python benchmarks/comparison_flips.py            # speed
    python benchmarks/comparison_flips.py --errors   # also rejections of true nulls, about a minute

Speed is printed as ratios, with BLAS held to one thread so that another load disturbs both alike.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter

import numpy as np
from scipy.stats import permutation_test
from threadpoolctl import threadpool_limits

from evalnb.comparison.flips import flip_tests
from evalnb.comparison.signs import SAMPLED_VECTORS

VARIANTS, MEASURES, CASES = 23, 5, 6_980
BY_SCIPY = 2  # hypotheses that scipy is timed on; it takes seconds for each
NULLS = 2_000


def fastest(call: Callable[[], object], *, times: int) -> float:
    """Return the seconds of the fastest of several calls."""
    durations = []
    for _ in range(times):
        start = perf_counter()
        call()
        durations.append(perf_counter() - start)
    return min(durations)


def speed() -> None:
    rng = np.random.default_rng(0)
    values = np.array([0, 0, 0, 0.5, -0.5, 0.1, -0.1, 1 / 3, -1 / 3])
    sums = rng.choice(values, size=(VARIANTS * MEASURES, CASES))
    sizes = np.ones_like(sums)
    signs = rng.integers(0, 2, (SAMPLED_VECTORS, CASES)).astype(np.float64)

    def mean_flip(x: np.ndarray, axis: int = -1) -> np.ndarray:
        return x.mean(axis=axis)

    def by_scipy() -> None:
        for row in sums[:BY_SCIPY]:
            permutation_test(
                (row,),
                mean_flip,
                permutation_type="samples",
                vectorized=True,
                n_resamples=SAMPLED_VECTORS,
                batch=500,
                rng=np.random.default_rng(0),
            )

    with threadpool_limits(1):
        product = fastest(lambda: signs @ sums.T, times=5)
        ours = fastest(lambda: flip_tests(sums, sizes), times=5)
        scipy = fastest(by_scipy, times=1) * len(sums) / BY_SCIPY
    print(f"{len(sums)} hypotheses x {CASES} cases x {SAMPLED_VECTORS} sign vectors, one thread")
    print(f"  p, maxT and simultaneous intervals   {ours:8.2f} s")
    print(f"  the float64 matrix product alone     {product:8.2f} s   ratio {ours / product:.2f}")
    print(f"  scipy.stats.permutation_test, p only {scipy:8.2f} s   ratio {ours / scipy:.4f}")


def errors() -> None:
    """Print how often a true null is rejected at .05, and a true 0 is outside its interval."""
    print(f"true nulls rejected at .05, 0 outside its interval ({NULLS} simulated data sets)")
    for name, sums, sizes in nulls(np.random.default_rng(1)):
        found = flip_tests(sums, sizes, groups=np.arange(len(sums)))
        outside = (found.low > 0) | (found.high < 0)
        print(f"  {name:<44} {(found.p <= 0.05).mean():.3f}  {outside.mean():.3f}")
    rejected = [together_rejects(np.random.default_rng(seed)) for seed in range(NULLS // 4)]
    print(f"  any of 6 correlated hypotheses, step-down    {np.mean([r[0] for r in rejected]):.3f}")
    print(f"  any of them without adjustment               {np.mean([r[1] for r in rejected]):.3f}")


def nulls(rng: np.random.Generator) -> list[tuple[str, np.ndarray, np.ndarray]]:
    ones = np.ones((NULLS, 20))
    ties = rng.choice([0, 0, 0, 0, 0.5, -0.5, 1 / 3, -1 / 3], size=(NULLS, 43))
    skewed = rng.exponential(1, (NULLS, 20)) - 1
    extreme = rng.lognormal(0, 1, (NULLS, 20)) - np.exp(0.5)
    shared = rng.normal(size=(NULLS, 12, 1)) + 0.5 * rng.normal(size=(NULLS, 12, 5))
    return [
        ("20 cases, normal", rng.normal(size=(NULLS, 20)), ones),
        ("12 cases, normal, every vector", rng.normal(size=(NULLS, 12)), ones[:, :12]),
        ("43 cases, mostly ties", ties, np.ones_like(ties)),
        ("20 cases, exponential (skewness 2)", skewed, ones),
        ("20 cases, lognormal (skewness 6)", extreme, ones),
        ("12 families of 5", shared.sum(axis=2), np.full((NULLS, 12), 5.0)),
        ("the same, families ignored", shared.reshape(NULLS, 60), np.ones((NULLS, 60))),
    ]


def together_rejects(rng: np.random.Generator) -> tuple[bool, bool]:
    sums = rng.normal(size=(1, 14)) + rng.normal(size=(6, 14))
    found = flip_tests(sums, np.ones_like(sums))
    return bool((found.p_step_down <= 0.05).any()), bool((found.p <= 0.05).any())


if __name__ == "__main__":
    speed()
    if "--errors" in sys.argv[1:]:
        errors()
