import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, ttest_1samp

from evalnb.comparison.intervals import bell_mccaffrey_df, clopper_pearson, mean_interval

FAMILIES = [0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 4, 4, 4]
GRADED = [0.2, 0.4, 0.9, 0.5, 0.5, 0.1, 0.3, 0.2, 0.8, 1.0, 0.0, 0.6, 0.7]
BINARY = [1, 1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 1]


def test_worked_figures_of_a_graded_mean() -> None:
    found = mean_interval(GRADED, FAMILIES, bounds=(0, 1))
    assert found.low == pytest.approx(0.284055, abs=5e-7)
    assert found.high == pytest.approx(0.669792, abs=5e-7)
    assert found.size == pytest.approx(3.361249, abs=5e-7)
    assert found.method == "t, CR2"


def test_worked_figures_of_a_binary_mean() -> None:
    found = mean_interval(BINARY, FAMILIES, binary=True, bounds=(0, 1))
    assert found.low == pytest.approx(0.207905, abs=5e-7)
    assert found.high == pytest.approx(0.926351, abs=5e-7)
    assert found.size == pytest.approx(6.741731, abs=5e-7)
    assert found.method == "Clopper-Pearson, effective n"


def test_independent_cases_get_the_ordinary_t_interval() -> None:
    reference = ttest_1samp(GRADED, 0).confidence_interval(0.95)
    found = mean_interval(GRADED)
    assert (found.low, found.high) == pytest.approx((reference.low, reference.high))
    assert (found.size, found.method) == (pytest.approx(12), "t")


@pytest.mark.parametrize("hits", [0, 1, 7, 12, 13])
def test_independent_binary_cases_get_the_ordinary_exact_interval(hits: int) -> None:
    reference = binomtest(hits, 13).proportion_ci(method="exact")
    found = mean_interval([1] * hits + [0] * (13 - hits), binary=True, bounds=(0, 1))
    assert (found.low, found.high) == pytest.approx((reference.low, reference.high))


@pytest.mark.parametrize("value", [0, 1])
def test_a_perfect_binary_mean_counts_families(value: int) -> None:
    found = mean_interval([value] * 13, FAMILIES, binary=True)
    assert found.size == 5
    assert found.high - found.low == pytest.approx(1 - 0.025 ** (1 / 5))


def test_families_of_equal_means_do_not_count_against_independence() -> None:
    found = mean_interval([1, 0, 1, 0, 1, 0], ["a", "a", "b", "b", "c", "c"], binary=True)
    assert found.size == 6


@pytest.mark.parametrize(
    ("values", "families", "binary"),
    [
        ([], None, False),
        ([0.5], None, False),
        ([0.1] * 7, None, False),  # no spread to measure
        ([0.2, 0.4, 0.9], ["a", "a", "a"], False),
        ([1, 0, 1], ["a", "a", "a"], True),
    ],
)
def test_some_values_give_no_interval(
    values: list[float], families: list[str] | None, binary: bool
) -> None:
    found = mean_interval(values, families, binary=binary)
    assert (found.low, found.high, found.method) == (None, None, None)


def test_one_binary_case_says_next_to_nothing() -> None:
    found = mean_interval([1], binary=True)
    assert (found.low, found.high) == pytest.approx((0.025, 1.0))


def test_averaged_repetitions_of_a_binary_measure_are_graded() -> None:
    assert mean_interval([1, 0.5, 0, 1], binary=True).method == "t"


def test_the_range_of_the_measure_clips() -> None:
    values = [1, 1, 1, 1, 0.2]
    assert mean_interval(values).high > 1
    assert mean_interval(values, bounds=(0, 1)).high == 1


@settings(max_examples=40)
@given(st.lists(st.integers(1, 5), min_size=2, max_size=9), st.randoms())
def test_degrees_of_freedom_are_those_of_the_quadratic_form(sizes: list[int], random) -> None:
    n = np.array(sizes, dtype=float)
    total = int(n.sum())
    columns = []
    for family, size in enumerate(sizes):
        member = np.repeat(np.arange(len(sizes)) == family, sizes).astype(float)
        columns.append((member - size / total) / np.sqrt(1 - size / total) / total)
    eigenvalues = np.linalg.eigvalsh(np.array(columns) @ np.array(columns).T)
    expected = eigenvalues.sum() ** 2 / (eigenvalues**2).sum()
    assert bell_mccaffrey_df(n) == pytest.approx(expected)
    random.shuffle(sizes)
    assert bell_mccaffrey_df(np.array(sizes, dtype=float)) == pytest.approx(expected)


@given(st.integers(1, 60), st.data())
def test_exact_limits_hold_the_share(n: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, n))
    low, high = clopper_pearson(hits, n, alpha=0.05)
    assert 0 <= low <= hits / n <= high <= 1
