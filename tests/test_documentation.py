"""The documentation says what is true now."""

from __future__ import annotations

import importlib
import importlib.util
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer

from evalnb.cli.main import build_app

PROJECT = Path(__file__).resolve().parent.parent
PAGES = [
    *(PROJECT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *sorted((PROJECT / "docs").rglob("*.md")),
]


@pytest.fixture(scope="module")
def regenerate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("regenerate", PROJECT / "docs" / "regenerate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[str]:
    """Name every command, groups included, as it is typed after ``evalnb``."""
    yield " ".join(words)
    context = typer.Context(command)
    for name in getattr(command, "list_commands", lambda _: [])(context):
        yield from _commands(command.get_command(context, name), (*words, name))


def test_every_command_is_documented(regenerate: ModuleType) -> None:
    wanted = set(_commands(typer.main.get_command(build_app())))
    pasted = regenerate.pasted_commands((PROJECT / "docs" / "cli.md").read_text())
    assert sorted(pasted) == sorted(wanted)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_pasted_help_is_current(
    page: Path, regenerate: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = page.read_text()
    assert regenerate.regenerated(text) == text, "run `make docs`"


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        other = page.parent / name if name else page
        assert other.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", other.read_text(), re.M)
            assert anchor in map(_anchor, headings), target


def test_the_newest_change_is_this_version() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    headings = re.findall(r"^## (\S+)", (PROJECT / "CHANGELOG.md").read_text(), re.M)
    released = [heading for heading in headings if heading != "Unreleased"]
    assert released[0] == project["version"]


def test_readme_is_what_the_distribution_shows() -> None:
    """Everything named as a path in the README exists, so it can be followed offline."""
    text = (PROJECT / "README.md").read_text()
    for name in re.findall(r"`((?:docs|gold|notebooks|benchmarks)/[\w./-]*)`", text):
        assert (PROJECT / name).exists(), name


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("evaluation.frames", "SCORE_COLUMNS"),
        ("evaluation.frames", "AGGREGATE_COLUMNS"),
        ("evaluation.frames", "HIT_COLUMNS"),
        ("evaluation.costs", "COST_COLUMNS"),
        ("comparison.rows", "COMPARISON_COLUMNS"),
    ],
)
def test_frames_have_the_documented_columns(module: str, name: str) -> None:
    columns = getattr(importlib.import_module(f"evalnb.{module}"), name)
    documented = (PROJECT / "docs" / "report.md").read_text().splitlines()
    assert f"    {', '.join(columns)}" in documented
