import math

import numpy as np
import pytest

from evalnb.comparison import power
from evalnb.comparison.flips import flip_tests
from evalnb.comparison.power import Resolution, family_dependence, sets_for

RNG = np.random.default_rng(11)
NORMAL = RNG.normal(0.03, 0.2, 40)
ONES = np.ones(40)


def smallest_difference(
    sums: np.ndarray, sizes: np.ndarray, *, level: float = 0.05, n_families: int | None = None
) -> float | None:
    return Resolution(sums, sizes, level=level).smallest_difference(n_families)


def families_needed(sums: np.ndarray, sizes: np.ndarray, *, level: float = 0.05) -> int | None:
    return Resolution(sums, sizes, level=level).families_needed()


def test_a_normal_set_resolves_what_the_t_test_of_its_size_does() -> None:
    error = NORMAL.std(ddof=1) / math.sqrt(40)
    # 2.02 + 0.85 standard errors at 39 degrees of freedom.
    assert smallest_difference(NORMAL, ONES) == pytest.approx(2.87 * error, rel=0.05)


def test_a_stricter_level_resolves_less() -> None:
    loose, strict = (smallest_difference(NORMAL, ONES, level=level) for level in (0.05, 0.005))
    assert loose < strict


@pytest.mark.parametrize("n_families", [6, 8, 12, 20, 32])
def test_four_of_five_sets_show_the_difference(n_families: int) -> None:
    """Draw new sets, shift them, and test them as a comparison would."""
    shift = smallest_difference(NORMAL, ONES, n_families=n_families)
    rng = np.random.default_rng(4)
    sets = rng.choice(NORMAL - NORMAL.mean(), size=(600, n_families)) + shift
    found = flip_tests(sets, np.ones_like(sets), groups=np.arange(len(sets)))
    assert (found.p <= 0.05).mean() == pytest.approx(0.8, abs=0.06)


def test_flips_and_beta_agree_where_they_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    beta = smallest_difference(NORMAL, ONES)
    monkeypatch.setattr(power, "FLIPPED_FAMILIES", 40)
    assert smallest_difference(NORMAL, ONES) == pytest.approx(beta, rel=0.02)


def test_beyond_400_families_the_root_rules() -> None:
    at_400 = smallest_difference(NORMAL, ONES, n_families=400)
    assert smallest_difference(NORMAL, ONES, n_families=1_600) == pytest.approx(
        at_400 / 2, rel=0.01
    )


@pytest.mark.parametrize("n_families", [8, 40])
def test_families_of_equal_size_count_as_single_cases_do(n_families: int) -> None:
    few = smallest_difference(NORMAL, ONES, n_families=n_families)
    many = smallest_difference(3 * NORMAL, 3 * ONES, n_families=n_families)
    assert many == pytest.approx(few, rel=0.01)


@pytest.mark.parametrize("n_families", [8, 40])
def test_unequal_families_resolve_less(n_families: int) -> None:
    sizes = np.where(np.arange(40) % 8 == 0, 9.0, 1.0)
    noise = np.random.default_rng(3).normal(0, 0.2, 40)
    equal = smallest_difference(2 * noise, 2 * ONES, n_families=n_families)
    unequal = smallest_difference(sizes * noise, sizes, n_families=n_families)
    assert unequal > 1.1 * equal


@pytest.mark.parametrize(
    ("sums", "reason"),
    [
        ([0.1], "one family"),
        ([0.1] * 8, "constant"),
        ([0.0] * 8, "identical"),
        ([0.1, 0.2, 0.3, 0.4, 0.5], "five families never reject"),
    ],
)
def test_nothing_is_promised_without_a_known_spread(sums: list[float], reason: str) -> None:
    assert smallest_difference(np.array(sums), np.ones(len(sums))) is None, reason


def test_families_needed_are_the_fewest_that_resolve_the_difference() -> None:
    sums = NORMAL[:10] - NORMAL[:10].mean() + 0.1
    needed = families_needed(sums, np.ones(10))
    assert 10 < needed < 100
    shown = smallest_difference(sums, np.ones(10), n_families=needed)
    assert shown == pytest.approx(0.1, rel=0.05)


def test_families_needed_grow_with_the_inverse_square() -> None:
    centred = NORMAL - NORMAL.mean()
    near, far = (families_needed(centred + shift, ONES) for shift in (0.02, 0.002))
    assert far == pytest.approx(100 * near, rel=0.05)
    assert f"{far:.1e}" == f"{float(f'{far:.1e}'):.1e}"  # two digits
    assert far == float(f"{far:.1e}")


def test_five_families_can_still_be_told_how_many_are_needed() -> None:
    assert families_needed(np.array([0.1, 0.2, 0.3, 0.1, 0.2]), np.ones(5)) >= 6


@pytest.mark.parametrize("sums", [[0.0] * 8, [0.1] * 8, [0.1, -0.1] * 4])
def test_no_number_of_families_is_named_without_a_difference_or_spread(sums: list[float]) -> None:
    assert families_needed(np.array(sums), np.ones(8)) is None


def test_dependence_within_families() -> None:
    differences = np.array([0.1, 0.1, 0.3, 0.3, -0.2, -0.2])
    effect, correlation = family_dependence(differences, np.array([0, 0, 1, 1, 2, 2]))
    # Cases that repeat each other: the variance doubles, times 5/6 of n - 1 and F - 1 over n and F.
    assert effect == pytest.approx(2 * 1.5 / (6 / 5))
    assert correlation == pytest.approx(1.0)


def test_dependence_of_families_that_differ_as_much_inside_as_between() -> None:
    differences = np.array([0.1, -0.1, 0.1, -0.1])
    effect, correlation = family_dependence(differences, np.array([0, 0, 1, 1]))
    assert (effect, correlation) == pytest.approx((0.0, -1.0))


@pytest.mark.parametrize(
    ("differences", "families"),
    [([0.1, 0.2], [0, 1]), ([0.1, 0.2], [0, 0]), ([0.1, 0.1, 0.1], [0, 0, 1]), ([], [])],
)
def test_dependence_is_absent(differences: list[float], families: list[int]) -> None:
    assert family_dependence(np.array(differences), np.array(families, dtype=int)) is None


def test_many_rows_are_resolved_from_fewer_sets_to_about_the_same_figure() -> None:
    assert [sets_for(n) for n in (0, 1, 32, 64, 600, 100_000)] == [
        2_000,
        2_000,
        2_000,
        1_000,
        106,
        100,
    ]
    sums, sizes = NORMAL[:20], ONES[:20]
    full = Resolution(sums, sizes, level=0.05).smallest_difference()
    few = Resolution(sums, sizes, level=0.05, n_sets=sets_for(600)).smallest_difference()
    assert few == pytest.approx(full, rel=0.15)
    assert few != full
