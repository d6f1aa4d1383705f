"""What searches cost: their time, and the calls, tokens and money that they took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from evalnb.errors import BadInputError
from evalnb.evaluation.report import CaseResult, EvaluationReport, Price
from evalnb.files import no_gold, read_bounded, read_toml
from evalnb.limits import MANIFEST_BYTES
from evalnb.search.result import Usage
from evalnb.strict_json import describe_validation_error, parse_strict

COST_COLUMNS = (
    "variant",
    "n",
    "success_rate",
    "n_timed",
    "latency_p50",
    "latency_p95",
    "latency_p99",
    "n_warm_up",
    "latency_warm_up",
    "n_calls",
    "calls",
    "n_tokens",
    "tokens",
    "n_cost",
    "cost",
    "repaired",
)
QUANTITIES = ("latency_ms", "calls", "tokens", "cost")
"""What one search costs, under the names that a comparison takes."""


class SearchCosts(NamedTuple):
    """One search and what it cost; None where nothing was reported.

    ``warm_up`` marks the first search of every session, and of a variant in each repetition: it
    opens indexes and connections, and says nothing of the searches after it.
    """

    result: CaseResult
    warm_up: bool
    latency_ms: float | None
    calls: int | None
    tokens: int | None
    cost: float | None


def search_costs(report: EvaluationReport) -> Iterator[SearchCosts]:
    """Yield what every search cost, in the order of the report's results."""
    begun: set[tuple[str, int]] = set()
    first_of_sessions = set(report.observed.warm_up)
    times = zip_longest(report.results, report.observed.latency_ms[: len(report.results)])
    for at, (result, time) in enumerate(times):
        variant = (result.variant, result.repetition)
        warm_up = time is not None and (variant not in begun or at in first_of_sessions)
        if time is not None:
            begun.add(variant)
        usage = result.result.usage
        cost = _cost(usage, report.observed.prices)
        yield SearchCosts(result, warm_up, time, usage.calls, usage.tokens, cost)


def _cost(usage: Usage, prices: Mapping[str, Price]) -> float | None:
    """Return the cost that was reported, else tokens times prices; all models have to have one."""
    if usage.cost is not None or not usage.by_model or usage.by_model.keys() - prices.keys():
        return usage.cost
    return sum(
        count.input * prices[model].input_per_million / 1e6
        + count.output * prices[model].output_per_million / 1e6
        for model, count in usage.by_model.items()
    )


def variant_costs(report: EvaluationReport) -> Iterator[dict[str, Any]]:
    """Yield one row of :data:`COST_COLUMNS` per variant.

    Quantiles of the time in ms are interpolated linearly, without the warm-up, whose mean stands
    apart. Calls, tokens and cost are means over the searches that reported them, of which the n
    beside each says how many. Repaired are the searches in which an answer could be used only in
    part.
    """
    import numpy as np

    searches: dict[str, list[SearchCosts]] = {variant.name: [] for variant in report.variants}
    for search in search_costs(report):
        searches[search.result.variant].append(search)
    for variant, mine in searches.items():
        times = [s.latency_ms for s in mine if s.latency_ms is not None and not s.warm_up]
        warm_ups = [s.latency_ms for s in mine if s.latency_ms is not None and s.warm_up]
        p50, p95, p99 = np.quantile(times, [0.5, 0.95, 0.99]).tolist() if times else [None] * 3
        answered = sum(s.result.result.status == "ok" for s in mine)
        row = {
            "variant": variant,
            "n": len(mine),
            "success_rate": answered / len(mine) if mine else None,
            "n_timed": len(times),
            "latency_p50": p50,
            "latency_p95": p95,
            "latency_p99": p99,
            "n_warm_up": len(warm_ups),
            "latency_warm_up": _mean(warm_ups),
        }
        for quantity in ("calls", "tokens", "cost"):
            amounts = [a for s in mine if (a := getattr(s, quantity)) is not None]
            row |= {f"n_{quantity}": len(amounts), quantity: _mean(amounts)}
        row["repaired"] = sum(bool(s.result.result.usage.repaired) for s in mine)
        yield row


def _mean(amounts: list[float]) -> float | None:
    return sum(amounts) / len(amounts) if amounts else None


def parse_prices(written: object, *, where: str) -> dict[str, Price]:
    """Read a price table: ``{"model": {"input_per_million": 0.02, "output_per_million": 0}}``.

    Raises
    ------
    BadInputError
        Naming the model and the field that is wrong.
    """
    try:
        return TypeAdapter(dict[str, Price]).validate_python(written)
    except ValidationError as error:
        raise BadInputError(
            describe_validation_error(error, known=Price.model_fields),
            where=where,
            remedy='write {"model": {"input_per_million": N, "output_per_million": N}}',
        ) from None


def load_prices(path: Path) -> dict[str, Price]:
    """Read a price table from a TOML or JSON file; see :func:`parse_prices`.

    Raises
    ------
    NotFoundError
        If there is no such file.
    BadInputError
        If it is no price table.
    """
    if path.suffix == ".toml":
        return parse_prices(read_toml(path, what="a price table"), where=str(path))
    with no_gold():
        content = read_bounded(path, bound=MANIFEST_BYTES, what="a price table")
        return parse_prices(parse_strict(content, where=str(path)), where=str(path))


def priced(report: EvaluationReport, prices: Mapping[str, Price]) -> EvaluationReport:
    """Return the report with the prices that its costs are computed at."""
    observed = report.observed.model_copy(update={"prices": dict(prices)})
    return report.model_copy(update={"observed": observed})


def unpriced_models(report: EvaluationReport) -> list[str]:
    """Return the models that took tokens without having a price."""
    used = {model for result in report.results for model in result.result.usage.by_model}
    return sorted(used - report.observed.prices.keys())
