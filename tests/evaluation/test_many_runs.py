"""Many runs at once score as each does alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.errors import BadInputError, NotEvaluatedError
from evalnb.evaluation.many_runs import score_runs
from evalnb.evaluation.runfiles import score_run

MEASURES = ["nDCG@3", "RR", "R@2", "AP", "P@3", "Judged@4"]
_IDS = st.sampled_from([f"d{n}" for n in range(8)] + ["é", "d10"])
_SCORES = st.dictionaries(_IDS, st.integers(-2, 2) | st.floats(-1, 1), max_size=8)
_RUN = st.fixed_dictionaries({"q1": _SCORES}, optional={"q2": _SCORES, "q9": _SCORES})
_QRELS = st.fixed_dictionaries(
    {"q1": st.dictionaries(_IDS, st.integers(-1, 3), max_size=5)},
    optional={"q2": st.dictionaries(_IDS, st.integers(-1, 3), max_size=5)},
)


@given(_QRELS, st.lists(_RUN, min_size=1, max_size=3))
def test_as_each_alone(qrels: dict[str, Any], runs: list[dict[str, Any]]) -> None:
    table = score_runs(qrels, {f"run {n}": run for n, run in enumerate(runs)}, MEASURES)
    assert table.queries == tuple(qrels)
    assert table.measures == tuple(MEASURES)
    for run, values, means in zip(runs, table.values, table.means(), strict=True):
        alone = score_run(qrels, run, MEASURES)
        expected = [np.nan if row.value is None else row.value for row in alone.rows]
        assert np.array_equal(values.ravel(), expected, equal_nan=True)
        for mean, found in zip(alone.means, means, strict=True):
            assert found == pytest.approx(np.nan if mean.mean is None else mean.mean, nan_ok=True)


@pytest.mark.parametrize("score", [float("nan"), float("inf"), "1", True, None])
def test_what_is_no_finite_score_is_refused(score: Any) -> None:
    runs = {"good": {"q": {"a": 1.0}}, "bad": {"q": {"a": 1.0, "b": score}}}
    with pytest.raises(BadInputError, match="bad: query 'q', document 'b'"):
        score_runs({"q": {"a": 1}}, runs, ["RR"])


def test_scores_whose_sum_is_no_float_are_scores() -> None:
    run = {"q": {"a": 1e308, "b": 1.1e308, "c": 1}}
    assert score_runs({"q": {"a": 1}}, {"r": run}, ["RR"]).values.item() == 0.5


def test_a_run_that_shares_no_query_is_named() -> None:
    with pytest.raises(NotEvaluatedError, match=r"other: no query is both judged and in the run"):
        score_runs({"q": {"a": 1}}, {"other": {"p": {"a": 1.0}}}, ["RR"])
