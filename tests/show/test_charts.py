"""Charts: what is drawn where, never how the pixels look."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure

from evalnb.show.charts import (
    LABELLED_BARS,
    VERDICT_COLOURS,
    Chart,
    plot_cases,
    plot_channels,
    plot_differences,
    plot_latency,
    plot_means,
    plot_overlap,
    plot_ranks,
    plot_slices,
    plot_tradeoff,
)

AWKWARD = "$x_1$ <b> \u202e 東京 {}"


def means(*rows: tuple[str, float | None, int]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "variant": [row[0] for row in rows],
            "measure": "nDCG@10",
            "k": 10,
            "kind": "document",
            "n": [row[2] for row in rows],
            "n_undefined": [0 if row[2] else 4 for row in rows],
            "n_unavailable": 0,
            "mean": [row[1] for row in rows],
            "ci_low": [None if row[1] is None else row[1] - 0.1 for row in rows],
            "ci_high": [None if row[1] is None else row[1] + 0.1 for row in rows],
        }
    )


def differences(*rows: tuple[str, float, float | None, float | None, str]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "candidate": name,
                "measure": "nDCG@10",
                "k": 10,
                "kind": "document",
                "n": 9,
                "wins": 1,
                "losses": 1,
                "diff": diff,
                "ci_low": low,
                "ci_high": high,
                "verdict": verdict,
            }
            for name, diff, low, high, verdict in rows
        ],
        columns=[
            *("candidate", "measure", "k", "kind", "n", "wins", "losses"),
            *("diff", "ci_low", "ci_high", "verdict"),
        ],
    )


def changed(n: int, candidate: str = "bigger") -> pd.DataFrame:
    return pd.DataFrame(
        {
            "candidate": candidate,
            "case_id": [f"case-{i}" for i in range(n)],
            "diff": [(i - n / 2 + 0.25) / n for i in range(n)],
        }
    )


def texts(chart: Chart) -> list[str]:
    return [t.get_text() for ax in chart.figure.axes for t in ax.texts]


def marks(chart: Chart) -> list[tuple[str, float, str]]:
    """Return the single marks as (shape, x, colour)."""
    return [
        (str(line.get_marker()), float(line.get_xdata()[0]), str(line.get_color()))
        for ax in chart.figure.axes
        for line in ax.get_lines()
        if len(line.get_xdata()) == 1
    ]


def test_a_dot_per_mean_with_interval_and_n() -> None:
    chart = plot_means(means(("today", 0.5, 40), ("none", None, 0)), baseline="today")
    assert [(shape, x) for shape, x, _ in marks(chart)] == [("D", 0.5)]
    assert "today (baseline)" in texts(chart)
    assert "0.500 · n 40" in texts(chart)
    assert "N/A (no gold) · n 0" in texts(chart)
    (ax,) = chart.figure.axes
    spans = [list(line.get_xdata()) for line in ax.get_lines() if line.get_linestyle() == "-"]
    assert [0.4, 0.6] in spans
    assert ax.get_xlabel() == "mean nDCG@10"
    assert chart.alt == (
        "Means. nDCG@10: today 0.500 [0.400, 0.600], n 40; none N/A (no gold), n 0."
    )


def test_a_verdict_has_a_colour_a_shape_and_a_word() -> None:
    chart = plot_differences(
        differences(
            ("up", 0.1, 0.05, 0.15, "better"),
            ("down", -0.2, -0.3, -0.1, "worse"),
            ("twin", 0.0, 0.0, 0.0, "equivalent"),
            ("open", 0.02, -0.1, 0.1, "undecided"),
            ("few", 0.3, None, None, "unresolvable"),
        )
    )
    found = marks(chart)
    assert [(shape, x) for shape, x, _ in found] == [
        ("^", 0.1),
        ("v", -0.2),
        ("s", 0.0),
        ("o", 0.02),
        ("o", 0.3),
    ]
    assert [colour for _, _, colour in found[:3]] == [
        VERDICT_COLOURS[verdict] for verdict in ("better", "worse", "equivalent")
    ]
    assert {"▲ better +0.100", "▼ worse -0.200", "= equivalent 0.000"} < set(texts(chart))
    assert {"? undecided +0.020", "? unresolvable +0.300"} < set(texts(chart))
    (ax,) = chart.figure.axes
    (zero,) = ax.collections
    assert all((segment[:, 0] == 0).all() for segment in zero.get_segments())
    low, high = ax.get_xlim()
    assert low < -0.3
    assert high > 0.3
    assert "few +0.300, no interval, unresolvable" in chart.alt


def test_the_zero_line_leaves_the_labels_alone() -> None:
    chart = plot_differences(
        differences(*((f"v{i}", 0.0, -0.1, 0.1, "undecided") for i in range(3)))
    )
    (ax,) = chart.figure.axes
    height = 9 / 72 / 0.42  # of a letter, in rows
    (zero,) = ax.collections
    for segment in zero.get_segments():
        top, bottom = sorted(segment[:, 1])
        for text in ax.texts:
            _, y = text.get_position()
            assert bottom <= y - height / 2 or top >= y + height / 2


def test_what_never_differs_is_called_so() -> None:
    same = differences(("same", 0.0, 0.0, 0.0, "unresolvable")).assign(wins=0, losses=0)
    chart = plot_differences(same)
    assert "= identical 0.000" in texts(chart)
    assert chart.alt.endswith("same 0.000 [0.000, 0.000], identical.")


def test_panels_follow_the_measures() -> None:
    both = pd.concat([means(("a", 0.5, 4)), means(("a", 0.7, 4)).assign(measure="RR@10")])
    chart = plot_means(both)
    assert [ax.get_xlabel() for ax in chart.figure.axes] == ["mean nDCG@10", "mean RR@10"]


def test_few_cases_are_bars_with_names() -> None:
    frame = changed(5)
    chart = plot_cases(frame, measure="RR@10")
    (ax,) = chart.figure.axes
    assert [patch.get_width() for patch in ax.patches] == list(frame["diff"])
    assert [label.get_text() for label in ax.get_yticklabels()] == list(frame["case_id"])
    top, bottom = ax.transData.transform([(0, 0), (0, 4)])
    assert top[1] > bottom[1]  # the first of the frame stands at the top
    assert "case-0 -0.450; " in chart.alt
    asked = plot_cases(frame, measure="RR@10", queries={"case-1": "where is the old harbour"})
    labels = [label.get_text() for label in asked.figure.axes[0].get_yticklabels()]
    assert labels == ["case-0", "where is the old harb…", "case-2", "case-3", "case-4"]


def test_many_cases_are_two_outlines_and_not_a_thousand_boxes() -> None:
    chart = plot_cases(changed(LABELLED_BARS + 1000), measure="RR@10")
    (ax,) = chart.figure.axes
    assert not ax.patches
    assert len(ax.collections) == 2
    assert "1,040 changed cases" in ax.get_ylabel()
    assert "and 1,010 more" in chart.alt


def test_several_candidates_share_a_heat_map() -> None:
    frame = pd.concat([changed(4, "a"), changed(3, "b")])
    chart = plot_cases(frame, measure="RR@10")
    (image,) = chart.figure.axes[0].images
    grid = image.get_array()
    assert grid.shape == (2, 4)
    assert grid[0, 0] == pytest.approx(frame["diff"].iloc[0])
    assert bool(grid.mask[1, 3])  # b did not change there
    low, high = image.get_clim()
    assert -low == high == pytest.approx(frame["diff"].abs().max())


def test_latency_is_a_curve_per_variant_and_strips_of_many() -> None:
    rows = [(f"v{i}", time) for i in range(3) for time in (4.0, None, 2.0)]
    frame = pd.DataFrame(rows, columns=["variant", "latency_ms"])
    chart = plot_latency(frame)
    (ax,) = chart.figure.axes
    assert [list(line.get_xdata()) for line in ax.get_lines()] == [[2.0, 4.0]] * 3
    assert [list(line.get_ydata()) for line in ax.get_lines()] == [[0.5, 1.0]] * 3
    assert len({(str(line.get_color()), line.get_linestyle()) for line in ax.get_lines()}) == 3
    assert ax.get_xlabel() == "time of a search (ms)"
    assert "v0 from 2.0 ms to 4.0 ms, n 2" in chart.alt

    many = pd.concat([frame.assign(variant=frame["variant"] + str(i)) for i in range(4)])
    strips = plot_latency(many).figure.axes[0]
    assert len(strips.get_yticks()) == 12
    assert plot_latency(frame.iloc[:0]).alt == "Time of a search: not recorded."


def test_a_wide_range_of_times_is_logarithmic() -> None:
    frame = pd.DataFrame({"variant": "v", "latency_ms": [1.0, 100.0]})
    assert plot_latency(frame).figure.axes[0].get_xscale() == "log"


EVERY: dict[str, Any] = {
    "means": lambda name: plot_means(means((name, 0.5, 4)), baseline=name),
    "differences": lambda name: plot_differences(differences((name, 0.1, 0.0, 0.2, "better"))),
    "bars": lambda name: plot_cases(changed(2, name).assign(case_id=[name, "b"]), measure="RR"),
    "heat": lambda name: plot_cases(pd.concat([changed(2, name), changed(2, "b")])),
    "latency": lambda name: plot_latency(pd.DataFrame({"variant": [name], "latency_ms": [3.0]})),
    "ranks": lambda name: plot_ranks(
        pd.DataFrame({"candidate": [name], "before": ["1"], "after": ["miss"], "n": [2]})
    ),
    "slices": lambda name: plot_slices(means((name, 0.5, 4)).assign(slice=name), variant=name),
    "channels": lambda name: plot_channels(
        pd.DataFrame({"channel": [name], "alone": 0.5, "lost_without": 0.1, "shapley": 0.3})
    ),
    "overlap": lambda name: plot_overlap(
        pd.DataFrame({"variant": [name], "other": ["b"], "jaccard": [0.5]})
    ),
    "tradeoff": lambda name: plot_tradeoff(
        pd.DataFrame({"variant": [name], "mean": [0.5], "cost": [3.0], "front": [True]})
    ),
}


@pytest.mark.parametrize("kind", EVERY)
def test_any_name_is_drawn_as_it_is(kind: str) -> None:
    chart = EVERY[kind](AWKWARD)
    svg = chart.svg()
    drawn = "".join(ET.fromstring(svg).itertext())
    assert "\\u202e" in drawn + chart.alt
    assert "$x_1$" in drawn
    assert "\u202e" not in svg + chart.alt + chart._repr_html_()
    assert chart.svg() == EVERY[kind](AWKWARD).svg()  # equal frames give equal bytes
    assert "<dc:date>" not in svg


def test_a_chart_gives_back_what_it_drew() -> None:
    frame = means(("today", 0.5, 40))
    chart = plot_means(frame)
    assert isinstance(chart.figure, Figure)
    pd.testing.assert_frame_equal(chart.frame(), frame)
    copy = chart.frame()
    copy["mean"] = 0.0
    pd.testing.assert_frame_equal(chart.frame(), frame)
    page = chart._repr_html_()
    assert page.startswith('<img class="chart" alt="Means. nDCG@10: today')
    assert 'src="data:image/svg+xml;base64,' in page


def test_a_move_up_is_green_and_signed() -> None:
    moves = {"before": ["1", "2", "miss", "1"], "after": ["1", "1", "2", "miss"], "n": [9, 3, 1, 2]}
    frame = pd.DataFrame(moves).assign(candidate="new")
    chart = plot_ranks(frame, steps=["1", "2", "miss"])
    (ax,) = chart.figure.axes
    cells = {text.get_position(): text.get_text() for text in ax.texts}
    assert cells == {(0, 0): "9", (0, 1): "▲3", (1, 2): "▲1", (2, 0): "▼2"}
    assert [label.get_text() for label in ax.get_yticklabels()] == ["1", "2", "miss"]
    assert "4 cases better, 2 worse, 9 at the same rank. 2 to 1: 3; miss to 2: 1;" in chart.alt


def test_what_nothing_beats_is_filled_and_joined() -> None:
    frame = pd.DataFrame(
        {"variant": ["a", "b"], "mean": [0.7, 0.6], "cost": [1.0, 90.0], "front": [True, False]}
    )
    (ax,) = plot_tradeoff(frame, measure="RR", cost="ms").figure.axes
    fills = [
        str(line.get_markerfacecolor()) for line in ax.get_lines() if line.get_marker() != "None"
    ]
    assert fills[-1] == "white"
    assert fills[0] != "white"
    assert ax.get_xscale() == "log"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("ms", "mean RR")


def test_nothing_to_draw_is_no_error() -> None:
    assert plot_means(means()).alt == "Means. Nothing to draw."
    assert plot_differences(differences()).alt == "Differences. Nothing to draw."
    assert plot_cases(changed(0)).svg()


def test_no_global_state_is_touched() -> None:
    program = (
        "import sys, evalnb.show.charts\n"
        "assert 'matplotlib.pyplot' not in sys.modules and 'seaborn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
