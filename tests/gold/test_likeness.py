"""Sets that share most of their members are found, whichever come first."""

from collections import Counter

import pytest

from evalnb.gold.likeness import AlikeSets, folded_words

SETS = {"a": "abcde", "b": "abcd", "c": "xyz", "d": "xyzab", "e": "edcba"}


@pytest.mark.parametrize(
    ("likeness", "found"),
    [
        (0.8, {"b": [("a", 0.8)], "e": [("a", 1.0), ("b", 0.8)]}),
        (0.6, {"b": [("a", 0.8)], "d": [("c", 0.6)], "e": [("a", 1.0), ("b", 0.8)]}),
        (1.0, {"e": [("a", 1.0)]}),
    ],
)
def test_each_set_meets_those_before_it(likeness, found):
    taken = AlikeSets(Counter("".join(SETS.values())), likeness=likeness)
    met = {key: sorted(taken.take(key, members)) for key, members in SETS.items()}
    assert {key: pairs for key, pairs in met.items() if pairs} == found


def test_a_member_leads_to_so_many_sets_alone():
    taken = AlikeSets(Counter(a=3), likeness=1.0, most=1)
    assert [taken.take(key, "a") for key in "xyz"] == [[], [("x", 1.0)], [("x", 1.0)]]


def test_words_are_folded_and_a_text_without_any_is_one():
    assert folded_words("Straße, ﬁne") == ["strasse", "fine"]
    assert folded_words("?!") == ["?!"]
