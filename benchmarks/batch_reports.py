"""How long many reports take, against running papermill and nbconvert over them one by one.

``python benchmarks/batch_reports.py [reports [rounds]]`` alternates both over the same reports (24,
once), and prints the ratio of each round: against the two command lines, as a shell loop calls
them, and against their functions in one process. Exit status 1 if a round takes more than half of
the time of the command lines.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from html_export import evaluated

from evalnb.evaluation.report import save_report
from evalnb.gold.bundled import bundled_notebook

BOUND = 0.5
CASES, VARIANTS = 40, 3
IN_ONE_PROCESS = """
import sys
from pathlib import Path
import papermill
from nbconvert.exporters import HTMLExporter
notebook, out, *reports = sys.argv[1:]
for number, report in enumerate(reports):
    made = f"{out}/{number}.ipynb"
    papermill.execute_notebook(notebook, made, {"report_path": report}, progress_bar=False)
    Path(made).with_suffix(".html").write_text(HTMLExporter().from_filename(made)[0])
"""


def main() -> int:
    given = [int(value) for value in sys.argv[1:]]
    n_reports, rounds = [*given, *(24, 1)[len(given) :]]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        reports = [root / f"report-{at}" / "report.json" for at in range(n_reports)]
        for at, path in enumerate(reports):
            path.parent.mkdir()
            save_report(evaluated(CASES + at, VARIANTS), path)
        ways = {"ours": ours, "command lines": command_lines, "one process": one_process}
        status = 0
        for _ in range(rounds):
            took = {name: seconds(run, reports, root / "out") for name, run in ways.items()}
            ratio = took["ours"] / took["command lines"]
            print(
                f"{n_reports} reports: {took['ours']:.1f} s; command lines "
                f"{took['command lines']:.1f} s ({ratio:.2f}x); one process "
                f"{took['one process']:.1f} s ({took['ours'] / took['one process']:.2f}x)",
                flush=True,
            )
            status |= ratio > BOUND
    return status


def seconds(run: Callable[[list[Path], Path], None], reports: list[Path], out: Path) -> float:
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    began = time.perf_counter()
    run(reports, out)
    return time.perf_counter() - began


def ours(reports: list[Path], out: Path) -> None:
    called(sys.executable, "-m", "evalnb", "report", *reports, "--out", out, *ONE_NOTEBOOK)


ONE_NOTEBOOK = ("--notebook", "variant_report")


def command_lines(reports: list[Path], out: Path) -> None:
    for at, report in enumerate(reports):
        made = out / f"{at}.ipynb"
        called(
            *(sys.executable, "-m", "papermill", bundled_notebook("variant_report"), made),
            *("-r", "report_path", report, "--no-progress-bar"),
        )
        called(sys.executable, "-m", "nbconvert", "--to", "html", made)


def one_process(reports: list[Path], out: Path) -> None:
    called(sys.executable, "-c", IN_ONE_PROCESS, bundled_notebook("variant_report"), out, *reports)


def called(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], check=True, capture_output=True)


if __name__ == "__main__":
    sys.exit(main())
