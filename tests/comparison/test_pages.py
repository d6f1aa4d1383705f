"""The pages about comparing run from top to bottom."""

from __future__ import annotations

import doctest
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from evalnb.cli.main import main

PYTHON = re.compile(r"^```python\n(.*?)^```", re.S | re.M)
SEARCH = """
def bm25(query, limit):
    return [(f"d{(int(query.split()[1]) + n) % 20}", 9.0 - n) for n in range(limit)]
def dense(query, limit):
    return [(f"d{(int(query.split()[1]) * 3 + n) % 20}", 1 / (n + 1)) for n in range(limit)]
search, search_v2 = bm25, bm25
"""


@pytest.mark.parametrize("name", ["tuning", "gates", "advice"])
def test_a_page_runs(
    name: str,
    project_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"question {n},d{(n * 2) % 20}\n" for n in range(12))
    Path("questions.csv").write_text(f"query,expected\n{rows}")
    names: dict[str, object] = {}
    exec(SEARCH + "\nimport evalnb as ev", names)
    if name == "advice":
        exec("ev.evaluate('questions.csv', {'a': search}).save('report.json')", names)
    for block in PYTHON.findall((project_dir / "docs" / f"{name}.md").read_text()):
        exec(compile(block, f"{name}.md", "exec"), names)
    if name == "gates":
        with pytest.raises(AssertionError, match=r"Success@5 is"):
            names["test_search_has_not_got_worse"]()  # type: ignore[operator]
    elif name == "tuning":
        assert "'hints': {'fusion':" in capsys.readouterr().out


def test_the_figures_of_disagreeing_tools(
    project_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    play_session: Callable[[str, Path], None],
) -> None:
    monkeypatch.chdir(tmp_path)
    page = project_dir / "docs" / "disagreements.md"
    found = doctest.testfile(str(page), module_relative=False)
    assert (found.failed, found.attempted > 50) == (0, True)
    (session,) = re.findall(r"```console\n(.*?)```", page.read_text(), re.S)
    play_session(session, tmp_path)


def test_the_workflow_passes_and_fails_with_its_gates(
    project_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (project_dir / "docs" / "gates.md").read_text()
    (workflow,) = re.findall(r"```yaml\n(.*?)```", page, re.S)
    (variants,) = re.findall(r"```json\n(.*?)```", page, re.S)
    steps = yaml.safe_load(workflow)["jobs"]["gates"]["steps"]
    commands = [step["run"] for step in steps if step.get("run", "").startswith("evalnb ")]
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    rows = "".join(f"question {n},d{n}\n" for n in range(8))
    Path("questions.csv").write_text(f"query,expected\n{rows}")
    Path("variants.json").write_text(variants)
    Path("searching.py").write_text(
        "def today(query):\n    return ['d' + query.split()[1]]\n"
        "def proposed(query):\n    return ['d1', *today(query)]\n"
    )
    assert main(["gold", "import", "questions.csv", "gold/questions"]) == 0
    evaluate, compare = (shlex.split(os.path.expandvars(each))[1:] for each in commands)
    assert main([*evaluate, "--no-notebooks"]) == 0
    assert main(compare) == 1
    assert "regressed" in Path("summary.md").read_text()
    assert ElementTree.parse("gates.xml").getroot().find("testsuite").get("failures") == "1"
