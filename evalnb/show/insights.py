"""The sections below the verdict: how ranks moved, what variants share, what channels add.

Each shows nothing where it has nothing to say: its HTML is empty then, and no page holds it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from evalnb.errors import EvalnbError
from evalnb.evaluation.frames import aggregates_frame
from evalnb.show.charts import plot_channels, plot_overlap, plot_ranks, plot_slices
from evalnb.show.display import Display, charts_html
from evalnb.show.markup import case_anchor, quiet_html, table_html
from evalnb.show.measured import slices_table
from evalnb.show.numbers import format_count, format_value
from evalnb.show.reading import Reading, of_first_measure
from evalnb.show.tables import NAME_WIDTH, Cell, Column, Table, format_table, row_list, text_columns
from evalnb.show.text import one_line, plural

if TYPE_CHECKING:
    import pandas as pd

DRAWN = 6  # candidates with a chart of their own; the tables have all
PAIRED = 8  # variants of which every two are set side by side; of more, each with the baseline
STEPS = ("1", "2", "3", "4-5", "6-10", "> 10", "miss")
_LAST = (1, 2, 3, 5, 10)
JUDGED = 10  # results that are offered to be judged next
SEARCHED = 6_000  # searches among which the next to judge are looked for: it takes a ms each
CHANNEL_COLUMNS = ("variant", "measure", "channel", "alone", "lost_without", "shapley", "n")


def _drawn(reading: Reading) -> list[str]:
    """Name the candidates that differ most from the baseline, in the report's order."""
    names = [v.name for v in reading.report.variants if v.name != reading.baseline]
    if reading.changed is not None and len(names) > DRAWN:
        first = of_first_measure(reading.changed.frame, reading.changed)
        largest = set(first.loc[first["diff"].abs().nlargest(DRAWN).index, "candidate"])
        names = [name for name in names if name in largest]
    return names[:DRAWN]


def ranks(reading: Reading) -> Display:
    """Count how the first relevant result of each case moved, against the baseline."""
    frame = _rank_changes(reading)
    moved = frame[frame["before"] != frame["after"]]
    charts = []
    for name in _drawn(reading):
        moves = frame[frame["candidate"] == name]
        if (moves["before"] != moves["after"]).any():
            steps = {*moves["before"], *moves["after"]}
            charts.append(plot_ranks(moves, steps=[step for step in STEPS if step in steps]))
    columns = (*text_columns("candidate", "rank before", "rank now"), Column("cases"))
    rows = tuple(
        (
            Cell(one_line(row.candidate, NAME_WIDTH)),
            Cell(row.before),
            Cell(row.after),
            Cell(format_count(row.n)),
        )
        for row in row_list(moved)
    )
    table = Table(columns, rows, "Moves of the first relevant result")
    opened = f"<details><summary>As a table</summary>{table_html(table)}</details>"
    return Display(
        key="ranks",
        title="Ranks",
        question="From which rank to which did the first relevant result move?",
        data=frame,
        text=format_table(table) if rows else "No first relevant result moved.",
        html=charts_html(charts) + opened if rows else "",
    )


def _rank_changes(reading: Reading) -> pd.DataFrame:
    import pandas as pd

    counts: Counter[tuple[str, int, int]] = Counter()
    for view in reading.views:
        steps = {
            v.name: _step(v.first_ranks[0])
            for v in view.variants
            if view.labelled and v.failure is None
        }
        before = steps.pop(reading.baseline, None)
        if before is not None:
            counts.update((name, before, after) for name, after in steps.items())
    order = {variant.name: at for at, variant in enumerate(reading.report.variants)}
    found = sorted(counts.items(), key=lambda each: (order[each[0][0]], each[0][1:]))
    return pd.DataFrame(
        [(name, STEPS[before], STEPS[after], n) for (name, before, after), n in found],
        columns=["candidate", "before", "after", "n"],
    )


def _step(rank: int | None) -> int:
    if rank is None:
        return len(STEPS) - 1
    return next((at for at, last in enumerate(_LAST) if rank <= last), len(_LAST))


def slices(reading: Reading) -> Display:
    """Show the first measure by intent, language and tag; slices carry no verdict."""
    frame = aggregates_frame(reading.report)
    frame = frame[(frame["slice"] != "all") & frame["measure"].isin(reading.measures[:1])]
    table = slices_table(frame)
    names = _drawn(reading) or [reading.report.variants[0].name] * bool(len(frame))
    charts = [plot_slices(frame, variant=name, baseline=reading.baseline) for name in names]
    note = quiet_html("In brackets: the cases of a slice. Few cases differ by chance.")
    return Display(
        key="slices",
        title="Slices",
        question="Where is it strong or weak? Parts of the set, without a verdict.",
        data=frame,
        text=format_table(table) if table.rows else "No case names an intent, a language or a tag.",
        html=charts_html(charts) + note + table_html(table) if table.rows else "",
    )


def overlap(reading: Reading) -> Display:
    """Show how far variants return the same."""
    from evalnb.comparison.overlap import overlap_frame

    few = len(reading.report.variants) <= PAIRED
    frame = overlap_frame(reading.report, baseline="" if few else reading.baseline)
    told = frame[frame["n"] > 0]
    columns = (
        *text_columns("variant", "and"),
        Column("Jaccard@10", title="shared among the first 10, over all of both"),
        Column("RBO", title="rank-biased overlap, p = 0.9: the first ranks weigh most"),
        Column("cases"),
    )
    rows = tuple(
        (
            Cell(one_line(row.variant, NAME_WIDTH)),
            Cell(one_line(row.other, NAME_WIDTH)),
            Cell(format_value(row.jaccard)),
            Cell(format_value(row.rbo)),
            Cell(format_count(row.n)),
        )
        for row in row_list(told)
    )
    table = Table(columns, rows, "Overlap of results")
    kind = told["kind"].iloc[0] if rows else ""
    legend = (
        f"Of {kind} ids, averaged over cases: 1 is all the same, 0 nothing. RBO: Webber, Moffat, "
        "Zobel 2010, extrapolated, p = 0.9. Variants that share little can be fused with profit."
    )
    charts = charts_html([plot_overlap(told)]) if few and len(rows) > 1 else ""
    return Display(
        key="overlap",
        title="Overlap",
        question="How far do variants return the same?",
        data=frame,
        text=f"{format_table(table)}\n{legend}"
        if rows
        else "There are no two variants to compare.",
        html=charts + table_html(table) + quiet_html(legend) if rows else "",
    )


def channels(reading: Reading) -> Display:
    """Show what each channel adds to the variants that fuse several."""
    import pandas as pd

    parts = (_contributions(reading, name) for name in _fused(reading))
    found = [part for part in parts if part is not None]
    frame = pd.concat(found) if found else pd.DataFrame(columns=list(CHANNEL_COLUMNS))
    charts = [plot_channels(part, measure=part["measure"].iloc[0]) for part in found]
    heads = (
        *text_columns("variant", "measure", "channel"),
        Column("alone", title="the mean of this channel by itself"),
        Column("lost without it", title="what the mean falls by if it is left out"),
        Column("its share", title="Shapley value: the shares sum to the mean of all channels"),
        Column(
            "cases", title="that can be replayed: exact identifiers come first by a live search"
        ),
    )
    rows = tuple(
        (
            Cell(one_line(row.variant, NAME_WIDTH)),
            Cell(row.measure),
            Cell(one_line(row.channel, NAME_WIDTH)),
            *(Cell(format_value(v)) for v in (row.alone, row.lost_without, row.shapley)),
            Cell(format_count(row.n)),
        )
        for row in row_list(frame)
    )
    table = Table(heads, rows, "Contribution of channels")
    legend = "Replayed from the recorded candidates, without reranking."
    return Display(
        key="channels",
        title="Channels",
        question="What does each channel add?",
        data=frame,
        text=f"{format_table(table)}\n{legend}" if rows else "No variant fuses channels.",
        html=charts_html(charts) + table_html(table) + quiet_html(legend) if rows else "",
    )


def _fused(reading: Reading) -> list[str]:
    """Name the variants that fuse channels; of those that fuse alike, the first."""
    alike: dict[Any, str] = {}
    for result in reading.report.results:
        if len(result.candidates) > 1 and result.variant not in alike.values():
            hints = result.controls.hints.model_copy(
                update={"rerank_depth": None, "reranker": None}
            )
            key = (tuple(result.candidates), hints.model_dump_json())
            alike.setdefault(key, result.variant)
    return list(alike.values())[:DRAWN]


def _contributions(reading: Reading, name: str) -> pd.DataFrame | None:
    import pandas as pd

    from evalnb.comparison.replay import Replay
    from evalnb.comparison.tuning import attribute

    try:
        replay = Replay(reading.report, name, measures=reading.measures[:1])
        found = attribute(replay)
    except EvalnbError:  # its ids, measure or channels cannot be replayed: nothing is known
        return None
    n = len(replay.cases) - len(replay.run({"rerank": False}).needs_live)
    measure = str(replay.measures[0])
    return pd.DataFrame(
        [(name, measure, c.channel, c.alone, c.lost_without, c.shapley, n) for c in found],
        columns=list(CHANNEL_COLUMNS),
    )


def exposure(reading: Reading) -> Display:
    """Map where something shows that must not: variant by surface, with its cases."""
    from evalnb.comparison.exposure import exposure_frame

    frame = exposure_frame(reading.report)
    names = list(dict.fromkeys(frame["variant"]))
    columns = text_columns("surface", *(one_line(name, 30) for name in names))
    linked = set(reading.case_ids)
    rows = []
    for surface, part in frame.groupby("surface", sort=False):
        by_variant = {row.variant: row for row in row_list(part)}
        rows.append((Cell(str(surface)), *(_exposed(by_variant[name], linked) for name in names)))
    table = Table(columns, tuple(rows), "Cases that show something forbidden")
    total = plural(int(frame["n"].max()), "case") if len(frame) else ""
    said = f"{total} with something that must not be shown." if total else "Nothing is forbidden."
    return Display(
        key="exposure",
        title="Forbidden material",
        question="Which variant shows something that must not be shown, and where?",
        data=frame,
        text=f"{said}\n{format_table(table)}" if rows else said,
        html=f"<p>{said}</p>{table_html(table)}" if rows else "",
    )


def _exposed(row: Any, linked: set[str]) -> Cell:
    if not row.n_exposed:
        return Cell(f"none of {row.n:,}", "better")
    more = f" and {row.n_exposed - 1:,} more" if row.n_exposed > 1 else ""
    anchor = f"#{case_anchor(row.cases[0])}" if row.cases[0] in linked else ""
    text = f"⚠ {row.n_exposed:,} of {row.n:,}: {one_line(row.cases[0], 40)}{more}"
    return Cell(text, "worse", anchor)


def holes(reading: Reading) -> Display:
    """Say how far unjudged results could move the means, and which to judge first."""
    import pandas as pd

    from evalnb.comparison.holes import Bounds, unjudged_bounds

    bounds: Sequence[Bounds] = ()
    with suppress(EvalnbError):  # the measure is none of a ranking
        bounds = unjudged_bounds(reading.report, reading.measures[0]) if reading.measures else ()
    open_ = [each for each in bounds if each.n_unjudged]
    columns = (
        *text_columns("variant"),
        Column(f"mean {bounds[0].measure}" if bounds else "mean"),
        Column("if all unjudged were relevant"),
        Column("unjudged results", title="down to the cutoff, over all cases"),
        Column("cases"),
    )
    rows = tuple(
        (
            Cell(one_line(each.variant, NAME_WIDTH)),
            Cell(format_value(each.mean)),
            Cell(format_value(each.if_relevant)),
            Cell(format_count(each.n_unjudged)),
            Cell(format_count(each.n)),
        )
        for each in bounds
    )
    table = Table(columns, rows, "What nobody judged")
    following = _next_to_judge(reading) if open_ else Table((), ())
    legend = "What nobody judged counts as not relevant. evalnb gold pool writes a sheet to judge."
    more = table_html(following) if following.rows else ""
    opened = f"<details><summary>Judge these next</summary>{more}</details>" if more else ""
    listed = f"\n{following.caption}\n{format_table(following)}" if following.rows else ""
    return Display(
        key="holes",
        title="Judgement holes",
        question="What did nobody judge, and how far could it move the means?",
        data=pd.DataFrame(
            [[getattr(b, n) for n in Bounds.__slots__] for b in bounds],
            columns=list(Bounds.__slots__),
        ),
        text=f"{format_table(table)}\n{legend}{listed}"
        if open_
        else "Every result down to the cutoff is judged.",
        html=table_html(table) + quiet_html(legend) + opened if open_ else "",
    )


def _next_to_judge(reading: Reading) -> Table:
    from evalnb.comparison.holes import judge_next

    columns = (
        *text_columns("case", "question", "result"),
        Column("moves the difference by", title="at most, over the variants, if it is relevant"),
        Column("ranks", right=False),
    )
    rows: list[tuple[Cell, ...]] = []
    if reading.baseline and reading.measures and len(reading.report.results) <= SEARCHED:
        found = judge_next(
            reading.report, baseline=reading.baseline, measure=reading.measures[0], n=JUDGED
        )
        linked = set(reading.case_ids)
        for each in found:
            at = ", ".join(f"{one_line(name, 24)} {rank}" for name, rank in each.ranks.items())
            anchor = f"#{case_anchor(each.case_id)}" if each.case_id in linked else ""
            rows.append(
                (
                    Cell(one_line(each.case_id, 64), href=anchor),
                    Cell(one_line(each.query, 90)),
                    Cell(one_line(each.id, 64)),
                    Cell(format_value(each.effect)),
                    Cell(at),
                )
            )
    return Table(columns, tuple(rows), "Judge these next")
