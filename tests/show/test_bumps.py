"""The bump chart: what is drawn where, and what it says in words."""

from __future__ import annotations

import math

import pandas as pd

from evalnb.comparison.stages import Course, courses_frame
from evalnb.show.charts import plot_bumps
from evalnb.show.charts.bumps import MARKS
from evalnb.show.charts.canvas import OKABE_ITO

WAYS = courses_frame(
    [
        Course("a", (("keyword", 3), ("text", None)), (("fused", 5), ("returned", 1))),
        Course("b <i>$x$", (("keyword", None), ("text", 20)), (("fused", 9), ("returned", None))),
        Course("c", (("keyword", None), ("text", None)), (("fused", None), ("returned", None))),
    ]
)


def test_rows_are_lists_and_ranks_stand_from_left_to_right() -> None:
    chart = plot_bumps(WAYS, limit=10)
    (ax,) = chart.figure.axes
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        *("keyword", "text", "fused", "returned"),
    ]
    assert [label.get_text() for label in ax.get_xticklabels()] == [
        "1",
        "2",
        "5",
        "10",
        "20",
        "absent",
    ]
    solid = [line for line in ax.lines if line.get_linewidth() == 1.8]
    assert list(solid[0].get_xdata()) == [math.log10(5), 0.0]
    assert list(solid[0].get_ydata()) == [2, 3]
    assert len(solid) == 2  # what is nowhere has no way
    dashed = [line for line in ax.lines if line.get_linestyle() == "--"]
    assert [round(line.get_xdata()[0], 4) for line in dashed] == [round(math.log10(10.5), 4)]


def test_what_a_list_does_not_have_is_hollow_and_beyond_every_rank() -> None:
    (ax,) = plot_bumps(WAYS).figure.axes
    hollow = [line for line in ax.lines if line.get_markerfacecolor() == "white"]
    assert [list(line.get_ydata()) for line in hollow] == [[1], [0, 3], [0, 1, 2, 3]]
    assert all(min(line.get_xdata()) > math.log10(20) for line in hollow)
    assert len({line.get_xdata()[0] for line in hollow}) == 3  # none hides another


def test_the_description_has_every_rank() -> None:
    chart = plot_bumps(WAYS)
    assert chart.alt == (
        "Ranks of 3 relevant ids. a: keyword 3, text absent, fused 5, returned 1; "
        "b <i>$x$: keyword absent, text 20, fused 9, returned absent; "
        "c: keyword absent, text absent, fused absent, returned absent."
    )
    pd.testing.assert_frame_equal(chart.frame(), WAYS)
    assert "&lt;i&gt;$x$" in chart.svg()


def test_of_many_the_first_are_drawn_and_the_rest_counted() -> None:
    many = courses_frame(
        [Course(f"d{n}", (("text", n),), (("returned", n),)) for n in range(1, 51)]
    )
    chart = plot_bumps(many, limit=50)
    words = [text.get_text() for text in chart.figure.texts]
    assert words[-1] == "and 43 more, not drawn"
    assert len(MARKS) == len(OKABE_ITO) == 7
    assert "and 20 more" in chart.alt


def test_nothing_to_draw_is_drawn() -> None:
    chart = plot_bumps(courses_frame([]))
    assert chart.alt == "Ranks of 0 relevant ids. Nothing to draw."
    assert chart.svg()
