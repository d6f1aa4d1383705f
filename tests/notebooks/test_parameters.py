"""The tagged cell as a schema: read without running it, and nothing is guessed."""

from __future__ import annotations

from typing import Any

import pytest

from evalnb.errors import BadInputError
from evalnb.show.parameters import check_parameters, declared_parameters


def notebook(source: str, *tags: str) -> dict[str, Any]:
    return {
        "cells": [
            {"cell_type": "markdown", "metadata": {"tags": ["parameters"]}, "source": "x = 1"},
            {"cell_type": "code", "metadata": {"tags": list(tags)}, "source": source},
        ]
    }


def checked(source: str, **given: Any) -> dict[str, Any]:
    return check_parameters(declared_parameters(notebook(source, "parameters")), given)


FITTING = [
    ('run_id = "007"', "run_id", "008"),
    ('ver: str = "1.10"', "ver", "1.20"),
    ("k = 10", "k", 1000),
    ("flag = False", "flag", True),
    ("share: float = 0.5", "share", 1),
    ("note: None | str = None", "note", None),
    ("note: None | str = None", "note", "x"),
    ("note: Optional[str] = None", "note", None),
    ("note: typing.Union[int, str] = 1", "note", "x"),
    ('mode: Literal["a", "b"] = "a"', "mode", "b"),
    ("ids: list[str] = []", "ids", ["a"]),
    ("ids: list[str] = []", "ids", ("a",)),
    ("ids: 'list[str]' = []", "ids", ["a"]),
    ("grades: dict[str, int] = {}", "grades", {"a": 1}),
    ("anything = None", "anything", [1, "x"]),
    ("a = b = 1", "b", 2),
]


@pytest.mark.parametrize(("source", "name", "value"), FITTING)
def test_a_value_of_the_declared_type_goes_in_as_it_is(source: str, name: str, value: Any) -> None:
    found = checked(source, **{name: value})[name]
    assert found == (list(value) if isinstance(value, tuple) else value)
    assert type(found) is (list if isinstance(value, tuple) else type(found))


UNFIT = [
    ('run_id = "007"', "run_id", 7),
    ("k = 10", "k", "1000"),
    ("k = 10", "k", True),
    ("k = 10", "k", 10.0),
    ("flag = False", "flag", "False"),
    ("flag = False", "flag", 0),
    ("share: float = 0.5", "share", float("nan")),
    ("share: float = 0.5", "share", "0.5"),
    ('mode: Literal["a", "b"] = "a"', "mode", "c"),
    ("ids: list[str] = []", "ids", "a"),
    ("ids: list[str] = []", "ids", [1]),
    ("note: str = ''", "note", None),
]


@pytest.mark.parametrize(("source", "name", "value"), UNFIT)
def test_another_value_is_refused_by_name(source: str, name: str, value: Any) -> None:
    with pytest.raises(BadInputError, match=f"parameter {name} does not take"):
        checked(source, **{name: value})


@pytest.mark.parametrize(
    "name", ["nots", "K", "k; import os", "_k", "k" * 65, "__class__", "k\nimport os", ""]
)
def test_a_name_is_one_that_the_cell_declares_and_nothing_but_a_name(name: str) -> None:
    source = f"k = 1\nK = 1\n_k = 1\n{'k' * 65} = 1"
    with pytest.raises(BadInputError, match="declares no parameter"):
        checked(source, **{name: 1})


def test_a_notebook_without_the_tag_takes_none() -> None:
    assert declared_parameters(notebook("k = 1")) == {}
    with pytest.raises(BadInputError, match=r"no parameter 'k' \(it declares: none\)"):
        check_parameters({}, {"k": 1})


@pytest.mark.parametrize(
    ("source", "finding"),
    [
        ("k: = 1", "no Python"),
        ("k: set[str] = set()", r"cannot be checked: set\[\.\.\.\]"),
        ("k: Path = Path('.')", "cannot be checked: Path"),
        ("k: list[Path] = []", "cannot be checked: Path"),
    ],
)
def test_a_cell_that_cannot_be_read_is_said(source: str, finding: str) -> None:
    with pytest.raises(BadInputError, match=finding):
        declared_parameters(notebook(source, "parameters"), where="x.ipynb")


def test_the_cell_is_never_run() -> None:
    source = "k = 1\nraise SystemExit\nopen('/nowhere/at/all', 'w')"
    assert declared_parameters(notebook(source, "parameters")) == {"k": int}
