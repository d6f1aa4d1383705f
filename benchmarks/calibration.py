"""How often the comparison errs on data whose truth is known; about four minutes.

    python benchmarks/calibration.py

Every line is a share of simulated data sets beside what is wanted of it; leaves with status 1 if
one misses. The functions are those that every comparison calls, the seeds are fixed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields

import numpy as np
from scipy.stats import ttest_1samp
from threadpoolctl import threadpool_limits

from evalnb.comparison.flips import FlipTests, flip_tests
from evalnb.comparison.intervals import mean_interval
from evalnb.comparison.power import Resolution

ROUNDS, PILOTS = 4_000, 400
COVERED = 0.92
UNEQUAL_MEANS = 0.90  # what CR2 reaches where one of ten families has a quarter of the cases
ALPHA, CORRELATION, HIGH_CORRELATION = 0.05, 0.4, 0.8
REJECTED = (0.03, 0.065)
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
FAMILIES = {
    "20 x 3": np.full(20, 3),
    "10 x 6": np.full(10, 6),
    "20 unequal": np.resize([1, 1, 2, 3, 8], 20),
    "10 unequal": np.resize([1, 2, 4, 5, 12], 10),
}
RECIPROCALS = np.array([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 7, 1 / 10, 0])
AT_RANK = np.array([0.40, 0.16, 0.10, 0.07, 0.05, 0.05, 0.04, 0.13])
BETTER_RANK = np.array([0.55, 0.16, 0.08, 0.05, 0.03, 0.03, 0.02, 0.08])
RR_GAIN = float(RECIPROCALS @ (BETTER_RANK - AT_RANK))


@dataclass(frozen=True)
class Line:
    """One figure, and the range that it has to lie in."""

    name: str
    found: float
    low: float = 0.0
    high: float = 1.0

    @property
    def holds(self) -> bool:
        return self.low <= self.found <= self.high

    def __str__(self) -> str:
        bounds = [f">= {self.low:g}"] * (self.low > 0) + [f"<= {self.high:g}"] * (self.high < 1)
        wanted = " and ".join(bounds) or "reported"
        return f"{self.name:<66} {self.found:6.3f}   {wanted}{'' if self.holds else '   MISSED'}"


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.normal(0, 0.2, shape)


def rr(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Differences of two reciprocal ranks of equally good systems."""
    one, other = (rng.choice(RECIPROCALS, shape, p=AT_RANK) for _ in range(2))
    return np.asarray(one - other)


def rr_better(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Differences of reciprocal ranks of a better system; their mean is RR_GAIN."""
    better = rng.choice(RECIPROCALS, shape, p=BETTER_RANK)
    return np.asarray(better - rng.choice(RECIPROCALS, shape, p=AT_RANK))


def mostly_zero(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.asarray(rr(rng, shape) * (rng.random(shape) < 0.2))


DRAWS: dict[str, Draw] = {"normal": normal, "RR": rr}


def differences(
    draw: Draw, sizes: np.ndarray, rng: np.random.Generator, *, rounds: int, correlation: float
) -> np.ndarray:
    """Draw (rounds, cases): a case takes its family's difference with the root of the correlation.

    Two cases of a family then correlate as asked, and each follows the distribution drawn from.
    """
    shared = np.repeat(draw(rng, (rounds, len(sizes))), sizes, axis=1)
    own = draw(rng, shared.shape)
    return np.where(rng.random(shared.shape) < np.sqrt(correlation), shared, own)


def tested(cases: np.ndarray, sizes: np.ndarray) -> FlipTests:
    """Test every data set by itself, its cases summed by family."""
    starts = np.cumsum(sizes) - sizes
    sums = np.add.reduceat(cases, starts, axis=1)
    parts = []
    for seed, rows in enumerate(np.array_split(sums, max(1, len(sums) // 500))):
        weights = np.broadcast_to(sizes.astype(float), rows.shape)
        parts.append(flip_tests(rows, weights, groups=np.arange(len(rows)), seed=seed))
    return FlipTests(
        *(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(FlipTests))
    )


def rejected(cases: np.ndarray, sizes: np.ndarray) -> float:
    return float((tested(cases, sizes).p <= ALPHA).mean())


def null_lines(rng: np.random.Generator) -> Iterator[Line]:
    """Reject a true null, families resampled and, beside it, ignored."""
    for kind, draw in DRAWS.items():
        for name, sizes in FAMILIES.items():
            cases = differences(draw, sizes, rng, rounds=ROUNDS, correlation=CORRELATION)
            yield Line(f"true null rejected, {name}, {kind}", rejected(cases, sizes), *REJECTED)
    for name, sizes in FAMILIES.items():
        cases = differences(mostly_zero, sizes, rng, rounds=ROUNDS, correlation=CORRELATION)
        found = rejected(cases, sizes)
        yield Line(f"true null rejected, {name}, four of five cases unchanged", found, high=0.065)
    for kind, draw in DRAWS.items():
        for name in ("20 x 3", "10 x 6"):
            sizes = FAMILIES[name]
            cases = differences(draw, sizes, rng, rounds=ROUNDS, correlation=HIGH_CORRELATION)
            title = f"true null rejected, {name}, {kind}, correlation {HIGH_CORRELATION:g}"
            yield Line(title, rejected(cases, sizes), *REJECTED)
            alone = rejected(cases[: ROUNDS // 4], np.ones(cases.shape[1], dtype=int))
            yield Line("  the same, families ignored", alone, low=0.2)


def skewed_lines(rng: np.random.Generator) -> Iterator[Line]:
    """Reject a true null whose differences are not symmetric, beside Student's t."""
    exponential = rng.exponential(1, (5 * ROUNDS, 20)) - 1
    lognormal = rng.lognormal(0, 1, (5 * ROUNDS, 20)) - np.exp(0.5)
    for name, cases, high in (("2", exponential, 0.09), ("6", lognormal, 1.0)):
        found = rejected(cases, np.ones(20, dtype=int))
        yield Line(f"true null rejected, 20 cases of skewness {name}", found, high=high)
        by_t = (ttest_1samp(cases, 0, axis=1).pvalue <= ALPHA).mean()
        yield Line("  the same by Student's t", float(by_t))


def coverage_lines(rng: np.random.Generator) -> Iterator[Line]:
    """Cover a true difference, and a true mean."""
    for kind, draw, truth in (("normal", normal, 0.0), ("RR", rr_better, RR_GAIN)):
        for name, sizes in FAMILIES.items():
            cases = differences(draw, sizes, rng, rounds=ROUNDS, correlation=CORRELATION)
            found = tested(cases, sizes)
            inside = (found.low <= truth) & (truth <= found.high)
            yield Line(
                f"interval of a difference covers, {name}, {kind}", inside.mean(), low=COVERED
            )
    truths = {"RR": RECIPROCALS @ AT_RANK, "Success@1": AT_RANK[0]}
    for kind, truth in truths.items():
        for name, sizes in FAMILIES.items():
            share = mean_coverage(rng, sizes, truth=float(truth), binary=kind != "RR")
            low = UNEQUAL_MEANS if name == "10 unequal" else COVERED
            yield Line(f"interval of one mean covers, {name}, {kind}", share, low=low)


def mean_coverage(
    rng: np.random.Generator, sizes: np.ndarray, *, truth: float, binary: bool
) -> float:
    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        found = rng.choice(RECIPROCALS, shape, p=AT_RANK)
        return np.asarray(np.floor(found) if binary else found)

    cases = differences(draw, sizes, rng, rounds=ROUNDS, correlation=CORRELATION)
    families = np.repeat(np.arange(len(sizes)), sizes)
    covered = 0
    for values in cases:
        found = mean_interval(values, families, binary=binary, bounds=(0.0, 1.0))
        covered += found.low is not None and found.low <= truth <= found.high
    return covered / len(cases)


def power_lines(rng: np.random.Generator) -> Iterator[Line]:
    """Show a true difference of the size that another set like it is said to resolve."""
    for kind, draw in DRAWS.items():
        for name in ("20 x 3", "10 x 6"):
            sizes = FAMILIES[name]
            pilots = differences(draw, sizes, rng, rounds=PILOTS, correlation=CORRELATION)
            fresh = differences(draw, sizes, rng, rounds=10 * PILOTS, correlation=CORRELATION)
            starts = np.cumsum(sizes) - sizes
            sums = np.add.reduceat(pilots, starts, axis=1)
            resolved = [
                Resolution(row, sizes.astype(float), level=ALPHA).smallest_difference()
                for row in sums
            ]
            shown = tested(fresh + np.repeat(np.array(resolved, dtype=float), 10)[:, None], sizes)
            power = float((shown.p <= ALPHA).mean())
            yield Line(f"power at the predicted mde, {name}, {kind}", power, 0.72, 0.88)


def together_lines(rng: np.random.Generator) -> Iterator[Line]:
    """Reject any true null of six correlated hypotheses; exclude any of six true differences."""
    for name in ("20 x 3", "10 x 6"):
        for real in (0, 3):
            truth = np.where(np.arange(6) < real, 0.25, 0.0)
            found = [six_tests(rng, FAMILIES[name], truth, seed=seed) for seed in range(ROUNDS)]
            wrong = [(each.p_step_down[real:] <= ALPHA).any() for each in found]
            outside = [((each.low > truth) | (each.high < truth)).any() for each in found]
            title = "6 true nulls" if not real else "3 true nulls beside 3 differences"
            yield Line(f"any of {title} rejected, {name}", np.mean(wrong), high=0.06)
            yield Line("  the simultaneous intervals all cover", 1 - np.mean(outside), low=COVERED)
            given = np.mean([np.isfinite(each.low).mean() for each in found])
            yield Line("  hypotheses that have such an interval", float(given))


def six_tests(
    rng: np.random.Generator, sizes: np.ndarray, truth: np.ndarray, *, seed: int
) -> FlipTests:
    shared, *own = differences(rr, sizes, rng, rounds=7, correlation=CORRELATION)
    cases = (shared + np.stack(own)) / 2 + truth[:, None]
    sums = np.add.reduceat(cases, np.cumsum(sizes) - sizes, axis=1)
    return flip_tests(sums, np.broadcast_to(sizes.astype(float), sums.shape), seed=seed)


def main() -> int:
    rng = np.random.default_rng(20)
    lines = []
    with threadpool_limits(1):
        for part in (null_lines, skewed_lines, coverage_lines, power_lines, together_lines):
            for line in part(rng):
                print(line, flush=True)
                lines.append(line)
    missed = sum(not line.holds for line in lines)
    print(f"{missed} of {len(lines)} lines miss what is wanted" if missed else "every line holds")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
