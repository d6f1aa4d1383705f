"""Questions that are nearly the same are found, whatever their order, case or number."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.gold.cases import GoldCase
from evalnb.gold.doubts import LIKENESS, TwinFinder, Twins, format_twins


def case(case_id: str, query: str, split: str = "development", family: str | None = None) -> Any:
    return GoldCase.model_validate(
        {"case_id": case_id, "family_key": family, "split": split, "request": {"query": query}}
    )


def twins(*cases: GoldCase) -> list[Twins]:
    finder = TwinFinder()
    for one in cases:
        finder.add(one)
    return list(finder.find())


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        ("How do I reset it?", "how do i RESET it", True),
        ("How do I reset it?", "it: reset, do I, how", True),
        ("how do I reset my password", "how do I reset my old password", True),
        ("how do I reset my password", "how do I change my password", False),
        ("Efﬁcient models", "efficient models", True),
        ("?!", "?!", True),
        ("?!", "...", False),
        ("one", "two", False),
    ],
)
def test_pairs(first: str, second: str, alike: bool) -> None:
    found = twins(case("a", first), case("b", second, "test"))
    assert found == ([Twins("a", "b", "splits")] if alike else [])


def test_a_family_holds_its_questions_together() -> None:
    assert twins(case("a", "same words", family="f"), case("b", "same words", family="f")) == []
    assert twins(case("a", "same words"), case("b", "same words")) == [Twins("a", "b", "families")]


def test_a_twin_on_the_other_split_is_named_first() -> None:
    found = twins(
        case("a", "same words", family="f"),
        case("b", "same words", family="g"),
        case("c", "same words", "test"),
        case("d", "same words", family="f"),
    )
    assert found == [
        Twins("a", "b", "families"),
        Twins("a", "c", "splits"),
        Twins("c", "d", "splits"),
    ]


WORDS = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=7, unique=True)


@given(st.lists(WORDS, max_size=8))
def test_every_pair_that_is_alike_is_found(questions: list[list[str]]) -> None:
    cases = [case(str(i), " ".join(words)) for i, words in enumerate(questions)]
    expected = {
        str(later)
        for (earlier, one), (later, other) in itertools.combinations(enumerate(questions), 2)
        if len({*one} & {*other}) >= LIKENESS * len({*one} | {*other})
    }
    assert {twin.second for twin in twins(*cases)} == expected


def test_the_list_is_short_and_begins_with_the_worst() -> None:
    made = [Twins("a", str(i), "families") for i in range(30)] + [Twins("x", "y", "splits")]
    lines = format_twins(made)
    assert lines[0] == "x and y ask nearly the same and stand on both splits: put them on one"
    assert lines[1].endswith("count as independent: give them one family_key")
    assert lines[-1] == "11 more cases ask nearly the same as another"
    assert format_twins(itertools.repeat(made[0]))[-1].startswith("at least 980 more")
    assert format_twins([]) == []
