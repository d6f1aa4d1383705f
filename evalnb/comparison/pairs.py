"""One hypothesis: the cases that two variants share under one measure, summed by family."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evalnb.comparison.case_scores import ABSENT, OK, UNAVAILABLE, UNDEFINED, CaseScores
from evalnb.comparison.signs import TOLERANCE, Floats

TIE = 1e-9
"""Differences up to this are rounding, not retrieval."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """The paired values of one candidate, baseline and measure.

    Attributes
    ----------
    candidate, baseline, key
        Positions in the scores.
    cases
        (pairs,): positions of the cases that are ok in both.
    values, baseline_values, differences
        (pairs,): candidate, baseline, and candidate minus baseline with ties as 0.
    sums, sizes
        (families,): S_f and n_f over all families of the request.
    n_undefined, n_unavailable, n_unmatched
        Cases left out: without gold, unanswered by either variant, scored for one of them only.
    """

    candidate: int
    baseline: int
    key: int
    cases: NDArray[np.int_]
    values: Floats
    baseline_values: Floats
    differences: Floats
    sums: Floats
    sizes: Floats
    n_undefined: int
    n_unavailable: int
    n_unmatched: int

    @property
    def n(self) -> int:
        """How many pairs there are."""
        return len(self.cases)

    @property
    def n_families(self) -> int:
        """How many families have pairs."""
        return int((self.sizes > 0).sum())

    @property
    def n_changed(self) -> int:
        """How many families changed: those that a test can flip."""
        return int((self.sums != 0).sum())

    @property
    def difference(self) -> float:
        """The mean difference; NaN without pairs, 0 where it is rounding."""
        if not self.n:
            return float("nan")
        total = float(self.sums.sum())
        return 0.0 if abs(total) <= TOLERANCE * float(np.abs(self.sums).sum()) else total / self.n

    @property
    def own_sums(self) -> Floats:
        """S_f of the families that have pairs."""
        return self.sums[self.sizes > 0]

    @property
    def own_sizes(self) -> Floats:
        """n_f of the families that have pairs."""
        return self.sizes[self.sizes > 0]


def pair_cases(
    scores: CaseScores, *, candidate: int, baseline: int, key: int, bounded: bool
) -> Pairs:
    """Pair two variants by case.

    Parameters
    ----------
    candidate, baseline, key
        Positions in the scores.
    bounded
        Whether the measure lies in [0, 1]; a tie is relative to the larger value elsewhere.
    """
    status, other = scores.statuses[candidate, key], scores.statuses[baseline, key]
    cases = np.flatnonzero((status == OK) & (other == OK))
    values, baseline_values = (
        scores.values[candidate, key, cases],
        scores.values[baseline, key, cases],
    )
    differences = values - baseline_values
    size = 1.0 if bounded else np.maximum(np.abs(values), np.abs(baseline_values))
    differences[np.abs(differences) <= TIE * size] = 0.0
    families, n_families = scores.families[cases], len(scores.family_keys)
    sums = np.bincount(families, differences, n_families).astype(np.float64)
    moved = np.bincount(families, np.abs(differences), n_families)
    sums[np.abs(sums) <= TIE * moved] = 0.0
    unavailable = (status == UNAVAILABLE) | (other == UNAVAILABLE)
    unmatched = ((status == ABSENT) != (other == ABSENT)) & ~unavailable
    undefined = ((status == UNDEFINED) | (other == UNDEFINED)) & ~unavailable & ~unmatched
    return Pairs(
        candidate=candidate,
        baseline=baseline,
        key=key,
        cases=cases,
        values=values,
        baseline_values=baseline_values,
        differences=differences,
        sums=sums,
        sizes=np.bincount(families, minlength=n_families).astype(np.float64),
        n_undefined=int(undefined.sum()),
        n_unavailable=int(unavailable.sum()),
        n_unmatched=int(unmatched.sum()),
    )
