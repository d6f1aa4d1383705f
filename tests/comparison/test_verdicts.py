from typing import Any

import pytest

from evalnb.comparison.verdicts import decide, verdict_sentence

CLEAR: dict[str, Any] = {
    "n": 40,
    "n_unavailable": 0,
    "n_families": 40,
    "n_changed": 30,
    "gain": 0.1,
    "p_adjusted": 0.01,
    "interval": (0.05, 0.15),
    "alpha": 0.05,
    "margin": None,
    "bounded": True,
}
OPEN = CLEAR | {"p_adjusted": 0.4, "gain": 0.01, "interval": (-0.02, 0.04)}
FEW = OPEN | {"n_changed": 5, "interval": None}


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        (CLEAR, "better"),
        (CLEAR | {"gain": -0.1}, "worse"),
        (CLEAR | {"p_adjusted": 0.05}, "better"),
        (CLEAR | {"n": 0}, "undecided"),
        (CLEAR | {"n_unavailable": 1}, "undecided"),
        (CLEAR | {"margin": 0.2}, "better"),  # a real difference, however small
        (OPEN, "undecided"),
        (OPEN | {"margin": 0.05}, "equivalent"),
        (OPEN | {"margin": 0.04}, "undecided"),  # strictly inside
        (OPEN | {"margin": 0.05, "n_unavailable": 1}, "undecided"),
        (OPEN | {"margin": 0.05, "interval": None}, "undecided"),
        (FEW, "unresolvable"),
        (FEW | {"gain": 0.9}, "unresolvable"),
        # Of 40 families none changed: at most 8.8 % could have.
        (FEW | {"n_changed": 0, "margin": 0.1}, "equivalent"),
        (FEW | {"n_changed": 0, "margin": 0.08}, "unresolvable"),
        (FEW | {"n_changed": 0, "margin": 0.1, "bounded": False}, "unresolvable"),
        (FEW | {"n_changed": 5, "margin": 0.1}, "unresolvable"),
        (FEW | {"n_changed": 5, "margin": 0.3}, "equivalent"),
    ],
)
def test_the_first_verdict_that_applies(given: dict[str, Any], verdict: str) -> None:
    assert decide(**given) == verdict


ROW: dict[str, Any] = {
    "measure": "nDCG@10",
    "kind": "document",
    "n": 43,
    "n_families": 43,
    "diff": 0.111272,
    "ci_low": 0.0751,
    "ci_high": 0.1477,
    "p_value": 1 / 10_001,
    "p_adjusted": 1 / 10_001,
    "adjustment": "none",
    "wins": 36,
    "ties": 2,
    "losses": 5,
    "mde": 0.053,
    "n_needed": None,
    "verdict": "better",
    "leaning": "",
    "note": "",
}
NAN = float("nan")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {},
            "better: nDCG@10 +0.111 [0.075, 0.148], p = 0.0001, 36 wins, 5 losses, 2 ties "
            "over 43 cases",
        ),
        (
            {"p_value": 2**-15, "p_adjusted": 2**-15, "wins": 1, "losses": 1, "ties": 1, "n": 3},
            "better: nDCG@10 +0.111 [0.075, 0.148], p < 0.0001, 1 win, 1 loss, 1 tie over 3 cases",
        ),
        (
            {"verdict": "worse", "diff": -0.05, "ci_low": -0.09, "ci_high": -0.0001}
            | {"p_value": 0.004, "p_adjusted": 0.0312},
            "worse: nDCG@10 -0.050 [-0.090, -0.0001], adjusted p = 0.031, 36 wins, 5 losses, "
            "2 ties over 43 cases",
        ),
        (
            {"verdict": "equivalent", "diff": 0.0, "ci_low": 0.0, "ci_high": 0.0}
            | {"p_value": 1.0, "p_adjusted": 1.0, "wins": 0, "losses": 0, "ties": 43},
            "equivalent: nDCG@10 0.000 [0.000, 0.000], p = 1, 0 wins, 0 losses, 43 ties "
            "over 43 cases",
        ),
        (
            {"verdict": "undecided", "leaning": "better", "diff": 0.0098, "ci_low": -0.027}
            | {"ci_high": 0.047, "p_value": 0.606, "p_adjusted": 0.606, "mde": 0.054}
            | {"n_needed": 1250, "note": "maxT over 2 hypotheses: nDCG@10 x 2 candidates"}
            | {"adjustment": "maxT"},
            "undecided, leaning better: nDCG@10 +0.010 [-0.027, 0.047], p = 0.61, 36 wins, "
            "5 losses, 2 ties over 43 cases; 43 families resolve a shift of 0.054; a shift of this "
            "size needs about 1,250 families",
        ),
        (
            {"verdict": "unresolvable", "leaning": "worse", "diff": -0.4, "ci_low": NAN}
            | {"ci_high": NAN, "p_value": 0.5, "p_adjusted": 0.5, "mde": NAN, "n": 2}
            | {
                "n_needed": 12,
                "wins": 0,
                "losses": 2,
                "ties": 0,
                "note": "2 of 2 families changed",
            },
            "unresolvable, leaning worse: nDCG@10 -0.400 (no interval), p = 0.50, 0 wins, "
            "2 losses, 0 ties over 2 cases; too few families changed for any test to decide; "
            "a shift of this size needs about 12 families; 2 of 2 families changed",
        ),
        (
            {"verdict": "unresolvable", "diff": 0.0, "ci_low": 0.0, "ci_high": 0.0}
            | {"p_value": 1.0, "p_adjusted": 1.0, "wins": 0, "losses": 0, "ties": 43},
            "identical: nDCG@10 on all 43 cases",
        ),
        (
            {"verdict": "undecided", "n": 0, "diff": NAN, "note": "3 cases left out"},
            "undecided: nDCG@10: no case has a score under both; 3 cases left out",
        ),
    ],
)
def test_sentences(changes: dict[str, Any], sentence: str) -> None:
    assert verdict_sentence(ROW | changes) == sentence


def test_a_label_names_the_kind() -> None:
    assert verdict_sentence(ROW, label="nDCG@10 (file)").startswith("better: nDCG@10 (file) +")
