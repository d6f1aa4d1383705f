"""What a search consumes at providers: written down where it happens, summed where it ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from evalnb.search.result import QueryResult, TokenCount, Usage

_consumed: ContextVar[list[Usage] | None] = ContextVar("consumed", default=None)


def meter(usage: Usage) -> None:
    """Write down what was consumed just now, for the search that runs in this thread."""
    consumed = _consumed.get()
    if consumed is not None:
        consumed.append(usage)


def metered(search: Callable[[], QueryResult]) -> QueryResult:
    """Run a search, and add to its result's usage what was metered meanwhile in this thread."""
    consumed: list[Usage] = []
    token = _consumed.set(consumed)
    try:
        result = search()
    finally:
        _consumed.reset(token)
    if not consumed:
        return result
    return result.model_copy(update={"usage": summed_usage([result.usage, *consumed])})


def summed_usage(usages: Sequence[Usage]) -> Usage:
    """Add up usages; who reports nothing adds nothing.

    >>> summed_usage([Usage(calls=1, tokens=7), Usage(calls=2), Usage()])
    Usage(calls=3, tokens=7, cost=None, repaired=None, by_model={})
    """
    totals: dict[str, Any] = {}
    for field in ("calls", "tokens", "cost", "repaired"):
        given = [value for usage in usages if (value := getattr(usage, field)) is not None]
        totals[field] = sum(given) if given else None
    read: Counter[str] = Counter()
    written: Counter[str] = Counter()
    for usage in usages:
        for model, count in usage.by_model.items():
            read[model] += count.input
            written[model] += count.output
    by_model = {model: TokenCount(input=read[model], output=written[model]) for model in read}
    return Usage(**totals, by_model=by_model)
