"""``evalnb power`` and ``evalnb audit``: what can be known before, and from two means alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalnb.cli.output import print_json, show

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
SpreadOption = Annotated[
    list[float] | None,
    typer.Option(help="Standard deviation of a case's difference; may be repeated."),
]
LEGEND = (
    "Spread: the standard deviation of a case's difference between two variants; about .10 between "
    "settings of one system, .20 between systems by nDCG@10, .40 by RR@10 of one right answer."
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("power")(power)
    app.command("audit")(audit)


def power(
    gold: Annotated[Path, typer.Argument(help="Gold directory, or any file of gold.")],
    *,
    split: Annotated[str, typer.Option(help="development or test.")] = "development",
    difference: Annotated[float, typer.Option(help="Difference that is wanted to show.")] = 0.02,
    spread: SpreadOption = None,
    alpha: Annotated[float, typer.Option(help="Error rate of the test.")] = 0.05,
    as_json: JsonOption = False,
) -> None:
    """Say what a gold set can show, before anything is run on it."""
    from dataclasses import asdict

    from evalnb.comparison.planning import SPREADS, prospects
    from evalnb.errors import BadInputError, NotFoundError
    from evalnb.gold.loading import load_gold
    from evalnb.gold.stats import is_labelled
    from evalnb.show.numbers import format_value
    from evalnb.show.tables import Cell, Column, Table, format_table
    from evalnb.show.text import plural

    dataset = load_gold(gold)
    cases = [case for case in dataset.cases if case.split == split]
    if not cases:
        there = ", ".join(dict.fromkeys(case.split for case in dataset.cases)) or "none"
        raise NotFoundError(f"no case is in the split {split!r}", remedy=f"splits: {there}")
    silent = [case for case in cases if not is_labelled(case)]
    if len(silent) == len(cases):
        raise BadInputError("no case says what is right, so the set can show nothing")
    cases = [case for case in cases if is_labelled(case)]
    families = len({case.family_key or case.case_id for case in cases})
    found = prospects(cases, difference=difference, spreads=spread or SPREADS, alpha=alpha)
    if as_json:
        counts = {"cases": len(cases), "families": families, "difference": difference}
        print_json(counts | {"prospects": [asdict(each) for each in found]})
        return
    headers = ("spread", "shows a difference of", f"families for {difference:+g}", "more")
    rows = []
    for each in found:
        needed = each.families_needed
        more = "-" if needed is None else f"{max(0, needed - families):,}"
        rows.append(
            (
                Cell(format_value(each.spread)),
                Cell(format_value(each.resolves)),
                Cell("-" if needed is None else f"{needed:,}"),
                Cell(more),
            )
        )
    show(f"{plural(len(cases), 'case')} in {families:,} families, split {split}")
    if silent:
        show(f"left out, as nothing is labelled: {plural(len(silent), 'case')}")
    if all(each.resolves is None for each in found):
        show("so few families cannot show any difference")
    show(format_table(Table(tuple(map(Column, headers)), tuple(rows), "Power")))
    show("Shows: four times in five, for one comparison by one measure; several need more.")
    show(LEGEND)


def audit(
    *,
    n: Annotated[int, typer.Option(help="Cases that both means are over.")],
    baseline: Annotated[float, typer.Option(help="Mean of the baseline, 0 to 1.")],
    mean: Annotated[float, typer.Option(help="Mean of the other, 0 to 1.")],
    spread: SpreadOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what a published pair of means can mean when its cases are not at hand."""
    from dataclasses import asdict

    from evalnb.comparison.planning import SPREADS
    from evalnb.comparison.planning import audit as audited
    from evalnb.show.numbers import format_difference, format_interval, format_p, format_value
    from evalnb.show.text import plural

    found = audited(n, baseline, mean, spreads=spread or SPREADS)
    if as_json:
        print_json(asdict(found) | {"intervals": list(found.intervals.items())})
        return
    show(f"difference {format_difference(found.difference)} over {plural(n, 'case')}")
    changed = plural(found.fewest_changed, "case")
    show(f"at least {changed} changed; of values 0 and 1, p is {format_p(found.best_p)} or more")
    if found.largest_spread is None:
        show("so few cases cannot show any difference")
        return
    most = format_value(found.largest_spread)
    show(f"beyond chance only if the differences spread by at most {most}")
    for value, (low, high) in found.intervals.items():
        show(f"  spread {format_value(value)}: 95 % interval {format_interval(low, high)}")
    show(LEGEND)
