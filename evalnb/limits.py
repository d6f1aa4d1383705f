"""Every bound, named, with its reason.

A bound is never met by truncating: past it the work is refused with
:class:`~evalnb.errors.LimitExceededError`, which names the limit, the amount and the argument that
raises it. A raised bound is written into the report.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evalnb.errors import BadInputError, LimitExceededError

MIB = 1024 * 1024

QUERY_BYTES = 8 * 1024  # longer than any question; a pasted document is a mistake
RESULT_LIMIT = 1_000  # the depth of TREC runs
DEFAULT_LIMIT = 10
ID_BYTES = 512  # URLs and paths fit; it also bounds one index term
GRADE_RANGE = 100  # |grade|; exponential gain stays far from overflow
MANIFEST_BYTES = 1 * MIB
CASES_BYTES = 64 * MIB  # what one process verifies in seconds
CASES_LINES = 100_000
FILE_BYTES = 64 * MIB  # of one document; one longer than a library is a dump or a mistake
HYPOTHESES = 1_024  # of one comparison: under 1 GiB, and minutes at worst


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one evaluation request; a larger one is an explicit argument."""

    searches: int = 1_024  # case x variant x repetition: keeps a shared machine responsive
    artifact_bytes: int = 64 * MIB  # retained case results, cumulatively
    report_bytes: int = 64 * MIB  # the final serialised report
    hydration_bytes: int = 16 * MIB  # extraction payload read to verify locators
    hydration_rows: int = 16_384  # binding rows read to verify locators

    @classmethod
    def raised_by(cls, values: dict[str, Any] | None) -> Limits:
        """Return the defaults with some bounds in their place.

        Raises
        ------
        BadInputError
            For a bound that does not exist, or that is no whole number above 0.
        """
        given = values or {}
        for name, value in given.items():
            if name not in cls.__slots__:
                raise BadInputError(
                    f"no limit is named {name!r}", remedy=f"limits: {', '.join(cls.__slots__)}"
                )
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise BadInputError(f"limit {name}: a whole number above 0, found {value!r}")
        return cls(**given)

    def raised(self) -> dict[str, Any]:
        """Bounds that differ from the defaults, by name."""
        default = Limits()
        return {
            name: getattr(self, name)
            for name in self.__slots__
            if getattr(self, name) != getattr(default, name)
        }


def check_limit(name: str, amount: int, bound: int, *, argument: str, where: str = "") -> None:
    """Refuse an amount past its bound.

    Raises
    ------
    LimitExceededError
        Naming the limit, the amount found and the argument that raises it.
    """
    if amount > bound:
        raise LimitExceededError(
            f"{name}: {amount:,} is past the limit of {bound:,}",
            where=where or None,
            remedy=f"raise it with {argument}" if argument else None,
        )
