"""The public names: few, sorted, resolvable, and the same for a type checker."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import evalnb


def test_names_are_sorted_and_complete() -> None:
    assert evalnb.__all__ == sorted(set(evalnb.__all__))
    assert set(evalnb.__all__) < set(dir(evalnb))


@pytest.mark.parametrize("name", evalnb.__all__)
def test_every_name_resolves_and_says_what_it_is(name: str) -> None:
    value = getattr(evalnb, name)
    assert value.__doc__
    assert getattr(evalnb, name) is value


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'evalnb' has no attribute 'evaluat'"):
        evalnb.evaluat  # noqa: B018


def test_type_checkers_see_the_same_names(project_dir: Path) -> None:
    tree = ast.parse((project_dir / "evalnb" / "__init__.py").read_text())
    (guard,) = [node for node in tree.body if isinstance(node, ast.If)]
    typed = {a.name for node in guard.body if isinstance(node, ast.ImportFrom) for a in node.names}
    assert typed == set(evalnb.__all__)


def test_a_star_import_brings_the_public_names_alone() -> None:
    program = "before = set(dir()); from evalnb import *; print(sorted(set(dir()) - before))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ast.literal_eval(done.stdout) == sorted([*evalnb.__all__, "before"])
