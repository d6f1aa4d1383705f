"""What to do next, in words: switch, keep, or repair first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evalnb.show.measured import covered
from evalnb.show.numbers import format_count, format_difference, present
from evalnb.show.reading import gain_of, of_first_measure
from evalnb.show.tables import row_list, rows_by_candidate, shown_verdict
from evalnb.show.text import one_line, plural
from evalnb.wording import listed

if TYPE_CHECKING:
    from evalnb.comparison.paired import ComparisonRecord

NAMES_SHOWN = 4


def next_step(comparison: ComparisonRecord) -> str:
    """Say in a sentence or two what the verdicts ask for; empty where nothing could be compared.

    A variant to switch to is better by some measure and worse by none. Which of several such ones
    is best was not tested, and is not said.
    """
    table = covered(comparison)
    rows = row_list(of_first_measure(table, comparison))
    if not rows:
        return ""
    by_candidate = rows_by_candidate(table)
    baseline = _name(comparison.baseline)
    failing = max(row.n_baseline_unavailable for row in rows)
    if failing:
        return (
            f"Repair {baseline} first: {plural(failing, 'case')} of the baseline could not be "
            "scored, so there is no verdict on any variant."
        )
    rows.sort(key=lambda row: -gain_of(row) if row.n else 0.0)
    ups = [row for row in rows if _has(by_candidate[row.candidate], "better")]
    clean = [row for row in ups if not _has(by_candidate[row.candidate], "worse")]
    if clean:
        step = _switch(clean, by_candidate, baseline)
    elif ups:
        mine = by_candidate[ups[0].candidate]
        step = (
            f"Weigh {_name(ups[0].candidate)} against {baseline}: it is better by "
            f"{_by(mine, 'better')}, but worse by {_by(mine, 'worse')}."
        )
    else:
        step = _keep(rows, baseline)
    broken = [row for row in rows if row.n_unavailable]
    return step + (f" Repair {_names(broken)}: searches failed." if broken else "")


def _switch(rows: Sequence[Any], by_candidate: dict[str, list[Any]], baseline: str) -> str:
    best, *others = rows
    by = _by(by_candidate[best.candidate], "better")
    step = f"Switch to {_name(best.candidate)}: it is better than {baseline} by {by}."
    if others:
        verb = "is" if len(others) == 1 else "are"
        step += f" {_names(others)} {verb} better too; which one is best was not tested."
    return step


def _keep(rows: Sequence[Any], baseline: str) -> str:
    step = f"Keep {baseline}."
    compared = [row for row in rows if row.n and not row.n_unavailable]
    if not compared:
        return step
    if all(shown_verdict(row) == "identical" for row in compared):
        verb = "does" if len(compared) == 1 else "do"
        cases = plural(compared[0].n, "case")
        return (
            f"{step} {_names(compared)} {verb} no better and no worse on any of the {cases} "
            f"by {compared[0].measure}."
        )
    step += " No variant is shown to be better"
    hopeful = [row for row in compared if gain_of(row) > 0 and row.verdict.startswith("un")]
    if not hopeful:
        return step + "."
    row = hopeful[0]
    about = f"{_name(row.candidate)} ({row.measure} {format_difference(row.diff)})"
    if present(row.n_needed) is None:
        return f"{step}; too few cases changed to decide about {about}."
    needed = format_count(row.n_needed)
    return f"{step}; to decide about {about}, about {needed} families would be needed."


def _has(rows: Sequence[Any], verdict: str) -> bool:
    return any(row.verdict == verdict for row in rows)


def _by(rows: Sequence[Any], verdict: str) -> str:
    row = next(row for row in rows if row.verdict == verdict)
    return f"{row.measure} ({format_difference(row.diff)})"


def _names(rows: Sequence[Any]) -> str:
    return listed((_name(row.candidate) for row in rows), NAMES_SHOWN)


def _name(name: str) -> str:
    return one_line(name, 40)
