"""Headlines that cannot be misread, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pytest

from evalnb.comparison.paired import ComparisonRecord, compare_frames
from evalnb.show.comparisons import verdict_words
from evalnb.show.findings import findings_of
from evalnb.show.next_step import next_step

LOST = "SEARCH_FAILED: timeout"


def compared(
    values: Mapping[str, Sequence[float | str]], *, baseline: str = "plain", measure: str = "RR@10"
) -> ComparisonRecord:
    """Compare values per case; a text is the reason why there is none."""
    return compare_frames(scores(values, measure), baseline=baseline)


def scores(values: Mapping[str, Sequence[float | str]], measure: str) -> pd.DataFrame:
    rows = [
        (variant, 0, f"c{at:02}", f"c{at:02}", measure, 10, "document")
        + ((np.nan, "unavailable", value) if isinstance(value, str) else (value, "ok", None))
        for variant, column in values.items()
        for at, value in enumerate(column)
    ]
    names = ["variant", "repetition", "case_id", "family_key", "measure", "k", "kind"]
    return pd.DataFrame(rows, columns=[*names, "value", "status", "reason"]).astype({"k": "Int64"})


PLAIN = [0.5, 0.25] * 6
BETTER = [1.0] * 12
CLOSE = [*PLAIN[:3], 1.0, *PLAIN[4:6], 1.0, 0.2, 1.0, 0.2, 1.0, 0.2]

HEADLINES = {
    "some searches failed": (
        [LOST, LOST, *PLAIN[2:]],
        "no verdict",
        "new against plain: no verdict: 2 of 12 searches failed (new 2); compared on 10",
    ),
    "every search failed": (
        [LOST] * 12,
        "no verdict",
        "new against plain: no verdict: new failed on all 12 cases",
    ),
    "the measure is not possible": (
        ["no hit carries text"] * 12,
        "no verdict",
        "new against plain: no verdict: new is n/a on all 12 cases",
    ),
    "identical": (PLAIN, "identical", "new against plain: identical on all 12 cases (RR@10 0.375)"),
    "better": (BETTER, "better", "new is better than plain (RR@10 0.375 → 1.000)"),
    "few changed": (
        [1.0, *PLAIN[1:]],
        "unresolvable",
        "new against plain: too few cases changed to tell, leaning better (RR@10 0.375 → 0.417)",
    ),
}


@pytest.mark.parametrize("name", HEADLINES)
def test_a_headline_says_what_is_known(name: str) -> None:
    values, verdict, headline = HEADLINES[name]
    (finding,) = findings_of(compared({"plain": PLAIN, "new": values}))
    assert (finding.verdict, finding.headline) == (verdict, headline)


def test_failures_of_both_sides_are_told_apart() -> None:
    base = [LOST, *PLAIN[1:]]
    (finding,) = findings_of(compared({"plain": base, "new": [PLAIN[0], LOST, LOST, *PLAIN[3:]]}))
    assert finding.headline.endswith(
        "no verdict: 3 of 12 searches failed (new 2, the baseline plain 1); compared on 9"
    )
    assert finding.sentences == (
        "RR@10 0.000 over the 9 cases compared, 0 wins, 0 losses, 9 ties",
        f"Why: {LOST}",
    )


def test_what_differs_by_another_measure_is_not_called_identical() -> None:
    frame = pd.concat(
        [
            scores({"plain": PLAIN, "new": PLAIN}, "RR@10"),
            scores({"plain": PLAIN, "new": BETTER}, "R@10"),
        ]
    )
    (finding,) = findings_of(compare_frames(frame, baseline="plain"))
    assert "identical on all 12 cases by RR@10 (" in finding.headline
    assert finding.sentences[0] == "RR@10: identical on all 12 cases"
    assert finding.sentences[1].startswith("better: R@10 +")


STEPS = {
    "switch": ({"new": BETTER}, "Switch to new: it is better than plain by RR@10 (+0.625)."),
    "several are better": (
        {"new": BETTER, "newer": [*BETTER[:-1], 0.9]},
        "Switch to new: it is better than plain by RR@10 (+0.625). newer is better too; which one "
        "is best was not tested.",
    ),
    "keep": (
        {"new": [0.0] * 12},
        "Keep plain. No variant is shown to be better.",
    ),
    "identical": (
        {"new": PLAIN},
        "Keep plain. new does no better and no worse on any of the 12 cases by RR@10.",
    ),
    "candidate failed": (
        {"new": [LOST, *PLAIN[1:]], "newer": BETTER},
        "Switch to newer: it is better than plain by RR@10 (+0.625). Repair new: searches failed.",
    ),
    "baseline failed": (
        {"plain": [LOST, *PLAIN[1:]], "new": BETTER},
        "Repair plain first: 1 case of the baseline could not be scored, so there is no verdict on "
        "any variant.",
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_what_to_do_next_is_said_in_words(name: str) -> None:
    values, step = STEPS[name]
    comparison = compared({"plain": PLAIN, **values})
    assert next_step(comparison) == step
    lines, html = verdict_words(comparison)
    assert lines[0] == step
    assert html.startswith('<p class="step">')


def test_what_it_would_take_to_decide_is_said() -> None:
    comparison = compared({"plain": PLAIN, "new": CLOSE, "bad": [0.0] * 12})
    row = comparison.frame.iloc[0]
    assert row["verdict"] == "undecided"
    assert next_step(comparison) == (
        f"Keep plain. No variant is shown to be better; to decide about new (RR@10 "
        f"+{row['diff']:.3f}), about {row['n_needed']:,} families would be needed."
    )


def test_a_gain_that_costs_elsewhere_is_weighed() -> None:
    frame = pd.concat(
        [
            scores({"plain": PLAIN, "new": BETTER}, "RR@10"),
            scores({"plain": BETTER, "new": PLAIN}, "R@10"),
        ]
    )
    assert next_step(compare_frames(frame, baseline="plain")) == (
        "Weigh new against plain: it is better by RR@10 (+0.625), but worse by R@10 (-0.625)."
    )
