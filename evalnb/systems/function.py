"""Any Python function that searches: text in, ids or texts or documents out."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from evalnb.errors import BadInputError, CapabilityError
from evalnb.search.metering import metered
from evalnb.search.request import RESTRICTIONS, Controls, QueryRequest
from evalnb.search.result import QueryResult
from evalnb.search.system import Capabilities, SearchContext
from evalnb.systems.hits import parse_hits

LIMIT_NAMES = ("limit", "k", "top_k", "n", "size")


class FunctionSystem:
    """A function as a search system.

    The query text is the first argument. A parameter named limit, k, top_k, n or size gets the
    limit; one named request gets the :class:`QueryRequest` with the variant's hints, and such a
    function is trusted to honour the request's restrictions. Sync or async.

    Parameters
    ----------
    function
        The callable; see :func:`~evalnb.systems.hits.parse_hits` for what it may return.
    version
        The function's own version key. Without one, stored results are never used again: what the
        function does cannot be told from outside.
    timeout_s
        Seconds one search may take.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        version: str | None = None,
        timeout_s: float | None = None,
    ) -> None:
        if not callable(function):
            methods = [m for m in ("invoke", "retrieve", "search") if hasattr(function, m)]
            remedy = f"pass its method .{methods[0]}" if methods else "pass a function"
            raise BadInputError(
                f"a search system has to be callable, found {type(function).__name__}",
                remedy=remedy,
            )
        if timeout_s is not None and not timeout_s > 0:
            raise BadInputError(f"timeout_s must be above 0, found {timeout_s!r}")
        self.function = function
        self.version = version
        self.timeout_s = timeout_s
        self._limit_name, self._takes_request = _parameters(function)

    def capabilities(self) -> Capabilities:
        """Opaque: no channels to choose; texts and kinds are known from what it returns."""
        return Capabilities(
            restrictions=RESTRICTIONS if self._takes_request else frozenset(),
            identity={
                "callable": callable_name(self.function),
                "version": self.version or "unversioned",
            },
            versioned=self.version is not None,
            timeout_s=self.timeout_s,
        )

    def check(self, controls: Controls) -> None:
        """Refuse channels, reranking, and hints that it is not passed: its controls are its own."""
        if controls.channels or controls.rerank:
            wanted = controls.mode or ", ".join(controls.channels) or "rerank"
            raise CapabilityError(
                f"{wanted}: a function has no channels or modes to choose",
                remedy="give the function itself the parameter, or pass one function per variant",
            )
        if (unmet := controls.hints.given) and not self._takes_request:
            raise CapabilityError(
                f"{', '.join(unmet)}: a function without a parameter named request gets no hints",
                remedy="read them from request.hints, or pass one function per variant",
            )

    def check_offline(self, controls: Controls) -> None:
        """Refuse a function that says of itself that it needs the network.

        Raises
        ------
        CapabilityError
            If its attribute ``needs_network`` is true.
        """
        if getattr(self.function, "needs_network", False):
            raise CapabilityError("the function needs the network, and the request is offline")

    def open(self, context: SearchContext) -> FunctionSession:
        """Open a session; nothing is pinned, as a function shows no state."""
        return FunctionSession(self)

    @property
    def passes(self) -> tuple[str | None, bool]:
        """Name of the parameter that takes the limit, and whether the request is passed."""
        return self._limit_name, self._takes_request


class FunctionSession:
    """One session: an async function keeps one event loop, as its clients expect."""

    def __init__(self, system: FunctionSystem) -> None:
        self._function = system.function
        self._limit_name, self._takes_request = system.passes
        self._loop: asyncio.AbstractEventLoop | None = None

    def search(self, request: QueryRequest, controls: Controls) -> QueryResult:
        """Call the function and read what it returns.

        Raises
        ------
        SearchFailedError
            If it returns something that is not a list of results.
        """
        return metered(lambda: parse_hits(self.call(request, controls), limit=controls.limit))

    def call(self, request: QueryRequest, controls: Controls) -> object:
        """Call the function and return what it returns, unread."""
        named: dict[str, Any] = {}
        if self._limit_name:
            named[self._limit_name] = controls.limit
        if self._takes_request:
            if controls.hints.given:
                hints = (request.hints or controls.hints).merged(controls.hints)
                request = request.model_copy(update={"hints": hints})
            named["request"] = request
        returned = self._function(request.query, **named)
        if inspect.isawaitable(returned) or hasattr(returned, "__aiter__"):
            returned = self._await(returned)
        return returned

    def close(self) -> None:
        """Stop the event loop, if one was started."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop = None

    def _await(self, returned: Any) -> Any:
        # An own loop on an own thread: Jupyter's main thread already runs one.
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=_run_loop, args=(self._loop,), daemon=True).start()

        async def wait() -> Any:
            if hasattr(returned, "__aiter__"):
                return [item async for item in returned]
            return await returned

        work: Coroutine[Any, Any, Any] = wait()
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def callable_name(function: object) -> str:
    """Name a function, or a callable object's class, as ``module:qualified name``."""
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{getattr(named, '__module__', '?')}:{getattr(named, '__qualname__', '?')}"


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


def _parameters(function: Callable[..., Any]) -> tuple[str | None, bool]:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # some builtins show no signature
        return None, False
    names = list(parameters)
    takes_any = any(p.kind is p.VAR_POSITIONAL for p in parameters.values())
    positional = [
        p for p in parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if not positional and not takes_any:
        raise BadInputError(
            "the function takes no positional argument for the query text",
            where=getattr(function, "__qualname__", repr(function)),
            remedy="its first argument has to be the query",
        )
    by_name = [
        name
        for name in names[0 if takes_any else 1 :]
        if parameters[name].kind
        in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    ]
    limit_name = next((name for name in LIMIT_NAMES if name in by_name), None)
    required = [
        name
        for name in by_name
        if parameters[name].default is inspect.Parameter.empty
        and name not in (limit_name, "request")
    ]
    if required:
        raise BadInputError(
            f"the function needs the argument {required[0]!r}, which evalnb does not know",
            where=getattr(function, "__qualname__", repr(function)),
            remedy=f"give it a default; known are the query, {', '.join(LIMIT_NAMES)} and request",
        )
    return limit_name, "request" in by_name
