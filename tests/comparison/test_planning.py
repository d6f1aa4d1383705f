"""What can be known before a run, and from two means alone."""

from __future__ import annotations

import numpy as np
import pytest

from evalnb.comparison.paired import compare_frames
from evalnb.comparison.planning import audit, prospects
from evalnb.errors import BadInputError
from evalnb.gold.cases import GoldCase


def cases(n: int, family: int = 1) -> list[GoldCase]:
    return [
        GoldCase(
            case_id=f"c{k}",
            family_key=f"f{k // family}",
            split="development",
            request={"query": f"q{k}"},
        )
        for k in range(n)
    ]


def test_more_cases_show_less_and_need_no_more() -> None:
    (small,) = prospects(cases(20), spreads=[0.2])
    (large,) = prospects(cases(200), spreads=[0.2])
    assert small.resolves is not None
    assert large.resolves is not None
    assert large.resolves < small.resolves / 2.5
    # (1.96 + .84)^2 (.2 / .02)^2 = 784 cases by the normal formula
    assert large.families_needed == pytest.approx(784, rel=0.1)


def test_cases_of_one_family_count_less_than_their_number() -> None:
    (alone,) = prospects(cases(60), spreads=[0.2])
    (grouped,) = prospects(cases(60, family=6), spreads=[0.2])
    assert grouped.resolves > 1.3 * alone.resolves


@pytest.mark.parametrize("n", [1, 5])
def test_too_few_families_show_nothing(n: int) -> None:
    assert [each.resolves for each in prospects(cases(n))] == [None] * 3


def test_the_foretold_difference_shows_four_times_in_five() -> None:
    import pandas as pd

    n, spread = 40, 0.2
    (found,) = prospects(cases(n), spreads=[spread])
    rng = np.random.default_rng(1)
    shown = 0
    for _ in range(50):
        differences = rng.normal(found.resolves, spread, n)
        rows = [
            {"variant": v, "repetition": 0, "case_id": f"c{k}", "family_key": f"c{k}"}
            | {"measure": "latency_ms", "k": None, "kind": None, "value": x, "status": "ok"}
            for v, values in (("a", [10.0] * n), ("b", 10 + differences))
            for k, x in enumerate(values)
        ]
        record = compare_frames(
            pd.DataFrame(rows), baseline="a", measures=["latency_ms"], resolution=False
        )
        shown += record.frame["verdict"].item() == "worse"
    assert 33 <= shown <= 48


AUDITS = [
    # n, baseline, mean, fewest changed, best p, largest spread
    (50, 0.60, 0.72, 6, 0.03125, 0.422243),
    (43, 0.48, 0.46, 1, 1.0, 0.064987),
    (100, 0.50, 0.50, 0, 1.0, 0.0),
    (4, 0.50, 0.75, 1, 1.0, None),
]


@pytest.mark.parametrize(("n", "baseline", "mean", "changed", "p", "spread"), AUDITS)
def test_audits(
    n: int, baseline: float, mean: float, changed: int, p: float, spread: float | None
) -> None:
    found = audit(n, baseline, mean)
    assert (found.fewest_changed, found.best_p) == (changed, p)
    assert found.largest_spread == (None if spread is None else pytest.approx(spread, abs=1e-5))
    if spread:
        low, high = audit(n, baseline, mean, spreads=[spread]).intervals[spread]
        assert min(abs(low), abs(high)) == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("arguments", [(0, 0.5, 0.5), (10, 1.5, 0.5), (10, 0.5, -0.1)])
def test_an_audit_of_nonsense_is_refused(arguments: tuple[int, float, float]) -> None:
    with pytest.raises(BadInputError):
        audit(*arguments)


@pytest.mark.parametrize("settings", [{"difference": 0}, {"spreads": [2.0]}, {"alpha": 1}])
def test_prospects_of_nonsense_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(BadInputError):
        prospects(cases(10), **settings)
