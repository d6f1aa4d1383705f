"""Cohen's kappa against worked tables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.gold.agreement import FORBIDDEN, Label, Labels, cohen_kappa


def labels(*values: Label) -> Labels:
    return {("q", f"d{at}"): value for at, value in enumerate(values)}


def crossed(both: int, first: int, second: int, neither: int) -> tuple[Labels, Labels]:
    pairs = [(1, 1)] * both + [(1, 0)] * first + [(0, 1)] * second + [(0, 0)] * neither
    return labels(*(a for a, _ in pairs)), labels(*(b for _, b in pairs))


@pytest.mark.parametrize(
    ("table", "raw", "kappa"),
    [
        ((20, 5, 10, 15), 0.7, 0.4),  # p_e = .5 * .6 + .5 * .4 = .5
        ((45, 15, 25, 15), 0.6, 6 / 46),  # p_e = .6 * .7 + .4 * .3 = .54
        ((25, 35, 5, 35), 0.6, 14 / 54),  # p_e = .6 * .3 + .4 * .7 = .46
        ((10, 0, 0, 10), 1.0, 1.0),
        ((0, 10, 10, 0), 0.0, -1.0),
        ((10, 0, 0, 0), 1.0, None),  # one label alone: chance agrees always
        ((0, 0, 0, 0), None, None),
        ((5, 5, 5, 5), 0.5, 0.0),
    ],
)
def test_worked_tables(
    table: tuple[int, int, int, int], raw: float | None, kappa: float | None
) -> None:
    found = cohen_kappa(*crossed(*table))
    assert found.raw == raw
    assert found.kappa == (None if kappa is None else pytest.approx(kappa, abs=1e-12))


def test_only_what_both_judged_counts_and_the_rest_is_listed() -> None:
    found = cohen_kappa(
        {("q", "a"): 2, ("q", "b"): 0, ("q", "c"): 1},
        {("q", "a"): 3, ("q", "b"): 0, ("r", "c"): FORBIDDEN},
    )
    assert (found.n, found.n_agreed, found.n_first_only, found.n_second_only) == (2, 1, 1, 1)
    (apart,) = found.disagreements
    assert (apart.case_id, apart.id, apart.first, apart.second) == ("q", "a", 2, 3)


def test_in_words() -> None:
    assert str(cohen_kappa({}, {})) == "nothing is judged by both"
    assert str(cohen_kappa(labels(1), labels(1))) == (
        "1 of 1 labels agree (100.0%); Cohen's kappa is undefined, as both gave one label alone"
    )


@given(st.lists(st.tuples(st.sampled_from([0, 1, 2, FORBIDDEN]), st.integers(0, 2))))
def test_it_is_symmetric_and_never_above_the_raw_agreement(pairs: list[tuple[Label, int]]) -> None:
    one, other = labels(*(a for a, _ in pairs)), labels(*(b for _, b in pairs))
    found, turned = cohen_kappa(one, other), cohen_kappa(other, one)
    assert (found.raw, found.kappa) == (turned.raw, turned.kappa)
    if found.kappa is not None:
        assert found.raw is not None
        assert -1 <= found.kappa <= found.raw + 1e-12
