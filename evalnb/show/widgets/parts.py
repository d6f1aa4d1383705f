"""What the tools share: a line that says what is shown, places for HTML, and updates together.

A tool is a plain class around a container of controls. Its static HTML is what an exported page
shows, and any front end without widgets.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import ipywidgets as widgets

from evalnb.errors import EvalnbError
from evalnb.show.markup import display_css, text_html

TOGETHER_S = 0.01  # changes within it are one update; no eye sees the wait

# Controls wrap on a phone, and show where the keyboard is.
_CSS = """
.evalnb-tool { max-width: 100%; }
.evalnb-tool .widget-box.widget-hbox { flex-wrap: wrap; }
.evalnb-tool .evalnb-sides { gap: 0 1.5rem; }
.evalnb-tool .evalnb-sides > .widget-vbox { flex: 1 1 330px; min-width: 0; }
.evalnb-tool .widget-vbox > .widget-inline-hbox { max-width: 100%; width: auto; }
.evalnb-tool .widget-html-content { line-height: 1.45; white-space: normal; min-width: 0; }
.evalnb-tool .evalnb ul { margin: .2rem 0; padding-left: 1.2rem; }
.evalnb-tool .evalnb-state .alarm { color: var(--worse); font-weight: 600; }
.evalnb-tool button:focus-visible, .evalnb-tool select:focus-visible,
.evalnb-tool input:focus-visible, .evalnb-tool .noUi-handle:focus-visible {
  outline: 3px solid #0550ae; outline-offset: 2px;
}
"""


def tool_box(*children: widgets.Widget) -> widgets.VBox:
    """Put the parts of a tool under each other, in the style of every other display."""
    style = widgets.HTML(f"<style>{display_css()}{_CSS}</style>")
    box = widgets.VBox([style, *children])
    box.add_class("evalnb-tool")
    return box


def side_by_side(*columns: Sequence[widgets.Widget]) -> widgets.HBox:
    """Put columns beside each other, or under each other where there is no room."""
    box = widgets.HBox([widgets.VBox(list(column)) for column in columns])
    box.add_class("evalnb-sides")
    return box


def html_part(html: str = "") -> widgets.HTML:
    """Make a place for HTML that is escaped already; see :func:`put_html`."""
    part = widgets.HTML()
    put_html(part, html)
    return part


def put_html(part: widgets.HTML, html: str) -> None:
    """Show HTML that is escaped already, such as :func:`~evalnb.show.markup.table_html` writes."""
    part.value = f'<div class="evalnb">{html}</div>' if html else ""


class StateLine:
    """One sentence that says what is shown, or what went wrong; read out when it changes.

    Attributes
    ----------
    part
        The widget; its class is ``evalnb-state``.
    text
        The sentence.
    """

    def __init__(self, text: str = "") -> None:
        self.part = widgets.HTML()
        self.part.add_class("evalnb-state")
        self.say(text)

    def say(self, text: str, *, alarm: bool = False) -> None:
        """Say something else."""
        self.text = text
        css, role = (' class="alarm"', "alert") if alarm else ("", "status")
        put_html(self.part, f'<p role="{role}"{css}>{text_html(text)}</p>')

    @contextmanager
    def catching(self) -> Iterator[None]:
        """Say an error of evalnb in words; any other is named here and raised all the same."""
        try:
            yield
        except EvalnbError as error:
            self.say(str(error), alarm=True)
        except Exception as error:
            self.say(f"this did not work: {type(error).__name__}: {error}", alarm=True)
            raise


class Together:
    """Call a function once for many changes that come together, with the newest state.

    In a kernel it is called shortly after the first change: never starved by a slider that keeps
    moving. Without an event loop it is called at once. JupyterLab may deliver changes on another
    thread than a cell's, so calls exclude each other.
    """

    def __init__(self, function: Callable[[], None]) -> None:
        self._function = function
        self.lock = threading.RLock()
        self._pending = False
        self._closed = False

    def __call__(self, *_: object) -> None:
        """Ask for a call; also as the observer of a widget."""
        with self.lock:
            if self._closed or self._pending:
                return
            self._pending = True
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.flush()
        else:
            loop.call_later(TOGETHER_S, self.flush)

    @contextmanager
    def once(self) -> Iterator[None]:
        """Make one call of all that are asked for inside, and of a change that must have one."""
        with self.lock:
            self._pending = True  # so nothing inside asks again
            try:
                yield
            finally:
                self._pending = False
        self()

    def flush(self) -> None:
        """Make a call that was asked for now."""
        with self.lock:
            if self._pending:
                self._pending = False
                self._function()

    def close(self) -> None:
        """Call nothing any more, even if it was asked for."""
        with self.lock:
            self._closed, self._pending = True, False


def action_button(
    words: str, tooltip: str, act: Callable[[], object], *, state: StateLine, update: Together
) -> widgets.Button:
    """Make a button that acts on what is shown; what goes wrong is said in the state line."""
    button = widgets.Button(description=words, tooltip=tooltip, layout={"width": "auto"})

    def pressed(_: object) -> None:
        with update.lock, state.catching():
            update.flush()
            act()

    button.on_click(pressed)
    return button


def tool_bundle(
    box: widgets.Widget, said: str, *, html: str = "", text: str = "", **kwargs: Any
) -> dict[str, Any]:
    """Return a tool's MIME bundle: the live box, and what stands in its place elsewhere.

    Parameters
    ----------
    said
        What the state line says; it comes first.
    html, text
        What is shown, escaped already, and the same in words.
    kwargs
        As ``_repr_mimebundle_`` gets them.
    """
    live = box._repr_mimebundle_  # None of a tool that was closed
    bundle = dict((live and live(**kwargs)) or {})
    page = f"<style>\n{display_css()}</style>\n<p>{text_html(said)}</p>\n{html}"
    return bundle | {
        "text/html": f'<div class="evalnb">\n{page}\n</div>',
        "text/plain": f"{said}\n{text}" if text else said,
    }
