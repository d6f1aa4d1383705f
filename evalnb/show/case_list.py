"""The cases of a report as a list that can be filtered and sorted, one variant at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

from evalnb.show.cases import CaseSource, Outcome
from evalnb.show.numbers import present
from evalnb.show.reading import Reading, primary_changes

if TYPE_CHECKING:
    import pandas as pd

LIST_COLUMNS = (
    *("case_id", "query", "intent", "language", "tags", "variant", "state", "rank"),
    *("baseline_rank", "moved", "difference", "verdict", "forbidden", "lost"),
)
Moved = Literal["up", "down", "newly found", "no longer found", "same"]
MOVES: tuple[Moved, ...] = get_args(Moved)
Order = Literal["as in the report", "worst change first", "best change first", "worst rank first"]
ORDERS: tuple[Order, ...] = get_args(Order)


class CaseList:
    """Every case of a report with how it ended under each variant.

    Attributes
    ----------
    intents, tags
        What cases can be chosen by; a tag is written ``key=value``.
    """

    def __init__(self, reading: Reading) -> None:
        changes = primary_changes(reading.changed)
        self.reading, self._changes = reading, changes
        self.source = CaseSource(reading.report, baseline=reading.baseline, changes=changes)
        self._outcomes: dict[str, dict[str, Outcome]] = {
            v.name: {} for v in reading.report.variants
        }
        for outcome in self.source.outcomes():
            self._outcomes[outcome.variant][outcome.case_id] = outcome
        self._frames: dict[str, pd.DataFrame] = {}
        cases = reading.report.cases
        self.intents = sorted({case.intent for case in cases if case.intent})
        self.tags = sorted({tag for case in cases for tag in _tags(case.tags)})

    def frame(self, variant: str) -> pd.DataFrame:
        """Return one row per case, in the report's order; columns :data:`LIST_COLUMNS`.

        ``rank`` and ``baseline_rank`` are those of the first relevant hit, ``difference`` is to
        the baseline in the first compared measure, ``lost`` says where a missed case was lost.
        """
        if variant not in self._frames:
            self._frames[variant] = self._framed(variant)
        return self._frames[variant]

    def chosen(
        self,
        variant: str,
        *,
        text: str = "",
        intent: str = "",
        tag: str = "",
        state: str = "",
        moved: str = "",
        lost: str = "",
        order: Order = "as in the report",
    ) -> pd.DataFrame:
        """Return the rows that fit everything that is given, in an order.

        Parameters
        ----------
        text
            Words that all stand in the id, the question or the labels of a case.
        state
            One of :data:`~evalnb.show.drilldown.STATES`.
        moved
            One of :data:`MOVES`: the rank set against the baseline's.
        lost
            A reason of :mod:`evalnb.comparison.losses`.
        """
        rows = self.frame(variant)
        if words := text.casefold().split():
            rows = _where(rows, lambda key: all(word in self._words[key] for word in words))
        for column, wanted in (("intent", intent), ("moved", moved), ("lost", lost)):
            if wanted:
                rows = rows[rows[column] == wanted]
        if tag:
            rows = _where(rows, lambda key: tag in _tags(self.source.cases[key].tags))
        if verdict := {"improved": "better", "regressed": "worse"}.get(state):
            rows = rows[rows["verdict"] == verdict]
        elif state == "forbidden":
            rows = rows[rows["forbidden"]]
        elif state:
            rows = rows[rows["state"] == state]
        return _ordered(rows, order)

    def _framed(self, variant: str) -> pd.DataFrame:
        import pandas as pd

        baseline = self.reading.baseline
        before = self._outcomes.get(baseline, {}) if variant != baseline else {}
        gains = self._changes.get(variant, {})
        rows = []
        for key, now in self._outcomes[variant].items():
            case, was, change = self.source.cases[key], before.get(key), gains.get(key)
            rows.append(
                (
                    *(key, case.request.query, case.intent or "", case.language or ""),
                    *(", ".join(_tags(case.tags)), variant, _state(now), now.rank),
                    *(was.rank if was else None, _moved(now, was)),
                    change.difference if change else 0.0,
                    "" if change is None else "better" if change.gain > 0 else "worse",
                    *(now.leaks, self._lost.get((variant, key), "")),
                )
            )
        frame = pd.DataFrame(rows, columns=list(LIST_COLUMNS))
        return frame.astype({"rank": "Int64", "baseline_rank": "Int64", "forbidden": bool})

    @cached_property
    def _lost(self) -> dict[tuple[str, str], str]:
        from evalnb.comparison.losses import lost_cases

        return {
            (lost.variant, lost.case_id): lost.reason for lost in lost_cases(self.reading.report)
        }

    @cached_property
    def _words(self) -> dict[str, str]:
        return {key: self.source.words(key).casefold() for key in self.source.cases}


def _where(rows: pd.DataFrame, fits: Callable[[str], bool]) -> pd.DataFrame:
    return rows.loc[[at for at, key in zip(rows.index, rows["case_id"], strict=True) if fits(key)]]


def _tags(tags: dict[str, str]) -> list[str]:
    return [f"{key}={value}" for key, value in tags.items()]


def _state(now: Outcome) -> str:
    if now.failed:
        return "failed"
    if not now.labelled:
        return ""
    return "miss" if now.rank is None else "hit"


def _moved(now: Outcome, was: Outcome | None) -> Moved | Literal[""]:
    if was is None or now.failed or was.failed or (now.rank is None and was.rank is None):
        return ""
    if was.rank is None or now.rank is None:
        return "newly found" if was.rank is None else "no longer found"
    return "up" if now.rank < was.rank else "down" if now.rank > was.rank else "same"


def _ordered(rows: pd.DataFrame, order: Order) -> pd.DataFrame:
    if order == "as in the report":
        return rows.reset_index(drop=True)
    if order == "worst rank first":
        keys = [-(present(rank) or math.inf) for rank in rows["rank"]]
    else:
        sign = {"better": 1.0, "worse": -1.0}
        pairs = zip(rows["verdict"], rows["difference"], strict=True)
        gains = [sign.get(verdict, 0.0) * abs(difference) for verdict, difference in pairs]
        keys = gains if order == "worst change first" else [-gain for gain in gains]
    found: pd.DataFrame = rows.iloc[sorted(range(len(keys)), key=keys.__getitem__)]
    return found.reset_index(drop=True)
