"""The sections of a report: each a display that a notebook shows and a page holds.

There is one rendering of everything. :func:`evalnb.show.html.page_html` puts the same displays one
after the other that a notebook shows cell by cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from evalnb.errors import NotFoundError
from evalnb.evaluation.frames import (
    aggregates_frame,
    latency_frame,
    scores_frame,
    usage_frame,
)
from evalnb.evaluation.report import EvaluationReport, load_report_record
from evalnb.show.cases import CaseView, view_cases
from evalnb.show.charts import Chart, plot_cases, plot_differences, plot_latency, plot_means
from evalnb.show.drilldown import cases_html, cases_text
from evalnb.show.markup import case_anchor, display_css, table_html, text_html
from evalnb.show.numbers import format_count, format_difference, format_ms, format_value, present
from evalnb.show.tables import (
    Cell,
    Column,
    Table,
    comparison_table,
    format_table,
    means_table,
    row_list,
)
from evalnb.show.text import one_line, plural, visible

if TYPE_CHECKING:
    import pandas as pd

    from evalnb.comparison.paired import ComparisonRecord

MEASURES_CHARTED = 6
ROWS_CHARTED = 40
HEATED = 4  # with more candidates, one heat map replaces a chart for each
CHANGED_LISTED = 50


@dataclass(frozen=True, eq=False)
class Display:
    """Something to look at: its data, its words, and its place in a page."""

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
        """Return the display as it stands in a page."""
        return f'<div class="evalnb">\n{self.html}\n</div>'

    def _repr_html_(self) -> str:
        return self.block()

    def __str__(self) -> str:
        """Return the display as plain text."""
        return self.text


@dataclass(frozen=True, eq=False)
class Reading:
    """A report as somebody reads it: against which baseline, by which measures, which cases."""

    report: EvaluationReport
    baseline: str
    measures: tuple[str, ...]
    case_ids: tuple[str, ...]
    max_cases: int

    @cached_property
    def comparison(self) -> ComparisonRecord | None:
        """The comparison of every variant with the baseline; None for one variant alone."""
        if len(self.report.variants) < 2:
            return None
        from evalnb.comparison.paired import compare_frames

        return compare_frames(
            scores_frame(self.report), baseline=self.baseline, measures=self.measures
        )
