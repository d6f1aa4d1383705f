"""The sections below the verdict: figures worked by hand, and silence where there is nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import evalnb as ev
from evalnb.evaluation.report import EvaluationReport
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.show import sections
from evalnb.show.measured import tradeoff_frame
from evalnb.show.reading import Reading, reading_of

MakeReport = Callable[..., EvaluationReport]


def asked(n: int, **labels: Any) -> list[GoldCase]:
    return [
        GoldCase(
            case_id=f"c{i}",
            split="development",
            request={"query": f"q{i}"},
            expected={"document_ids": [f"d{i}"]},
            **labels,
        )
        for i in range(n)
    ]


def ranked(i: int, rank: int | None) -> list[str]:
    return [f"x{j}" for j in range((rank or 8) - 1)] + ([f"d{i}"] if rank else [])


@pytest.fixture
def moved(make_report: MakeReport) -> Reading:
    before, after = (1, 2, 4, None, 7), (2, 1, 5, 1, None)
    answers = {
        name: {f"q{i}": ranked(i, rank) for i, rank in enumerate(at)}
        for name, at in (("today", before), ("new", after))
    }
    return reading_of(make_report(asked(5, intent="lookup"), answers))


def test_moves_are_counted_from_rank_to_rank(moved: Reading) -> None:
    display = sections.ranks(moved)
    rows = [tuple(row) for row in display.frame().itertuples(index=False)]
    assert rows == [
        ("new", "1", "2", 1),
        ("new", "2", "1", 1),
        ("new", "4-5", "4-5", 1),  # rank 4 to 5 stays in its step
        ("new", "6-10", "miss", 1),
        ("new", "miss", "1", 1),
    ]
    assert "2 cases better, 2 worse, 1 at the same rank" in display.html
    assert "4-5  " not in str(display)  # what stayed is in the frame, not in the list of moves


def test_slices_are_small_multiples(moved: Reading) -> None:
    html = sections.slices(moved).html
    assert html.count('alt="new by slice, mean nDCG@10: intent=lookup') == 1
    assert "(5)" not in html.partition("<table>")[2]


def test_forbidden_material_is_mapped_with_its_case(reading: Reading) -> None:
    display = sections.exposure(reading)
    exposed = display.frame()[display.frame()["n_exposed"] > 0]
    assert list(zip(exposed["variant"], exposed["surface"], strict=True)) == [("today", "hits")]
    assert '<a href="#case-case-1">⚠ 1 of 1: case-1</a>' in display.html
    assert "none of 1" in display.html


def test_holes_bound_the_means_and_name_what_to_judge(moved: Reading) -> None:
    display = sections.holes(moved)
    frame = display.frame().set_index("variant")
    assert list(frame["n_unjudged"]) == [17, 12]
    assert (frame["if_relevant"] >= frame["mean"]).all()
    assert "Judge these next" in display.html


def test_channels_are_credited_where_candidates_are_kept() -> None:
    gold = dataset_from_cases(tuple(asked(3)), dataset_id="d")
    good = {f"q{i}": [f"d{i}"] for i in range(3)}
    fused = ev.fused({"good": good.__getitem__, "useless": lambda query: ["x"]})
    display = sections.channels(reading_of(ev.evaluate(gold, {"both": fused}).record))
    frame = display.frame().set_index("channel")
    assert frame.loc["good", "alone"] == 1.0
    assert frame.loc["useless", "alone"] == 0.0
    together = frame.loc["good", "alone"] + frame.loc["useless", "lost_without"]
    assert frame["shapley"].sum() == pytest.approx(together)
    assert set(frame["n"]) == {3}


def test_what_has_nothing_to_say_stands_on_no_page(make_report: MakeReport) -> None:
    bare = reading_of(make_report(asked(2), {"one": {"q0": ["d0"], "q1": ["d1"]}}))
    for section in (sections.ranks, sections.channels, sections.overlap, sections.exposure):
        display = section(bare)
        assert not display.html
        assert str(display)
        assert "empty" in display._repr_html_()
    keys = [display.key for display in sections.all_sections(bare)]
    assert {"ranks", "channels", "overlap", "exposure", "lost", "slices", "holes"}.isdisjoint(keys)
    assert keys[:2] == ["opening", "verdict"]


def test_the_front_is_what_nothing_beats_in_both() -> None:
    pd = pytest.importorskip("pandas")
    means = pd.DataFrame(
        {"variant": ["a", "b", "c", "d"], "measure": "nDCG@10", "mean": [0.5, 0.7, 0.6, 0.5]}
    )
    costs = pd.DataFrame(
        {
            "variant": ["a", "b", "c", "d"],
            "latency_p50": [1.0, 9.0, 10.0, 1.0],
            "n_cost": 0,
            "cost": float("nan"),
        }
    )
    frame = tradeoff_frame(means, costs)
    assert list(frame["front"]) == [True, True, False, True]  # c costs more than b, which is better
    assert set(frame["unit"]) == {"median time of a search (ms)"}
    assert tradeoff_frame(means, costs.assign(latency_p50=float("nan"))).empty
    paid = tradeoff_frame(means, costs.assign(n_cost=3, cost=[4.0, 3.0, 2.0, 1.0]))
    assert list(paid["front"]) == [False, True, True, True]
