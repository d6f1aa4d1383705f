"""Gates: what a change has to fulfil, each said to hold on this set or in general.

::

    MEASURE OP NUMBER               the mean                                  on this set
    every MEASURE OP NUMBER         each case                                 on this set
    regressed[(MEASURE)] <= N       how many cases got worse                  on this set
    must-pass CASE                  this case finds something relevant        on this set
    MEASURE > baseline [+|- NUMBER] the difference, beyond chance             in general

OP is one of ``>= > <= < ==``. What holds on this set is exact and always decided; what holds in
general needs a test and may stay undecided. ``ForbiddenLeakage`` is always asked of every case.
Besides measures there are ``latency_ms``, ``latency_p50``, ``latency_p95``, ``latency_p99``,
``calls``, ``tokens`` and ``cost``. No gate passes where searches failed.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evalnb.comparison.paired import ComparisonRecord, compare_frames
from evalnb.comparison.traits import OPERATIONAL, measure_traits
from evalnb.comparison.verdicts import verdict_sentence
from evalnb.errors import BadInputError, NotFoundError, UnknownMeasureError
from evalnb.measures.names import parse_measure
from evalnb.wording import listed, near_names

if TYPE_CHECKING:
    import pandas as pd

Outcome = Literal["passed", "failed", "undecided"]
Scope = Literal["on this set", "in general"]

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}
FORMS = (
    "MEASURE OP NUMBER, every MEASURE OP NUMBER, regressed<=N, must-pass CASE, or "
    "MEASURE > baseline [- NUMBER]"
)
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_OP = "|".join(OPERATORS)
_LEVEL = re.compile(rf"(every\s+)?(.+?)\s*({_OP})\s*({_NUMBER})")
_DIFFERENCE = re.compile(r"(.+?)\s*([<>])\s*baseline(?:\s*([-+])\s*(\d+\.?\d*|\.\d+))?")
_REGRESSED = re.compile(r"regressed(?:\s*\((.+)\))?\s*<=\s*(\d+)")
_MUST = re.compile(r"must-pass\s+(.+)")
_PERCENTILE = re.compile(r"latency_p(50|95|99)")


@dataclass(frozen=True, slots=True)
class GateResult:
    """One gate for one candidate.

    Attributes
    ----------
    detail
        The figures that decided.
    cases
        The cases that failed it, where it asks single cases.
    """

    gate: str
    scope: Scope
    candidate: str
    outcome: Outcome
    detail: str
    cases: tuple[str, ...] = ()


def check_gates(
    scores: pd.DataFrame,
    gates: Sequence[str],
    *,
    baseline: str | None,
    compared: Sequence[str],
    alpha: float = 0.05,
    seed: int = 0,
) -> tuple[GateResult, ...]:
    """Check gates for every variant but the baseline.

    Parameters
    ----------
    scores
        A scores frame, with the rows of what searches cost if a gate asks for them.
    gates
        In the grammar above.
    baseline
        The variant that others are compared with; None where gates ask about levels only.
    compared
        The measures that carry verdicts; ``regressed`` and ``must-pass`` read the first.
    alpha
        Error rate over all gates that hold in general, together.

    Raises
    ------
    BadInputError
        If a gate is none of the forms, or needs a baseline and there is none.
    UnknownMeasureError, NotFoundError
        If a gate names a measure or a case that does not exist, or the baseline is no variant.
    """
    parsed = [_parse(text, compared[0] if compared else None) for text in gates]
    asked = tuple(dict.fromkeys(m for text in gates if (m := _tested(text))))
    variants = list(dict.fromkeys(scores["variant"]))
    candidates = [name for name in variants if name != baseline] or variants
    if baseline is not None and baseline not in variants:
        raise NotFoundError(
            f"the baseline {baseline!r} is no variant{near_names(baseline, variants)}",
            remedy=f"variants: {', '.join(variants)}",
        )
    evidence = _Evidence(scores, baseline if len(variants) > 1 else None, asked, alpha, seed)
    return tuple(
        GateResult(gate.text, gate.scope, candidate, *gate.check(evidence, candidate))
        for gate in parsed
        for candidate in candidates
    )


_Found = tuple[Outcome, str, tuple[str, ...]]
"""What came out, the figures that decided, the cases that failed."""


class _Evidence:
    """The scores, and the comparisons that gates ask for."""

    def __init__(
        self,
        scores: pd.DataFrame,
        baseline: str | None,
        asked: tuple[str, ...],
        alpha: float,
        seed: int,
    ) -> None:
        self.scores = scores
        self._baseline = baseline
        self._asked = asked
        self._alpha, self._seed = alpha, seed
        self._found: dict[tuple[str, ...], ComparisonRecord] = {}

    def values(self, measure: str, variant: str) -> tuple[pd.Series, int]:
        """Return the value of each case, its repetitions averaged, and how many failed."""
        rows = self.scores[self.scores["variant"] == variant]
        found = rows[rows["measure"] == measure]
        if found.empty:
            known = dict.fromkeys(self.scores["measure"])
            raise NotFoundError(
                f"there are no scores of {measure!r}", remedy=f"measures: {', '.join(known)}"
            )
        failed = found.loc[found["status"] == "unavailable", "case_id"].nunique()
        kept = found[found["status"] == "ok"]
        return kept.groupby("case_id", sort=False)["value"].mean(), int(failed)

    def compared(self, *measures: str) -> ComparisonRecord:
        """Compare by some measures; those of all gates share one error rate."""
        if self._baseline is None:
            raise BadInputError(
                "a gate compares with a baseline, and there is none",
                remedy="give --baseline and a second variant, or gates on levels only",
            )
        key = measures or self._asked
        if key not in self._found:
            self._found[key] = compare_frames(
                self.scores,
                baseline=self._baseline,
                measures=key,
                alpha=self._alpha,
                seed=self._seed,
                resolution=False,
            )
        return self._found[key]


_Check = Callable[[_Evidence, str], _Found]


@dataclass(frozen=True, slots=True)
class _Gate:
    """A parsed gate, and how it is checked for one candidate."""

    text: str
    scope: Scope
    check: _Check


def _tested(text: str) -> str | None:
    """Return the measure of a gate that holds in general."""
    found = _DIFFERENCE.fullmatch(text.strip())
    return _measure(found[1], text) if found else None


def _parse(text: str, first: str | None) -> _Gate:
    if not isinstance(text, str):
        raise BadInputError(
            f"found a {type(text).__name__}, expected a text",
            where="gate",
            remedy="pass each gate as an argument of its own",
        )
    given = " ".join(text.split())
    if found := _DIFFERENCE.fullmatch(given):
        return _Gate(given, "in general", _difference(given, *found.groups()))
    if found := _REGRESSED.fullmatch(given):
        return _Gate(
            given, "on this set", _regressed(_chosen(found[1], first, given), int(found[2]))
        )
    if found := _MUST.fullmatch(given):
        return _Gate(given, "on this set", _must_pass(_chosen(None, first, given), found[1]))
    found = _LEVEL.fullmatch(given)
    if found and not found[2].startswith("regressed") and math.isfinite(float(found[4])):
        measure = _measure(found[2], given)
        check = _every if found[1] or measure == "ForbiddenLeakage" else _mean
        return _Gate(given, "on this set", check(measure, found[3], float(found[4])))
    raise BadInputError(f"{text!r} is no gate", where="gate", remedy=f"a gate is {FORMS}")


def _chosen(name: str | None, first: str | None, gate: str) -> str:
    if name is None and first is None:
        raise BadInputError(f"{gate!r} needs a compared measure", where="gate")
    return _measure(name or str(first), gate)


def _measure(name: str, gate: str) -> str:
    if name in OPERATIONAL or _PERCENTILE.fullmatch(name):
        return name
    if any(sign in name for sign in ("<", ">", "==")) or name.endswith("="):
        raise BadInputError(f"{gate!r} is no gate", where="gate", remedy=f"a gate is {FORMS}")
    try:
        return str(parse_measure(name))
    except UnknownMeasureError as error:
        if near := near_names(name, ["regressed"]):
            message = f"{error.message}{near}"
        else:
            message = error.message
        raise UnknownMeasureError(message, where="gate", remedy=error.remedy) from None


def _mean(measure: str, sign: str, bound: float) -> _Check:
    def check(evidence: _Evidence, candidate: str) -> _Found:
        percentile = _PERCENTILE.fullmatch(measure)
        values, failed = evidence.values("latency_ms" if percentile else measure, candidate)
        if failed or values.empty:
            return "failed", _incomplete(measure, failed, len(values)), ()
        found = (
            float(np.percentile(values, int(percentile[1]))) if percentile else float(values.mean())
        )
        passed = OPERATORS[sign](round(found, 12), bound)
        detail = f"{measure} is {found:.4g} over {len(values)} cases"
        return "passed" if passed else "failed", detail, ()

    return check


def _every(measure: str, sign: str, bound: float) -> _Check:
    def check(evidence: _Evidence, candidate: str) -> _Found:
        values, failed = evidence.values(measure, candidate)
        if failed or (values.empty and measure != "ForbiddenLeakage"):
            return "failed", _incomplete(measure, failed, len(values)), ()
        wrong = [str(k) for k, v in values.items() if not OPERATORS[sign](round(v, 12), bound)]
        if wrong:
            detail = f"{len(wrong)} of {len(values)} cases do not: {listed(wrong, most=5)}"
            return "failed", detail, tuple(wrong)
        if values.empty:
            return "passed", "no case says what is forbidden", ()
        return "passed", f"all {len(values)} cases with {measure} do", ()

    return check


def _regressed(measure: str, bound: int) -> _Check:
    def check(evidence: _Evidence, candidate: str) -> _Found:
        found = evidence.compared(measure)
        failed = _unpaired(found, candidate)
        if failed:
            return "failed", _incomplete(measure, failed, 0), ()
        rows = found.changed[found.changed["candidate"] == candidate]
        gains = measure_traits(measure).direction * rows["diff"]
        worse = tuple(map(str, rows.loc[gains < 0, "case_id"]))
        detail = f"{len(worse)} case{'s' * (len(worse) != 1)} got worse by {measure}"
        detail += f": {listed(worse, most=5)}" if worse else ""
        return "passed" if len(worse) <= bound else "failed", detail, worse

    return check


def _must_pass(measure: str, case_id: str) -> _Check:
    def check(evidence: _Evidence, candidate: str) -> _Found:
        known = dict.fromkeys(evidence.scores["case_id"])
        if case_id not in known:
            raise NotFoundError(
                f"there is no case {case_id!r}{near_names(case_id, known)}", where="gate"
            )
        values, _ = evidence.values(measure, candidate)
        value = values.get(case_id)
        if value is None:
            return "failed", f"{measure} of the case is n/a", (case_id,)
        return (
            "passed" if value > 0 else "failed",
            f"{measure} is {value:.4g}",
            () if value > 0 else (case_id,),
        )

    return check


def _difference(gate: str, name: str, sign: str, plus: str | None, number: str | None) -> _Check:
    measure = _measure(name, gate)
    direction = measure_traits(measure).direction
    if (sign == ">") != (direction > 0):
        raise BadInputError(
            f"{gate!r} asks for a worse {measure}",
            where="gate",
            remedy=f"{'lower' if direction < 0 else 'higher'} is better: turn the sign around",
        )
    # In the direction of a gain: below 0 is how much worse it may be.
    least = direction * float(f"{plus}{number}") if number else 0.0

    def check(evidence: _Evidence, candidate: str) -> _Found:
        frame = evidence.compared().frame
        rows = frame[(frame["candidate"] == candidate) & (frame["measure"] == measure)]
        row: Mapping[str, Any] = dict(rows.iloc[0]) | {"note": ""}
        failed = _unpaired(evidence.compared(), candidate)
        outcome = "undecided" if failed else _decided(row, direction, least)
        return outcome, _incomplete(measure, failed, 1) or verdict_sentence(row), ()

    return check


def _decided(row: Mapping[str, Any], direction: int, least: float) -> Outcome:
    if least == 0:
        verdicts: dict[str, Outcome] = {"better": "passed", "worse": "failed"}
        return verdicts.get(row["verdict"], "undecided")
    low, high = sorted((direction * row["ci_low"], direction * row["ci_high"]))
    if low > least:  # never true of an interval that is not there
        return "passed"
    return "failed" if high < least else "undecided"


def _unpaired(found: ComparisonRecord, candidate: str) -> int:
    rows = found.coverage[found.coverage["candidate"] == candidate]
    return int(rows["n_unavailable"].max())


def _incomplete(measure: str, failed: int, n: int) -> str:
    if failed:
        return f"{failed} cases could not be searched: no gate passes with failures"
    return f"{measure} is undefined for every case" if not n else ""
