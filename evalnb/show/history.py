"""What changed since the last run, as plain text: flipped cases first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evalnb.evaluation.history import FLIP, CaseChange, Changes, PastRun, Trend
from evalnb.show.numbers import NOTHING, format_value
from evalnb.show.tables import NAME_WIDTH, Cell, Column, Table, format_table, text_columns
from evalnb.show.text import one_line, plural

SHOWN = 20  # rows of a list; the JSON document has all of them
VALUE_WIDTH = 16  # shows digests apart
QUERY_WIDTH = 60


def history_text(
    runs: Sequence[PastRun], changed: Changes | None, trend: Sequence[Trend], *, n_left_out: int
) -> str:
    """Write the changes between the last two runs, and the means of all of them."""
    last = runs[-1]
    name = f"{one_line(last.dataset.id, NAME_WIDTH)}, {last.dataset.split}"
    lines = [f"{name}: {plural(len(runs), 'run')}, the last one {last.finished_at}"]
    if n_left_out:
        lines.append(f"{plural(n_left_out, 'run')} of other gold sets or splits left out")
    if changed is not None:
        said = _changes(changed)
        for what, names in (
            ("variant", [{variant.name for variant in run.variants} for run in runs[-2:]]),
            ("case", [set(run.case_ids) for run in runs[-2:]]),
        ):
            if not names[0] & names[1]:
                said = _nothing_shared(changed, what)
        lines += ["", f"Since {runs[-2].finished_at}", *said]
    return "\n".join([*lines, "", "Means, oldest run first", format_table(_trend_table(trend))])


def _changes(changed: Changes) -> Iterator[str]:
    lost = sum(change.outcome == "lost" for change in changed.flips)
    won = len(changed.flips) - lost
    yield f"{FLIP}: {plural(lost, 'case')} lost, {plural(won, 'case')} won"
    if changed.flips:
        yield from _cases(changed.flips)
    if changed.values:
        yield f"{plural(len(changed.values), 'other value')} changed"
        yield from _cases(changed.values)
    elif not changed.flips:
        yield "No value changed."
    if changed.settings:
        yield from _settings(changed)
    elif changed.flips or changed.values:
        yield "Nothing was set otherwise: what changed is not pinned. A function's code is pinned"
        yield "by its version alone, as in evalnb.system(search, version='2')."
    else:
        yield "Nothing was set otherwise."


def _nothing_shared(changed: Changes, what: str) -> Iterator[str]:
    yield f"No {what} is in both runs, by its name: no value can be compared."
    yield from _settings(changed)


def _settings(changed: Changes) -> Iterator[str]:
    yield "Set otherwise"
    if any(change.what == "gold version" for change in changed.settings):
        yield "  The gold changed: a value may have moved with its labels."
    rows = tuple(
        (Cell(one_line(c.what, 80)), Cell(_short(c.before)), Cell("->"), Cell(_short(c.after)))
        for c in changed.settings
    )
    columns = text_columns("what", "before", "", "after")
    yield format_table(Table(columns, rows), indent="  ")


def _cases(changed: Sequence[CaseChange]) -> Iterator[str]:
    columns = (
        *text_columns("", "measure", "variant", "case"),
        *map(Column, ("before", "after")),
        *text_columns("query"),
    )
    rows = tuple(
        (
            Cell(change.outcome),
            Cell(change.measure),
            Cell(one_line(change.variant, NAME_WIDTH)),
            Cell(one_line(change.case_id, NAME_WIDTH)),
            Cell(format_value(change.before)),
            Cell(format_value(change.after)),
            Cell(one_line(change.query, QUERY_WIDTH)),
        )
        for change in changed[:SHOWN]
    )
    yield format_table(Table(columns, rows), indent="  ")
    if len(changed) > SHOWN:
        yield f"  and {len(changed) - SHOWN} more; --json has all of them"


def _short(value: str | None) -> str:
    return NOTHING if value is None else one_line(value, VALUE_WIDTH)


def _trend_table(trend: Sequence[Trend]) -> Table:
    n_runs = len(trend[0].means) if trend else 0
    columns = (
        *text_columns("measure", "variant"),
        *(Column("last" if at == n_runs else f"-{n_runs - at}") for at in range(1, n_runs + 1)),
        Column("n"),
    )
    return Table(
        columns,
        tuple(
            (
                Cell(row.measure),
                Cell(one_line(row.variant, NAME_WIDTH)),
                *(Cell(format_value(mean)) for mean in row.means),
                Cell(str(row.n[-1])),
            )
            for row in sorted(trend, key=lambda row: row.measure)
        ),
    )
