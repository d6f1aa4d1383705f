"""Reports by the dozen: side by side in processes, what is finished left alone, an index of all."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from queue import SimpleQueue

from evalnb.errors import EvalnbError, NotebookError, NotFoundError
from evalnb.gold.bundled import REPORT_NOTEBOOKS, bundled_notebook
from evalnb.show.html import page_facts
from evalnb.show.notebooks import TIMEOUT_S, run_notebook
from evalnb.show.runner import NotebookRunner

_PACKAGE = Path(__file__).resolve().parents[1]
_CODE = frozenset({".py", ".css", ".js", ".j2"})

Told = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Task:
    """One notebook over one report, and the folder that gets both files of it."""

    report: Path
    folder: Path
    notebook: str
    baseline: str = ""

    @property
    def written(self) -> tuple[Path, Path]:
        """The notebook and the page."""
        return (self.folder / f"{self.notebook}.ipynb", self.folder / f"{self.notebook}.html")

    def inputs(self) -> str:
        """Digest everything that decides what the page says."""
        parts = [
            _code_digest(),
            bundled_notebook(self.notebook).read_bytes(),
            self.baseline.encode(),
            os.path.relpath(self.report, self.folder).encode(),
            self.report.read_bytes(),
        ]
        return hashlib.sha256(b"".join(hashlib.sha256(p).digest() for p in parts)).hexdigest()


@dataclass(frozen=True, slots=True)
class Done:
    """How a task ended: made now, found finished, or with an error."""

    task: Task
    found: bool = False
    error: EvalnbError | OSError | None = None


@cache
def _code_digest() -> bytes:
    files = sorted(path for path in _PACKAGE.rglob("*") if path.suffix in _CODE)
    digest = hashlib.sha256()
    for path in files:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.digest()


def report_file(path: str | Path) -> Path:
    """Find the report in a folder; a file is one itself.

    Raises
    ------
    NotFoundError
        If there is none.
    """
    report = Path(path)
    report = report / "report.json" if report.is_dir() else report
    if not report.is_file():
        raise NotFoundError(
            "no report here", where=str(report), remedy="evalnb evaluate ... --out DIR writes one"
        )
    return report


def build_report_folder(
    report_path: str | Path,
    out: str | Path,
    *,
    notebooks: Sequence[str] = REPORT_NOTEBOOKS,
    baseline: str = "",
    timeout_s: float = TIMEOUT_S,
) -> list[Path]:
    """Run the report notebooks over a saved report, and export each to HTML beside it.

    Parameters
    ----------
    report_path
        A report file, or the folder that holds a report.json.
    out
        The folder; notebooks refer to the report by its path from there.

    Raises
    ------
    NotFoundError
        If there is no report or no notebook of that name.
    NotebookError
        If one does not finish; what the others published stays.
    """
    report, folder = report_file(report_path), Path(out)
    tasks = [Task(report, folder, name, baseline) for name in notebooks]
    for done in sorted(run_tasks(tasks, timeout_s=timeout_s), key=lambda d: tasks.index(d.task)):
        if done.error is not None:
            raise done.error
    return [path for task in tasks for path in task.written]


def run_tasks(
    tasks: Sequence[Task], *, jobs: int | None = None, timeout_s: float = TIMEOUT_S
) -> Iterator[Done]:
    """Run notebooks side by side; yield each as it ends, whatever became of the others.

    Parameters
    ----------
    jobs
        How many at once: as many as there are processors unless given.
    timeout_s
        Seconds for each, counted from its first cell.
    """
    jobs = min(jobs or os.cpu_count() or 1, len(tasks)) or 1
    runners = [NotebookRunner() for _ in range(jobs)]
    idle: SimpleQueue[NotebookRunner] = SimpleQueue()
    ended: SimpleQueue[Done] = SimpleQueue()
    for runner in runners:
        idle.put(runner)

    def work(task: Task) -> None:
        runner = idle.get()
        try:
            ended.put(_run(task, runner, timeout_s))
        except BaseException:
            ended.put(Done(task, error=NotebookError(f"{task.notebook} was not run")))
            raise
        finally:
            idle.put(runner)

    pool = ThreadPoolExecutor(jobs)
    try:
        futures = [pool.submit(work, task) for task in tasks]
        for _ in tasks:
            yield ended.get()
        for future in futures:
            future.result()  # a fault of our own is not a result
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for runner in runners:
            runner.close()
        pool.shutdown()


def _run(task: Task, runner: NotebookRunner, timeout_s: float) -> Done:
    done = Done(task)
    try:
        inputs = task.inputs()
        notebook, page = task.written
        if notebook.is_file() and page_facts(page).get("evalnb-inputs") == inputs:
            return replace(done, found=True)
        parameters = {
            "report_path": os.path.relpath(task.report, task.folder),
            "baseline": task.baseline,
        }
        run_notebook(task.notebook, task.folder, parameters, timeout_s=timeout_s, runner=runner)
        job = {"notebook": str(notebook), "html": str(page), "inputs": inputs}
        status, complaint = runner.run(job, timeout_s)
        if status != 0:
            said = complaint.partition(": ")[2] or f"exit status {status}"
            raise NotebookError(f"{page.name} was not written: {said}", where=str(notebook))
    except (EvalnbError, OSError) as error:
        return replace(done, error=error)
    return done
