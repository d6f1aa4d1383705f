"""The rows of the comparisons frame: pairs in, tests, intervals and verdicts out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evalnb.comparison.case_scores import CaseScores
from evalnb.comparison.flips import FlipTests, flip_tests, resolvable
from evalnb.comparison.multiplicity import benjamini_hochberg, holm
from evalnb.comparison.notes import pairing_notes
from evalnb.comparison.pairs import Pairs
from evalnb.comparison.power import Resolution, sets_for
from evalnb.comparison.signs import Floats
from evalnb.comparison.traits import Traits
from evalnb.comparison.verdicts import decide

Adjustment = Literal["maxT", "holm", "bh"]

COMPARISON_COLUMNS = (
    "candidate",
    "baseline",
    "slice",
    "measure",
    "k",
    "kind",
    "n",
    "n_families",
    "mean",
    "baseline_mean",
    "diff",
    "ci_low",
    "ci_high",
    "ci_method",
    "p_value",
    "p_adjusted",
    "adjustment",
    "wins",
    "ties",
    "losses",
    "mde",
    "n_needed",
    "verdict",
    "leaning",
    "note",
)

_DECIDERS = {
    "none": "exact test",
    "maxT": "step-down test",
    "holm": "Holm adjustment",
    "bh": "BH adjustment",
}


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """That a candidate and the baseline do not differ under one measure."""

    pairs: Pairs
    traits: Traits


@dataclass(frozen=True, slots=True)
class Tested:
    """What the tests say of one hypothesis; ``interval`` is null where there is none."""

    p: float
    p_adjusted: float
    adjustment: str
    interval: tuple[float, float] | None
    method: str | None
    level: float
    notes: tuple[str, ...]


def comparison_rows(
    hypotheses: Sequence[Hypothesis],
    scores: CaseScores,
    *,
    alpha: float,
    margin: float | None,
    seed: int,
    adjustment: Adjustment,
) -> list[tuple[dict[str, Any], Resolution | None]]:
    """Test the hypotheses together.

    Returns
    -------
    list of tuple
        Each hypothesis's row in the columns of the frame, and what would simulate its mde and
        n_needed; null without pairs.
    """
    paired = [hypothesis for hypothesis in hypotheses if hypothesis.pairs.n]
    tests = iter(_test(paired, scores, alpha=alpha, seed=seed, adjustment=adjustment))
    outcomes = [next(tests) if hypothesis.pairs.n else None for hypothesis in hypotheses]
    n_sets = sets_for(len(paired))
    return [
        (
            _row(hypothesis, tested, scores, alpha=alpha, margin=margin),
            _resolution(hypothesis.pairs, tested, seed=seed, n_sets=n_sets) if tested else None,
        )
        for hypothesis, tested in zip(hypotheses, outcomes, strict=True)
    ]


def _test(
    hypotheses: Sequence[Hypothesis],
    scores: CaseScores,
    *,
    alpha: float,
    seed: int,
    adjustment: Adjustment,
) -> list[Tested]:
    if not hypotheses:
        return []
    names = [hypothesis.traits.group for hypothesis in hypotheses]
    groups = np.array([names.index(name) for name in names])
    found = flip_tests(
        np.stack([hypothesis.pairs.sums for hypothesis in hypotheses]),
        np.stack([hypothesis.pairs.sizes for hypothesis in hypotheses]),
        groups=groups,
        alpha=alpha,
        seed=seed,
    )
    adjusted = _adjusted(found, groups, adjustment)
    company: dict[str, list[Pairs]] = {}
    for hypothesis in hypotheses:
        company.setdefault(hypothesis.traits.group, []).append(hypothesis.pairs)
    together = {name: _company_note(of, scores, adjustment) for name, of in company.items()}
    tested = []
    for i, hypothesis in enumerate(hypotheses):
        alone = len(company[names[i]]) == 1
        interval, method = _interval(found, i, hypothesis.pairs)
        notes = []
        if interval and adjusted[i] <= alpha and interval[0] <= 0 <= interval[1]:
            notes.append(f"decided by the {_DECIDERS['none' if alone else adjustment]}")
        if interval is None and resolvable(hypothesis.pairs.n_changed, alpha):
            notes.append("too few families for an interval that holds with all the others")
        if not alone:
            notes.append(together[names[i]])
        tested.append(
            Tested(
                p=float(found.p[i]),
                p_adjusted=float(adjusted[i]),
                adjustment="none" if alone else adjustment,
                interval=interval,
                method=method,
                level=float(found.level[i]),
                notes=tuple(notes),
            )
        )
    return tested


def _adjusted(found: FlipTests, groups: NDArray[np.int_], adjustment: Adjustment) -> Floats:
    if adjustment == "maxT":
        return found.p_step_down
    adjust = holm if adjustment == "holm" else benjamini_hochberg
    adjusted = found.p.copy()
    for group in np.unique(groups):
        adjusted[groups == group] = adjust(found.p[groups == group])
    return adjusted


def _interval(
    found: FlipTests, row: int, pairs: Pairs
) -> tuple[tuple[float, float] | None, str | None]:
    if not pairs.differences.any():
        return (0.0, 0.0), "identical pairs"
    low, high = float(found.low[row]), float(found.high[row])
    if math.isnan(low):
        return None, None
    together = "simultaneous " if found.simultaneous[row] else ""
    return (low, high), f"{together}sign flips, {'exact' if found.exact[row] else 'sampled'}"


def _company_note(company: Sequence[Pairs], scores: CaseScores, adjustment: Adjustment) -> str:
    measures = dict.fromkeys(scores.keys[pairs.key].measure for pairs in company)
    candidates = {pairs.candidate for pairs in company}
    plural = "s" * (len(candidates) != 1)
    return (
        f"{adjustment} over {len(company)} hypotheses: {', '.join(measures)} "
        f"x {len(candidates)} candidate{plural}"
    )


def _row(
    hypothesis: Hypothesis,
    tested: Tested | None,
    scores: CaseScores,
    *,
    alpha: float,
    margin: float | None,
) -> dict[str, Any]:
    pairs, traits = hypothesis.pairs, hypothesis.traits
    key = scores.keys[pairs.key]
    gains = traits.direction * pairs.differences
    row: dict[str, Any] = dict.fromkeys(COMPARISON_COLUMNS)
    row |= {
        "candidate": scores.variants[pairs.candidate],
        "baseline": scores.variants[pairs.baseline],
        "slice": "all",
        **key._asdict(),
        "n": pairs.n,
        "n_families": pairs.n_families,
        "adjustment": "none",
        "wins": int((gains > 0).sum()),
        "ties": int((gains == 0).sum()),
        "losses": int((gains < 0).sum()),
        "verdict": "undecided",
        "leaning": "",
        "note": "; ".join(pairing_notes(pairs, scores, alpha=alpha)),
    }
    if tested is not None:
        row |= _tested_columns(pairs, traits, tested, alpha=alpha, margin=margin)
        row["note"] = "; ".join(filter(None, (row["note"], *tested.notes)))
    return row


def _tested_columns(
    pairs: Pairs,
    traits: Traits,
    tested: Tested,
    *,
    alpha: float,
    margin: float | None,
) -> dict[str, Any]:
    gain = traits.direction * pairs.difference
    verdict = decide(
        n=pairs.n,
        n_unavailable=pairs.n_unavailable,
        n_families=pairs.n_families,
        n_changed=pairs.n_changed,
        gain=gain,
        p_adjusted=tested.p_adjusted,
        interval=tested.interval,
        alpha=alpha,
        margin=margin,
        bounded=traits.bounded,
    )
    leaning = "better" if gain > 0 else "worse" if gain < 0 else ""
    return {
        "mean": float(pairs.values.mean()),
        "baseline_mean": float(pairs.baseline_values.mean()),
        "diff": pairs.difference,
        "ci_low": tested.interval[0] if tested.interval else None,
        "ci_high": tested.interval[1] if tested.interval else None,
        "ci_method": tested.method,
        "p_value": tested.p,
        "p_adjusted": tested.p_adjusted,
        "adjustment": tested.adjustment,
        "verdict": verdict,
        "leaning": leaning if verdict in ("undecided", "unresolvable") else "",
    }


def _resolution(pairs: Pairs, tested: Tested, *, seed: int, n_sets: int) -> Resolution:
    sums, sizes = pairs.own_sums, pairs.own_sizes
    return Resolution(sums, sizes, level=tested.level, seed=seed, n_sets=n_sets)
