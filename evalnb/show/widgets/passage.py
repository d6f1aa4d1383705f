"""A passage in the browser: text that cannot run, the keys that judge it, the words selected.

ipywidgets alone hears no keys and knows no selection; anywidget carries the few lines of script
inside the widget's own state, so that nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import anywidget
import traitlets

from evalnb.show.markup import static_text
from evalnb.show.text import visible_runs

SHOWN = 20_000  # characters of a text that a judge is shown; more is a document, not a passage


class PassageView(anywidget.AnyWidget):
    """Sends ``{"key", "token", "selected"}`` for a key; ``selected`` follows the mouse.

    ``selected`` is the ordinal of an extract and [start, end) in codepoints of its text, or empty.
    """

    _esm = static_text("tool.js") + static_text("passage.js")
    _css = static_text("passage.css")
    view: Any = traitlets.Dict().tag(sync=True)
    known_keys: Any = traitlets.List().tag(sync=True)
    selected: Any = traitlets.List().tag(sync=True)


def shown_runs(text: str, marks: Sequence[tuple[int, int]] = ()) -> list[dict[str, object]]:
    """Cut a text into runs to show, each with its place in the text as it was returned.

    A hidden character is a run of its own, written as its escape.
    """
    runs = []
    for start, end, shown in visible_runs(text[:SHOWN]):
        plain = text[start:end] == shown
        for low, high, mark in _marked(start, end, marks):
            piece = text[low:high] if plain else shown
            runs.append({"start": low, "end": high, "text": piece, "mark": mark, "plain": plain})
    return runs


def _marked(
    start: int, end: int, marks: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int, bool]]:
    ends = {at for mark in marks for at in mark if start < at < end}
    edges = sorted({start, end, *ends})
    for low, high in pairwise(edges):
        yield low, high, any(first <= low and high <= last for first, last in marks)
