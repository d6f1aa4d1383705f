"""Settings tried by hand: what a move changes is what the comparison says, and nothing is lost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evalnb as ev
from evalnb.comparison.paired import compare_frames
from evalnb.errors import BadInputError
from evalnb.evaluation.looks import looks
from evalnb.evaluation.report import EvaluationReport
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.show.widgets.tuning import Tuning

HOSTILE = "</select><img src=x onerror=alert(1)> \" ' &"
# The keyword channel is right for even questions, the semantic one for odd ones.
Search = Callable[[str], list[tuple[str, float]]]


def channel(right: int) -> Search:
    def search(query: str) -> list[tuple[str, float]]:
        n = int(query.rsplit(maxsplit=1)[-1])
        found = [f"wrong{n}", f"other{n}", f"right{n}"]
        if n % 2 == right:
            found.reverse()
        return [(key, 1.0 - 0.1 * at) for at, key in enumerate(found)]

    return search


def case(n: int, **more: Any) -> GoldCase:
    labels = {"split": "development", "expected": {"document_ids": [f"right{n}"]}, **more}
    return GoldCase(case_id=f"q{n}", request={"query": f"question {n}"}, **labels)


@pytest.fixture(scope="module")
def hybrid() -> Any:
    return ev.fused({"keyword": channel(0), "semantic": channel(1)}, weights={"semantic": 0.1})


def evaluated(system: Any, cases: list[GoldCase], **options: Any) -> EvaluationReport:
    gold = dataset_from_cases(tuple(cases), dataset_id="questions", name="Questions")
    options = {"measures": ["RR@10", "nDCG@10"], **options}
    return ev.evaluate(gold, {"hybrid": system}, **options).record


@pytest.fixture(scope="module")
def report(hybrid: Any) -> EvaluationReport:
    return evaluated(hybrid, [case(n) for n in range(12)])


@pytest.fixture
def tool(report: EvaluationReport, hybrid: Any, tmp_path: Path) -> Tuning:
    return Tuning(report, system=hybrid, keep=tmp_path / "variants.json")


def state(tool: Tuning) -> str:
    tool.frame()
    return tool.state.text


def test_it_begins_as_recorded(tool: Tuning) -> None:
    (row,) = tool.frame().itertuples()
    assert (row.mean, row.baseline_mean, row.n) == (pytest.approx(2 / 3), pytest.approx(2 / 3), 12)
    assert tool.changed().empty
    assert tool.state.text == (
        "RR@10 0.667 with these settings, 0.667 as recorded: 0.000 [0.000, 0.000], identical; "
        "0 better, 0 worse of 12 cases."
    )
    assert tool.overrides() == {}


def test_a_move_shows_what_it_changes(tool: Tuning) -> None:
    tool.settings.weights["semantic"].value = 3.0
    assert tool.overrides() == {"hints": {"weights": {"keyword": 1.0, "semantic": 3.0}}}
    assert state(tool).endswith("undecided; 6 better, 6 worse of 12 cases.")
    worst = tool.changed()
    assert list(worst["case_id"][:6]) == ["q0", "q10", "q2", "q4", "q6", "q8"]
    assert worst["diff"].iloc[0] == pytest.approx(-2 / 3)
    tool.settings.weights["semantic"].value = 1.0
    assert "+0.333" in state(tool)
    assert "better; 6 better, 0 worse" in state(tool)


def test_every_figure_is_that_of_the_comparison(tool: Tuning, report: EvaluationReport) -> None:
    tool.settings.uses["keyword"].value = False
    live = ev.evaluate(
        dataset_from_cases(report.cases, dataset_id="questions"),
        {"recorded": tool.system, "these": (tool.system, tool.overrides())},
        measures=["RR@10"],
    )
    compared = compare_frames(live.frame(), baseline="recorded", resolution=False).frame
    mine = tool.frame()
    figures = ["mean", "baseline_mean", "diff", "ci_low", "ci_high", "p_value", "wins", "losses"]
    assert mine[figures].to_numpy().tolist() == compared[figures].to_numpy().tolist()


@pytest.mark.parametrize(
    ("move", "overrides"),
    [
        ({"rrf_k": 7}, {"hints": {"rrf_k": 7}}),
        ({"fusion": "weighted"}, {"hints": {"fusion": "weighted"}}),
        ({"limit": 3}, {"limit": 3}),
        ({"candidates": 2}, {"hints": {"candidates": 2}}),
        ({"rerank": True}, {"rerank": True}),
        ({"rrf_k": 60}, {}),
    ],
)
def test_only_what_differs_is_overridden(
    tool: Tuning, move: dict[str, Any], overrides: dict[str, Any]
) -> None:
    for name, value in move.items():
        getattr(tool.settings, name).value = value
    assert tool.overrides() == overrides
    tool.buttons["reset"].click()
    assert tool.overrides() == {}


def test_cases_that_need_a_search_are_counted_and_named_and_searched(tool: Tuning) -> None:
    tool.settings.rerank.value = True
    assert "n/a, no case has a value under both. 12 cases need a live search." in state(tool)
    assert "no rerank score: q0, q1, q2, q3, q4, q5 and 6 more" in tool._needs.value
    tool.settings.rerank.value = False
    tool.settings.weights["semantic"].value = 1.0
    replayed = tool.frame()
    tool.buttons["live"].click()
    assert tool.state.text.endswith("12 cases. Searched live.")
    assert tool.frame()["mean"].tolist() == replayed["mean"].tolist()
    assert tool.live is not None
    assert [v.name for v in tool.live.variants] == ["these settings"]
    tool.settings.weights["semantic"].value = 2.0
    assert "live" not in state(tool)


def test_without_a_system_nothing_is_searched(report: EvaluationReport, tmp_path: Path) -> None:
    tool = Tuning(report, keep=tmp_path / "variants.json")
    assert tool.buttons["live"].disabled
    with pytest.raises(BadInputError, match="no system to search"):
        tool.search_live()
    with pytest.raises(BadInputError, match="expected a search system"):
        Tuning(report, system=channel(0))  # type: ignore[arg-type]


def test_a_live_search_that_fails_is_no_value(report: EvaluationReport, tmp_path: Path) -> None:
    def broken(query: str) -> list[tuple[str, float]]:
        if query.endswith("3"):
            raise OSError("the index is gone")
        return channel(0)(query)

    system = ev.fused({"keyword": broken, "semantic": channel(1)})
    tool = Tuning(report, system=system, keep=tmp_path / "variants.json")
    tool.buttons["live"].click()
    assert "no verdict" in tool.state.text
    assert "1 case could not be searched: " in tool.state.text
    assert "the index is gone" in tool.state.text


def test_kept_settings_are_a_variant_that_gives_the_same(tool: Tuning, tmp_path: Path) -> None:
    tool.settings.weights["semantic"].value = 1.0
    tool.name.value = "even"
    tool.buttons["keep"].click()
    assert tool.state.text.endswith(f"Kept as even in {tmp_path / 'variants.json'}.")
    written = json.loads((tmp_path / "variants.json").read_text())
    assert written == {
        "format": "evalnb-variants@1",
        "variants": [{"name": "even", "system": "hybrid", "overrides": tool.overrides()}],
    }
    report = ev.evaluate(
        dataset_from_cases(tuple(case(n) for n in range(12)), dataset_id="questions"),
        {"even": (tool.system, written["variants"][0]["overrides"])},
        measures=["RR@10"],
    )
    assert report.aggregates()["mean"].iloc[0] == tool.frame()["mean"].iloc[0]


def test_the_same_name_is_numbered_and_the_same_variant_kept_once(tool: Tuning) -> None:
    assert [tool.keep("mine"), tool.keep("mine")] == ["mine", "mine"]
    tool.settings.rrf_k.value = 5
    assert [tool.keep("mine"), tool.keep("mine")] == ["mine (2)", "mine (2)"]
    assert tool.keep() == "hybrid tuned"


def test_what_cannot_be_kept_is_said(tool: Tuning, tmp_path: Path) -> None:
    (tmp_path / "variants.json").write_text('{"format": "something else"}')
    tool.buttons["keep"].click()
    assert "not a variants file: its format is 'something else'" in tool.state.text
    assert (tmp_path / "variants.json").read_text() == '{"format": "something else"}'


def test_the_test_split_is_locked_and_a_look_is_noted(
    report: EvaluationReport, hybrid: Any, tmp_path: Path
) -> None:
    cases = [case(n) for n in range(4)] + [case(n, split="test") for n in range(4, 9)]
    tested = evaluated(hybrid, cases, split="test")
    keep = tmp_path / "kept" / "variants.json"
    tool = Tuning([report, tested], keep=keep, system=hybrid)
    tool.data.value = 1
    assert tool.frame().empty
    assert tool.state.text.startswith("the test split is locked")
    tool.buttons["live"].disabled = False
    for button in tool.buttons.values():
        button.click()
        assert tool.frame().empty
    assert tool._picture.value == tool._changed.value == ""
    assert not keep.parent.exists()
    tool.open_test.value = True
    assert "of 5 cases. Test split: looked at 1 time since 20" in state(tool)
    tool.settings.rrf_k.value = 3
    assert "looked at 1 time" in state(tool)
    tool.open_test.value = False
    assert tool.frame().empty
    tool.open_test.value = True
    tool.keep("peeked")
    (kept,) = json.loads(keep.read_text())["variants"]
    assert kept["label"] == "peeked, seen on the test split"
    again = Tuning(tested, keep=keep, test=True)
    assert "looked at 2 times" in again.state.text
    marks = keep.with_name("variants.test-looks.jsonl")
    assert len(looks(marks, tested.dataset)) == 2
    tool.buttons["grid"].click()
    assert "settings are not tuned on the test split" in tool.state.text


def test_a_look_that_cannot_be_noted_opens_nothing(hybrid: Any, tmp_path: Path) -> None:
    tested = evaluated(hybrid, [case(n, split="test") for n in range(4)], split="test")
    (tmp_path / "variants.test-looks.jsonl").mkdir()
    tool = Tuning(tested, keep=tmp_path / "variants.json", test=True)
    assert tool.frame().empty
    assert "that the test split was looked at cannot be noted" in tool.state.text


def test_a_grid_says_what_its_best_is_worth_elsewhere(tool: Tuning) -> None:
    tool.buttons["grid"].click()
    assert tool.tuned is not None
    assert f"The best of {len(tool.tuned.tried)} settings: RR@10 1.000 here, but " in state(tool)
    assert "on families that did not choose it, 0.667 as recorded." in state(tool)
    assert tool.frame()["mean"].iloc[0] == pytest.approx(tool.tuned.mean)


def test_ids_without_scores_are_tuned_by_rank(tmp_path: Path) -> None:
    system = ev.fused({"a": lambda q: ["x", q], "b": lambda q: [q, "x"]})
    cases = [
        GoldCase(
            case_id=f"q{n}",
            split="development",
            request={"query": f"q{n}"},
            expected={"document_ids": [f"q{n}"]},
        )
        for n in range(4)
    ]
    tool = Tuning(evaluated(system, cases), keep=tmp_path / "variants.json")
    tool.buttons["grid"].click()
    assert tool.tuned is not None
    tool.settings.fusion.value = "weighted"
    assert tool.frame().empty
    assert "score" in tool.state.text
    assert tool._picture.value == ""


def test_no_channel_is_said_and_nothing_stale_stays(tool: Tuning) -> None:
    for use in tool.settings.uses.values():
        use.value = False
    assert tool.state.text == "no channel is chosen (tick at least one)"
    assert 'role="alert"' in tool.state.part.value
    assert tool.frame().empty
    assert tool.changed().empty
    tool.buttons["keep"].click()
    assert "no channel is chosen" in tool.state.text


def test_measures_and_variants_are_chosen(
    report: EvaluationReport, hybrid: Any, tmp_path: Path
) -> None:
    tool = Tuning(report, measure="nDCG@10", keep=tmp_path / "variants.json")
    assert tool.state.text.startswith("nDCG@10 ")
    tool.measure.value = "RR@10"
    assert tool.frame()["measure"].tolist() == ["RR@10"]
    with pytest.raises(BadInputError, match=r"'P@5' cannot be replayed.*one of RR@10, nDCG@10"):
        Tuning(report, measure="P@5")
    with pytest.raises(BadInputError, match="no variant 'other' kept candidates"):
        Tuning(report, variant="other")


def test_a_report_without_candidates_is_refused_in_words() -> None:
    plain = evaluated(lambda query: ["x"], [case(0)])
    with pytest.raises(BadInputError, match=r"kept candidates.*evalnb\.fused"):
        Tuning(plain)
    with pytest.raises(BadInputError, match="kept candidates"):
        Tuning([])


def test_one_case_is_enough_to_look_at(hybrid: Any, tmp_path: Path) -> None:
    tool = Tuning(evaluated(hybrid, [case(1)]), keep=tmp_path / "variants.json")
    tool.settings.weights["semantic"].value = 1.0
    assert "0 worse of 1 case." in state(tool)
    assert "<svg" not in tool._picture.value
    assert "1 case changed" in tool._changed.value
    tool.buttons["grid"].click()
    assert "two families are needed" in tool.state.text


def test_a_recorded_setting_keeps_what_else_its_variant_overrides(
    hybrid: Any, tmp_path: Path
) -> None:
    gold = dataset_from_cases(tuple(case(n) for n in range(4)), dataset_id="questions")
    overrides = {"channels": ["semantic", "keyword"], "limit": 2, "hints": {"rrf_k": 9}}
    report = ev.evaluate(gold, {"v": (hybrid, overrides)}, measures=["RR@10"])
    tool = Tuning(report, keep=tmp_path / "variants.json")
    assert (tool.settings.rrf_k.value, tool.settings.limit.value) == (9, 2)
    tool.settings.candidates.value = 50
    assert tool.overrides() == overrides | {"hints": {"rrf_k": 9, "candidates": 50}}


def test_hostile_names_are_text(tmp_path: Path) -> None:
    system = ev.fused({HOSTILE: channel(0), "b" * 300: channel(1)})
    cases = [
        GoldCase(
            case_id=f"{HOSTILE}{n}",
            split="development",
            request={"query": f"{HOSTILE} pay\u202epal {n}"},
            expected={"document_ids": [f"right{n}"]},
        )
        for n in range(3)
    ]
    tool = Tuning(evaluated(system, cases), keep=tmp_path / "variants.json")
    tool.settings.weights[HOSTILE].value = 4.0
    html = tool._repr_mimebundle_()["text/html"]
    assert "&lt;/select&gt;&lt;img" in html
    for part in (html, tool.state.part.value):
        assert "<img src=x" not in part
        assert "\u202e" not in part
    assert not any(use.description_allow_html for use in tool.settings.uses.values())
    assert "pay\\u202epal" in html
    assert len(tool.settings.uses["b" * 300].description) <= 24


def test_the_static_page_stands_for_the_live_box(tool: Tuning) -> None:
    tool.settings.weights["semantic"].value = 1.0
    bundle = tool._repr_mimebundle_()
    assert bundle["text/plain"] == tool.state.text
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == tool.box.model_id
    assert "6 cases changed" in bundle["text/html"]
    assert "&quot;semantic&quot;: 1.0" in bundle["text/html"]
    assert 'alt="RR@10: as recorded 0.667 [' in bundle["text/html"]


def test_many_changes_are_one_update_and_none_comes_after_the_end(tool: Tuning) -> None:
    shown: list[str] = []
    tool.state.part.observe(lambda change: shown.append(change.new), "value")

    async def drag() -> None:
        for k in range(1, 30):
            tool.settings.rrf_k.value = k
        assert shown == []
        await asyncio.sleep(0.2)
        tool.settings.limit.value = 3
        assert "of 12 cases" in state(tool)  # reading does not wait
        before = len(shown)
        tool.settings.weights["semantic"].value = 4.0
        tool.close()
        await asyncio.sleep(0.1)
        assert len(shown) == before

    asyncio.run(drag())
    assert len(shown) <= 2


def test_changing_the_data_leaves_no_old_observer(
    report: EvaluationReport, hybrid: Any, tmp_path: Path
) -> None:
    other = evaluated(hybrid, [case(n) for n in range(3)])
    tool = Tuning([report, other], keep=tmp_path / "variants.json")
    old = tool.settings
    tool.data.value = 1
    assert "of 3 cases" in state(tool)
    before = tool.state.part.value
    old.rrf_k.value = 1
    assert tool.state.part.value == before
    calls: list[None] = []
    tool._update._function = lambda: calls.append(None)
    tool.settings.rrf_k.value = 2
    assert len(calls) == 1


@pytest.mark.parametrize("name", ["a\nb", "<i>\x00", "x" * 600])
def test_a_name_that_no_variant_can_have_is_refused_in_words(tool: Tuning, name: str) -> None:
    with pytest.raises(BadInputError, match=r"^name: "):
        tool.keep(name)
    tool.name.value = name
    tool.buttons["keep"].click()
    assert "name: " in tool.state.text
    assert "pydantic" not in tool.state.text
    assert not tool.path.exists()


def test_a_file_to_keep_in_has_a_name(report: EvaluationReport) -> None:
    with pytest.raises(BadInputError, match=r"keep: '\.' names no file"):
        Tuning(report, keep=".")


def test_a_closed_tool_still_shows_what_it_showed(tool: Tuning) -> None:
    tool.close()
    assert tool.state.text in tool._repr_mimebundle_()["text/html"]
