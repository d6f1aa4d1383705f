"""Put the best of a pool in a better order, by a function of the user's."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

from evalnb.errors import BadInputError, CapabilityError, EvalnbError, SearchFailedError
from evalnb.search.result import Candidates, Hit
from evalnb.systems.function import callable_name

TEXT_NAMES = ("texts", "documents", "passages")


class Reranker:
    """A function that scores or orders a pool of hits.

    It is called as ``rerank(query, hits)`` with the pool in fused order, or, if its second
    parameter is named texts, documents or passages, as ``rerank(query, texts)``. It returns

    - one number for each of them, in the order given, higher meaning better (ties are ordered by
      id), or
    - ids, best first; those it leaves out follow in fused order.

    Of the function's attributes, ``version`` pins what it does, ``identity`` (names to texts) says
    what makes its scores, ``needs_network`` keeps it out of an offline request, and ``check()``
    refuses before any search.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise BadInputError(
                f"rerank has to be callable, found {type(function).__name__}",
                remedy="pass a function of the query and the hits that returns one score a hit",
            )
        self.function = function
        self._takes_texts = _second_parameter(function) in TEXT_NAMES

    @property
    def name(self) -> str | None:
        """What ``hints.reranker`` calls it: the function's attribute ``name``."""
        name = getattr(self.function, "name", None)
        return name if isinstance(name, str) else None

    @property
    def version(self) -> str | None:
        """The function's own version key."""
        version = getattr(self.function, "version", None)
        return None if version is None else str(version)

    @property
    def identity(self) -> dict[str, str]:
        """What makes its scores."""
        named = {"callable": callable_name(self.function), "version": self.version or "unversioned"}
        named |= getattr(self.function, "identity", {})
        return {f"rerank.{name}": value for name, value in named.items()}

    @property
    def needs_network(self) -> bool:
        """Whether it calls a service."""
        return bool(getattr(self.function, "needs_network", False))

    def check(self) -> None:
        """Let the function refuse what it cannot do here, as without a key."""
        if hasattr(self.function, "check"):
            self.function.check()

    def rerank(self, query: str, ids: Sequence[str], hits: Sequence[Hit]) -> Candidates:
        """Return the pool in its new order; scores are null where only an order was returned.

        Raises
        ------
        CapabilityError
            If it reads texts and a hit has none.
        SearchFailedError
            If it raises, or returns neither scores nor an order of these ids.
        """
        if not ids:
            return Candidates()
        pool: list[Any] = _texts(ids, hits) if self._takes_texts else list(hits)
        try:
            returned = self.function(query, pool)
        except EvalnbError as error:
            raise type(error)(
                f"rerank: {error.message}", where=error.where, remedy=error.remedy
            ) from error
        except Exception as error:  # a user's function may raise anything
            raise SearchFailedError(f"rerank: {type(error).__name__}: {error}") from error
        return _ordered(returned, ids)


def _texts(ids: Sequence[str], hits: Sequence[Hit]) -> list[str]:
    for key, hit in zip(ids, hits, strict=True):
        if hit.text is None:
            raise CapabilityError(
                f"rerank reads texts, and no channel gives one for {key!r}",
                remedy="return (id, text) or items with id and text from a channel",
            )
    return [hit.text or "" for hit in hits]


def _ordered(returned: object, ids: Sequence[str]) -> Candidates:
    if inspect.iscoroutine(returned):
        returned.close()
        raise SearchFailedError("rerank returned a coroutine", remedy="pass a function, not async")
    if isinstance(returned, str | bytes | dict) or not hasattr(returned, "__iter__"):
        raise SearchFailedError(
            f"rerank returned {type(returned).__name__}; one score a hit, or ids, are expected"
        )
    values = list(returned)
    if values and all(isinstance(value, str) for value in values):
        return _by_order(values, ids)
    if len(values) != len(ids):
        raise SearchFailedError(f"rerank returned {len(values)} scores for {len(ids)} hits")
    scores = {key: _score(value, key) for key, value in zip(ids, values, strict=True)}
    order = sorted(scores, key=lambda key: (-scores[key], key))
    return Candidates(ids=tuple(order), scores=tuple(scores[key] for key in order))


def _by_order(order: list[str], ids: Sequence[str]) -> Candidates:
    unknown = [key for key in order if key not in set(ids)]
    if unknown or len(set(order)) < len(order):
        what = f"{unknown[0]!r}, which it was not given" if unknown else "an id twice"
        raise SearchFailedError(f"rerank returned {what}")
    named = set(order)
    full = (*order, *(key for key in ids if key not in named))
    return Candidates(ids=full, scores=(None,) * len(full))


def _score(value: object, key: str) -> float:
    number = isinstance(value, Real) or hasattr(value, "__float__")
    if isinstance(value, bool) or not number:
        raise SearchFailedError(f"the rerank score of {key!r} is {value!r}, not a number")
    score = float(value)  # type: ignore[arg-type]  # anything with __float__ is taken
    if not math.isfinite(score):
        raise SearchFailedError(f"the rerank score of {key!r} is {score}; it has to be finite")
    return score


def _second_parameter(function: Callable[..., Any]) -> str | None:
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # some builtins show no signature
        return None
    return names[1] if len(names) > 1 else None
