"""One way to write each number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.show import numbers

MISSING = [None, math.nan, np.float64("nan"), pd.NA, "0.5"]


@pytest.mark.parametrize("value", MISSING)
def test_what_is_missing_is_a_dash_and_never_nan(value: Any) -> None:
    for write in (
        numbers.format_value,
        numbers.format_difference,
        numbers.format_p,
        numbers.format_percent,
        numbers.format_ms,
        numbers.format_count,
    ):
        assert write(value) == "-"
    assert numbers.format_interval(value, 0.5) == "-"


@pytest.mark.parametrize("value", [1, 1.0, np.int64(1), np.float32(1)])
def test_every_kind_of_number_is_a_number(value: Any) -> None:
    assert numbers.format_value(value) == "1.000"
    assert numbers.format_count(value) == "1"


WRITTEN = [
    (numbers.format_value, 0.0005, "0.001"),
    (numbers.format_value, -0.00049, "-0.0005"),
    (numbers.format_value, 0.00001, "1e-05"),
    (numbers.format_value, 2500.0, "2,500.0"),
    (numbers.format_difference, -0.25, "-0.250"),
    (numbers.format_p, 1 / 10_001, "0.0001"),
    (numbers.format_p, 0.0, "< 0.0001"),
    (numbers.format_p, 1, "1.0000"),
    (numbers.format_percent, 1 / 3, "33.3 %"),
    (numbers.format_percent, 0, "0 %"),
    (numbers.format_percent, 0.0001, "0.1 %"),
    (numbers.format_ms, 0, "0.0 ms"),
    (numbers.format_ms, 99.96, "100.0 ms"),
    (numbers.format_count, 12345, "12,345"),
]


@pytest.mark.parametrize(("write", "value", "text"), WRITTEN)
def test_numbers_are_written_once(write: Any, value: float, text: str) -> None:
    assert write(value) == text


@given(st.floats(0, 1, exclude_min=True))
def test_p_is_never_zero_and_a_part_never_all(value: float) -> None:
    assert numbers.format_p(value) not in {"0", "0.0000"}
    assert numbers.format_value(value) not in {"0", "0.000"}
    if value < 1:
        assert numbers.format_percent(value) not in {"0 %", "100 %"}


@pytest.mark.parametrize(
    ("status", "value", "reason", "text"),
    [
        ("ok", 0.0, None, "0.000"),
        ("undefined", None, "no gold", "N/A (no gold)"),
        ("unavailable", None, "timeout\nafter 2 s", "n/a (timeout after 2 s)"),
        ("unavailable", None, None, "n/a"),
    ],
)
def test_a_status_is_said(status: str, value: float | None, reason: str | None, text: str) -> None:
    assert numbers.format_status(status, value, reason) == text


def test_a_mean_without_cases_says_why() -> None:
    assert numbers.format_mean(None, 0, 3, 1) == "n/a"
    assert numbers.format_mean(float("nan"), 0, 3, 0) == "N/A (no gold)"
    assert numbers.format_mean(0.5, 1, 3, 1) == "0.500"
