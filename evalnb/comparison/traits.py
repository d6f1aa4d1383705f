"""What a comparison has to know of a measure: its direction, its range, its company."""

from __future__ import annotations

from dataclasses import dataclass

from evalnb.measures.names import parse_measure

OPERATIONAL = frozenset({"latency_ms", "calls", "tokens", "cost"})
"""What a search costs: lower is better, without an upper bound."""


@dataclass(frozen=True, slots=True)
class Traits:
    """One measure's traits.

    Attributes
    ----------
    direction
        1 where a larger value is the better one, else -1.
    bounded, binary
        Whether every value lies in [0, 1], and whether it is one of its ends.
    group
        Hypotheses of one group share their error rate. Judged and what a search costs are asked
        apart from retrieval quality, so they do not weaken its tests.
    """

    direction: int
    bounded: bool
    binary: bool
    group: str


def measure_traits(name: str) -> Traits:
    """Return the traits of a stored measure name.

    Raises
    ------
    UnknownMeasureError
        If no measure has this name.

    Examples
    --------
    >>> measure_traits("ForbiddenLeakage").direction, measure_traits("latency_ms").bounded
    (-1, False)
    """
    if name in OPERATIONAL:
        return Traits(direction=-1, bounded=False, binary=False, group=name)
    measure = parse_measure(name)
    return Traits(
        direction=1 if measure.higher_is_better else -1,
        bounded=measure.bounded,
        binary=measure.binary,
        group="Judged" if measure.name == "Judged" else "quality",
    )
