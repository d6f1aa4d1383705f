"""``evalnb lab`` before JupyterLab starts: the copy of the notebooks; tests/lab has the rest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def lab(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command as far as JupyterLab's own version."""
    command = [sys.executable, "-m", "evalnb", "lab", str(folder), "--version"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.slow
def test_the_copy_is_yours_and_stays_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "01_quickstart.ipynb").write_text("changed by me")
    done = lab(folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0] == f"notebooks: {folder}"
    names = sorted(path.name for path in folder.iterdir())
    assert {"01_quickstart.ipynb", "03_tuning.ipynb", "variant_report.ipynb"} <= set(names)
    assert all(name.endswith(".ipynb") for name in names)
    assert (folder / "01_quickstart.ipynb").read_text() == "changed by me"


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    closed = Path("/proc/notebooks")  # closed for root too
    if os.geteuid():
        closed = tmp_path / "closed"
        closed.mkdir(mode=0o555)
    done = lab(closed)
    assert done.returncode == 2
    assert f"{closed}: cannot be written to" in done.stderr
    assert "name a folder of your own: evalnb lab DIR" in done.stderr


@pytest.mark.parametrize("inside", [False, True])
def test_a_file_is_no_folder(tmp_path: Path, inside: bool) -> None:
    (tmp_path / "file").write_text("")
    done = lab(tmp_path / "file" / "notebooks" if inside else tmp_path / "file")
    assert done.returncode == 2
    assert "a file stands where its folder has to be" in done.stderr
