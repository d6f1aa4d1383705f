"""Imports run one way along the spine, and heavy libraries stay in their homes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "evalnb"

# Lowest first; modules of one row may import each other only within their own package.
LAYERS = (
    {"errors", "limits", "wording", "files", "strict_json"},
    {"search"},
    {"gold"},
    {"measures"},
    {"workspace", "systems"},
    {"evaluation"},
    {"comparison"},
    {"show"},
    {"service"},
    {"api", "views", "wiring", "__init__"},
    {"cli", "__main__", "testing"},
)
RANK = {name: rank for rank, row in enumerate(LAYERS) for name in row}
DOORS = {"workspace", "systems"}  # what only the wiring may reach from above
WIRING = {"service", "api", "views", "wiring", "__init__", "cli", "__main__"}

HOMES = {
    "matplotlib": ("show.charts",),
    "ipywidgets": ("show.widgets",),
    "anywidget": ("show.widgets",),
    "papermill": ("show",),
    "nbconvert": ("show",),
    "sqlite3": ("workspace", "evaluation.cache", "service"),
    "tantivy": ("workspace",),
    "onnxruntime": ("workspace.encoders", "workspace.rerank"),
    "tokenizers": ("workspace.encoders", "workspace.rerank"),
    "sklearn": ("workspace", "comparison.tuning"),
    "psycopg": ("systems.postgres",),
    "fastapi": ("service.http",),
    "distributed": ("evaluation.cluster",),
    "openpyxl": ("gold.tabular",),
    "typer": ("cli",),
    "pandas": ("gold.tabular", "evaluation.frames", "comparison", "show", "api", "views", "cli"),
}
NEVER_ON_IMPORT = {"pandas", "scipy", "sklearn", "pyarrow", "papermill", "nbconvert"}


@dataclass(frozen=True)
class Import:
    """One import statement: who, what, where, and whether it runs when the module loads."""

    importer: str
    target: str
    line: int
    on_load: bool
    typing_only: bool


def _module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _targets(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    assert node.level == 0, f"relative import on line {node.lineno}"
    module = node.module or ""
    if module == "evalnb":
        return [f"evalnb.{alias.name}" for alias in node.names]
    return [module]


def _walk(
    node: ast.AST, importer: str, *, on_load: bool = True, typing_only: bool = False
) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        guard = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        if isinstance(child, ast.Import | ast.ImportFrom):
            for target in _targets(child):
                yield Import(importer, target, child.lineno, on_load, typing_only)
        yield from _walk(
            child,
            importer,
            on_load=on_load and not inside,
            typing_only=typing_only or guard,
        )


IMPORTS = [
    found
    for path in sorted(PACKAGE.rglob("*.py"))
    for found in _walk(ast.parse(path.read_text()), _module_name(path))
]


def _own(target: str) -> str | None:
    """Name the layer of one of our modules; the version is anybody's, a public verb the root's."""
    root, _, rest = target.partition(".")
    if root != "evalnb" or rest == "__version__":
        return None
    top = rest.partition(".")[0]
    return top if top in RANK else "__init__"


def _place(found: Import) -> str:
    return f"evalnb/{found.importer.replace('.', '/')}.py:{found.line} imports {found.target}"


def test_every_module_has_a_layer() -> None:
    tops = {_module_name(path).partition(".")[0] for path in PACKAGE.rglob("*.py")}
    assert tops <= set(RANK)


def test_imports_run_downwards() -> None:
    wrong = []
    for found in IMPORTS:
        target, importer = _own(found.target), found.importer.partition(".")[0]
        if target is None or target == importer:
            continue
        same_row_of_files = RANK[target] == RANK[importer] and RANK[target] in (0, 9, 10)
        if RANK[target] >= RANK[importer] and not same_row_of_files:
            wrong.append(_place(found))
    assert not wrong


def test_only_the_wiring_reaches_workspace_and_systems_from_above() -> None:
    wrong = [
        _place(found)
        for found in IMPORTS
        if _own(found.target) in DOORS and found.importer.partition(".")[0] not in DOORS | WIRING
    ]
    assert not wrong


@pytest.mark.parametrize("library", sorted(HOMES))
def test_heavy_imports_stay_in_their_homes(library: str) -> None:
    strays = [
        _place(found)
        for found in IMPORTS
        if found.target.partition(".")[0] == library
        and not found.typing_only
        and not any(
            found.importer == home or found.importer.startswith(f"{home}.")
            for home in HOMES[library]
        )
    ]
    assert not strays


def test_the_heaviest_are_loaded_when_used() -> None:
    eager = [
        _place(found)
        for found in IMPORTS
        if found.target.partition(".")[0] in NEVER_ON_IMPORT
        and found.on_load
        and not found.typing_only
    ]
    assert not eager


def test_command_modules_load_nothing_but_typer_and_errors() -> None:
    light = {"errors", "limits", "cli"}
    heavy = [
        _place(found)
        for found in IMPORTS
        if found.importer.partition(".")[0] == "cli"
        and found.on_load
        and not found.typing_only
        and _own(found.target) not in light | {None}
    ]
    assert not heavy


def test_the_reader_sees_an_upward_import() -> None:
    """The checks above would notice: every form of import is read, with its circumstances."""
    source = (
        "from evalnb.show import charts\n"
        "if TYPE_CHECKING:\n    import pandas as pd\n"
        "def f():\n    import sklearn.svm\n    from evalnb import api, errors\n"
    )
    found = list(_walk(ast.parse(source), "gold.tabular"))
    assert [(f.target, f.on_load, f.typing_only) for f in found] == [
        ("evalnb.show", True, False),
        ("pandas", True, True),
        ("sklearn.svm", False, False),
        ("evalnb.api", False, False),
        ("evalnb.errors", False, False),
    ]
    assert [_own(f.target) for f in found] == ["show", None, None, "api", "errors"]
