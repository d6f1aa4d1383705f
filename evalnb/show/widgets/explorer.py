"""Look at one case after another: what each variant returned, where the relevant ids went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from evalnb.comparison.losses import REMEDIES
from evalnb.comparison.stages import courses_frame
from evalnb.errors import NotFoundError
from evalnb.evaluation.report import AnyReport, check_variant, record_of
from evalnb.show.case_list import MOVES, ORDERS, CaseList
from evalnb.show.cases import CaseView
from evalnb.show.charts import plot_bumps
from evalnb.show.drilldown import LEGEND, STATES, case_html
from evalnb.show.images import image_html
from evalnb.show.markup import quiet_html
from evalnb.show.numbers import present
from evalnb.show.reading import reading_of
from evalnb.show.tables import row_list, verdict_sign
from evalnb.show.text import one_line, plural
from evalnb.show.widgets.keys import Keys
from evalnb.show.widgets.parts import (
    StateLine,
    Together,
    html_part,
    put_html,
    tool_box,
    tool_bundle,
)

if TYPE_CHECKING:
    import pandas as pd

PAGE = 200  # cases in the list at once: a browser lays out thousands slowly
CHARTED = 4  # variants side by side that get a chart: each costs 50 ms
ROWS = 8


class CaseExplorer:
    """Choose a case by what happened to it, and see it under several variants side by side.

    Parameters
    ----------
    report
        A report, or its record.
    baseline
        The variant that ranks are set against; the request's, or the first one, unless given.
    measures
        The measures that are shown; the report's compared ones unless given.
    variants
        The variants shown first; the baseline and the one after it unless given.
    images
        The file of each asset that a hit may picture, by its id. Others are named only.

    Attributes
    ----------
    box
        The container of the controls and of the case.

    Raises
    ------
    NotFoundError
        If there is no such variant or measure.
    """

    def __init__(
        self,
        report: AnyReport,
        *,
        baseline: str = "",
        measures: Sequence[str] = (),
        variants: Sequence[str] = (),
        images: Mapping[str, str | Path] | None = None,
    ) -> None:
        self._reading = reading_of(record_of(report), baseline=baseline, measures=measures)
        self._list, self._images = CaseList(self._reading), dict(images or {})
        names = [variant.name for variant in self._reading.report.variants]
        for name in variants:
            check_variant(name, names)
        others = [name for name in names if name != self._reading.baseline]
        first = list(variants) or [n for n in (self._reading.baseline, *others[:1]) if n]
        self._shown: pd.DataFrame = self._list.frame(names[0]).iloc[:0]
        self._case = ""
        self._make_controls(names, first)
        self._refilter = Together(self._filter)
        self._repaint = Together(self._paint)
        for control in self._filters:
            control.observe(self._refilter, "value")
        self.cases.observe(self._picked, "value")
        self.side_by_side.observe(self._repaint, "value")
        self.previous.on_click(lambda _: self.step(-1))
        self.next.on_click(lambda _: self.step(1))
        self._filter()

    def _make_controls(self, names: list[str], first: list[str]) -> None:
        wide = widgets.Layout(width="auto", min_width="18rem", flex="1 1 18rem")
        self.text = widgets.Text(
            description="Words", tooltip="In the question, its id or its labels", layout=wide
        )
        self.variant = _dropdown("Variant", _labelled(names), "Whose outcome the filters ask about")
        self.variant.value = next((n for n in first if n != self._reading.baseline), first[0])
        states = [(label, key) for key, label in STATES.items()]
        self.state = _dropdown("State", states, "How the case ended", every="every state")
        self.moved = _dropdown(
            "Rank",
            _labelled(MOVES if self._reading.baseline else ()),
            "Against the baseline",
            every="any change of rank",
        )
        self.lost = _dropdown(
            "Lost", _labelled([*REMEDIES]), "Where a missed case was lost", every="anywhere"
        )
        self.intent = _dropdown(
            "Intent", _labelled(self._list.intents), "Kind of question", every="every intent"
        )
        self.tag = _dropdown("Tag", _labelled(self._list.tags), "Of the case", every="every tag")
        self.order = _dropdown("Sort", _labelled(ORDERS), "Order of the list")
        self.cases = widgets.Select(
            description="Cases", rows=ROWS, tooltip="Arrow keys go from case to case", layout=wide
        )
        self.side_by_side = widgets.SelectMultiple(
            options=_labelled(names),
            value=first,
            description="Side by side",
            rows=min(ROWS, max(2, len(names))),
            tooltip="Variants to show; choose several with Ctrl or Shift",
        )
        self.previous = widgets.Button(description="Previous (p)", tooltip="The case before")
        self.next = widgets.Button(description="Next (n)", tooltip="The case after")
        self._filters = [
            *(self.text, self.variant, self.state, self.moved),
            *(self.lost, self.intent, self.tag, self.order),
        ]
        self._line, self._part = StateLine(), html_part()
        self.box = tool_box(
            widgets.HBox([self.text]),
            widgets.HBox([control for control in self._filters[1:] if _asks(control)]),
            widgets.HBox([self.cases, self.side_by_side]),
            widgets.HBox([self.previous, self.next]),
            Keys({"p": lambda: self.step(-1), "n": lambda: self.step(1)}),
            self._line.part,
            self._part,
        )

    def frame(self) -> pd.DataFrame:
        """Return the list of cases as it is filtered and sorted.

        Columns as :meth:`~evalnb.show.case_list.CaseList.frame`.
        """
        return self._shown.copy()

    @property
    def case_id(self) -> str:
        """The case that is shown; empty if none is."""
        return self._case

    def show(self, case_id: str) -> None:
        """Show a case of the list.

        Raises
        ------
        NotFoundError
            If the list, as it is filtered, does not hold it.
        """
        if case_id not in self._places:
            raise NotFoundError(
                f"the list holds no case {case_id!r}", remedy="clear the filters, or correct it"
            )
        self._case = case_id
        self._turn()
        self._repaint()

    def step(self, by: int) -> None:
        """Show a case further down the list, or up; nothing beyond its ends."""
        at = self._places.get(self._case, 0) + by
        if 0 <= at < len(self._shown):
            self.show(str(self._shown["case_id"].iloc[at]))

    def _filter(self) -> None:
        with self._line.catching():
            self._shown = self._list.chosen(
                self.variant.value,
                text=self.text.value,
                **{
                    name: getattr(self, name).value
                    for name in ("intent", "tag", "state", "moved", "lost", "order")
                },
            )
            self._places = {key: at for at, key in enumerate(self._shown["case_id"])}
            self._case = next(iter(self._places), "")
            self._turn()
            self._paint()

    def _turn(self) -> None:
        """Open the page of the list that holds the case."""
        first = self._places.get(self._case, 0) // PAGE * PAGE
        options = [(_entry(row), row.case_id) for row in row_list(self._shown[first:][:PAGE])]
        self.cases.unobserve(self._picked, "value")
        if tuple(options) != self.cases.options:
            self.cases.options = options
        self.cases.value = self._case or None
        self.cases.observe(self._picked, "value")
        at = self._places.get(self._case, 0)
        self.previous.disabled, self.next.disabled = at < 1, at + 1 >= len(self._shown)

    def _picked(self, change: Any) -> None:
        if change["new"]:
            self.show(change["new"])

    def _paint(self) -> None:
        with self._line.catching():
            put_html(self._part, self._case_html())
            self._line.say(self._said())

    def _case_html(self) -> str:
        if not self._case:
            return ""
        view = self._list.source.view(self._case, set(self.side_by_side.value))
        page = case_html(
            view,
            compared=self._reading.measures,
            baseline=self._reading.baseline,
            opened=True,
            charts=self._charts(view),
            picture=lambda hit: image_html(hit, self._images),
        )
        return f"{quiet_html(LEGEND)}{page}"

    def _charts(self, view: CaseView) -> dict[str, str]:
        """Draw the ways of the relevant ids, each in one colour, where they were recorded."""
        drawn = {v.name: (v.courses, v.limit) for v in view.variants if v.courses}
        every = [course.target for courses, _ in drawn.values() for course in courses or ()]
        order = {target: at for at, target in enumerate(dict.fromkeys(every))}
        charts = {}
        for name, (courses, limit) in list(drawn.items())[:CHARTED]:
            found = sorted(courses or (), key=lambda course: order[course.target])
            charts[name] = plot_bumps(courses_frame(found), limit=limit)._repr_html_()
        return charts

    def _said(self) -> str:
        report = self._reading.report
        if not report.cases:
            return "The report has no case."
        found, total = len(self._shown), plural(len(report.cases), "case")
        if not found:
            return f"None of {total} fits the filters."
        at = self._places[self._case]
        row = row_list(self._shown[at : at + 1])[0]
        sides = len(self.side_by_side.value)
        beside = f"{plural(sides, 'variant')} side by side" if sides else "no variant is chosen"
        charted = f", the first {CHARTED} with a chart" if sides > CHARTED else ""
        alone = "" if self._reading.baseline else ", nothing to compare it with"
        among = "" if found == len(report.cases) else f" that fit ({total} in all)"
        place = f"Case {at + 1:,} of {found:,}{among}"
        lost = f"; lost: {row.lost}" if row.lost else ""
        return f"{place}: {_entry(row)}{lost}; {beside}{charted}{alone}."

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        return tool_bundle(self.box, self._said(), html=self._case_html(), **kwargs)


def _dropdown(
    name: str, options: Sequence[tuple[str, str]], tooltip: str, *, every: str = ""
) -> widgets.Dropdown:
    """Make a choice of one, or of everything if that has a name."""
    first = [(every, "")] if every else []
    return widgets.Dropdown(options=[*first, *options], description=name, tooltip=tooltip)


def _labelled(names: Sequence[str]) -> list[tuple[str, str]]:
    return [(one_line(name, 60), name) for name in names]


def _asks(control: widgets.Dropdown) -> bool:
    """Whether a filter leaves anything to choose."""
    return len(control.options) > 1


def _entry(row: Any) -> str:
    """Write a case as it stands in the list: where it was, where it is, what was asked."""
    now = {"failed": "n/a", "miss": "miss", "": "no gold"}.get(row.state) or f"{row.rank}"
    was = "miss" if present(row.baseline_rank) is None else f"{row.baseline_rank}"
    ranks = f"{was} → {now}" if row.moved else now
    sign = f"{verdict_sign(row.verdict)} " if row.verdict else ""
    return f"{one_line(row.case_id, 40)} · {sign}{ranks} · {one_line(row.query, 80)}"
