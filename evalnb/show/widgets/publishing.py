"""What a draft changes against the version before, and the button that pins it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from evalnb.errors import EvalnbError
from evalnb.gold.drafting import Draft, Pinned
from evalnb.gold.exporting import export_gold
from evalnb.show.markup import quiet_html, table_html
from evalnb.show.tables import Cell, Table, format_table, row_list, text_columns
from evalnb.show.text import one_line, plural
from evalnb.show.widgets.parts import StateLine, html_part, put_html, tool_box, tool_bundle

if TYPE_CHECKING:
    import pandas as pd

EXPORTS = (".golden.json", ".xlsx")
CHANGES_SHOWN = 100


class Publishing:
    """What the next version changes, and the button that pins it.

    Parameters
    ----------
    folder
        Where versions go: each into a new gold directory, named after its digest, with a workbook
        beside it, and golden.json where words were kept as quotes.

    Attributes
    ----------
    pinned
        The version that was pinned last; null before.
    """

    def __init__(self, draft: Draft, folder: str | Path) -> None:
        self.draft, self.folder = draft, Path(folder)
        self.pinned: Pinned | None = None
        self.line, self._changes = StateLine(), html_part()
        self._table = Table((), ())
        self.look = widgets.Button(description="Look again", tooltip="what has changed since")
        self.pin = widgets.Button(
            description="Pin this version", tooltip="write it as a new gold directory"
        )
        self.look.on_click(self._look)
        self.pin.on_click(self._pin)
        buttons = widgets.HBox([self.pin, self.look])
        self.box = tool_box(self.line.part, buttons, self._changes)
        self._look()

    def _look(self, *_: object) -> None:
        with self.line.catching():
            self.draft.refresh()
            changes = self.frame()
            self._table = _changes_table(changes)
            disputes = len(self.draft.state.disputes())
            before = "against the version before" if self.draft.previous else "in a first version"
            words = f"{plural(len(changes), 'change')} {before}."
            if disputes:
                words += f" {plural(disputes, 'label')} in dispute: settle them first."
            self.line.say(words, alarm=bool(disputes))
            put_html(self._changes, self._html())

    def _pin(self, *_: object) -> None:
        with self.line.catching():
            self._table = _changes_table(self.frame())
            dataset = self.draft.dataset()
            place = self.folder / f"{dataset.dataset_id}-{dataset.version_sha[:8]}"
            self.pinned = self.draft.pin(place)
            notes = [note for ending in EXPORTS for note in self._export(place, ending)]
            self.line.say(
                f"Pinned: {plural(len(dataset), 'case')} in {place}, version "
                f"{dataset.version_sha[:8]}; {plural(len(self.pinned.changes), 'change')}."
            )
            put_html(self._changes, self._html() + "".join(map(quiet_html, notes)))

    def _export(self, place: Path, ending: str) -> list[str]:
        """Write another format beside the version; what it cannot carry is said, not fatal."""
        target = place.with_name(place.name + ending)
        try:
            return [f"{target.name}: {note}" for note in export_gold(self.draft.dataset(), target)]
        except EvalnbError as error:
            return [f"{target.name}: not written: {error}"]

    def frame(self) -> pd.DataFrame:
        """Return a row for each change: case_id, query, id, title of the passage, change."""
        import pandas as pd

        state, before = self.draft.state, self.draft.previous
        queries = {case.case_id: case.request.query for case in (before.cases if before else ())}
        queries |= {case_id: case.request.query for case_id, case in state.cases.items()}
        rows = []
        for each in self.draft.changes():
            known = each.id in state.passages.get(each.case_id, {}) and each.case_id in state.cases
            title = state.title(each.case_id, each.id) if known else each.id
            rows.append((each.case_id, queries[each.case_id], each.id, title, each.change))
        columns = ["case_id", "query", "id", "title", "change"]
        return pd.DataFrame(rows, columns=columns, dtype=object)

    def _html(self) -> str:
        return table_html(self._table) if self._table.rows else ""

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        text = format_table(self._table)
        return tool_bundle(self.box, self.line.text, html=self._html(), text=text, **kwargs)


def _changes_table(frame: pd.DataFrame) -> Table:
    rows = tuple(
        (
            Cell(one_line(row.query, 60)),
            Cell(one_line(row.title, 40)),
            Cell(row.change.partition(": ")[0]),
        )
        for row in row_list(frame[:CHANGES_SHOWN])
    )
    left = len(frame) - CHANGES_SHOWN
    more = f"; {plural(left, 'more change')} are not shown" if left > 0 else ""
    return Table(text_columns("question", "passage", "change"), rows, f"Changes{more}")
