"""Near duplicates, the families they suggest, and families dealt to the splits."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.errors import BadInputError, GoldError
from evalnb.gold.families import near_duplicates, split_by_family, suggest_families

EDITION = "the tariff of 2024 names three bands and the fees for each of them in euros"


def test_the_jaccard_index_of_shingles() -> None:
    texts = {"a": "one two three four", "b": "ONE two, three five", "c": "six", "d": "six"}
    found = {(n.first, n.second): n.likeness for n in near_duplicates(texts, shingle=2)}
    # {one two, two three, three four} and {one two, two three, three five}: 2 of 4.
    assert found == {("a", "b"): 0.5, ("c", "d"): 1.0}


words = st.lists(st.sampled_from("abcde"), max_size=7).map(" ".join)


@given(
    st.dictionaries(st.sampled_from("pqrstuv"), words),
    st.sampled_from([0.2, 0.5, 0.56, 0.8, 1.0]),
    st.integers(1, 3),
)
def test_no_pair_is_missed(texts: dict[str, str], likeness: float, shingle: int) -> None:
    def pieces(text: str) -> set[str]:
        parts = text.split() or [text]
        return {" ".join(parts[i : i + shingle]) for i in range(max(1, len(parts) - shingle + 1))}

    brute = set()
    for one, other in combinations(texts, 2):
        a, b = pieces(texts[one]), pieces(texts[other])
        if len(a & b) / len(a | b) >= likeness:
            brute.add((one, other))
    found = near_duplicates(texts, likeness=likeness, shingle=shingle)
    assert {(near.first, near.second) for near in found} == brute


def test_questions_documents_editions_and_known_families_join_cases() -> None:
    questions = {
        "c1": "what does the tariff cost",
        "c2": "fees of band three",
        "c3": "fees of band three?",
        "c4": "who signs",
        "c5": "who signs for a minor",
        "c6": "unlike all others",
        "c7": "old one",
        "c8": "of the same family as old one",
    }
    evidence = {
        "c1": {"t2024": EDITION},
        "c2": {"t2025": EDITION.replace("2024", "2025")},
        "c4": {"form": "a guardian signs"},
        "c5": {"form": "a guardian signs"},
    }
    found = suggest_families(questions, evidence, known={"c7": "F", "c8": "F", "c1": "c1"})
    assert [(family.key, family.case_ids) for family in found] == [
        ("c1", ("c1", "c2", "c3")),
        ("c4", ("c4", "c5")),
        ("c7", ("c7", "c8")),
    ]
    assert [list(map(str, family.reasons)) for family in found] == [
        ["c2 and c3 ask nearly the same", "t2024 and t2025 share 50% of their text"],
        ["c4 and c5 are answered by form"],
        ["c7 and c8 are already of family F"],
    ]


def test_hostile_and_empty_texts_are_compared_as_they_are() -> None:
    texts = {"a": "", "b": "\x00\u202e", "c": "<script>", "d": "x" * 100_000, "e": ""}
    assert [(n.first, n.second) for n in near_duplicates(texts)] == [("a", "e")]


@given(
    st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.sampled_from("VWXYZ")),
    st.floats(0, 1),
    st.integers(0, 99),
)
def test_families_stay_whole_and_the_share_is_met_within_a_family(
    families: dict[str, str], share: float, seed: int
) -> None:
    splits = split_by_family(families, test_share=share, seed=seed)
    assert splits == split_by_family(dict(reversed(families.items())), test_share=share, seed=seed)
    assert splits.keys() == families.keys()
    sides: dict[str, set[str]] = {}
    for case_id, family in families.items():
        sides.setdefault(family, set()).add(splits[case_id])
    assert all(len(side) == 1 for side in sides.values())
    largest = max((list(families.values()).count(family) for family in sides), default=0)
    tests = sum(split == "test" for split in splits.values())
    assert abs(tests - share * len(families)) <= max(largest / 2, 0.5) + 1e-9


def test_fixed_cases_keep_their_split_and_so_does_their_family() -> None:
    families = {"a": "F", "b": "F", "c": "c", "d": "d"}
    splits = split_by_family(families, fixed={"a": "test"}, test_share=0)
    assert splits == {"a": "test", "b": "test", "c": "development", "d": "development"}
    with pytest.raises(GoldError, match="family 'F' would hold cases of both splits"):
        split_by_family(families, fixed={"a": "test", "b": "development"})


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_is_a_share(share: float) -> None:
    with pytest.raises(BadInputError, match="expected 0 to 1"):
        split_by_family({}, test_share=share)
    with pytest.raises(BadInputError, match="likeness"):
        list(near_duplicates({}, likeness=0 * share))
