"""environment.yml and pyproject.toml ask for the same things."""

from __future__ import annotations

import ast
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from rattler import MatchSpec

PARTS = {"pydantic_core": "pydantic"}  # one library in two distributions, pinned to each other
CONDA_NAMES = {"tantivy": "tantivy-py"}  # where conda-forge names a package differently


@pytest.fixture(scope="module")
def project(project_dir: Path) -> dict[str, Any]:
    return tomllib.loads((project_dir / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def environment(project_dir: Path) -> dict[str, Any]:
    return yaml.safe_load((project_dir / "environment.yml").read_text())


def _conda_specs(environment: dict[str, Any]) -> dict[str, str]:
    specs = [MatchSpec(e, strict=True) for e in environment["dependencies"] if isinstance(e, str)]
    return {spec.name.normalized: str(spec.version or "") for spec in specs}


def test_the_same_packages_and_bounds(project: dict[str, Any], environment: dict[str, Any]) -> None:
    wanted = {"pip": "", "python": project["requires-python"]}
    for text in project["dependencies"]:
        requirement = Requirement(text)
        name = canonicalize_name(requirement.name)
        wanted[CONDA_NAMES.get(name, name)] = str(requirement.specifier)
    assert _conda_specs(environment) == wanted


def test_the_package_itself_comes_from_this_folder(environment: dict[str, Any]) -> None:
    (pip,) = [entry for entry in environment["dependencies"] if isinstance(entry, dict)]
    assert pip == {"pip": ["-e ."]}
    assert environment["channels"] == ["conda-forge"]


@pytest.fixture(scope="module")
def third_party_imports(project_dir: Path) -> set[str]:
    found: set[str] = set()
    for path in (project_dir / "evalnb").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split(".")[0])
    foreign = found - sys.stdlib_module_names - {"evalnb"}
    homes = packages_distributions()
    return {PARTS.get(name, homes.get(name, [name])[0]) for name in foreign}


def test_every_third_party_import_is_declared(
    project: dict[str, Any], third_party_imports: set[str]
) -> None:
    """Nothing is used only because another package happens to bring it along."""
    named = project["dependencies"] + [
        text for extra in project["optional-dependencies"].values() for text in extra
    ]
    declared = {canonicalize_name(Requirement(text).name) for text in named}
    missing = {n for n in third_party_imports if canonicalize_name(n) not in declared}
    assert not missing
