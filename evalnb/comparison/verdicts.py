"""From numbers to one word, and to one sentence that a reader cannot misread."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Literal

from evalnb.comparison.flips import resolvable
from evalnb.comparison.intervals import clopper_pearson

Verdict = Literal["better", "worse", "equivalent", "unresolvable", "undecided"]


def decide(
    *,
    n: int,
    n_unavailable: int,
    n_families: int,
    n_changed: int,
    gain: float,
    p_adjusted: float,
    interval: tuple[float, float] | None,
    alpha: float,
    margin: float | None,
    bounded: bool,
) -> Verdict:
    """Return the first verdict that applies.

    Parameters
    ----------
    n, n_unavailable
        Pairs that are ok in both, and cases that a variant could not answer.
    n_families, n_changed
        Families with pairs, and those whose sum of differences is not 0.
    gain
        The mean difference, positive where the candidate is the better one.
    interval
        Of the difference, where there is one.
    margin
        Differences smaller than this are of no account, if the caller says so.
    bounded
        Whether the measure lies in [0, 1], so that no case can change by more than 1.
    """
    if n == 0 or n_unavailable:
        return "undecided"
    if p_adjusted <= alpha:
        return "better" if gain > 0 else "worse"
    able = resolvable(n_changed, alpha)
    if margin is not None:
        if able and interval and -margin < interval[0] and interval[1] < margin:
            return "equivalent"
        # Even if every family that changed had changed by all there is.
        most = clopper_pearson(n_changed, n_families, alpha=alpha)[1] if bounded else math.inf
        if not able and most < margin:
            return "equivalent"
    return "undecided" if able else "unresolvable"


def verdict_sentence(row: Mapping[str, object], *, label: str | None = None) -> str:
    """Say one row of the comparisons frame in a sentence.

    Parameters
    ----------
    row
        A row of the frame: a mapping from its columns, or a Series.
    label
        What to call the measure, where its name alone does not tell its kind; the name unless
        given.

    Examples
    --------
    >>> row = {"verdict": "better", "measure": "nDCG@10", "n": 43, "diff": 0.1113}
    >>> row |= {"ci_low": 0.075, "ci_high": 0.148, "p_value": 0.0001, "p_adjusted": 0.0001}
    >>> verdict_sentence(row | {"wins": 36, "losses": 5, "ties": 2})
    'better: nDCG@10 +0.111 [0.075, 0.148], p = 0.0001, 36 wins, 5 losses, 2 ties over 43 cases'
    """
    leaning = _text(row, "leaning")
    verdict = f"{row['verdict']}, leaning {leaning}" if leaning else row["verdict"]
    head = f"{verdict}: {label or row['measure']}"
    if not _number(row, "n"):
        return "; ".join([f"{head}: no case has a score under both", *_remarks(row)])
    if row["verdict"] == "unresolvable" and _number(row, "ties") == _number(row, "n"):
        return f"identical: {label or row['measure']} on all {_plural(row, 'n', 'case', 'cases')}"
    found = f"{head} {_difference(row)}, {_p(row)}, {_counts(row)}"
    if row["verdict"] not in ("undecided", "unresolvable"):
        return found
    return "; ".join([found, *_explanations(row), *_remarks(row)])


def _explanations(row: Mapping[str, object]) -> list[str]:
    explained = []
    if row["verdict"] == "unresolvable":
        explained.append("too few families changed for any test to decide")
    mde, needed = _number(row, "mde"), _number(row, "n_needed")
    if mde is not None:
        explained.append(
            f"{_number(row, 'n_families'):.0f} families resolve a shift of {_decimals(mde)}"
        )
    if needed is not None:
        explained.append(f"a shift of this size needs about {needed:,.0f} families")
    return explained


def _difference(row: Mapping[str, object]) -> str:
    low, high = _number(row, "ci_low"), _number(row, "ci_high")
    diff = _number(row, "diff") or 0.0
    signed = f"{'+' if diff > 0 else ''}{_decimals(diff)}"
    if low is None or high is None:
        return f"{signed} (no interval)"
    return f"{signed} [{_decimals(low)}, {_decimals(high)}]"


def _p(row: Mapping[str, object]) -> str:
    p = _number(row, "p_adjusted")
    if p is None:
        return "no p"
    name = "p" if p == _number(row, "p_value") else "adjusted p"
    return f"{name} < 0.0001" if p < 0.00005 else f"{name} = {_significant(p)}"


def _counts(row: Mapping[str, object]) -> str:
    counts = [
        _plural(row, "wins", "win", "wins"),
        _plural(row, "losses", "loss", "losses"),
        _plural(row, "ties", "tie", "ties"),
    ]
    return f"{', '.join(counts)} over {_plural(row, 'n', 'case', 'cases')}"


def _plural(row: Mapping[str, object], column: str, one: str, many: str) -> str:
    count = int(_number(row, column) or 0)
    return f"{count:,} {one if count == 1 else many}"


def _decimals(value: float) -> str:
    if value == 0 or abs(value) >= 0.0005:
        return f"{value:.3f}"
    return f"{value:.1g}"


def _significant(p: float) -> str:
    return "1" if p == 1 else f"{p:.4f}" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def _number(row: Mapping[str, object], column: str) -> float | None:
    value = row.get(column)
    return None if not isinstance(value, Real) or math.isnan(value) else float(value)


def _text(row: Mapping[str, object], column: str) -> str:
    value = row.get(column)
    return value if isinstance(value, str) else ""


def _remarks(row: Mapping[str, object]) -> list[str]:
    """Return the notes, but for the hypotheses that were adjusted together."""
    company = f"{_text(row, 'adjustment')} over "
    notes = _text(row, "note").split("; ")
    return [note for note in notes if note and not note.startswith(company)]
