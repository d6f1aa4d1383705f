"""What can be looked up exactly: backticked, dotted, underscored and declared tokens."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.workspace.documents import find_identifiers, find_places

FOUND = [
    ("call os.path.join now", {"os.path.join"}),
    ("a foo_bar and _private and x_", {"foo_bar", "_private", "x_"}),
    ("`two words` here", {"two words"}),
    ("`` ` ``", set()),
    ("end of one.Next", {"one.Next"}),
    ("End. Next", set()),
    ("3.14 and 10_000 are numbers", set()),
    ("v1.2.3", {"v1.2.3"}),
    ("foo_bar.baz(...)", {"foo_bar.baz"}),
    ("şirket_adı", {"şirket_adı"}),
    (f"`{'x' * 512}`", {"x" * 512}),
    (f"`{'x' * 513}` {'a_' * 300}", set()),
    (f"`{'ş' * 257}`", set()),  # 514 bytes
]


@pytest.mark.parametrize(("text", "names"), FOUND)
def test_identifiers(text: str, names: set[str]) -> None:
    assert find_identifiers(text) == names


PLACES = [
    ("AML-17", "rule AML-17, AML-17a, AML-170, xAML-17 and AML-17.", [(5, 11), (43, 49)]),
    ("AML-17", "rule aml-17", []),
    ("C++", "C++ is C++", [(0, 3), (7, 10)]),
    ("a.c", "abc", []),
]


@pytest.mark.parametrize(("name", "text", "places"), PLACES)
def test_places(name: str, text: str, places: list[tuple[int, int]]) -> None:
    assert find_places(name, text) == places


@given(st.text(alphabet="ab_. é1"))
def test_joined_tokens_are_those_of_the_plain_pattern(text: str) -> None:
    tokens = (found[0] for found in re.finditer(r"\w+(?:\.\w+)*", text))
    expected = {t for t in tokens if {"_", "."} & set(t) and any(c.isalpha() for c in t)}
    assert find_identifiers(text) == expected
