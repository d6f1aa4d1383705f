"""``evalnb compare`` and ``evalnb report``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalnb.cli.output import print_json, show
from evalnb.errors import BadInputError

if TYPE_CHECKING:
    from evalnb.comparison.gates import GateResult

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
    gate: Annotated[
        list[str] | None,
        typer.Option(help="What has to hold, such as 'regressed<=2'; may be repeated."),
    ] = None,
    undecided: Annotated[
        str, typer.Option(help="fail or warn: what a gate is that no test can decide.")
    ] = "fail",
    junit: Annotated[Path | None, typer.Option(help="Write the gates as a JUnit file.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the gates as Markdown.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Say which differences are real, which cases changed, and whether the gates hold.

    A gate that holds "on this set" is exact: MEASURE >= NUMBER, every MEASURE >= NUMBER,
    regressed<=N, must-pass CASE. One that holds "in general" is tested: MEASURE > baseline, or
    MEASURE > baseline - 0.02.
    """
    import json
    from dataclasses import asdict

    from evalnb import api

    if undecided not in ("fail", "warn"):
        raise BadInputError(f"--undecided is fail or warn, not {undecided!r}")
    if not gate and (junit or markdown):
        raise BadInputError("--junit and --markdown write gates, and none is given")

    first, *others = [api.load_report(path) for path in reports]
    results = first.gates(*gate, baseline=baseline, others=others, alpha=alpha) if gate else ()
    variants = sum(len(report.record.variants) for report in (first, *others))
    compared = None
    if variants > 1 or not gate:
        compared = api.compare(
            first, *others, baseline=baseline, measures=measure, margin=margin, alpha=alpha
        )
    if as_json:
        print_json(
            {
                "comparisons": compared and json.loads(compared.frame().to_json(orient="records")),
                "changed": compared and json.loads(compared.changed().to_json(orient="records")),
                "gates": [asdict(result) for result in results],
            }
        )
    elif compared is not None:
        show(str(compared) + "\n" * bool(results))
    _write_gates(results, junit=junit, markdown=markdown, quiet=as_json)
    if any(result.outcome == "failed" for result in results):
        raise typer.Exit(1)
    unsure = undecided == "fail" and any(r.outcome == "undecided" for r in results)
    if unsure or (compared is not None and not compared.frame()["n"].any()):
        raise typer.Exit(3)  # nothing, or not enough, could be compared, as the text says


def _write_gates(
    results: Sequence[GateResult], *, junit: Path | None, markdown: Path | None, quiet: bool
) -> None:
    from evalnb.files import write_file
    from evalnb.show.gates import gates_junit, gates_markdown, gates_text

    if results and not quiet:
        show(gates_text(results))
    if junit is not None:
        write_file(junit, gates_junit(results))
    if markdown is not None:
        write_file(markdown, gates_markdown(results).encode())


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
    for path in reports:
        _check_report(path, baseline)
    names: list[str] = []
    for path in reports:
        # Several reports get a folder each, named after their own.
        place = (path.parent if path.name == "report.json" else path).resolve()
        name = place.name if place.is_dir() else place.stem
        names.append(name)
        name = name if names.count(name) == 1 else f"{name}-{names.count(name)}"
        folder = out if len(reports) == 1 else out / safe_file_name(name)
        if runs:
            pages = load_report(path).save_runs(folder)
        else:
            pages = build_report_folder(path, folder, notebooks=chosen, baseline=baseline)
        for written in pages:
            show(str(written))


def _check_report(path: Path, baseline: str) -> None:
    """Refuse what is no report, and a baseline that is no variant, before a kernel starts."""
    from evalnb.evaluation.report import load_report_record
    from evalnb.show.reading import reading_of

    record = load_report_record(path)
    if baseline:
        reading_of(record, baseline=baseline)
