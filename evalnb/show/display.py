"""What a section is made of: its data, its words and its HTML, and how charts stand in a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalnb.show.charts import Chart
from evalnb.show.markup import quiet_html, text_html
from evalnb.show.tables import label_measures
from evalnb.show.text import visible

if TYPE_CHECKING:
    import pandas as pd

ROWS_CHARTED = 30
EMPTY = "evalnb empty"  # the class of a display that has nothing to show
CUT_NOTE = quiet_html(f"Drawn: the {ROWS_CHARTED} largest; the table has all.")


@dataclass(frozen=True, eq=False, repr=False)
class Display:
    """Something to look at: its data, its words, and its place in a page.

    ``key`` is its address in a page, ``question`` the sentence that says what it answers. Without
    ``html`` it has nothing to show, and no page holds it.
    """

    key: str
    title: str
    question: str
    data: pd.DataFrame
    text: str
    html: str

    def frame(self) -> pd.DataFrame:
        """Return the data that is shown."""
        return self.data.copy()

    def block(self) -> str:
        """Return the display as it stands in a page; one without HTML says that it has nothing."""
        if not self.html:
            return f'<div class="{EMPTY}"><p>{text_html(self.text)}</p></div>'
        return f'<div class="evalnb">\n{self.html}\n</div>'

    def _repr_html_(self) -> str:
        return self.block()

    def __repr__(self) -> str:
        """Return the display as plain text, safe for a terminal."""
        return visible(self.text)


def facts_html(facts: Iterable[tuple[str, str]]) -> str:
    """Write facts by name."""
    rows = "".join(f"<dt>{text_html(k)}</dt><dd>{text_html(v)}</dd>" for k, v in facts)
    return f"<dl>{rows}</dl>"


def measure_charts(frame: pd.DataFrame, plot: Callable[[pd.DataFrame], Chart], size: str) -> str:
    """Draw one chart per measure; of very many rows, the largest."""
    charts, cut = [], False
    for _, part in frame.assign(_label=label_measures(frame)).groupby("_label", sort=False):
        rows = part.drop(columns="_label")
        if len(rows) > ROWS_CHARTED:
            rows, cut = rows.loc[rows[size].abs().nlargest(ROWS_CHARTED).index], True
        charts.append(plot(rows))
    return charts_html(charts) + (CUT_NOTE if cut else "")


def charts_html(charts: Sequence[Chart]) -> str:
    """Put charts side by side, where there is room."""
    if not charts:
        return ""
    return f'<div class="charts">{"".join(chart._repr_html_() for chart in charts)}</div>'
