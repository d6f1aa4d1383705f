"""What must stay light loads nothing heavy, seen from a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("pandas", "scipy", "sklearn", "matplotlib", "papermill", "nbconvert", "IPython", "tantivy")

PROGRAM = """
import json, sys
{body}
print(json.dumps(sorted(set(sys.argv[1].split(",")) & set(sys.modules))), file=sys.stderr)
"""


def _loaded(body: str) -> list[str]:
    program = PROGRAM.format(body=body)
    done = subprocess.run(
        [sys.executable, "-c", program, ",".join(HEAVY)], capture_output=True, text=True, check=True
    )
    names: list[str] = json.loads(done.stderr.splitlines()[-1])
    return names


@pytest.fixture
def trec_files(tmp_path: Path) -> list[str]:
    qrels, run = tmp_path / "a.qrels", tmp_path / "a.run"
    qrels.write_text("q1 0 d1 1\n")
    run.write_text("q1 Q0 d2 1 2.0 t\nq1 Q0 d1 2 1.0 t\n")
    return [str(qrels), str(run)]


def test_importing_the_package() -> None:
    assert _loaded("import evalnb") == []


def test_help() -> None:
    assert _loaded("from evalnb.cli.main import main; assert main(['--help']) == 0") == []


def test_scoring_run_files(trec_files: list[str]) -> None:
    body = f"from evalnb.cli.main import main; assert main({['score', *trec_files]!r}) == 0"
    assert _loaded(body) == []


def test_a_heavy_import_would_be_seen() -> None:
    assert _loaded("import pandas") == ["pandas"]
