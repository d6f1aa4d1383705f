"""``evalnb compare`` and ``evalnb report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalnb.cli.output import print_json, show
from evalnb.errors import BadInputError

NOTEBOOKS = ("variant_report", "case_drilldown")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("compare")(compare)
    app.command("report")(report)


def compare(
    reports: Annotated[list[Path], typer.Argument(help="Report files or folders.")],
    *,
    baseline: Annotated[str, typer.Option(help="Variant that the others are compared with.")],
    measure: Annotated[
        list[str] | None, typer.Option("-m", "--measure", help="Measure; may be repeated.")
    ] = None,
    margin: Annotated[
        float | None, typer.Option(help="Differences inside +-margin count as equivalent.")
    ] = None,
    alpha: Annotated[float, typer.Option(help="Error rate over all hypotheses.")] = 0.05,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Say which differences are real, and which cases changed."""
    import json

    from evalnb import api

    first, *others = [api.load_report(path) for path in reports]
    compared = api.compare(
        first, *others, baseline=baseline, measures=measure, margin=margin, alpha=alpha
    )
    if as_json:
        print_json(
            {
                "comparisons": json.loads(compared.frame().to_json(orient="records")),
                "changed": json.loads(compared.changed().to_json(orient="records")),
            }
        )
    else:
        show(str(compared))
    if not compared.frame()["n"].any():
        raise typer.Exit(3)  # nothing could be compared, as the text says


def report(
    reports: Annotated[list[Path], typer.Argument(help="Report files or folders.")],
    *,
    out: Annotated[Path, typer.Option(help="Folder for notebooks and HTML.")],
    notebook: Annotated[
        list[str] | None, typer.Option(help="variant_report or case_drilldown; both unless given.")
    ] = None,
    baseline: Annotated[str, typer.Option(help="Variant to compare with.")] = "",
    runs: Annotated[
        bool, typer.Option("--runs", help="Write TREC judgements and run files instead.")
    ] = False,
) -> None:
    """Run the report notebooks over saved reports and export them to HTML."""
    from evalnb.api import load_report
    from evalnb.files import safe_file_name
    from evalnb.show.notebooks import build_report_folder

    chosen = tuple(notebook or NOTEBOOKS)
    if unknown := sorted(set(chosen) - set(NOTEBOOKS)):
        raise BadInputError(
            f"no report notebook named {unknown[0]!r}", remedy=f"there are {', '.join(NOTEBOOKS)}"
        )
    if baseline:
        for path in reports:
            _check_baseline(path, baseline)
    for path in reports:
        # Several reports get a folder each, named after their own.
        name = path.name if path.is_dir() else path.stem
        folder = out if len(reports) == 1 else out / safe_file_name(name)
        if runs:
            pages = load_report(path).save_runs(folder)
        else:
            pages = build_report_folder(path, folder, notebooks=chosen, baseline=baseline)
        for written in pages:
            show(str(written))


def _check_baseline(path: Path, baseline: str) -> None:
    """Refuse a baseline that is no variant before a kernel starts."""
    from evalnb.evaluation.report import load_report_record
    from evalnb.show.reading import reading_of

    reading_of(load_report_record(path), baseline=baseline)
