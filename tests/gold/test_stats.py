"""What a set holds, counted by hand."""

from __future__ import annotations

from pathlib import Path

from evalnb.gold.loading import load_gold
from evalnb.gold.stats import INDEPENDENT, LabelCounts, format_stats, gold_stats

CASES = [
    {
        "case_id": "a",
        "family_key": "f",
        "split": "test",
        "intent": "lookup",
        "language": "tr",
        "request": {"query": "x"},
        "expected": {"document_ids": ["1", "2"], "unit_ids": ["u"]},
        "document_relevance": {"1": 2, "3": 0},
        "label_provenance": {"method": "human", "annotators": 1},
    },
    {
        "case_id": "b",
        "family_key": "f",
        "split": "test",
        "intent": "lookup",
        "request": {"query": "y"},
        "forbidden": {"document_ids": ["9"]},
        "content": [{"document": "a"}, {"document": "b"}],
    },
    {"case_id": "c", "split": "development", "request": {"query": "z"}},
]


def test_counts() -> None:
    stats = gold_stats(load_gold(CASES))
    assert stats.cases == 3
    assert stats.splits == {"test": 2, "development": 1}
    assert stats.intents == {"lookup": 2, "-": 1}
    assert stats.languages == {"-": 2, "tr": 1}
    assert stats.methods == {"-": 2, "human": 1}
    assert (stats.families, stats.family_sizes) == (2, {1: 1, 2: 1})
    assert stats.labels == {
        "document": LabelCounts(expected=2, forbidden=1, graded=2),
        "unit": LabelCounts(expected=1, forbidden=0, graded=0),
    }
    assert stats.evidence == {"content": 2}
    assert (stats.unlabelled, stats.notes) == (1, ())


def test_cases_without_families_are_said_to_be_independent() -> None:
    stats = gold_stats(load_gold([{"query": "a", "expected": "x"}]))
    assert stats.notes == (INDEPENDENT,)


def test_the_counts_as_text(gold_dir: Path) -> None:
    text = format_stats(gold_stats(load_gold(CASES)))
    assert "split      test 2, development 1" in text
    assert "families   2 (1 with 1, 1 with 2)" in text
    assert "document   2 expected, 1 forbidden, 2 graded" in text
    assert "unlabelled 1: every measure is undefined for them" in text
    assert "cases      5" in format_stats(gold_stats(load_gold(gold_dir / "smoke")))
