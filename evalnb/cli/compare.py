"""``evalnb compare``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalnb.cli.output import note, print_json, show
from evalnb.errors import BadInputError
from evalnb.limits import HYPOTHESES

if TYPE_CHECKING:
    import pandas as pd

    from evalnb.api import Report
    from evalnb.comparison.gates import GateResult

MOST_PAIRS = 100


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare")(compare)


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
    max_hypotheses: Annotated[
        int, typer.Option(min=1, help="Bound of measures x candidates.")
    ] = HYPOTHESES,
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
    from evalnb.show.ablations import ablations_text

    if undecided not in ("fail", "warn"):
        raise BadInputError(f"--undecided is fail or warn, not {undecided!r}")
    if not gate and (junit or markdown):
        raise BadInputError("--junit and --markdown write gates, and none is given")
    _refuse_overwriting(reports, (junit, markdown))

    first, *others = [api.load_report(path) for path in reports]
    results = first.gates(*gate, baseline=baseline, others=others, alpha=alpha) if gate else ()
    variants = sum(len(report.record.variants) for report in (first, *others))
    compared = None
    if variants > 1 or not gate:
        compared = api.compare(
            first,
            *others,
            baseline=baseline,
            measures=measure,
            margin=margin,
            alpha=alpha,
            max_hypotheses=max_hypotheses,
        )
    ablations = [_ablations(report, measure) for report in (first, *others)]
    if as_json:
        print_json(
            {
                "comparisons": compared and json.loads(compared.frame().to_json(orient="records")),
                "changed": compared and json.loads(compared.changed().to_json(orient="records")),
                "ablations": [
                    row for each in ablations for row in json.loads(each.to_json(orient="records"))
                ],
                "gates": [asdict(result) for result in results],
            }
        )
    elif compared is not None:
        tables = filter(None, map(ablations_text, ablations))
        show("\n\n".join([str(compared).rstrip("\n"), *tables]) + "\n" * bool(results))
    _write_gates(results, junit=junit, markdown=markdown, quiet=as_json)
    if any(result.outcome == "failed" for result in results):
        raise typer.Exit(1)
    unsure = undecided == "fail" and any(r.outcome == "undecided" for r in results)
    if unsure or (compared is not None and not compared.frame()["n"].any()):
        raise typer.Exit(3)  # nothing, or not enough, could be compared, as the text says


def _refuse_overwriting(reports: Sequence[Path], outputs: Sequence[Path | None]) -> None:
    """Refuse to write gates over a report that is read, or over each other."""
    read = {path.resolve() for path in reports} | {(p / "report.json").resolve() for p in reports}
    written = [path.resolve() for path in outputs if path is not None]
    if over := next((path for path in written if path in read), None):
        raise BadInputError("a report stands there", where=str(over), remedy="write to a new file")
    if len(set(written)) < len(written):
        raise BadInputError("--junit and --markdown name the same file", where=str(written[0]))


def _ablations(report: Report, measures: list[str] | None) -> pd.DataFrame:
    """Pair what differs in one control; of a grid there are too many pairs to read or wait for."""
    from evalnb.comparison.ablation import ablation_frame, ablations

    pairs = ablations(report)
    if len(pairs) > MOST_PAIRS:
        note(f"{len(pairs):,} pairs differ in one control: see evalnb.comparison.ablation")
        pairs = ()
    return ablation_frame(report, *(measures or ())[:1], pairs=pairs)


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
