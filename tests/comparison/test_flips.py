"""The worked figures of the specification, and what must hold for any differences."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from evalnb.comparison.flips import FlipTests, fewest_resolvable, flip_tests, resolvable

FIRST = [0.3, 0.1, -0.05, 0.2, 0.4, 0.15, 0.0, 0.25]
SECOND = [-0.1, 0.2, 0.3, -0.2, 0.1, 0.05, 0.15, -0.1]
THIRD = [0.5, 0.4, 0.3, 0.6, -0.1, 0.2, 0.1, 0.3]
SIZES = [1.0, 2.0, 1.0, 1.0, 3.0, 1.0, 2.0, 1.0]


def alone(sums: list[float], sizes: list[float] | None = None, **options: float) -> FlipTests:
    return flip_tests(np.array([sums]), np.array([sizes or [1.0] * len(sums)]), **options)


@pytest.mark.parametrize(
    ("sums", "p", "low", "high"),
    [
        (FIRST, 0.03125, 0.025, 0.2333333333),
        (SECOND, 0.484375, -0.1, 0.13),
        (THIRD, 0.0234375, 0.05, 0.45),
    ],
)
def test_worked_figures_of_one_hypothesis(
    sums: list[float], p: float, low: float, high: float
) -> None:
    found = alone(sums, SIZES)
    assert found.p[0] == p
    assert (found.low[0], found.high[0]) == pytest.approx((low, high), abs=1e-9)
    assert found.exact[0]
    assert not found.simultaneous[0]


def test_worked_figures_of_three_hypotheses() -> None:
    found = flip_tests(np.array([FIRST, SECOND, THIRD]), np.array([SIZES] * 3))
    assert found.p.tolist() == [0.03125, 0.484375, 0.0234375]
    assert found.p_step_down.tolist() == [0.0546875, 0.484375, 0.0546875]
    assert found.p_single.tolist() == [0.0625, 0.8515625, 0.0546875]
    assert found.simultaneous.all()
    # c is the 13th largest row maximum; 4, 4 and 2 of 256 vectors exceed it as the data are.
    assert found.level.tolist() == [4 / 256, 4 / 256, 2 / 256]
    assert found.low.tolist() == pytest.approx([-1 / 60, -0.15, -1 / 30], abs=1e-9)
    assert found.high.tolist() == pytest.approx([0.275, 0.175, 0.6], abs=1e-9)


def test_groups_are_adjusted_apart() -> None:
    sums, sizes = np.array([FIRST, SECOND, THIRD]), np.array([SIZES] * 3)
    found = flip_tests(sums, sizes, groups=np.array([0, 1, 1]))
    assert found.p_step_down[0] == found.p[0] == 0.03125
    assert found.low[0] == pytest.approx(0.025)
    assert found.simultaneous.tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("sums", "p"),
    [
        ([0.0, 0.0, 0.0], 1.0),
        ([0.1], 1.0),
        ([0.1, 0.1], 0.5),
        ([0.1, 0.1, 0.1], 0.25),
        ([0.1] * 6, 2 / 64),
        ([0.1] * 16, 2 / 65_536),
        ([0.1] * 6 + [0.0] * 30, 2 / 64),  # exact over the six that changed
        ([0.1] * 17, 1 / 10_001),
    ],
)
def test_p_is_exact_over_up_to_sixteen_changed_families(sums: list[float], p: float) -> None:
    assert alone(sums).p[0] == p


def test_ties_at_the_observed_value_count() -> None:
    # 0.1 + 0.2 - 0.3 is 5.6e-17, not 0; in sums of such values a bare comparison loses vectors.
    found = alone([0.1, 0.2, -0.3, 0.1, 0.2, 0.3])
    values = [1, 2, -3, 1, 2, 3]
    count = sum(
        abs(sum(s * v for s, v in zip(signs, values, strict=True))) >= abs(sum(values))
        for signs in product((1, -1), repeat=6)
    )
    assert found.p[0] == count / 64


def test_no_interval_below_six_changed_families() -> None:
    assert np.isnan(alone([0.1, 0.2, 0.3, 0.4, 0.5]).low[0])
    assert alone([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]).low[0] > 0
    assert np.isnan(alone([0.1] * 5 + [0.0] * 40).low[0])


def test_unchanged_families_enter_the_interval() -> None:
    changed = [0.3, 0.1, 0.2, 0.4, 0.15, 0.25]
    few, many = alone(changed), alone(changed + [0.0] * 6)
    assert many.p[0] == few.p[0]
    assert many.high[0] < few.high[0]


def test_a_constant_difference_is_its_own_interval() -> None:
    found = alone([0.1] * 8)
    assert (found.p[0], found.low[0], found.high[0]) == (2 / 256, 0.1, 0.1)


def test_a_constant_difference_among_others_keeps_an_interval() -> None:
    found = flip_tests(np.array([[0.1] * 8, FIRST]), np.ones((2, 8)))
    assert found.low[0] == found.high[0] == 0.1


def test_an_unchanged_hypothesis_does_not_weaken_the_others() -> None:
    sums, sizes = np.array([FIRST, [0.0] * 8]), np.array([SIZES] * 2)
    found = flip_tests(sums, sizes)
    assert found.p_step_down.tolist() == [0.03125, 1.0]
    assert found.low[0] == pytest.approx(0.025)


def test_sampled_and_exhaustive_vectors_agree() -> None:
    rng = np.random.default_rng(5)
    sums = rng.normal(0.3, 1, 14)
    exact = alone(sums.tolist())
    other = alone([*sums.tolist(), 0, 0, 0], [1.0] * 14 + [0.0] * 3)
    assert other.p[0] == exact.p[0]
    assert (other.low[0], other.high[0]) == (exact.low[0], exact.high[0])
    sampled = flip_tests(  # in company, the shared sampled vectors serve
        np.array([[*sums, 0, 0, 0], [*-sums, 0, 0, 0]]), np.ones((2, 17))
    )
    pair = flip_tests(np.array([sums, -sums]), np.ones((2, 14)))
    assert sampled.p_step_down[0] == pytest.approx(pair.p_step_down[0], abs=0.012)


def test_the_seed_decides_the_sampled_vectors() -> None:
    sums = np.random.default_rng(1).normal(0.2, 1, (1, 40))
    ones = np.ones((1, 40))
    first, again, other = (flip_tests(sums, ones, seed=seed).p[0] for seed in (0, 0, 1))
    assert first == again != other
    assert first == pytest.approx(other, abs=0.012)


def test_any_number_of_threads_gives_the_same_figures() -> None:
    rng = np.random.default_rng(2)
    sums = rng.choice([0.0, 0.5, -0.5, 1 / 3, 0.1], size=(12, 700))
    sizes = np.ones_like(sums)
    with threadpool_limits(1):
        one = flip_tests(sums, sizes)
    with threadpool_limits(2):
        two = flip_tests(sums, sizes)
    for name in ("p", "p_step_down", "p_single", "low", "high", "level"):
        assert getattr(one, name).tolist() == getattr(two, name).tolist(), name


def test_simultaneous_intervals_contain_zero_where_single_step_does_not_reject() -> None:
    rng = np.random.default_rng(3)
    for n_families in (10, 30):
        for _ in range(20):
            shift = rng.normal(0, 0.4, (5, 1))
            found = flip_tests(rng.normal(size=(5, n_families)) + shift, np.ones((5, n_families)))
            inside = (found.low <= 0) & (found.high >= 0)
            assert inside[(found.p_single > 0.05) & ~np.isnan(found.low)].all()


@pytest.mark.parametrize(("alpha", "fewest"), [(0.05, 6), (0.1, 5), (0.01, 8), (0.5, 2), (0.25, 3)])
def test_how_many_families_must_change(alpha: float, fewest: int) -> None:
    assert fewest_resolvable(alpha) == fewest
    assert resolvable(fewest, alpha)
    assert not resolvable(fewest - 1, alpha)


grid = st.integers(-20, 20).map(lambda tenths: tenths / 20)
hypotheses = st.lists(grid, min_size=7, max_size=9)


@settings(max_examples=40)
@given(hypotheses, st.lists(st.integers(1, 4), min_size=9, max_size=9))
def test_an_interval_is_what_its_test_does_not_reject(sums: list[float], sizes: list[int]) -> None:
    n = np.array(sizes[: len(sums)], dtype=float)
    found = alone(sums, n.tolist())
    if np.isnan(found.low[0]):
        return
    total, scale = sum(sums), max(np.abs(sums).sum() / n.sum(), 1e-3)
    outside = {found.low[0] - 1e-6 * scale: True, found.high[0] + 1e-6 * scale: True}
    inside = {found.low[0] + 1e-6 * scale: False, found.high[0] - 1e-6 * scale: False}
    points = outside if found.low[0] == found.high[0] else outside | inside
    signs = np.array(list(product((1, -1), repeat=len(n))))
    for delta, rejected in points.items():
        shifted = np.array(sums) - delta * n
        p = (np.abs(signs @ shifted) >= abs(shifted.sum()) - 1e-12).mean()
        assert (p <= 0.05) == rejected
    assert found.low[0] <= total / n.sum() + 1e-9
    assert total / n.sum() <= found.high[0] + 1e-9


@settings(max_examples=40)
@given(st.lists(hypotheses.map(lambda s: s[:7]), min_size=1, max_size=4))
def test_adjusting_never_helps_and_stepping_down_never_hurts(rows: list[list[float]]) -> None:
    found = flip_tests(np.array(rows), np.ones((len(rows), 7)))
    assert (found.p <= found.p_step_down).all()
    assert (found.p_step_down <= found.p_single).all()
    assert (found.p_single <= 1).all()


@settings(max_examples=40)
@given(st.lists(hypotheses.map(lambda s: s[:7]), min_size=1, max_size=3))
def test_swapping_the_variants_mirrors_everything(rows: list[list[float]]) -> None:
    sums, ones = np.array(rows), np.ones((len(rows), 7))
    there, back = flip_tests(sums, ones), flip_tests(-sums, ones)
    assert there.p_step_down.tolist() == back.p_step_down.tolist()
    np.testing.assert_allclose(there.low, -back.high, atol=1e-9)
