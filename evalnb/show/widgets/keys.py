"""Keys that work wherever the focus is in a tool; without them JupyterLab takes the arrow keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anywidget
import traitlets

from evalnb.show.markup import static_text


class Keys(anywidget.AnyWidget):
    """Call a function for a key, unless somebody types into a field.

    Parameters
    ----------
    actions
        Functions by the name of the key, as browsers call it.
    """

    _esm = static_text("tool.js") + static_text("keys.js")
    known: Any = traitlets.List().tag(sync=True)

    def __init__(self, actions: Mapping[str, Callable[[], None]]) -> None:
        super().__init__(known=list(actions))
        self._actions = dict(actions)
        self.on_msg(self._pressed)

    def _pressed(self, _: object, content: Any, __: object) -> None:
        key = content.get("key") if isinstance(content, dict) else None
        if key in self._actions:
            self._actions[key]()
