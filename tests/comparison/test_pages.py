"""The pages about comparing run from top to bottom."""

from __future__ import annotations

import doctest
import re
from collections.abc import Callable
from pathlib import Path

import pytest

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
