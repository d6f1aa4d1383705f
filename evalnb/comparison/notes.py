"""What a reader of a comparison has to know besides its numbers."""

from __future__ import annotations

import numpy as np

from evalnb.comparison.case_scores import ABSENT, CaseScores
from evalnb.comparison.flips import fewest_resolvable, resolvable
from evalnb.comparison.pairs import TIE, Pairs
from evalnb.comparison.power import family_dependence
from evalnb.comparison.signs import EXHAUSTIVE_FAMILIES, SAMPLED_VECTORS


def pairing_notes(pairs: Pairs, scores: CaseScores, *, alpha: float) -> list[str]:
    """Say which cases were paired, and what is special about their differences."""
    notes = [*_left_out(pairs), *_limits(pairs, scores)]
    if not pairs.n:
        return notes
    n_moved = int((pairs.differences != 0).sum())
    if not n_moved:
        notes.append(f"identical on all {pairs.n} pairs")
    elif not pairs.n_changed:
        notes.append("the differences cancel within every family")
    elif pairs.n > 1 and np.ptp(pairs.differences) <= TIE:
        notes.append(f"the same difference of {pairs.differences[0]:+.3g} in every pair")
    if n_moved and not resolvable(pairs.n_changed, alpha):
        notes.append(
            f"{pairs.n_changed} of {pairs.n_families} families changed, and fewer than "
            f"{fewest_resolvable(alpha)} can never reach p <= {alpha:g}"
        )
    return notes + _families(pairs, scores) + _repetitions(pairs, scores)


def record_notes(scores: CaseScores, *, seed: int) -> tuple[str, ...]:
    """Say once what holds for every row."""
    n_families = len(scores.family_keys)
    notes = ["a family's difference is taken to be as likely +d as -d where nothing changed"]
    if n_families == len(scores.case_ids):
        notes.append("every case is its own family: treated as independent")
    if n_families > EXHAUSTIVE_FAMILIES:
        notes.append(f"{SAMPLED_VECTORS:,} sign vectors sampled with seed {seed}")
    if scores.n_repetitions > 1:
        notes.append("noise that all cases of a repetition share is invisible to the test")
    notes.append(
        "mde and families needed assume one shift in all cases; a change in few needs more"
    )
    return tuple(notes)


def _left_out(pairs: Pairs) -> list[str]:
    reasons = [
        f"{count} {name}"
        for count, name in (
            (pairs.n_unavailable, "unavailable, so no verdict"),
            (pairs.n_undefined, "without gold"),
            (pairs.n_unmatched, "scored for one variant only"),
        )
        if count
    ]
    total = pairs.n_unavailable + pairs.n_undefined + pairs.n_unmatched
    return [f"{total} case{'s' * (total != 1)} left out: {', '.join(reasons)}"] if reasons else []


def _limits(pairs: Pairs, scores: CaseScores) -> list[str]:
    key = scores.keys[pairs.key]
    notes = []
    sides = (pairs.candidate, pairs.baseline)
    if not pairs.n:
        for side in sides:
            cutoffs = [
                str(other.k)
                for i, other in enumerate(scores.keys)
                if (other.measure, other.kind) == (key.measure, key.kind)
                and other.k != key.k
                and (scores.statuses[side, i] != ABSENT).any()
            ]
            if cutoffs and (scores.statuses[side, pairs.key] == ABSENT).all():
                notes.append(
                    f"{scores.variants[side]} has k = {', '.join(cutoffs)}, which is never paired "
                    f"with k = {key.k}"
                )
    remarks = [scores.remarks.get((side, pairs.key), ()) for side in sides]
    if remarks[0] != remarks[1]:
        notes += [
            f"{scores.variants[side]}: {remark}"
            for side, said in zip(sides, remarks, strict=True)
            for remark in said
        ]
    return notes


def _families(pairs: Pairs, scores: CaseScores) -> list[str]:
    if pairs.n_families == pairs.n:
        return []
    share = float(pairs.sizes.max()) / pairs.n
    notes = [
        f"{pairs.n_changed} of {pairs.n_families} families changed, the largest holds "
        f"{100 * share:.0f} % of the pairs"
    ]
    dependence = family_dependence(pairs.differences, scores.families[pairs.cases])
    if dependence is not None:
        notes.append(
            f"design effect {dependence[0]:.2g}, correlation within families {dependence[1]:.2f}"
        )
    return notes


def _repetitions(pairs: Pairs, scores: CaseScores) -> list[str]:
    """Tell the variance between a case's repetitions apart from that between cases."""
    sides = [pairs.candidate, pairs.baseline]
    noise = float(scores.noise[sides, pairs.key][:, pairs.cases].sum())
    n_families = pairs.n_families
    if not noise or n_families < 2:
        return []
    centred = pairs.own_sums - pairs.difference * pairs.own_sizes
    spread = n_families / (n_families - 1) * float((centred**2).sum())
    share = min(1.0, noise / spread) if spread else 1.0
    return [
        f"{share:.0%} of the variance of the difference lies between repetitions of a case, "
        "the rest between cases"
    ]
