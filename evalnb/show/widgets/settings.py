"""The controls of a fusion: channels, weights, candidates, reranking and limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

import ipywidgets as widgets

from evalnb.comparison.fused_lists import Settings
from evalnb.errors import BadInputError
from evalnb.limits import RESULT_LIMIT
from evalnb.search.fusion import DEFAULT_CANDIDATES, DEFAULT_NORMALISATION, RRF_K, Normalisation
from evalnb.show.text import one_line

MOST_CANDIDATES = 10_000
NAME = 24  # characters of a channel's name beside its slider


class SettingsPanel:
    """What is to be tried, in controls that stand as recorded at first.

    Attributes
    ----------
    fusion, normalisation, rrf_k, candidates, limit, rerank
        Controls of one value each.
    uses, weights
        By channel: whether it is searched, and its weight.
    box
        All of them.
    """

    def __init__(
        self, channels: tuple[str, ...], recorded: Settings, on_change: Callable[..., None]
    ) -> None:
        self.recorded = recorded
        hints = recorded.hints
        candidates = hints.candidates or DEFAULT_CANDIDATES
        self.fusion = widgets.Dropdown(
            options=[("by rank (RRF)", "rrf"), ("by score", "weighted")],
            value=hints.fusion or "rrf",
            description="fusion",
            tooltip="by rank: 1 / (k + rank); by score: normalised scores; weighted and summed",
        )
        self.rrf_k = _slider(
            "RRF k", hints.rrf_k or RRF_K, 200, "a larger k lets lower ranks count for more"
        )
        self.normalisation = widgets.Dropdown(
            options=get_args(Normalisation),
            value=hints.normalisation or DEFAULT_NORMALISATION,
            description="scores",
            tooltip="how the scores of each channel are made comparable before they are summed",
        )
        self.uses = {
            name: widgets.Checkbox(
                value=name in recorded.channels,
                description=one_line(name, NAME),
                tooltip=f"search the channel {one_line(name)}",
                indent=False,
                layout={"width": "7rem"},
            )
            for name in channels
        }
        self.weights = {name: _weight(name, (hints.weights or {}).get(name)) for name in channels}
        self.candidates = _slider(
            "candidates",
            candidates,
            min(2 * max(candidates, recorded.limit), MOST_CANDIDATES),
            "how many each channel is asked for; more than were kept need a live search",
        )
        self.limit = _slider(
            "limit", recorded.limit, min(50, RESULT_LIMIT), "how many results come back"
        )
        self.rerank = widgets.Checkbox(
            value=recorded.rerank,
            description="rerank",
            tooltip="put the first candidates in the order of the reranker",
        )
        rows = [
            widgets.HBox([self.uses[name], self.weights[name]], layout={"align_items": "center"})
            for name in channels
        ]
        parts = [self.fusion, self.rrf_k, self.normalisation, *rows]
        self.box = widgets.VBox([*parts, self.candidates, self.limit, self.rerank])
        self._controls = {
            "fusion": self.fusion,
            "rrf_k": self.rrf_k,
            "normalisation": self.normalisation,
            "candidates": self.candidates,
            "limit": self.limit,
            "rerank": self.rerank,
        }
        self._at_first = self._values()
        self._on_change = on_change
        for control in self._every():
            control.observe(on_change, "value")
        self._show_what_counts()
        self.fusion.observe(self._show_what_counts, "value")

    def changes(self) -> dict[str, Any]:
        """Return the overrides that differ from what was recorded.

        Raises
        ------
        BadInputError
            If no channel is left.
        """
        if not any(use.value for use in self.uses.values()):
            raise BadInputError("no channel is chosen", remedy="tick at least one")
        before = self._at_first
        changed = {name: v for name, v in self._values().items() if v != before[name]}
        hinted = [name for name in changed if name not in {"channels", "limit", "rerank"}]
        hints = {name: changed.pop(name) for name in hinted}
        if "channels" in changed and self.recorded.rerank:
            changed.setdefault("rerank", True)  # explicit channels lose what a mode presets
        return {**changed, **({"hints": hints} if hints else {})}

    def put(self, overrides: Mapping[str, Any]) -> None:
        """Set the controls to what was recorded, changed by these overrides."""
        hints = overrides.get("hints") or {}
        wanted = {**self._at_first, **overrides, **hints}
        for name, control in self._controls.items():
            control.value = wanted[name]
        for name, slider in self.weights.items():
            slider.value = wanted["weights"].get(name, 1.0)
            self.uses[name].value = name in wanted["channels"]

    def close(self) -> None:
        """End the controls."""
        for control in self._every():
            control.unobserve_all()
            control.close()
        self.box.close()

    def _values(self) -> dict[str, Any]:
        values = {name: control.value for name, control in self._controls.items()}
        weights = {name: slider.value for name, slider in self.weights.items()}
        # In the order of what was recorded: it is what equal sums are settled by.
        known = [
            *self.recorded.channels,
            *(n for n in self.uses if n not in self.recorded.channels),
        ]
        channels = [name for name in known if name in self.uses and self.uses[name].value]
        return values | {"weights": weights, "channels": channels}

    def _every(self) -> list[Any]:
        return [*self._controls.values(), *self.uses.values(), *self.weights.values()]

    def _show_what_counts(self, *_: object) -> None:
        by_rank = self.fusion.value == "rrf"
        self.rrf_k.layout.display = None if by_rank else "none"
        self.normalisation.layout.display = "none" if by_rank else None


def _slider(description: str, value: int, most: int, tooltip: str) -> widgets.IntSlider:
    return widgets.IntSlider(
        value=value,
        min=1,
        max=max(most, value),
        description=description,
        tooltip=tooltip,
    )


def _weight(channel: str, weight: float | None) -> widgets.FloatSlider:
    value = 1.0 if weight is None else weight
    return widgets.FloatSlider(
        value=value,
        min=0.0,
        max=max(4.0, value),
        step=0.1,
        readout_format=".1f",
        description="weight",
        style={"description_width": "3.2rem"},
        layout={"flex": "1 1 200px"},
        tooltip=f"how much the channel {one_line(channel)} counts",
    )
