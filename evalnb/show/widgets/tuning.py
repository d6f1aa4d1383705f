"""Other settings of a search, tried by hand over replay: every move shows what it changes.

No statistic is computed here: means, intervals and differences are those of evalnb.comparison.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets
from pydantic import ValidationError

from evalnb.comparison.case_scores import average_cases
from evalnb.comparison.paired import ComparisonRecord, compare_frames, mean_intervals
from evalnb.comparison.replay import Replay
from evalnb.comparison.tuning import Tuned, tune
from evalnb.errors import BadInputError, CapabilityError
from evalnb.evaluation.looks import looks_path, mark_look
from evalnb.evaluation.report import AnyReport, EvaluationReport
from evalnb.evaluation.request import Variant
from evalnb.evaluation.variants import keep_variant
from evalnb.files import checked_path
from evalnb.search.request import Overrides
from evalnb.search.system import SearchSystem
from evalnb.show.markup import quiet_html
from evalnb.show.text import plural
from evalnb.show.widgets.parts import (
    StateLine,
    Together,
    action_button,
    html_part,
    put_html,
    side_by_side,
    tool_box,
    tool_bundle,
)
from evalnb.show.widgets.settings import SettingsPanel
from evalnb.show.widgets.sources import (
    RECORDED,
    THESE,
    Source,
    position_of,
    quick_grid,
    scores_of,
    sources_of,
)
from evalnb.show.widgets.tuned import (
    changed_html,
    compared_row,
    needs_live_html,
    picture_html,
    state_words,
)
from evalnb.strict_json import describe_validation_error

if TYPE_CHECKING:
    import pandas as pd

LOCKED = "the test split is locked, to judge what is chosen elsewhere"
HONEST = "Settings chosen by looking at these cases seem better than they are; see Try a grid."


class Tuning:
    """Controls over the candidates that reports kept; every move is replayed, not searched.

    Parameters
    ----------
    reports
        One report or several, whose variants searched channels: a composed system, a workspace, a
        database. One of the test split is locked until it is asked for.
    variant, measure
        Where to begin; the first of the first report unless given.
    system
        The search system of the reports, to search live.
    keep
        The variants file that "Keep this" extends.
    test
        Open the test split at once; the look is noted beside the variants file.

    Attributes
    ----------
    settings
        The controls of the fusion.
    comparison
        What is shown: these settings against what was recorded; None where nothing is.
    needs_live
        Why a case cannot be replayed, by case.
    live, tuned
        What the last live search, and the last grid, gave.

    Raises
    ------
    BadInputError
        If nothing can be replayed, there is no such variant or measure, or the system is none.
    """

    def __init__(
        self,
        reports: AnyReport | Sequence[AnyReport],
        *,
        variant: str | None = None,
        measure: str | None = None,
        system: SearchSystem | None = None,
        keep: str | Path = "variants.json",
        test: bool = False,
    ) -> None:
        self._sources = sources_of(reports)
        if system is not None and not hasattr(system, "open"):
            raise BadInputError(
                f"system is a {type(system).__name__}, expected a search system",
                remedy="pass the workspace, or what evalnb.fused or evalnb.system returned",
            )
        self.path = checked_path(keep)
        if not self.path.name:
            raise BadInputError(f"{str(keep)!r} names no file", where="keep")
        self.system = system
        self.comparison: ComparisonRecord | None = None
        self.needs_live: Mapping[str, str] = {}
        self.live: EvaluationReport | None = None
        self.tuned: Tuned | None = None
        self._looks: dict[str, list[str]] = {}
        self._noted: tuple[Any, str] = (None, "")
        self._update = Together(self._show)
        self.settings: SettingsPanel
        self.state = StateLine()
        self._picture, self._needs, self._changed = html_part(), html_part(), html_part()
        self._make_box(position_of(self._sources, variant), test=test)
        self._choose_source(measure=measure)

    def frame(self) -> pd.DataFrame:
        """Return the comparison of these settings with what was recorded, as it is shown."""
        return self._shown("frame")

    def changed(self) -> pd.DataFrame:
        """Return the cases whose value these settings change, the worst first."""
        return self._shown("changed")

    def overrides(self) -> dict[str, Any]:
        """Return what a variant with these settings overrides."""
        recorded, changes = self._source.variant.overrides, self.settings.changes()
        hints = {**(recorded.get("hints") or {}), **changes.pop("hints", {})}
        return {**recorded, **changes, **({"hints": hints} if hints else {})}

    def keep(self, name: str | None = None) -> str:
        """Add these settings to the variants file; returns the name that they got there."""
        self._look()
        name = name or self.name.value.strip() or f"{self._source.variant.name} tuned"
        tested = self._source.report.dataset.split == "test"
        variant = self._variant(name, label=f"{name}, seen on the test split" if tested else None)
        kept = keep_variant(self.path, variant)
        self._note(f"Kept as {kept} in {self.path}.")
        return kept

    def search_live(self) -> EvaluationReport:
        """Search every case with these settings, and show what came back.

        Raises
        ------
        BadInputError
            If no system was given.
        EvalnbError
            What an evaluation refuses.
        """
        if self.system is None:
            raise BadInputError(
                "there is no system to search", remedy="Tuning(report, system=workspace)"
            )
        self._look()
        self.live = self._source.search(
            self.system,
            self._variant(THESE),
            progress=lambda done, n: self.state.say(f"Searching: {done:,} of {n:,}."),
        )
        self.needs_live = {}
        self._compare(scores_of(self.live, THESE, self._replay, THESE))
        self._draw()
        self._note("Searched live.")
        return self.live

    def try_grid(self) -> Tuned:
        """Try many settings, set the controls to the best, and say what it is worth elsewhere."""
        self.state.say("Trying a grid of settings.")
        channels, measure = self._replay.channels, self.measure.value
        try:
            self.tuned = tune(self._replay, quick_grid(channels))
        except CapabilityError:  # ids without scores are fused by rank
            self.tuned = tune(self._replay, quick_grid(channels, normalisations=()))
        with self._update.once():
            self.settings.put(self.tuned.best)
        self._update.flush()
        best, other = f"{self.tuned.mean:.3f}", f"{self.tuned.held_out:.3f}"
        self._note(
            f"The best of {plural(len(self.tuned.tried), 'setting')}: {measure} {best} here, but "
            f"{other} on families that did not choose it, {self.tuned.recorded:.3f} as recorded."
        )
        return self.tuned

    def close(self) -> None:
        """End the tool; an update that was asked for does not come any more."""
        self._update.close()
        self.settings.close()
        self.box.close()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        self._update.flush()
        html = "".join(part.value for part in (self._picture, self._needs, self._changed))
        if self.comparison is not None:
            html += quiet_html(f"Overrides: {json.dumps(self.overrides(), ensure_ascii=False)}")
        return tool_bundle(self.box, self.state.text, html=html, **kwargs)

    @property
    def _source(self) -> Source:
        return self._sources[int(self.data.value)]

    @property
    def _replay(self) -> Replay:
        return self._source.lay_out(self.measure.value)[0]

    def _variant(self, name: str, *, label: str | None = None) -> Variant:
        overrides = Overrides.model_validate(self.overrides())
        system = self._source.variant.system
        try:
            return Variant(name=name, label=label, system=system, overrides=overrides)
        except ValidationError as error:
            raise BadInputError(describe_validation_error(error)) from None

    def _shown(self, part: str) -> pd.DataFrame:
        import pandas as pd

        self._update.flush()
        found = None if self.comparison is None else getattr(self.comparison, part)
        return pd.DataFrame() if found is None else found.copy()

    def _make_box(self, position: int, *, test: bool) -> None:
        labels = [(source.label, at) for at, source in enumerate(self._sources)]
        self.data = widgets.Dropdown(
            options=labels, value=position, description="data", tooltip="gold set, split, variant"
        )
        self.measure = widgets.Dropdown(description="measure", tooltip="what is compared")
        self.open_test = widgets.ToggleButton(
            value=test,
            description="Open the test split",
            tooltip=f"notes in {looks_path(self.path)} that it was looked at",
        )
        tested = any(source.report.dataset.split == "test" for source in self._sources)
        self.open_test.layout.display = None if tested else "none"
        self.name = widgets.Text(
            description="name", tooltip="what the kept variant is called", placeholder="tuned"
        )
        live = "run every search with these settings; needs Tuning(report, system=...)"
        actions: dict[str, tuple[str, str, Callable[[], object]]] = {
            "reset": ("As recorded", "set all to what was run", self._reset),
            "grid": ("Try a grid", "try many settings, and take the best", self.try_grid),
            "live": ("Search live", live, self.search_live),
            "keep": ("Keep this", f"add the settings to {self.path}", self.keep),
        }
        self.buttons = {
            key: action_button(*action, state=self.state, update=self._update)
            for key, action in actions.items()
        }
        self.buttons["live"].button_style = "warning"
        self.buttons["live"].disabled = self.system is None
        self._panel = widgets.VBox()
        acting = widgets.HBox([self.buttons[each] for each in ("reset", "grid", "live")])
        keeping = widgets.HBox([self.name, self.buttons["keep"]])
        left = [self.data, self.measure, self.open_test, self._panel, acting, keeping]
        right = [self.state.part, self._picture, self._needs, self._changed]
        quiet = html_part(f'<p class="quiet">{HONEST}</p>')
        self.box = tool_box(side_by_side(left, right), quiet)
        self.data.observe(lambda _: self._choose_source(), "value")
        self.measure.observe(self._update, "value")
        self.open_test.observe(self._update, "value")

    def _reset(self) -> None:
        with self._update.once():
            self.settings.put({})

    def _choose_source(self, *, measure: str | None = None) -> None:
        """Lay out the controls of what was chosen; they stand as it was recorded."""
        source = self._source
        chosen = source.measure_named(measure)
        with self._update.once():
            self.measure.options = list(source.measures)
            self.measure.value = chosen
            if self._panel.children:
                self.settings.close()
            replay = self._replay
            self.settings = SettingsPanel(replay.channels, replay.recorded, self._update)
            self._panel.children = [self.settings.box]
            self.live = self.tuned = None

    def _show(self) -> None:
        """Replay what is set, and show it; an error empties the picture, which would mislead."""
        self.comparison, self.needs_live = None, {}
        with self.state.catching():
            try:
                self._look()
                self._compare(self._replayed())
            finally:
                self._draw()
            self._say()

    def _replayed(self) -> pd.DataFrame:
        replay, recorded = self._source.lay_out(self.measure.value)
        if not (changes := self.settings.changes()):
            return recorded.assign(variant=THESE)  # a case that needs a search was searched so
        replayed = replay.run(changes)
        self.needs_live = replayed.needs_live
        return replayed.frame(THESE)

    def _look(self) -> None:
        """Note that the test split is looked at, before anything of it is shown."""
        dataset, path = self._source.report.dataset, looks_path(self.path)
        if dataset.split == "test" and not self.open_test.value:
            raise BadInputError(LOCKED, remedy=f"the button to open it notes the look in {path}")
        if dataset.split == "test" and dataset.version_sha not in self._looks:
            self._looks[dataset.version_sha] = mark_look(path, dataset)

    def _compare(self, these: pd.DataFrame) -> None:
        import pandas as pd

        recorded = self._source.lay_out(self.measure.value)[1]
        both = pd.concat([recorded, these], ignore_index=True)
        cases = average_cases(both)
        self.comparison = compare_frames(cases, baseline=RECORDED, resolution=False)
        self._row = compared_row(self.comparison)
        replayed = both[~both["case_id"].isin(self.needs_live)] if self.needs_live else cases
        self._means = mean_intervals(replayed)

    def _note(self, words: str) -> None:
        """Say something that holds until the settings change."""
        self._noted = (self.settings.changes(), words)
        self._say()

    def _say(self) -> None:
        if self.comparison is None:
            return
        words = [state_words(self._row, self.measure.value, len(self.needs_live))]
        if looks := self._looks.get(self._source.report.dataset.version_sha):
            times = plural(len(looks), "time")
            words.append(f"Test split: looked at {times} since {looks[0][:10]}.")
        settings, note = self._noted
        if note and settings == self.settings.changes():
            words.append(note)
        self.state.say(" ".join(words))

    def _draw(self) -> None:
        put_html(self._needs, needs_live_html(self.needs_live))
        if self.comparison is None:
            put_html(self._picture, "")
            put_html(self._changed, "")
            return
        changed = self.comparison.changed
        picture = picture_html(self._row, self._means, list(changed["diff"]), self.measure.value)
        put_html(self._picture, picture)
        put_html(self._changed, changed_html(changed, self._source.queries))
