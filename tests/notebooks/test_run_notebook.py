"""A real kernel, and every way in which a run can look finished without being so."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from evalnb.errors import BadInputError, NotebookError, NotFoundError
from evalnb.show.notebooks import run_notebook
from evalnb.show.runner import NotebookRunner

pytestmark = pytest.mark.notebook

WriteNotebook = Callable[..., Path]


def printed(notebook: Path) -> str:
    cells = json.loads(notebook.read_text())["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return "".join("".join(output.get("text", "")) for output in outputs)


def kernels() -> set[int]:
    """Return the kernels that run from this interpreter's environment."""
    return {
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if "ipykernel_launcher" in (process.info["cmdline"] or [])
    }


def wait_for(condition: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come in time"
        time.sleep(0.1)


def test_a_finished_notebook_is_published_with_its_typed_parameters(
    write_notebook: WriteNotebook, tmp_path: Path
) -> None:
    path = write_notebook(
        "print(repr((run_id, k, ver, flag, note, mode, ids, share)))",
        parameters=(
            'run_id = "a"\nk = 10\nver: str = ""\nflag: bool = True\nnote: None | str = None\n'
            'mode: Literal["a", "b"] = "a"\nids: list[str] = []\nshare: float = 0'
        ),
    )
    source = path.read_text()
    # Names the annotation needs are the notebook's own business; here they are imported first.
    path.write_text(source.replace("run_id = ", "from typing import Literal\\nrun_id = "))
    given = {
        "run_id": "007",
        "k": 1000,
        "ver": "1.10",
        "flag": False,
        "note": 'x"; print("no")\\',
        "mode": "b",
        "ids": ["0710", "$HOME {k}"],
        "share": 0.5,
    }
    out = tmp_path / "out {k}"  # braces in a folder's name are only braces
    finished = run_notebook(path, out, given, timeout_s=60)
    assert finished == out / "sample.ipynb"
    assert printed(finished) == repr(tuple(given.values())) + "\n"
    assert stat.S_IMODE(finished.stat().st_mode) == 0o644
    assert [entry.name for entry in out.iterdir()] == ["sample.ipynb"]
    assert str(tmp_path) not in finished.read_text()


FAULTS = {
    "raises": (
        ["print('before')", "1 / 0", "print('after')"],
        r"code cell 2 \(1 / 0\) raised Zero",
    ),
    "exits with 0": (["print('before')", "import sys; sys.exit(0)"], "raised SystemExit: 0"),
    "a magic fails": (
        ["print('before')", "%%bash\nexit 3", "print('after')"],
        "CalledProcessError",
    ),
    "kernel killed": (["print('before')", "import os; os.kill(os.getpid(), 9)"], "exit status"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_an_unfinished_notebook_is_evidence_and_nothing_else(
    name: str, write_notebook: WriteNotebook, tmp_path: Path
) -> None:
    cells, finding = FAULTS[name]
    out = tmp_path / "out"
    with pytest.raises(NotebookError, match=finding) as raised:
        run_notebook(write_notebook(*cells), out, timeout_s=60)
    evidence = out / "failed" / "sample.ipynb"
    assert raised.value.where == str(evidence)
    assert sorted(p.relative_to(out).as_posix() for p in out.rglob("*")) == [
        "failed",
        "failed/sample.ipynb",
    ]
    assert "before" in printed(evidence)
    assert "after" not in printed(evidence)


@pytest.mark.slow
def test_a_run_past_its_time_leaves_no_kernel_and_no_earlier_report_is_lost(
    write_notebook: WriteNotebook, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "sample.ipynb").write_text("an earlier one")
    # The match never returns to Python, so the kernel hears no interrupt.
    path = write_notebook("print('before')", "import re; re.match('(a+)+$', 'a' * 64 + 'b')")
    before = kernels()
    with pytest.raises(
        NotebookError, match=r"code cell 2 \(import re;.* was not done when the 2 s"
    ):
        run_notebook(path, out, timeout_s=2)
    assert kernels() <= before
    assert (out / "sample.ipynb").read_text() == "an earlier one"
    assert "before" in printed(out / "failed" / "sample.ipynb")


@pytest.mark.slow
def test_a_killed_parent_leaves_no_kernel(write_notebook: WriteNotebook, tmp_path: Path) -> None:
    before, out = kernels(), tmp_path / "out"
    path = write_notebook("open('started', 'w').close()", "import time\ntime.sleep(600)")
    run = "import sys; from evalnb.show.notebooks import run_notebook; run_notebook(*sys.argv[1:])"
    with subprocess.Popen([sys.executable, "-c", run, path, out]) as parent:
        wait_for((out / "started").exists, 60)
        parent.kill()
    wait_for(lambda: kernels() <= before, 20)
    wait_for(lambda: [p.name for p in out.iterdir()] == ["started"], 20)


@pytest.mark.slow
def test_a_killed_runner_is_replaced(write_notebook: WriteNotebook, tmp_path: Path) -> None:
    before = kernels()
    kill = "import psutil; psutil.Process().parent().parent().kill()\nimport time\ntime.sleep(600)"
    with NotebookRunner() as runner:
        with pytest.raises(NotebookError, match="exit status 1"):
            run_notebook(write_notebook(kill, name="killer"), tmp_path, runner=runner)
        assert kernels() <= before
        for name in ("first", "second"):
            path = write_notebook(f"print('{name}')", name=name)
            assert printed(run_notebook(path, tmp_path, runner=runner)) == f"{name}\n"


def test_an_unknown_kernel_publishes_nothing(write_notebook: WriteNotebook, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(NotebookError, match="No such kernel named fortran"):
        run_notebook(write_notebook("print(1)", kernel="fortran"), out, timeout_s=60)
    assert not (out / "sample.ipynb").exists()


@pytest.mark.slow
def test_output_under_load_is_whole(write_notebook: WriteNotebook, tmp_path: Path) -> None:
    path = write_notebook(
        "import sys\nfor i in range(2000):\n    sys.stdout.write('0' * 100)\n"
        "    sys.stdout.flush()\nprint('hi')"
    )
    text = printed(run_notebook(path, tmp_path / "out", timeout_s=100))
    assert text.endswith("hi\n")
    assert len(text) == 200_000 + len("hi\n")


@pytest.mark.parametrize(
    ("given", "finding"),
    [
        ({"nots": "x"}, r"no parameter 'nots' \(it declares: note, k\)"),
        ({"k": "7"}, "parameter k does not take '7'"),
        ({"k": True}, "parameter k does not take True"),
        ({"k": 1.5}, "parameter k does not take 1.5"),
        ({"note": 7}, "parameter note does not take 7"),
        ({"__import__('os')": 1}, "no parameter"),
    ],
)
def test_an_unfit_parameter_is_refused_before_any_kernel(
    given: dict[str, Any], finding: str, write_notebook: WriteNotebook, tmp_path: Path
) -> None:
    path = write_notebook("1 / 0", parameters='note: str = ""\nk: int = 1')
    with pytest.raises(BadInputError, match=finding):
        run_notebook(path, tmp_path / "out", given)
    assert not (tmp_path / "out").exists()


def test_what_is_no_notebook_is_said(tmp_path: Path) -> None:
    file = tmp_path / "x.ipynb"
    with pytest.raises(NotFoundError, match="no such notebook"):
        run_notebook(file, tmp_path)
    file.write_text('{"cells": 3}')
    with pytest.raises(BadInputError, match="no list of cells"):
        run_notebook(file, tmp_path)
    with pytest.raises(NotFoundError, match=r"nothing named 'nb\.ipynb' travels"):
        run_notebook("nb", tmp_path)
