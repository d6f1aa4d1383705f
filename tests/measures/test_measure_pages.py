"""Every measure has a page, made of its docstring, and what the page shows is true."""

from __future__ import annotations

import doctest
import runpy
from pathlib import Path

from evalnb.measures.names import FAMILIES, parse_measure


def test_pages_are_current(project_dir: Path) -> None:
    wanted = runpy.run_path(str(project_dir / "docs" / "regenerate.py"))["measure_pages"]()
    written = {path: path.read_text() for path in (project_dir / "docs" / "measures").iterdir()}
    assert written == wanted, "run `make docs`"
    assert {path.stem for path in written} == FAMILIES.keys()


def test_pages_are_true(project_dir: Path) -> None:
    examples = 0
    for page in (project_dir / "docs" / "measures").iterdir():
        found = doctest.testfile(str(page), module_relative=False)
        assert found.failed == 0, page.name
        examples += found.attempted > 0
        (asked,) = (line for line in page.read_text().splitlines() if line.startswith("- Asked"))
        for form in asked.split("`")[1::2]:
            assert str(parse_measure(form)) == form
    assert examples >= 9
