"""What messages offer for a name that is not known."""

from __future__ import annotations

import pytest

from evalnb.wording import near_names


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("0018-a3c03b3b", "; did you mean '0018-a3c03b3a'?"),
        ("0018", "; did you mean '0018-a3c03b3a'?"),  # ids end in a digest that nobody types
        ("00", ""),
        ("other", ""),
    ],
)
def test_a_near_name_is_offered(name: str, offered: str) -> None:
    assert near_names(name, ["0017-2052db8c", "0018-a3c03b3a"]) == offered
