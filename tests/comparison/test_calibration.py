"""True nulls are rejected as often as is said, through the benchmark that shows it in full."""

import calibration
import numpy as np
import pytest


@pytest.mark.slow
def test_true_nulls_are_rejected_as_often_as_said(monkeypatch):
    monkeypatch.setattr(calibration, "ROUNDS", 2_000)
    lines = list(calibration.null_lines(np.random.default_rng(20)))
    assert len(lines) == 20
    assert [str(line) for line in lines if not line.holds] == []
