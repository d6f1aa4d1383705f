"""Which measures have a value at all, why the others have none, and what searches cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from evalnb.comparison.traits import measure_traits
from evalnb.evaluation.frames import costs_frame
from evalnb.show.numbers import (
    NO_GOLD,
    NOTHING,
    format_count,
    format_ms,
    format_percent,
    format_value,
)
from evalnb.show.tables import NAME_WIDTH, Cell, Column, Table, label_measures, row_list
from evalnb.show.text import one_line

if TYPE_CHECKING:
    import pandas as pd

    from evalnb.comparison.paired import ComparisonRecord
    from evalnb.evaluation.report import EvaluationReport

REASON_SHOWN = 160
COSTS_LEGEND = (
    "p50, p95, p99: quantiles of the time of a search, without warm-up, the first search of a "
    "session. Calls, tokens and cost are means per search, over the n that reported them."
)


def split_measured(
    frame: pd.DataFrame, reasons: Mapping[str, str] | None = None
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Keep the measures that any row has a value of, and name the others in lines.

    Rows are put in order of their measure. A measure without a value is part of a line of words
    instead of a block of empty rows: the gold defines it for no case, or every search failed.

    Parameters
    ----------
    frame
        Means, or the rows of :func:`covered`.
    reasons
        Why a measure is unavailable, by its label with its kind.
    """
    labels = label_measures(frame, always_kind=True)
    speaking = {label for label, n in zip(labels, frame["n"], strict=True) if n}
    order = {label: at for at, label in enumerate(dict.fromkeys(labels))}
    kept = [at for at, label in enumerate(labels) if label in speaking]
    kept.sort(key=lambda at: order[labels[at]])
    silent = frame.iloc[[at for at, label in enumerate(labels) if label not in speaking]]
    return frame.iloc[kept], tuple(_silences(silent, _failed_searches(frame), reasons or {}))


def covered(comparison: ComparisonRecord) -> pd.DataFrame:
    """Return the differences, each beside the counts of the cases that were left out of it."""
    counts = comparison.coverage.drop(columns=["candidate", "measure", "k", "kind"])
    return comparison.frame.join(counts)


def failure_reasons(rows: pd.DataFrame) -> dict[str, str]:
    """Return the most frequent reason why each measure is unavailable, by label with kind.

    Parameters
    ----------
    rows
        Rows of the scores frame that are unavailable, or of :func:`covered`.
    """
    import pandas as pd

    told = rows[rows["reason"].fillna("") != ""]
    labels = pd.Series(label_measures(told, always_kind=True), index=told.index, dtype="object")
    return {
        str(label): one_line(str(found.mode().iloc[0]), REASON_SHOWN)
        for label, found in told["reason"].groupby(labels, sort=False)
    }


def recorded_costs(report: EvaluationReport) -> pd.DataFrame:
    """Return the costs frame; without rows where neither times nor usage were recorded."""
    costs = costs_frame(report)
    counts = costs[["n_timed", "n_warm_up", "n_calls", "n_tokens", "n_cost"]]
    return costs if counts.to_numpy().any() else costs.iloc[:0]


def costs_table(costs: pd.DataFrame) -> Table:
    """Tabulate what searches cost, one variant a row."""
    columns = (
        Column("variant", right=False),
        Column("searches"),
        Column("answered", title="share of the searches that did not fail"),
        *(Column(name, title="quantile of the time of a search") for name in ("p50", "p95", "p99")),
        Column("n", title="searches in the quantiles"),
        Column("warm-up", title="mean time of the first search of each session"),
        *(Column(name, title="mean per search") for name in ("calls", "tokens", "cost")),
        Column("repaired", title="searches in which an answer could be used only in part"),
    )
    rows = []
    for row in row_list(costs):
        cells = (
            Cell(one_line(str(row.variant), NAME_WIDTH)),
            Cell(format_count(row.n)),
            Cell(format_percent(row.success_rate), "worse" if row.success_rate < 1 else ""),
            *(Cell(format_ms(t)) for t in (row.latency_p50, row.latency_p95, row.latency_p99)),
            Cell(format_count(row.n_timed)),
            Cell(format_ms(row.latency_warm_up), "muted"),
            Cell(_amount(row.calls, row.n_calls, row.n)),
            Cell(_amount(row.tokens, row.n_tokens, row.n)),
            Cell(_amount(row.cost, row.n_cost, row.n)),
            Cell(format_count(row.repaired), "worse") if row.repaired else Cell(NOTHING),
        )
        rows.append(cells)
    return Table(columns, tuple(rows), "Time and usage per search")


def _amount(mean: float, n: int, n_searches: int) -> str:
    if not n:
        return NOTHING
    written = f"{mean:,.0f}" if mean >= 100 else f"{mean:.3g}"
    return f"{written} (n {n:,})" if n < n_searches else written


def tradeoff_frame(means: pd.DataFrame, costs: pd.DataFrame) -> pd.DataFrame:
    """Set each variant's mean of one measure beside what it costs.

    Returns
    -------
    pandas.DataFrame
        Columns variant, mean, cost, unit, front: whether no other variant is as good for less, or
        better for as much. The cost is the money where every variant reports it, else the median
        time. No rows unless two variants have both.
    """
    import pandas as pd

    columns = ["variant", "mean", "cost", "unit", "front"]
    both = means[["variant", "measure", "mean"]].merge(costs, on="variant")
    paid = bool(len(both)) and bool((both["n_cost"] > 0).all())
    unit = "cost per search" if paid else "median time of a search (ms)"
    both = both.assign(price=both["cost"] if paid else both["latency_p50"])
    both = both.dropna(subset=["mean", "price"])
    if len(both) < 2:
        return pd.DataFrame(columns=columns)
    direction = measure_traits(str(both["measure"].iloc[0])).direction
    rows = [(row.variant, row.mean, row.price) for row in row_list(both)]
    beaten = [
        any(
            direction * other[1] >= direction * mean
            and other[2] <= price
            and (other[1], other[2]) != (mean, price)
            for other in rows
        )
        for _, mean, price in rows
    ]
    return pd.DataFrame(
        [(*row, unit, not under) for row, under in zip(rows, beaten, strict=True)], columns=columns
    )


def slices_table(frame: pd.DataFrame) -> Table:
    """Tabulate the means of one measure, one slice a row."""
    variants = list(dict.fromkeys(frame["variant"]))
    measure = label_measures(frame)[0] if len(frame) else ""
    columns = (
        Column("slice", right=False),
        *(Column(one_line(name, 30)) for name in variants),
        Column("n"),
    )
    rows = []
    for name, part in frame.groupby("slice", sort=False):
        by_variant = {row.variant: row for row in row_list(part)}
        cells = [
            Cell(format_value(by_variant[v].mean) if v in by_variant else "-") for v in variants
        ]
        counts = sorted({row.n for row in by_variant.values()})
        n = " to ".join(f"{count:,}" for count in dict.fromkeys([counts[0], counts[-1]]))
        rows.append((Cell(one_line(str(name), 60)), *cells, Cell(n)))
    return Table(columns, tuple(rows), f"Mean {measure}")


def _failed_searches(frame: pd.DataFrame) -> dict[str, int]:
    """Count by variant the cases that every measure lacks: not the measure failed, the search."""
    name = "candidate" if "candidate" in frame else "variant"
    measured = frame[frame["n"] > 0]
    return {
        str(variant): int(n) for variant, n in measured.groupby(name)["n_unavailable"].min().items()
    }


def _silences(
    silent: pd.DataFrame, failed: Mapping[str, int], reasons: Mapping[str, str]
) -> Iterable[str]:
    keys, names = label_measures(silent, always_kind=True), label_measures(silent)
    rows: dict[tuple[str, str], list[Any]] = {}
    for key, name, row in zip(keys, names, row_list(silent), strict=True):
        rows.setdefault((key, name), []).append(row)
    lines: dict[tuple[str, str], list[str]] = {}
    for (key, name), mine in rows.items():
        lines.setdefault(_silence(mine, failed, reasons.get(key, "")), []).append(name)
    for (what, reason), found in lines.items():
        yield f"{what}: {', '.join(dict.fromkeys(found))}" + (f": {reason}" if reason else ".")


def _silence(rows: list[Any], failed: Mapping[str, int], reason: str) -> tuple[str, str]:
    """Say why a measure has no value.

    Where all searches that did not fail leave it undefined, that is the gold's doing.
    """
    undefined = [
        row.n_undefined > 0
        and row.n_unavailable <= failed.get(getattr(row, "candidate", None) or row.variant, 0)
        for row in rows
    ]
    if any(undefined):
        return f"{NO_GOLD} for any case", ""
    if any(row.n_unavailable for row in rows):
        return "n/a for every case that has gold", reason
    return "No case has a score under both variants", "are both of one gold set, and one cutoff?"
