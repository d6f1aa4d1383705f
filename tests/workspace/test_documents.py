"""What can be looked up exactly: backticked, dotted, underscored and declared tokens."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.workspace.documents import find_identifiers

FOUND = [
    # text, declared, identifiers
    ("call os.path.join now", (), ["os.path.join"]),
    ("a foo_bar and _private and x_", (), ["foo_bar", "_private", "x_"]),
    ("`two words` here", (), ["two words"]),
    ("`` ` ``", (), []),
    ("end of one.Next", (), ["one.Next"]),
    ("End. Next", (), []),
    ("3.14 and 10_000 are numbers", (), []),
    ("v1.2.3", (), ["v1.2.3"]),
    ("rule AML-17 says", ("AML-17",), ["AML-17"]),
    ("rule AML-170 says", ("AML-17",), ["AML-17"]),  # declared, but it stands nowhere
    ("C++ twice: C++", ("C++",), ["C++", "C++"]),
    ("şirket_adı", (), ["şirket_adı"]),
    (f"`{'x' * 512}`", (), ["x" * 512]),
    (f"`{'x' * 513}` {'a_' * 300}", (), []),
    (f"`{'ş' * 257}`", (), []),  # 514 bytes
]


@pytest.mark.parametrize(("text", "declared", "names"), FOUND)
def test_identifiers(text: str, declared: tuple[str, ...], names: list[str]) -> None:
    assert [name for name, _, _ in find_identifiers(text, declared)] == names


def test_where_they_stand() -> None:
    text = "See `refund_api` and AML-17."
    found = set(find_identifiers(text, ("AML-17", "ISO 9001")))
    assert found == {("refund_api", 5, 15), ("AML-17", 21, 27), ("ISO 9001", -1, -1)}


@given(st.text(alphabet="ab_. é1"))
def test_joined_tokens_are_those_of_the_plain_pattern(text: str) -> None:
    tokens = (found[0] for found in re.finditer(r"\w+(?:\.\w+)*", text))
    expected = [t for t in tokens if {"_", "."} & set(t) and any(c.isalpha() for c in t)]
    assert [name for name, _, _ in find_identifiers(text)] == expected
