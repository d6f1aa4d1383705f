"""The folder of ``--out``: one run at a time writes to it, and nothing of another report stays."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from evalnb.errors import BadInputError, BusyError, EvalnbError

if TYPE_CHECKING:
    from evalnb.api import Comparison, Report


@contextmanager
def sole_writer(out: Path | None) -> Iterator[None]:
    """Be the only run that writes to a folder; the lock ends with the process."""
    if out is None:
        yield
        return
    from evalnb.files import clear_unfinished, lock

    made = not out.exists()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise BadInputError("a file stands where its folder has to be", where=str(out)) from None
    folder = os.open(out, os.O_RDONLY)
    try:
        busy = BusyError(
            "another run is writing to this folder",
            where=str(out),
            remedy="wait for it, or choose another folder",
        )
        lock(folder, busy)
        clear_unfinished(out)
        yield
    except (EvalnbError, KeyboardInterrupt):
        if made:
            with suppress(OSError):  # a refused or interrupted run leaves no empty folder
                out.rmdir()
        raise
    finally:
        os.close(folder)


def write_folder(
    report: Report, comparison: Comparison | None, out: Path, *, notebooks: bool
) -> dict[str, Path]:
    """Write a report folder: report.json, both tables, and the notebooks with their HTML.

    What an earlier report left there goes first: a page must never stand beside the figures of
    another run.
    """
    from evalnb.gold.bundled import REPORT_NOTEBOOKS
    from evalnb.show.batch import build_report_folder
    from evalnb.show.tables import write_csv

    paths = {"report": save_into(report, out)}
    pages = [f"{name}.{ending}" for name in REPORT_NOTEBOOKS for ending in ("html", "ipynb")]
    for name in ("scores.csv", "comparison.csv", *pages):
        (out / name).unlink(missing_ok=True)
    paths["scores"] = write_csv(report.frame(), out / "scores.csv")
    if comparison is not None:
        paths["comparison"] = comparison.save(out / "comparison.csv")
    if notebooks:
        for path in build_report_folder(paths["report"], out):
            paths[path.name] = path
    return paths


def save_into(report: Report, out: Path) -> Path:
    """Write report.json, and add the run to the folder's history."""
    from evalnb.evaluation.history import remember

    path = report.save(out / "report.json")
    remember(report.record, out)
    return path
