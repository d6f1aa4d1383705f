"""Tables: what stands in which cell, once, and how a terminal shows it.

A :class:`Table` holds finished strings. :func:`format_table` aligns it as plain text without boxes
or wrapping; :func:`evalnb.show.html.table_html` writes the same cells into a page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evalnb.comparison.traits import OPERATIONAL
from evalnb.measures.names import parse_measure
from evalnb.show.numbers import (
    NOTHING,
    format_count,
    format_difference,
    format_interval,
    format_mean,
    format_p,
    format_percent,
    format_value,
    present,
)
from evalnb.show.text import cell_width, one_line, pad, visible

if TYPE_CHECKING:
    import pandas as pd

    from evalnb.comparison.paired import ComparisonRecord
    from evalnb.evaluation.report import CaseResult, EvaluationReport

Tone = Literal["", "better", "worse", "equivalent", "undecided", "muted"]
_TONES: dict[str, Tone] = {"better": "better", "worse": "worse", "equivalent": "equivalent"}
NAME_WIDTH = 40  # a longer name is cut for display; the frame has all of it

_SIGNS = {"better": "▲", "worse": "▼", "equivalent": "=", "identical": "=", "no verdict": "!"}
MEANS_LEGEND = (
    "N/A: cases without gold for the measure, or where nothing came back to judge. n/a: cases "
    "whose search failed or was not possible. Neither is in the mean."
)
DIFFERENCES_LEGEND = (
    "mde, the minimum detectable effect: the smallest difference that these cases would show 4 "
    "times in 5. Families needed: so many would show the difference found as often; a family is a "
    "group of cases that are not independent, or a case on its own."
)


@dataclass(frozen=True, slots=True)
class Cell:
    """A finished string; ``tone`` colours it in a page, ``href`` links it."""

    text: str
    tone: Tone = ""
    href: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A header; numbers stand right. ``title`` explains the header."""

    header: str
    right: bool = True
    title: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and rows of cells."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""

    def kept(self) -> list[int]:
        """Return the positions of the columns that say something in any row."""
        return [
            at
            for at in range(len(self.columns))
            if not self.rows or any(row[at].text not in {"", NOTHING} for row in self.rows)
        ]


def text_columns(*headers: str) -> tuple[Column, ...]:
    """Head columns of text, which stands left."""
    return tuple(Column(header, right=False) for header in headers)


def format_table(table: Table, *, indent: str = "") -> str:
    """Align a table as plain text; columns that are empty in every row are left out."""
    kept = table.kept()
    columns = [table.columns[at] for at in kept]
    lines = [[column.header for column in columns]]
    lines += [[row[at].text for at in kept] for row in table.rows]
    widths = [max(cell_width(line[at]) for line in lines) for at in range(len(kept))]
    return "\n".join(
        indent
        + "  ".join(
            pad(text, width, right=column.right)
            for text, width, column in zip(line, widths, columns, strict=True)
        ).rstrip()
        for line in lines
    )


def measure_label(measure: object, k: object = None, kind: object = None) -> str:
    """Name a measure with the cutoff it was computed at, where its name does not carry one.

    >>> measure_label("nDCG@10", 10), measure_label("RR", 10), measure_label("R@5", 5, "file")
    ('nDCG@10', 'RR (k = 10)', 'file:R@5')
    """
    name, cutoff = str(measure), present(k)
    prefix = f"{kind}:" if isinstance(kind, str) and kind and ":" not in name else ""
    suffix = f" (k = {cutoff:.0f})" if cutoff is not None and "@" not in name else ""
    return f"{prefix}{name}{suffix}"


def row_list(frame: pd.DataFrame) -> list[Any]:
    """Return a frame's rows as named tuples."""
    return list(frame.itertuples())


def rows_by_candidate(rows: pd.DataFrame) -> dict[str, list[Any]]:
    """Return a frame's rows as named tuples, by candidate."""
    found: dict[str, list[Any]] = {}
    for row in row_list(rows):
        found.setdefault(row.candidate, []).append(row)
    return found


def label_measures(frame: pd.DataFrame, *, always_kind: bool = False) -> list[str]:
    """Label each row's measure; the kind is named where a measure has several, or always."""
    kinds = frame.groupby("measure", sort=False)["kind"].nunique()
    several = set(kinds[kinds > 1].index)
    return [
        measure_label(row.measure, row.k, row.kind if always_kind or row.measure in several else "")
        for row in row_list(frame)
    ]


def means_table(aggregates: pd.DataFrame, *, baseline: str = "") -> Table:
    """Tabulate means, each beside its interval and its counts.

    Success rate and the mean with failures as 0 stand in every row where a search failed.
    """
    columns = (
        *text_columns("measure", "variant"),
        Column("mean"),
        Column("95 % interval", title="of the mean, over families of cases"),
        Column("n", title="cases in the mean"),
        Column("N/A", title="cases without gold for this measure"),
        Column("n/a", title="cases whose search failed or was not possible"),
        Column("weighted", title="mean weighted by the cases' weights"),
        Column("micro", title="sum of numerators / sum of denominators"),
        Column("answered", title="share of the cases with gold that did not fail"),
        Column("mean if failures count 0", title="mean with failed cases counted as 0"),
        Column("note", right=False),
    )
    rows = []
    for label, row in zip(label_measures(aggregates), row_list(aggregates), strict=True):
        failed = bool(row.n_unavailable)
        name = one_line(str(row.variant), NAME_WIDTH)
        cells = (
            Cell(f"{label} (informational)" if _is_informational(row.measure) else label),
            Cell(f"{name} (baseline)" if row.variant == baseline else name),
            Cell(format_mean(row.mean, row.n, row.n_undefined, row.n_unavailable)),
            Cell(format_interval(row.ci_low, row.ci_high), "muted"),
            Cell(format_count(row.n)),
            Cell(_nonzero(row.n_undefined)),
            Cell(_nonzero(row.n_unavailable), "worse" if failed else ""),
            Cell(format_value(row.weighted_mean)),
            Cell(format_value(row.micro)),
            Cell(format_percent(row.success_rate) if failed else NOTHING),
            Cell(format_value(row.mean_failed_zero) if failed else NOTHING),
            Cell(one_line(str(row.note or "")), "muted"),
        )
        rows.append(cells)
    return Table(columns, tuple(rows))


def _is_informational(measure: str) -> bool:
    return measure not in OPERATIONAL and parse_measure(measure).informational


def _nonzero(count: object) -> str:
    return format_count(count) if present(count) else NOTHING


def comparison_table(comparison: pd.DataFrame) -> Table:
    """Tabulate differences to the baseline, each with its interval, tests and verdict."""
    columns = (
        *text_columns("measure", "candidate"),
        *map(Column, ("mean", "baseline", "difference")),
        Column("95 % interval", title="of the difference"),
        Column("p", title="sign-flip test over families"),
        Column("p adj.", title="adjusted for all the hypotheses of this table"),
        Column("W/T/L", title="cases won, tied and lost"),
        Column("cases", title="scored under both variants"),
        Column("verdict", right=False),
        Column("mde", title="smallest difference that these cases would show 4 times in 5"),
        Column("families needed", title="to show the difference found 4 times in 5"),
    )
    rows = []
    for label, row in zip(label_measures(comparison), row_list(comparison), strict=True):
        verdict = shown_verdict(row)
        leaning = leaning_words(row) if verdict == row.verdict else ""
        cells = (
            Cell(label),
            Cell(one_line(str(row.candidate), NAME_WIDTH)),
            Cell(format_value(row.mean)),
            Cell(format_value(row.baseline_mean)),
            Cell(format_difference(row.diff)),
            Cell(format_interval(row.ci_low, row.ci_high)),
            Cell(format_p(row.p_value)),
            Cell(format_p(row.p_adjusted)),
            Cell(f"{row.wins:.0f}/{row.ties:.0f}/{row.losses:.0f}" if row.n else NOTHING),
            Cell(format_count(row.n)),
            Cell(f"{verdict_sign(verdict)} {verdict}{leaning}", verdict_tone(verdict)),
            Cell(format_value(row.mde)),
            Cell(format_count(row.n_needed)),
        )
        rows.append(cells)
    return Table(columns, tuple(rows))


def shown_verdict(row: Any) -> str:
    """Return the verdict of a row of the comparisons frame as a reader is told it.

    Where no case differs it is ``identical``. Where searches failed it is ``no verdict``, if the
    row comes with the count of those cases.
    """
    if getattr(row, "n_unavailable", 0) or not row.n:
        return "no verdict"
    return str(row.verdict) if row.wins or row.losses else "identical"


def row_notes(comparison: pd.DataFrame) -> list[str]:
    """Say what has to be known of single rows; what several rows share is said once."""
    shared: dict[str, list[str]] = {}
    for label, row in zip(label_measures(comparison), row_list(comparison), strict=True):
        for note in (row.note if isinstance(row.note, str) else "").split("; "):
            if note:
                shared.setdefault(note, []).append(f"{label} {one_line(row.candidate, NAME_WIDTH)}")
    return [
        note if len(places) == len(comparison) else f"{', '.join(places)}: {note}"
        for note, places in shared.items()
    ]


def verdict_tone(verdict: str) -> Tone:
    """Return the colour of a verdict; what is not resolved is grey."""
    return _TONES.get(verdict, "undecided")


def verdict_sign(verdict: str) -> str:
    """Return the sign that stands beside the colour: it survives a black-and-white print."""
    return _SIGNS.get(verdict, "?")


def leaning_words(row: Any) -> str:
    """Say to which side an undecided row leans, if to any."""
    return f", leaning {row.leaning}" if isinstance(row.leaning, str) and row.leaning else ""


def report_text(report: EvaluationReport) -> str:
    """Write a report for a terminal: every mean with its counts, what is doubtful, what it cost."""
    from evalnb.show.findings import notices_of
    from evalnb.show.measured import COSTS_LEGEND, costs_table, recorded_costs
    from evalnb.show.reading import reading_of

    reading = reading_of(report)
    notices = [f"{'! ' * notice.alarm}{notice.text}" for notice in notices_of(report)]
    measured, silent = reading.measured
    table = format_table(means_table(measured)) if len(measured) else "Nothing was measured."
    left_out = measured["n_undefined"].any() or measured["n_unavailable"].any()
    legend = [MEANS_LEGEND] if left_out else []
    costs = costs_table(recorded_costs(report))
    spent = ["", format_table(costs), COSTS_LEGEND] if costs.rows else []
    return visible("\n".join([table, *legend, *silent, *notices, *spent]))


def comparison_text(comparison: ComparisonRecord, queries: Mapping[str, str] | None = None) -> str:
    """Write a comparison for a terminal: verdicts in words, every difference, what got worse.

    Parameters
    ----------
    queries
        case_id -> question, where the questions are known.
    """
    from evalnb.show.comparisons import changes_text, differences_text, verdict_words

    lines, _ = verdict_words(comparison)
    parts = [
        "\n".join(lines) or "Nothing could be compared.",
        differences_text(comparison),
        changes_text(comparison, queries),
    ]
    return visible("\n\n".join(filter(None, parts)))


def eval_retrieval_text(report: EvaluationReport) -> str:
    """Write the rank of the first correct hit of every case and leg, then the aggregates.

    A miss is ``miss``, a leg that could not answer ``n/a``; ``evaluated`` counts the cases that
    the averages hold.
    """
    names = [variant.name for variant in report.variants]
    ranks: dict[tuple[str, str], str] = {}
    for result in report.results:
        if result.repetition == 0:
            ranks[result.variant, result.case_id] = _rank_text(result)
    widths = [max(8, cell_width(name)) for name in names]
    lines = [_leg_line("#", "query", names, widths)]
    for at, case in enumerate(report.cases, start=1):
        cells = [ranks.get((name, case.case_id), "n/a") for name in names]
        lines.append(_leg_line(str(at), one_line(case.request.query, 42), cells, widths))
    lines += ["", "Aggregate metrics (rank of first correct chunk):"]
    width = max([13, *map(cell_width, names)])
    heads = ("hit@1", "hit@3", "hit@5", "MRR")
    lines.append(pad("mode", width) + "".join(f"{head:>8}" for head in heads) + "  evaluated")
    for name in names:
        found = [ranks.get((name, case.case_id), "n/a") for case in report.cases]
        lines.append(pad(one_line(name), width) + _leg_means(found))
    return "\n".join(lines)


def _rank_text(result: CaseResult) -> str:
    """Return the rank that the reciprocal rank stands for; nothing is counted twice."""
    score = next((s for s in result.scores if s.measure.partition("@")[0] == "RR"), None)
    if result.result.status != "ok" or score is None or score.status == "unavailable":
        return "n/a"
    if score.status == "undefined":
        return "N/A"
    return str(round(1 / score.value)) if score.value else "miss"


def _leg_line(number: str, query: str, cells: Sequence[str], widths: Sequence[int]) -> str:
    legs = "  ".join(
        pad(cell, width, right=True) for cell, width in zip(cells, widths, strict=True)
    )
    return f"{pad(number, 3)} {pad(query, 42)}{legs}"


def _leg_means(ranks: Sequence[str]) -> str:
    scored = [rank for rank in ranks if rank not in {"n/a", "N/A"}]
    if not scored:
        return 4 * f"{'n/a':>8}" + f"{0:>11}"
    reciprocals = [0.0 if rank == "miss" else 1 / int(rank) for rank in scored]
    hits = [sum(r >= 1 / k for r in reciprocals) / len(scored) for k in (1, 3, 5)]
    mean = sum(reciprocals) / len(scored)
    return "".join(f"{hit:>8.2f}" for hit in hits) + f"{mean:>8.3f}{len(scored):>11}"


def write_csv(frame: pd.DataFrame, path: Path) -> Path:
    """Write a frame as CSV, whole or not at all.

    A text that a spreadsheet would take for a formula gets an apostrophe in front.
    """
    from evalnb.files import write_file

    safe = frame.map(lambda value: f"'{value}" if _is_formula(value) else value)
    write_file(path, safe.to_csv(index=False, lineterminator="\n").encode())
    return path


def _is_formula(value: object) -> bool:
    return isinstance(value, str) and value.startswith(tuple("=+-@\t\r＝＋－＠"))
