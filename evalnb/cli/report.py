"""``evalnb report``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalnb.cli.output import note, show
from evalnb.cli.report_folder import sole_writer
from evalnb.errors import BadInputError, EvalnbError

if TYPE_CHECKING:
    from evalnb.show.batch import Done
    from evalnb.show.index import Entry


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report)


def report(
    reports: Annotated[list[Path], typer.Argument(help="Report files or folders.")],
    *,
    out: Annotated[Path, typer.Option(help="Folder for notebooks and HTML.")],
    notebook: Annotated[
        list[str] | None, typer.Option(help="variant_report or case_drilldown; both unless given.")
    ] = None,
    baseline: Annotated[str, typer.Option(help="Variant to compare with.")] = "",
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Notebooks at once; one a processor unless given.")
    ] = None,
    runs: Annotated[
        bool, typer.Option("--runs", help="Write TREC judgements and run files instead.")
    ] = False,
) -> None:
    """Run the report notebooks over saved reports and export them to HTML.

    Several reports get a folder each and an index.html over all. What is there already, made from
    the same inputs, is left alone: a command that was stopped goes on.
    """
    from evalnb.gold.bundled import REPORT_NOTEBOOKS
    from evalnb.show.batch import Task, run_tasks
    from evalnb.show.index import write_index

    chosen = tuple(notebook or REPORT_NOTEBOOKS)
    if unknown := sorted(set(chosen) - set(REPORT_NOTEBOOKS)):
        raise BadInputError(
            f"no report notebook named {unknown[0]!r}",
            remedy=f"there are {', '.join(REPORT_NOTEBOOKS)}",
        )
    with sole_writer(out):
        entries, unread, errors = _readable(reports, out, baseline)
        if runs:
            _write_runs(entries)
        else:
            tasks = [Task(e.report, e.folder, name, baseline) for e in entries for name in chosen]
            done = []
            for each in run_tasks(tasks, jobs=jobs):
                done.append(each)
                note(f"{len(done)} of {len(tasks)}: {_told(each)}")
            errors += _failures(done, entries, single=len(reports) == 1)
            finished = {each.task for each in done if each.error is None}
            for task in (task for task in tasks if task in finished):
                for path in task.written:
                    show(str(path))
            if len(reports) > 1:
                show(str(write_index([*entries, *unread], out / "index.html")))
    if errors:
        raise typer.Exit(2 if 2 in errors else errors[0])


def _readable(
    reports: Sequence[Path], out: Path, baseline: str
) -> tuple[list[Entry], list[Entry], list[int]]:
    """Read every report before a kernel starts; one of several that is none stops no other.

    Returns
    -------
    tuple
        What was read, what was not, and the exit statuses of why not.
    """
    from evalnb.evaluation.report import load_report_record
    from evalnb.files import safe_file_name
    from evalnb.show.batch import report_file
    from evalnb.show.index import Entry
    from evalnb.show.reading import reading_of

    entries, unread, errors, taken = [], [], [], {"index.html"}
    for path in reports:
        # Several reports get a folder each, named after their own.
        place = (path.parent if path.name == "report.json" else path).resolve()
        own = name = place.name if place.is_dir() else place.stem
        for number in count(2):
            if name not in taken:
                break
            name = f"{own}-{number}"
        taken.add(name)
        try:
            record = load_report_record(report_file(path))
            if baseline:
                reading_of(record, baseline=baseline)
        except EvalnbError as error:
            if len(reports) == 1:
                raise
            note(f"{error.code}: {error}")
            errors.append(error.exit_status)
            unread.append(Entry.unread(error.message, name=name, report=path))
            continue
        folder = out if len(reports) == 1 else out / safe_file_name(name)
        entries.append(Entry.of(record, name=name, report=report_file(path), folder=folder))
    return entries, unread, errors


def _told(done: Done) -> str:
    page = done.task.written[1]
    how = "left as it was" if done.found else "failed" if done.error is not None else "written"
    return f"{page} {how}"


def _failures(done: Sequence[Done], entries: Sequence[Entry], *, single: bool) -> list[int]:
    """Say what failed; a single report's error is the command's own."""
    from evalnb.cli.main import refused

    errors = []
    for each in done:
        if each.error is None:
            continue
        if single:
            raise each.error
        if isinstance(each.error, EvalnbError):
            why = each.error.message
            note(f"{each.error.code}: {each.error}")
            errors.append(each.error.exit_status)
        else:  # a full disk, or a folder closed to us
            why = str(each.error.strerror)
            errors.append(refused(each.error))
        for entry in entries:
            if entry.folder == each.task.folder:
                entry.faults.append(why)
    return errors


def _write_runs(entries: Sequence[Entry]) -> None:
    from evalnb.api import load_report

    for entry in entries:
        for written in load_report(entry.report).save_runs(entry.folder):
            show(str(written))
