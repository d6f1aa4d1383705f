"""``evalnb explain``: one figure under the rules of several tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalnb.cli.output import print_json, show

if TYPE_CHECKING:
    from evalnb.comparison.explain import Explanation, Placed


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain")(explain)


def explain(
    report: Annotated[Path, typer.Argument(help="Report file or folder.")],
    *,
    case: Annotated[str, typer.Option(help="Id of the case.")],
    measure: Annotated[str, typer.Option("-m", "--measure", help="Such as nDCG@10.")],
    variant: Annotated[str | None, typer.Option(help="Only this variant.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Say what a figure of one case is made of, and which rule would change it."""
    from dataclasses import asdict

    from evalnb.api import load_report
    from evalnb.comparison.explain import explain_case
    from evalnb.evaluation.report import check_variant

    record = load_report(report).record
    names = [each.name for each in record.variants]
    if variant is not None:
        check_variant(variant, names)
    found = [
        each for each in explain_case(record, case, measure) if variant in (None, each.variant)
    ]
    if as_json:
        print_json([asdict(each) for each in found])
        return
    for each in found:
        show(_text(each))
    if not found and not record.kinds:
        show("N/A: the gold says nothing of what is right")
    elif not found:
        show("n/a: no variant answered this case")


def _text(found: Explanation) -> str:
    from evalnb.comparison.explain import deciding
    from evalnb.show.numbers import format_value
    from evalnb.show.tables import Cell, Column, Table, format_table
    from evalnb.show.text import one_line

    left = Column("because", right=False)
    readings = Table(
        (Column("rule", right=False), Column("value"), left),
        tuple((Cell(r.rule), Cell(format_value(r.value)), Cell(r.because)) for r in found.readings),
        "Readings",
    )
    hits = Table(
        (Column("rank"), Column("grade"), Column("id", right=False)),
        tuple(
            (
                Cell(str(hit.rank)),
                Cell("?" if hit.grade is None else str(hit.grade)),
                Cell(_named(hit) + " <- target" * hit.target),
            )
            for hit in found.hits
        ),
        "Hits",
    )
    rules = ", ".join(reading.rule for reading in deciding(found))
    lines = [
        f"{one_line(found.variant, 60)}: {found.measure} over {found.kind} ids",
        format_table(readings),
        _verdict(found, rules),
        format_table(hits) if found.hits else "nothing came back",
        *(f"missed: {one_line(key, 80)}" for key in found.missed),
    ]
    return "\n".join(lines) + "\n"


def _verdict(found: Explanation, rules: str) -> str:
    if all(reading.value is None for reading in found.readings):
        return f"N/A by every rule: no {found.kind} id of this case is labelled."
    return f"Another value by: {rules}." if rules else "Every rule gives the same value."


def _named(hit: Placed) -> str:
    from evalnb.show.text import one_line

    known = hit.document not in (None, hit.id)
    return one_line(hit.id, 80) + (f" ({one_line(str(hit.document), 60)})" if known else "")
