"""Frames in, frames out: every edge of a comparison."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evalnb.comparison.paired import (
    CHANGED_COLUMNS,
    COMPARISON_COLUMNS,
    COVERAGE_COLUMNS,
    compare_frames,
    mean_intervals,
)
from evalnb.errors import BadInputError, NotFoundError, UnknownMeasureError

COLUMNS = [
    *("variant", "repetition", "case_id", "family_key", "intent", "language", "split", "weight"),
    *("measure", "k", "kind", "value", "numerator", "denominator", "status", "reason"),
]
Scores = Mapping[str, Sequence[float | str | None]]


def scores(
    values: Scores,
    *,
    measure: str = "nDCG@10",
    k: int | None = 10,
    kind: str | None = "document",
    families: Sequence[str] | None = None,
    repetition: int = 0,
) -> pd.DataFrame:
    """Build a scores frame; a text is a status, None is a case without a row."""
    rows = []
    for variant, column in values.items():
        for i, value in enumerate(column):
            if value is None:
                continue
            ok = not isinstance(value, str)
            row: dict[str, Any] = dict.fromkeys(COLUMNS)
            row |= {
                "variant": variant,
                "repetition": repetition,
                "case_id": f"c{i:03}",
                "family_key": families[i] if families else f"c{i:03}",
                "split": "test",
                "weight": 1.0,
                "measure": measure,
                "k": k,
                "kind": kind,
                "value": value if ok else np.nan,
                "status": "ok" if ok else value,
                "reason": None if value != "unavailable" else "timeout",
            }
            rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS).astype({"k": "Int64"})


def only_row(frame: pd.DataFrame, **options: Any) -> pd.Series:
    compared = compare_frames(frame, baseline="a", **options)
    assert tuple(compared.frame.columns) == COMPARISON_COLUMNS
    assert tuple(compared.changed.columns) == CHANGED_COLUMNS
    assert len(compared.frame) == 1
    return compared.frame.iloc[0]


def test_a_clear_difference() -> None:
    base = [0.1, 0.5, 0.4, 0.2, 0.3, 0.6, 0.5, 0.4]
    better = [0.4, 0.7, 0.3, 0.6, 0.7, 0.8, 0.5, 0.9]
    row = only_row(scores({"a": base, "b": better}))
    assert (row.candidate, row.baseline, row.slice, row.measure) == ("b", "a", "all", "nDCG@10")
    assert (row.k, row.kind, row.n, row.n_families) == (10, "document", 8, 8)
    assert row["diff"] == pytest.approx(row["mean"] - row["baseline_mean"])
    assert (row.wins, row.ties, row.losses) == (6, 1, 1)
    assert row.p_value == row.p_adjusted == 4 / 128
    assert (row.ci_low > 0, row.verdict, row.leaning) == (True, "better", "")
    assert (row.adjustment, row.ci_method) == ("none", "sign flips, exact")
    assert pd.isna(row.n_needed)
    assert row.mde > 0


def test_changed_cases_come_worst_first() -> None:
    frame = scores({"a": [0.5, 0.5, 0.5, 0.5], "b": [0.6, 0.1, 0.5, 0.4]}, families=list("wxyz"))
    changed = compare_frames(frame, baseline="a").changed
    assert changed.case_id.tolist() == ["c001", "c003", "c000"]
    assert changed.family_key.tolist() == ["x", "z", "w"]
    assert changed["diff"].tolist() == pytest.approx([-0.4, -0.1, 0.1])
    assert changed.baseline_value.tolist() == [0.5] * 3
    assert changed.value.tolist() == [0.1, 0.4, 0.6]


# --- variants that do not differ, or differ in one way only ---


def test_identical_variants_r39() -> None:
    row = only_row(scores({"a": [0.1, 0.5, 0.9], "b": [0.1, 0.5, 0.9]}))
    assert (row["diff"], row.ci_low, row.ci_high, row.p_value, row.p_adjusted) == (0, 0, 0, 1, 1)
    assert (row.wins, row.ties, row.losses) == (0, 3, 0)
    assert "identical on all 3 pairs" in row.note
    assert row.verdict == "unresolvable"
    assert row.leaning == ""
    assert pd.isna(row.mde)
    assert pd.isna(row.n_needed)


def test_one_identical_case_r39() -> None:
    row = only_row(scores({"a": [0.5], "b": [0.5]}))
    assert (row["diff"], row.p_value, row.ci_low, row.ci_high) == (0, 1, 0, 0)


def test_constant_difference_r39() -> None:
    row = only_row(scores({"a": [0.1, 0.5, 0.9], "b": [0.2, 0.6, 1.0]}))
    assert row["diff"] == pytest.approx(0.1)
    assert (row.p_value, row.wins, row.verdict, row.leaning) == (0.25, 3, "unresolvable", "better")
    assert "the same difference of +0.1 in every pair" in row.note
    assert pd.isna(row.ci_low)


def test_rounding_is_a_tie() -> None:
    row = only_row(scores({"a": [0.3] * 8, "b": [0.1 + 0.2] * 8}))
    assert (row.ties, row["diff"], row.p_value) == (8, 0.0, 1.0)


def test_differences_that_cancel_within_every_family() -> None:
    frame = scores({"a": [0.5] * 4, "b": [0.7, 0.3, 0.4, 0.6]}, families=["f", "f", "g", "g"])
    row = only_row(frame)
    assert (row.wins, row.losses, row["diff"], row.p_value) == (2, 2, 0.0, 1.0)
    assert "cancel within every family" in row.note
    assert (row.verdict, row.leaning) == ("unresolvable", "")
    assert pd.isna(row.ci_low)


def test_families_that_cancel_each_other() -> None:
    row = only_row(scores({"a": [0.0] * 8, "b": [0.1, 0.2, 0.3, 0.4] * 2}))
    opposed = only_row(scores({"a": [0.1, 0.2, 0.3] + [0.0] * 3, "b": [0.0] * 3 + [0.3, 0.2, 0.1]}))
    assert row["diff"] > 0
    assert (opposed["diff"], opposed.leaning, opposed.p_value) == (0.0, "", 1.0)
    assert pd.isna(opposed.n_needed)


def test_few_changes_are_unresolvable_however_large() -> None:
    row = only_row(scores({"a": [0.0] * 5, "b": [1.0] * 5}))
    assert (row.verdict, row.leaning, row.p_value) == ("unresolvable", "better", 0.0625)
    assert "5 of 5 families changed, and fewer than 6 can never reach p <= 0.05" in row.note
    assert pd.isna(row.ci_low)


def test_one_case() -> None:
    row = only_row(scores({"a": [0.5], "b": [0.7]}))
    assert (row.n, row.p_value, row.verdict, row.leaning) == (1, 1.0, "unresolvable", "better")


def test_one_family() -> None:
    values = {"a": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7], "b": [0.3, 0.5, 0.4, 0.8, 0.6, 0.9, 0.8]}
    row = only_row(scores(values, families=["f"] * 7))
    assert (row.n, row.n_families, row.wins, row.p_value) == (7, 1, 7, 1.0)
    assert row.verdict == "unresolvable"
    assert "the largest holds 100 % of the pairs" in row.note


# --- cases that cannot be paired ---


def test_all_undefined() -> None:
    row = only_row(scores({"a": ["undefined"] * 3, "b": ["undefined"] * 3}))
    assert (row.n, row.n_families, row.wins, row.verdict) == (0, 0, 0, "undecided")
    assert row[["mean", "diff", "ci_low", "p_value", "p_adjusted", "mde"]].isna().all()
    assert row.note == "3 cases left out: 3 without gold"


def test_no_shared_cases() -> None:
    row = only_row(scores({"a": [0.1, 0.2, None, None], "b": [None, None, 0.5, 0.6]}))
    assert (row.n, row.verdict) == (0, "undecided")
    assert row.note == "4 cases left out: 4 scored for one variant only"


def test_a_failed_case_leaves_it_undecided_r37() -> None:
    row = only_row(scores({"a": [1.0, 0.0], "b": [1.0, "unavailable"]}))
    assert (row.n, row["diff"], row.verdict) == (1, 0.0, "undecided")
    assert "1 case left out: 1 unavailable" in row.note


@pytest.mark.parametrize("failing", ["a", "b"])
def test_a_clear_difference_with_a_failed_case_is_undecided(failing: str) -> None:
    values: dict[str, list[float | str]] = {"a": [0.0] * 9, "b": [0.4] * 9}
    values[failing] = [*values[failing][:8], "unavailable"]
    row = only_row(scores(values), margin=0.9)
    assert row.p_value == 2 / 256
    assert (row.verdict, row.leaning) == ("undecided", "better")


def test_undefined_cases_are_left_out_and_do_not_matter() -> None:
    row = only_row(scores({"a": [0.0] * 8 + ["undefined"], "b": [0.4] * 8 + ["undefined"]}))
    assert (row.n, row.verdict) == (8, "better")
    assert "1 case left out: 1 without gold" in row.note


def test_what_was_left_out_is_counted_by_side_with_its_reason() -> None:
    frame = scores(
        {
            "a": [0.5, 0.5, "unavailable", "undefined", 0.5],
            "b": ["unavailable", 0.5, "unavailable", "undefined", 0.5],
            "c": [0.5, 0.5, 0.5, "undefined", 0.5],
        }
    )
    compared = compare_frames(frame, baseline="a")
    assert tuple(compared.coverage.columns) == COVERAGE_COLUMNS
    assert list(compared.coverage["candidate"]) == list(compared.frame["candidate"]) == ["b", "c"]
    assert compared.coverage.iloc[:, 4:].to_numpy().tolist() == [
        [2, 2, 1, 1, "timeout"],
        [1, 0, 1, 1, "timeout"],
    ]


def test_repetitions_are_averaged_before_pairing() -> None:
    first = scores({"a": [0.0, 0.4], "b": [1.0, 0.5]})
    second = scores({"a": [0.0, 0.6], "b": [0.0, 0.5]}, repetition=1)
    compared = compare_frames(pd.concat([first, second]), baseline="a")
    row = compared.frame.iloc[0]
    assert (row.n, row.wins, row.ties) == (2, 1, 1)
    assert (row["mean"], row.baseline_mean) == (0.5, 0.25)
    assert any("repetition" in note for note in compared.notes)


def test_variance_between_repetitions_is_told_from_variance_between_cases() -> None:
    """By hand: d = .5, .5, 0, 0 spreads 4/3 x .25; repetitions of the first leave .5 / 2 open."""
    first = scores({"a": [0.0] * 4, "b": [1.0, 0.5, 0.0, 0.0]})
    second = scores({"a": [0.0] * 4, "b": [0.0, 0.5, 0.0, 0.0]}, repetition=1)
    both = only_row(pd.concat([first, second]))
    assert "75% of the variance of the difference lies between repetitions of a case" in both.note
    again = scores({"a": [0.0] * 4, "b": [1.0, 0.5, 0.0, 0.0]}, repetition=1)
    assert "between repetitions" not in only_row(pd.concat([first, again])).note
    one_family = scores({"a": [0.0] * 2, "b": [1.0, 0.0]}, families=["f"] * 2)
    other = scores({"a": [0.0] * 2, "b": [0.0, 0.0]}, families=["f"] * 2, repetition=1)
    assert "between repetitions" not in only_row(pd.concat([one_family, other])).note


def test_a_case_takes_the_worst_status_of_its_repetitions() -> None:
    first = scores({"a": [0.0, 0.4, 0.1], "b": ["undefined", 0.5, 0.1]})
    second = scores({"a": [0.0, 0.6, 0.1], "b": ["unavailable", 0.5, 0.1]}, repetition=1)
    row = only_row(pd.concat([first, second]))
    assert (row.n, row.verdict) == (2, "undecided")
    assert "1 unavailable" in row.note


def test_different_cutoffs_are_never_paired() -> None:
    frame = pd.concat(
        [
            scores({"a": [0.0] * 8}, measure="nDCG", k=10),
            scores({"b": [0.4] * 8}, measure="nDCG", k=20),
        ]
    )
    row = only_row(frame)
    assert (row.k, row.n, row.verdict) == (20, 0, "undecided")
    assert "a has k = 10, which is never paired with k = 20" in row.note


def test_a_missing_cutoff_is_a_cutoff_of_its_own() -> None:
    frame = scores({"a": [0.0] * 8, "b": [0.4] * 8}, measure="LocatorValidity", k=None, kind=None)
    row = only_row(frame, measures=["LocatorValidity"])
    assert (pd.isna(row.k), row.kind, row.n, row.verdict) == (True, None, 8, "better")


def test_a_limit_below_the_cutoff_is_noted() -> None:
    frame = scores({"a": [0.0] * 8, "b": [0.4] * 8})
    frame.loc[frame.variant == "a", "reason"] = "the limit 5 is below the cutoff"
    assert "a: the limit 5 is below the cutoff" in only_row(frame).note


def test_a_candidate_without_the_measure_gets_a_row() -> None:
    frame = pd.concat(
        [scores({"a": [0.0] * 8, "b": [0.4] * 8}), scores({"c": [0.4]}, measure="RR")]
    )
    rows = compare_frames(frame, baseline="a", measures=["nDCG@10"]).frame
    assert rows.candidate.tolist() == ["b", "c"]
    assert rows.n.tolist() == [8, 0]
    assert rows.verdict.tolist() == ["better", "undecided"]


# --- directions, families, several hypotheses ---


def test_lower_is_better_for_forbidden_leakage() -> None:
    options = {"measure": "ForbiddenLeakage", "k": None, "kind": None}
    frame = scores({"a": [0.5] * 8, "b": [0.0] * 6 + [0.5, 1.0]}, **options)
    compared = compare_frames(frame, baseline="a", measures=["ForbiddenLeakage"])
    row = compared.frame.iloc[0]
    assert row["diff"] < 0
    assert (row.wins, row.ties, row.losses) == (6, 1, 1)
    assert compared.changed.case_id.iloc[0] == "c007"  # the one that leaks more now
    clear = scores({"a": [0.0] * 8, "b": [0.5] * 8}, **options)
    assert only_row(clear, measures=["ForbiddenLeakage"]).verdict == "worse"
    few = scores({"a": [0.5] * 3, "b": [0.0] * 3}, **options)
    assert only_row(few, measures=["ForbiddenLeakage"]).leaning == "better"


def test_latency_is_lower_better_and_tied_in_proportion() -> None:
    options = {"measure": "latency_ms", "k": None, "kind": None}
    frame = scores({"a": [1e4] * 8, "b": [1e4 + 1e-6] * 2 + [5e3] * 6}, **options)
    row = only_row(frame, measures=["latency_ms"])
    assert (row.ties, row.wins, row.verdict) == (2, 6, "better")


def test_families_are_flipped_whole() -> None:
    values = {"a": [0.0] * 24, "b": [0.1, 0.3, 0.2, 0.4] * 6}
    apart = only_row(scores(values))
    together = only_row(scores(values, families=[f"f{i // 4}" for i in range(24)]))
    assert apart.p_value < 0.001
    assert together.p_value == 2 / 64
    assert (together.n_families, together.verdict) == (6, "better")
    assert "6 of 6 families changed, the largest holds 17 % of the pairs" in together.note
    assert "design effect" in together.note


def test_case_order_and_family_names_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    base, other = rng.random(30).tolist(), rng.random(30).tolist()
    frame = pd.concat(
        [scores({"a": base, "b": other}), scores({"a": other, "b": base}, measure="RR")]
    )
    shuffled = frame.sample(frac=1, random_state=1)
    one, two = (
        compare_frames(f, baseline="a", measures=["RR", "nDCG@10"]) for f in (frame, shuffled)
    )
    pd.testing.assert_frame_equal(one.frame, two.frame)
    assert one.frame.measure.tolist() == ["RR", "nDCG@10"]
    assert one.frame["diff"].sum() == pytest.approx(0)


@pytest.mark.parametrize(
    ("adjustment", "adjusted"),
    [
        ("maxT", [0.0546875, 0.484375, 0.0546875]),
        ("holm", [0.0703125, 0.484375, 0.0703125]),
        ("bh", [0.046875, 0.484375, 0.046875]),
    ],
)
def test_several_hypotheses_are_adjusted(adjustment: Any, adjusted: list[float]) -> None:
    families = [f"f{i}" for i, n in enumerate((1, 2, 1, 1, 3, 1, 2, 1)) for _ in range(n)]
    sums = {
        "x": [0.3, 0.1, -0.05, 0.2, 0.4, 0.15, 0, 0.25],
        "y": [-0.1, 0.2, 0.3, -0.2, 0.1, 0.05, 0.15, -0.1],
        "z": [0.5, 0.4, 0.3, 0.6, -0.1, 0.2, 0.1, 0.3],
    }
    size = {name: families.count(name) for name in families}
    values = {
        name: [0.5 + s[int(family[1:])] / size[family] for family in families]
        for name, s in sums.items()
    }
    frame = scores({"a": [0.5] * len(families), **values}, families=families)
    rows = compare_frames(frame, baseline="a", adjustment=adjustment).frame
    assert rows.candidate.tolist() == ["x", "y", "z"]
    assert rows.p_value.tolist() == [0.03125, 0.484375, 0.0234375]
    assert rows.p_adjusted.tolist() == pytest.approx(adjusted)
    assert rows["diff"].iloc[0] == pytest.approx(0.1125)
    assert rows.ci_low.tolist() == pytest.approx([-1 / 60, -0.15, -1 / 30])
    assert rows.ci_high.tolist() == pytest.approx([0.275, 0.175, 0.6])
    assert set(rows.adjustment) == {adjustment}
    assert set(rows.ci_method) == {"simultaneous sign flips, exact"}
    assert f"{adjustment} over 3 hypotheses: nDCG@10 x 3 candidates" in rows.note.iloc[0]
    if adjustment == "bh":
        assert rows.verdict.tolist() == ["better", "undecided", "better"]
        assert "decided by the BH adjustment" in rows.note.iloc[0]


def test_judged_does_not_weaken_the_other_tests() -> None:
    values: Scores = {"a": [0.0] * 8, "b": [0.4] * 7 + [-0.4]}
    frame = pd.concat([scores(values), scores(values, measure="Judged@10")])
    rows = compare_frames(frame, baseline="a", measures=["nDCG@10", "Judged@10"]).frame
    assert rows.adjustment.tolist() == ["none", "none"]
    assert (rows.p_adjusted == rows.p_value).all()


def test_step_down_rejects_where_the_simultaneous_interval_contains_zero() -> None:
    rng = np.random.default_rng(8)
    for _ in range(200):
        noise = rng.normal(0, 0.1, (3, 12))
        shifts = np.array([[0.2], [0.075], [0.075]])
        values = {name: row.tolist() for name, row in zip("bcd", noise + shifts, strict=True)}
        rows = compare_frames(scores({"a": [0.0] * 12, **values}), baseline="a").frame
        split = rows[(rows.p_adjusted <= 0.05) & (rows.ci_low <= 0)]
        if len(split):
            assert split.note.str.contains("decided by the step-down test").all()
            assert (split.verdict == "better").all()
            return
    pytest.fail("no such data were drawn")


def test_few_families_and_many_hypotheses_leave_no_interval() -> None:
    rng = np.random.default_rng(4)
    values = {f"v{i}": rng.normal(0, 1, 6).tolist() for i in range(12)}
    rows = compare_frames(scores({"a": [0.0] * 6, **values}), baseline="a").frame
    without = rows[rows.ci_low.isna()]
    assert len(without)
    assert without.note.str.contains("too few families for an interval").all()
    assert np.isfinite(rows.ci_low.dropna()).all()
    assert (without.n_needed >= 8).all()


def test_a_margin_makes_small_differences_equivalent() -> None:
    rng = np.random.default_rng(0)
    base = rng.random(40)
    other = base + rng.normal(0, 0.01, 40)
    frame = scores({"a": base.tolist(), "b": other.tolist()})
    assert only_row(frame).verdict == "undecided"
    assert only_row(frame, margin=0.02).verdict == "equivalent"
    identical = scores({"a": base.tolist(), "b": base.tolist()})
    assert only_row(identical).verdict == "unresolvable"
    assert only_row(identical, margin=0.1).verdict == "equivalent"


def test_an_undecided_row_says_what_would_decide_it() -> None:
    rng = np.random.default_rng(2)
    base = rng.random(30)
    other = base + rng.normal(0.02, 0.2, 30)
    row = only_row(scores({"a": base.tolist(), "b": other.tolist()}))
    assert row.verdict == "undecided"
    assert row.mde > abs(row["diff"])
    assert row.n_needed > 30
    assert row.leaning == ("better" if row["diff"] > 0 else "worse")


def test_what_a_set_resolves_can_be_simulated_later() -> None:
    rng = np.random.default_rng(2)
    base = rng.random(30)
    frame = scores({"a": base.tolist(), "b": (base + rng.normal(0.02, 0.2, 30)).tolist()})
    later = compare_frames(frame, baseline="a", resolution=False)
    assert later.frame[["mde", "n_needed"]].isna().all(axis=None)
    at_once = compare_frames(frame, baseline="a").frame
    pd.testing.assert_frame_equal(later.resolved().frame, at_once)


# --- what is compared, and what is refused ---


def test_a_baseline_that_is_no_name_lists_the_variants() -> None:
    with pytest.raises(BadInputError, match=r"the baseline is None.*one of a, b"):
        compare_frames(scores({"a": [0.1], "b": [0.2]}), baseline=None)  # type: ignore[arg-type]


def test_a_missing_baseline_lists_the_variants() -> None:
    with pytest.raises(NotFoundError, match=r"'x' is no variant.*variants: a, b"):
        compare_frames(scores({"a": [0.1], "b": [0.2]}), baseline="x")


def test_a_baseline_alone() -> None:
    with pytest.raises(BadInputError, match="no other variant"):
        compare_frames(scores({"a": [0.1]}), baseline="a")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"alpha": 0.0}, BadInputError, "alpha"),
        ({"alpha": 1.0}, BadInputError, "alpha"),
        ({"alpha": float("nan")}, BadInputError, "alpha"),
        ({"margin": 0.0}, BadInputError, "margin"),
        ({"margin": float("nan")}, BadInputError, "margin"),
        ({"alpha": "0.05"}, BadInputError, "alpha is '0.05', expected a number"),
        ({"margin": "x"}, BadInputError, "margin is 'x', expected a number"),
        ({"seed": "x"}, BadInputError, "seed is 'x', expected a number"),
        ({"seed": 1.5}, BadInputError, "the seed must be a whole number, is 1.5"),
        ({"seed": -1}, BadInputError, "seed"),
        ({"adjustment": "bonferroni"}, BadInputError, "one of maxT, holm, bh"),
        ({"measures": ["RR@5"]}, NotFoundError, "no scores of 'RR@5'.*measures: nDCG@10"),
        ({"measures": ["nDGC@10"]}, UnknownMeasureError, "nDGC@10"),
    ],
)
def test_wrong_arguments(options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        compare_frames(scores({"a": [0.1], "b": [0.2]}), baseline="a", **options)


def test_wrong_scores() -> None:
    good = scores({"a": [0.1, 0.2], "b": [0.2, 0.3]})
    with pytest.raises(BadInputError, match="lack the column status"):
        compare_frames(good.drop(columns="status"), baseline="a")
    with pytest.raises(BadInputError, match="'a' has two scores of nDCG@10 for case 'c000'"):
        compare_frames(pd.concat([good, good]), baseline="a")
    with pytest.raises(BadInputError, match="no finite value"):
        compare_frames(good.assign(value=np.nan), baseline="a")
    with pytest.raises(BadInputError, match="the status 'fine'"):
        compare_frames(good.assign(status="fine"), baseline="a")
    families = good.family_key.where(good.index > 0, "other")
    with pytest.raises(BadInputError, match="'c000' is in the families 'c000', 'other'"):
        compare_frames(good.assign(family_key=families), baseline="a")


def test_an_empty_frame_has_no_baseline() -> None:
    with pytest.raises(NotFoundError, match="'a' is no variant"):
        compare_frames(scores({}), baseline="a")


def test_scores_without_a_case_or_variant() -> None:
    frame = scores({"a": [0.1, 0.2], "b": [0.2, 0.3]})
    with pytest.raises(BadInputError, match="row 2 of the scores has no case_id"):
        compare_frames(frame.assign(case_id=["c0", "c1", None, "c1"]), baseline="a")


def test_a_case_without_a_family_is_its_own() -> None:
    frame = scores({"a": [0.0] * 8, "b": [0.4] * 8}).assign(family_key=None)
    assert only_row(frame).n_families == 8


def test_measures_are_found_in_any_spelling_and_by_kind() -> None:
    values: Scores = {"a": [0.1] * 6, "b": [0.2] * 6}
    frame = pd.concat(
        [scores(values), scores(values, kind="file"), scores(values, measure="RR@10")]
    )
    found = compare_frames(frame, baseline="a", measures=["ndcg_cut.10", "MRR@10"]).frame
    assert found[["measure", "kind"]].values.tolist() == [
        ["nDCG@10", "document"],
        ["nDCG@10", "file"],
        ["RR@10", "document"],
    ]
    found = compare_frames(frame, baseline="a", measures=["file:nDCG@10"]).frame
    assert found.kind.tolist() == ["file"]


def test_unless_asked_only_measures_that_carry_verdicts_are_compared() -> None:
    values: Scores = {"a": [0.1] * 6, "b": [0.2] * 6}
    names = ["nDCG@10", "RR@10", "Success@1", "Judged@10", "LocatorValidity", "ForbiddenCandidates"]
    frame = pd.concat([scores(values, measure=name) for name in names])
    assert compare_frames(frame, baseline="a").frame.measure.tolist() == ["nDCG@10", "RR@10"]
    judged = compare_frames(scores(values, measure="Judged@10"), baseline="a").frame
    assert judged.measure.tolist() == ["Judged@10"]


def test_column_types_do_not_depend_on_what_is_missing() -> None:
    full = compare_frames(scores({"a": [0.0] * 8, "b": [0.4, 0.5] * 4}), baseline="a")
    bare = compare_frames(scores({"a": ["undefined"], "b": ["undefined"]}, k=None), baseline="a")
    assert full.frame.dtypes.tolist() == bare.frame.dtypes.tolist()
    assert full.changed.dtypes.tolist() == bare.changed.dtypes.tolist()
    assert bare.frame.to_json(orient="records").count("NaN") == 0


def test_scores_read_back_from_csv_compare_alike(tmp_path: Any) -> None:
    frame = pd.concat(
        [
            scores({"a": [0.1, 0.5] * 4, "b": [0.4, "undefined"] * 4}),
            scores({"a": [0.1] * 8, "b": [0.4] * 8}, measure="PathR", k=None, kind=None),
        ]
    )
    frame.to_csv(tmp_path / "scores.csv", index=False)
    again = pd.read_csv(tmp_path / "scores.csv")
    one, two = (compare_frames(f, baseline="a") for f in (frame, again))
    pd.testing.assert_frame_equal(one.frame, two.frame)


def test_the_scores_are_not_changed() -> None:
    frame = scores({"a": [0.0, 0.5], "b": [0.4, "unavailable"]})
    before = frame.copy(deep=True)
    compare_frames(frame, baseline="a")
    mean_intervals(frame)
    pd.testing.assert_frame_equal(frame, before)


def test_mean_intervals_by_variant_and_measure() -> None:
    values = [0.2, 0.4, 0.9, 0.5, 0.5, 0.1, 0.3, 0.2, 0.8, 1.0, 0.0, 0.6, 0.7]
    families = [f"f{i}" for i in (0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 4, 4, 4)]
    binary = [1, 1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 1]
    frame = pd.concat(
        [
            scores({"a": values, "b": [*values, "undefined"]}, families=[*families, "f9"]),
            scores({"a": binary}, measure="Success@5", k=5, families=families),
            scores({"a": [0.3] * 13}, measure="RR@10", families=families),
        ]
    )
    found = mean_intervals(frame).set_index(["variant", "measure"])
    graded = pytest.approx([0.284055, 0.669792], abs=5e-7)
    assert found.loc[("a", "nDCG@10"), ["ci_low", "ci_high"]].tolist() == graded
    assert found.loc[("b", "nDCG@10"), ["ci_low", "ci_high"]].tolist() == graded
    assert found.loc[("a", "Success@5"), ["ci_low", "ci_high"]].tolist() == pytest.approx(
        [0.207905, 0.926351], abs=5e-7
    )
    assert found.loc[("a", "RR@10"), ["ci_low", "ci_high"]].isna().all()
    assert len(found) == 4
