"""One case's scores, as the report keeps them."""

from __future__ import annotations

from typing import Literal

from evalnb.search.request import Finite, Record

Status = Literal["ok", "undefined", "unavailable"]


class ScoreRow(Record):
    """One measure of one case.

    ``value`` is null unless ``status`` is ``ok``. ``numerator`` and ``denominator`` are what the
    value was divided from; ``k`` is null for measures without a cutoff or with a token budget.
    """

    measure: str
    k: int | None = None
    kind: str | None = None
    value: Finite | None = None
    numerator: Finite | None = None
    denominator: Finite | None = None
    status: Status
    reason: str | None = None
