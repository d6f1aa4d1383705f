import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from evalnb.comparison.multiplicity import benjamini_hochberg, holm

shares = st.lists(st.floats(0, 1), min_size=1, max_size=12).map(np.array)


@pytest.mark.parametrize(
    ("p", "adjusted"),
    [
        ([0.03], [0.03]),
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
        ([0.01, 0.02, 0.03, 0.04], [0.04, 0.06, 0.06, 0.06]),
        ([0.5, 0.5, 1.0], [1.0, 1.0, 1.0]),
    ],
)
def test_holm(p: list[float], adjusted: list[float]) -> None:
    assert holm(np.array(p)) == pytest.approx(adjusted)


@given(shares)
def test_benjamini_hochberg_agrees_with_scipy(p: np.ndarray) -> None:
    assert benjamini_hochberg(p) == pytest.approx(false_discovery_control(p))


@given(shares)
def test_holm_lies_between_p_and_bonferroni(p: np.ndarray) -> None:
    adjusted = holm(p)
    assert (p <= adjusted).all()
    assert (adjusted <= np.minimum(len(p) * p, 1) + 1e-15).all()
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()
