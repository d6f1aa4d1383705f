"""``evalnb score``: run files against judgements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import typer

from evalnb.cli.output import note, show
from evalnb.errors import BadInputError

if TYPE_CHECKING:
    from evalnb.evaluation.runfiles import RunScores
    from evalnb.measures.ties import Spread

Row = TypeVar("Row")

_DEFAULTS = "AP, RR, nDCG@10, R@100, P@10"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("score")(score)


def score(
    qrels: Annotated[
        Path,
        typer.Argument(
            metavar="QRELS",
            help="Judgements: TREC qrels, or a file of BEIR, ranx or learning to rank.",
        ),
    ],
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Runs: TREC run files, or files of ranx."),
    ],
    *,
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--measure",
            metavar="NAME",
            help=f"A measure, such as nDCG@10 or ndcg_cut.5,10; repeatable. Default: {_DEFAULTS}.",
            show_default=False,
        ),
    ] = None,
    per_query: Annotated[
        bool, typer.Option("-q", "--per-query", help="Print every judged query as well.")
    ] = False,
    no_summary: Annotated[
        bool, typer.Option("-n", "--no-summary", help="Leave the means out.")
    ] = False,
    output: Annotated[
        Literal["tsv", "jsonl"],
        typer.Option(
            "-o", "--output", help="tsv has 4 decimals; jsonl every digit, null for undefined."
        ),
    ] = "tsv",
    level: Annotated[
        int,
        typer.Option(
            "-l", "--level", help="The lowest grade that is relevant; nDCG reads the grades as is."
        ),
    ] = 1,
    profile: Annotated[
        Literal["trec"] | None,
        typer.Option(
            help="trec: score 0 where nothing is relevant, as trec_eval does. Scores stay 64-bit."
        ),
    ] = None,
    drop_self: Annotated[
        bool, typer.Option("--drop-self", help="Leave out documents whose id is the query's.")
    ] = False,
    ties: Annotated[
        bool,
        typer.Option(
            "--ties",
            help="Add the worst, expected and best value over all orders of equal scores.",
        ),
    ] = False,
) -> None:
    """Score run files against judgements, as trec_eval -c does.

    Prints measure, query and value, tab by tab; with several runs, the run's path first. A mean
    stands beside n, the queries that it is over, and n_undefined, those without anything to find.
    A judged query that the run does not answer counts; a query without judgements is named. With
    --ties the worst, expected and best value follow the value.
    """
    from evalnb.evaluation.ranked_runs import load_qrels
    from evalnb.evaluation.runfiles import DEFAULT_RUN_MEASURES, score_run

    if no_summary and not per_query:
        raise BadInputError("-n leaves the means out and nothing is left", remedy="add -q")
    judged = load_qrels(qrels)
    for path in runs:
        scores = score_run(
            judged,
            path,
            measures or DEFAULT_RUN_MEASURES,
            level=level,
            profile=profile,
            drop_self=drop_self,
            ties=ties,
        )
        for line in _remarks(scores, level):
            note(f"{path}: {line}")
        lines = _json_lines if output == "jsonl" else _tab_lines
        run = str(path) if len(runs) > 1 else None
        show("\n".join(lines(scores, run, per_query=per_query, summary=not no_summary)))


def _tab_lines(
    scores: RunScores, run: str | None, *, per_query: bool, summary: bool
) -> Iterator[str]:
    first = "" if run is None else f"{run}\t"
    for row, spread in _beside(scores.rows, scores.spreads) if per_query else ():
        yield f"{first}{row.measure}\t{row.query}\t{_decimals(row.value, *spread)}"
    for mean, spread in _beside(scores.means, scores.mean_spreads) if summary else ():
        counts = f"n={mean.n}\tn_undefined={mean.n_undefined}"
        yield f"{first}{mean.measure}\tall\t{_decimals(mean.mean, *spread)}\t{counts}"


def _beside(
    rows: Sequence[Row], spreads: Sequence[Spread]
) -> Iterator[tuple[Row, tuple[float | None, ...]]]:
    """Go through rows with what they could be; nothing unless it was asked for."""
    return zip(rows, spreads or repeat(()), strict=False)


def _decimals(*values: float | None) -> str:
    return "\t".join("N/A" if value is None else f"{value:.4f}" for value in values)


def _json_lines(
    scores: RunScores, run: str | None, *, per_query: bool, summary: bool
) -> Iterator[str]:
    import json

    first = {} if run is None else {"run": run}
    names = ("worst", "expected", "best")
    for row, spread in _beside(scores.rows, scores.spreads) if per_query else ():
        fields = first | row._asdict() | dict(zip(names, spread, strict=False))
        yield json.dumps(fields, ensure_ascii=False, allow_nan=False)
    for mean, spread in _beside(scores.means, scores.mean_spreads) if summary else ():
        summed = {"query": "all", "measure": mean.measure, "value": mean.mean}
        counts = {"n": mean.n, "n_undefined": mean.n_undefined}
        fields = first | summed | counts | dict(zip(names, spread, strict=False))
        yield json.dumps(fields, ensure_ascii=False, allow_nan=False)


def _remarks(scores: RunScores, level: int) -> Iterator[str]:
    """Say what a reader ought to know before trusting the figures."""
    from evalnb.wording import listed

    yield from scores.notes
    if scores.missing:
        n_judged = len(scores.rows) // len(scores.measures)
        yield (
            f"judged but not in the run, counted as empty: {len(scores.missing)} of {n_judged} "
            f"queries ({listed(scores.missing)})"
        )
    if scores.unjudged:
        yield (
            f"in the run but not judged, not scored: {len(scores.unjudged)} queries "
            f"({listed(scores.unjudged)})"
        )
    if scores.n_tied:
        yield (
            f"{scores.n_tied} of {scores.n_positions} positions share their score with another; "
            "they are ordered by document id, descending"
        )
    if scores.n_rank_contradictions:
        yield (
            "the rank column, which is not used, contradicts the scores; rows: "
            f"{scores.n_rank_contradictions}"
        )
    if scores.n_self:
        yield f"left out because their id is the query's: {scores.n_self} documents"
    if level != 1 and any(name.startswith("nDCG") for name in scores.measures):
        yield f"nDCG reads the grades themselves; level {level} does not touch it"
