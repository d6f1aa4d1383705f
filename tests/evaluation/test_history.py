"""What changed since the last run, from what each run leaves behind."""

from __future__ import annotations

import pytest

from evalnb.api import evaluate, system
from evalnb.errors import BadInputError, NotFoundError
from evalnb.evaluation.history import (
    KEPT_RUNS,
    CaseChange,
    SettingChange,
    changes,
    load_past_runs,
    past_run,
    remember,
    trends,
)
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.show.history import history_text


def case(number, *relevant):
    return GoldCase(
        case_id=f"c{number}",
        split="development",
        request={"query": f"q{number}"},
        expected={"document_ids": relevant},
    )


GOLD = dataset_from_cases((case(1, "a"), case(2, "a"), case(3, "a"), case(4)), dataset_id="four")
FIRST = {"q1": ["a"], "q2": ["x", "a"], "q3": ["x"], "q4": ["a"]}
SECOND = {"q1": ["x"], "q2": ["a", "x"], "q3": ["a"], "q4": ["b"]}


def run(answers, gold=GOLD, version="1", **options):
    def search(query):
        if isinstance(answers[query], Exception):
            raise answers[query]
        return answers[query]

    variant = (system(search, version=version), options.pop("overrides", {}))
    return evaluate(gold, {"v": variant}, measures=["RR@10"], **options).record


def changed(before, after):
    return changes(past_run(before), past_run(after))


def test_flips_come_first_then_the_values_by_their_size():
    found = changed(run(FIRST), run(SECOND))
    assert [(c.outcome, c.case_id, c.before, c.after) for c in found.flips] == [
        ("lost", "c1", 1.0, 0.0),
        ("won", "c3", 0.0, 1.0),
    ]
    assert [(c.outcome, c.case_id, c.measure, c.before, c.after) for c in found.values] == [
        ("worse", "c1", "RR@10", 1.0, 0.0),
        ("better", "c3", "RR@10", 0.0, 1.0),
        ("better", "c2", "RR@10", 0.5, 1.0),
    ]
    assert found.flips[0].query == "q1"
    assert found.settings == ()


def test_the_same_run_again_changed_nothing():
    found = changed(run(FIRST), run(FIRST))
    assert found == changed(run(FIRST), run(FIRST, executor="local:2"))
    assert (found.flips, found.values, found.settings) == ((), (), ())


def test_values_that_moved_under_the_same_settings_are_said_to_come_of_something_unpinned():
    def said(answers):
        runs = [past_run(run(FIRST)), past_run(run(answers))]
        return history_text(runs, changes(*runs), trends(runs), n_left_out=0)

    assert "what changed is not pinned. A function's code is" in said(SECOND)
    assert "Nothing was set otherwise.\n" in said(FIRST)


def test_runs_without_a_common_variant_are_not_said_to_be_the_same():
    runs = [past_run(run(FIRST)), past_run(run(SECOND))]
    [variant] = runs[1].variants
    runs[1] = runs[1].model_copy(
        update={
            "variants": (variant.model_copy(update={"name": "other"}),),
            "values": {"other": runs[1].values["v"]},
        }
    )
    said = history_text(runs, changes(*runs), trends(runs), n_left_out=0)
    assert "No variant is in both runs, by its name: no value can be compared.\nSet other" in said
    assert "No value changed" not in said


def test_a_failure_is_na_and_no_flip():
    failing = FIRST | {"q1": RuntimeError("down")}
    assert [(c.outcome, c.case_id, c.after) for c in changed(run(FIRST), run(failing)).values] == [
        ("n/a now", "c1", None)
    ]
    found = changed(run(failing), run(FIRST))
    assert [(c.outcome, c.case_id) for c in found.values] == [("n/a before", "c1")]
    assert found.flips == ()


def test_what_was_set_otherwise_is_named(smoke_workspace):
    before = run(FIRST)
    after = run(FIRST, version="2", seed=7, overrides={"limit": 5})
    settings = {c.what: (c.before, c.after) for c in changed(before, after).settings}
    assert settings.pop("variant v: controls")
    assert settings == {
        "seed": ("0", "7"),
        "variant v: version": ("1", "2"),
        "variant v: limit": (None, "5"),
    }
    pinned = evaluate(GOLD, {"v": smoke_workspace}).record
    [cut] = pinned.cuts.values()
    moved = pinned.model_copy(
        update={
            "cuts": {"v": cut.model_copy(update={"snapshot_id": "snap_other"})},
            "observed": pinned.observed.model_copy(update={"git_revision": "abc"}),
        }
    )
    assert changed(pinned, moved).settings[1:] == (
        SettingChange("system v: snapshot", cut.snapshot_id, "snap_other"),
    )
    assert changed(pinned, moved).settings[0].what == "git revision"


def test_only_cases_of_both_runs_are_compared():
    fewer = dataset_from_cases(GOLD.cases[1:], dataset_id="four")
    found = changed(run(FIRST), run(SECOND, gold=fewer))
    assert {c.case_id for c in (*found.flips, *found.values)} == {"c2", "c3"}
    assert {c.what for c in found.settings} == {"gold version", "cases"}


def test_repetitions_are_averaged():
    answers = iter([["a"], ["x"], [], [], [], [], [], []])
    report = evaluate(
        GOLD, {"v": lambda q: next(answers)}, measures=["RR@10"], repetitions=2
    ).record
    assert past_run(report).values["v"]["RR@10"][:2] == (0.5, 0.0)


def test_means_run_by_run():
    [rr, success] = trends([past_run(run(FIRST)), past_run(run(SECOND))])
    assert (rr.variant, rr.measure, rr.means, rr.n) == ("v", "RR@10", (0.5, 2 / 3), (3, 3))
    assert (success.measure, success.means) == ("Success@5", (2 / 3, 2 / 3))


def dated(record, moment):
    return record.model_copy(
        update={"observed": record.observed.model_copy(update={"finished_at": moment})}
    )


def test_a_folder_remembers_its_runs_and_its_report_is_the_last_one(tmp_path):
    for number, answers in enumerate((FIRST, SECOND, FIRST)):
        record = dated(run(answers), f"2026-01-0{number + 1}T00:00:00+00:00")
        remember(record, tmp_path / "out")
    from evalnb.evaluation.report import save_report

    save_report(record, tmp_path / "out" / "report.json")
    runs = load_past_runs([tmp_path / "out"])
    assert [r.finished_at[:10] for r in runs] == ["2026-01-01", "2026-01-02", "2026-01-03"]
    assert runs == load_past_runs([tmp_path])  # a folder of report folders
    assert runs[-1:] == load_past_runs([tmp_path / "out" / "report.json"])
    assert [c.case_id for c in changes(*runs[-2:]).flips] == ["c3", "c1"]


def test_a_folder_remembers_a_bounded_number(tmp_path):
    record = run(FIRST)
    (tmp_path / "history.jsonl").write_text("old\n" * (2 * KEPT_RUNS))
    for _ in range(2):
        remember(record, tmp_path)
    lines = (tmp_path / "history.jsonl").read_text().splitlines()
    assert len(lines) == KEPT_RUNS
    assert lines.count("old") == KEPT_RUNS - 2


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"format": "evalnb-history@9"}', r"history\.jsonl:2: not a run that this version reads"),
        ("half a li", r"history\.jsonl:2.*delete the line"),
    ],
)
def test_a_line_that_is_no_run_is_named(tmp_path, line, says):
    remember(run(FIRST), tmp_path)
    path = tmp_path / "history.jsonl"
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(BadInputError, match=says):
        load_past_runs([tmp_path])


def test_nothing_there_is_said(tmp_path):
    with pytest.raises(NotFoundError, match="evalnb evaluate"):
        load_past_runs([tmp_path])
    for name in ("no.json", "no.jsonl", "no"):
        with pytest.raises(NotFoundError):
            load_past_runs([tmp_path / name])


def test_a_value_that_came_or_went_moved_farthest():
    sizes = [
        CaseChange("better", "v", "c", "q", "RR@10", before, after).size
        for before, after in ((0.25, 1.0), (None, 0.1))
    ]
    assert sizes == [0.75, float("inf")]


def test_runs_without_a_common_case_are_not_said_to_be_the_same():
    runs = [past_run(run(FIRST)), past_run(run(SECOND))]
    others = tuple(f"other {case_id}" for case_id in runs[1].case_ids)
    runs[1] = runs[1].model_copy(update={"case_ids": others})
    said = history_text(runs, changes(*runs), trends(runs), n_left_out=0)
    assert "No case is in both runs, by its name: no value can be compared.\nSet other" in said
    assert "No value changed" not in said
