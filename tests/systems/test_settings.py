"""Settings of outside systems: what is said of a key that is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from evalnb.errors import BadInputError
from evalnb.search.request import Record
from evalnb.systems.settings import parse_settings


class Inner(Record):
    size: int = 1


class Demo(Record):
    channels: dict[str, str]
    inner: Inner = Inner()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        # A key that is spelled wrong explains the one that is missing.
        ({"channel": {"a": "b"}}, "s.toml.channel: unknown key (did you mean 'channels'?)"),
        ({"channels": {}, "other": 1}, "s.toml.other: unknown key (known: channels, inner)"),
        ({"channels": {}, "inner": {"sizes": 2}}, "s.toml.inner.sizes: unknown key"),
        ({}, "s.toml.channels: Field required"),
    ],
)
def test_a_wrong_key_is_named(table: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInputError) as refused:
        parse_settings(Demo, table, where="s.toml")
    assert str(refused.value) == message
