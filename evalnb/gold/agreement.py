"""How far two people who judged the same things agree, beyond what chance would give.

Cohen, J. (1960). A coefficient of agreement for nominal scales. Educational and Psychological
Measurement 20(1), 37-46.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

FORBIDDEN: Literal["forbidden"] = "forbidden"
Label = int | Literal["forbidden"]
Labels = Mapping[tuple[str, str], Label]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One id of a case, and the two labels that it got."""

    case_id: str
    id: str
    first: Label
    second: Label


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two judges over what both judged.

    Attributes
    ----------
    n
        Ids that both judged; ``n_agreed`` of them alike.
    raw
        n_agreed / n; null if they judged nothing in common.
    kappa
        Null where it is undefined: nothing in common, or both gave everything one and the same
        label, so that chance alone would agree always.
    n_first_only, n_second_only
        Ids that one of them has not judged yet.
    """

    n: int
    n_agreed: int
    raw: float | None
    kappa: float | None
    disagreements: tuple[Disagreement, ...]
    n_first_only: int
    n_second_only: int

    def __str__(self) -> str:
        """Say the figures in a sentence."""
        if self.raw is None:
            return "nothing is judged by both"
        kappa = (
            "Cohen's kappa is undefined, as both gave one label alone"
            if self.kappa is None
            else f"Cohen's kappa {self.kappa:.3f}"
        )
        return f"{self.n_agreed} of {self.n} labels agree ({self.raw:.1%}); {kappa}"


def cohen_kappa(first: Labels, second: Labels) -> Agreement:
    """Compare the labels of two judges, each a grade or ``forbidden`` by (case_id, id).

    kappa = (p_o - p_e) / (1 - p_e), where p_o is the share of common items with equal labels and
    p_e = sum over labels of (share of it by the first judge) * (share of it by the second). All
    disagreements count alike: a 3 against a 2 as much as a 3 against a 0.

    >>> a = {("q", str(i)): label for i, label in enumerate([1, 1, 0, 0])}
    >>> b = {("q", str(i)): label for i, label in enumerate([1, 0, 0, 0])}
    >>> print(cohen_kappa(a, b))
    3 of 4 labels agree (75.0%); Cohen's kappa 0.500
    """
    common = [key for key in first if key in second]
    apart = tuple(
        Disagreement(*key, first[key], second[key]) for key in common if first[key] != second[key]
    )
    n = len(common)
    raw = (n - len(apart)) / n if n else None
    return Agreement(
        n=n,
        n_agreed=n - len(apart),
        raw=raw,
        kappa=_kappa([first[key] for key in common], [second[key] for key in common]),
        disagreements=apart,
        n_first_only=len(first) - n,
        n_second_only=len(second) - n,
    )


def _kappa(first: list[Label], second: list[Label]) -> float | None:
    """Reckon in whole numbers until the one division, so that equal shares stay equal."""
    n = len(first)
    agreed = sum(a == b for a, b in zip(first, second, strict=True)) * n
    counts = Counter(second)
    chance = sum(times * counts[label] for label, times in Counter(first).items())
    return (agreed - chance) / (n * n - chance) if n * n > chance else None
