"""The bump chart: what is drawn where, and what it says in words."""

from __future__ import annotations

import pandas as pd
import pytest
from matplotlib.lines import Line2D

from evalnb.comparison.stages import Course, courses_frame
from evalnb.show.charts import Chart, plot_bumps
from evalnb.show.charts.bumps import MARKS
from evalnb.show.charts.canvas import OKABE_ITO

ROWS = ("keyword", "text", "fused", "returned")
WAYS = courses_frame(
    [
        Course("a", "a", (("keyword", 3), ("text", None)), (("fused", 5), ("returned", 1))),
        Course(
            "b", "b <i>$x$", (("keyword", None), ("text", 20)), (("fused", 9), ("returned", None))
        ),
        Course(
            "c", "c", (("keyword", None), ("text", None)), (("fused", None), ("returned", None))
        ),
    ]
)


def lines(chart: Chart, **style: object) -> list[Line2D]:
    return [
        line
        for line in chart.figure.findobj(Line2D)
        if all(getattr(line, f"get_{name}")() == value for name, value in style.items())
    ]


def places(chart: Chart) -> dict[str, float]:
    """Return where the words of the chart stand: rows upward, ticks from left to right."""
    return {
        text.get_text(): text.get_position()[text.get_text() in ROWS] for text in chart.figure.texts
    }


def test_rows_are_lists_and_ranks_stand_from_left_to_right() -> None:
    chart = plot_bumps(WAYS, limit=10)
    at = places(chart)
    assert at["keyword"] > at["text"] > at["fused"] > at["returned"]
    assert at["1"] < at["2"] < at["5"] < at["10"] < at["20"] < at["absent"]
    assert "50" not in at
    solid = lines(chart, linewidth=1.8)
    assert len(solid) == 2  # what is nowhere has no way
    assert list(solid[0].get_xdata()) == pytest.approx([at["5"], at["1"]])
    assert list(solid[0].get_ydata()) == pytest.approx([at["fused"], at["returned"]])
    (limit,) = lines(chart, linestyle="--")
    assert at["10"] < limit.get_xdata()[0] < at["20"]


def test_what_a_list_does_not_have_is_hollow_and_beyond_every_rank() -> None:
    chart = plot_bumps(WAYS)
    at = places(chart)
    rows = {round(y, 6): name for name, y in at.items()}
    hollow = lines(chart, markerfacecolor="white")
    assert [[rows[round(y, 6)] for y in line.get_ydata()] for line in hollow] == [
        ["text"],
        ["keyword", "returned"],
        ["keyword", "text", "fused", "returned"],
    ]
    assert all(min(line.get_xdata()) > at["20"] for line in hollow)
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
        [Course(f"d{n}", "d", (("text", n),), (("returned", n),)) for n in range(1, 51)]
    )
    chart = plot_bumps(many, limit=50)
    assert "and 43 more, not drawn" in [text.get_text() for text in chart.figure.texts]
    assert len(MARKS) == len(OKABE_ITO) == 7
    assert "and 20 more" in chart.alt


def test_nothing_to_draw_is_drawn() -> None:
    chart = plot_bumps(courses_frame([]))
    assert chart.alt == "Ranks of 0 relevant ids. Nothing to draw."
    assert chart.svg()
