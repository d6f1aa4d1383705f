"""Gates in a test suite: ``assert_gates(report, "nDCG@10 >= 0.6", "regressed<=2")``."""

from __future__ import annotations

from typing import Literal

from evalnb.api import Report
from evalnb.errors import BadInputError

__all__ = ["assert_gates"]


def assert_gates(
    report: Report,
    *gates: str,
    baseline: str | None = None,
    undecided: Literal["fail", "warn"] = "fail",
) -> None:
    """Fail the test that calls it if a gate fails; the grammar is that of ``evalnb compare``.

    Parameters
    ----------
    baseline
        The variant that others are compared with; the request's unless given.
    undecided
        Whether a gate that no test can decide fails, or is a warning.

    Raises
    ------
    AssertionError
        Naming every gate that failed, with its figures.
    BadInputError
        If a gate is none, nothing is asked, or ``undecided`` is neither.
    """
    import warnings

    from evalnb.show.gates import gates_text

    if not gates:
        raise BadInputError("no gate is given")
    if undecided not in {"fail", "warn"}:
        raise BadInputError(f"undecided is 'fail' or 'warn', not {undecided!r}")
    results = report.gates(*gates, baseline=baseline)
    failed = [result for result in results if result.outcome == "failed"]
    unsure = [result for result in results if result.outcome == "undecided"]
    if undecided == "fail":
        failed += unsure
    elif unsure:
        warnings.warn(gates_text(unsure), stacklevel=2)
    if failed:
        raise AssertionError(gates_text(failed))
