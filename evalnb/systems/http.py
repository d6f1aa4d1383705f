"""A search service behind HTTP, described in TOML: what to send, and where the hits stand."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from evalnb.errors import BadInputError, CapabilityError, SearchFailedError
from evalnb.search.metering import meter, metered
from evalnb.search.request import Controls, QueryRequest, Scalar
from evalnb.search.result import QueryResult, Usage
from evalnb.search.system import Capabilities, SearchContext
from evalnb.systems.connection import Connection, Pace
from evalnb.systems.hits import parse_hits
from evalnb.systems.settings import near_name, parse_settings
from evalnb.systems.transport import Transport, require

if TYPE_CHECKING:
    from jmespath.parser import ParsedResult

EXTRA = "http"
GRACE_S = (
    1.0  # the transport ends a search itself; this guards what it cannot, such as a name server
)
SEARCH_ENGINE: dict[str, Any] = {
    "body": {"query": {"multi_match": {"query": "{query}"}}, "size": "{limit}"},
    "results": "hits.hits",
    "id": "_id",
    "score": "_score",
    "text": "_source.text",
    "name": "_source.title",
    # Both answer 200 with what some shards found: a part that must not pass for the whole.
    "failure": "timed_out || _shards.failed > `0`",
}
PRESETS: dict[str, dict[str, Any]] = {"elasticsearch": SEARCH_ENGINE, "opensearch": SEARCH_ENGINE}
FIELDS = {  # of a result, under the names that results of functions have
    "id": "id",
    "text": "text",
    "score": "score",
    "name": "document_name",
    "document": "document",
}

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


class HttpSettings(Connection):
    """A search service.

    Attributes
    ----------
    preset
        ``elasticsearch`` or ``opensearch``: everything but ``url`` is filled in for an index with
        fields title and text; what is written besides wins.
    params, body
        What is sent: query string and JSON. In their strings ``{query}`` is the query, ``{limit}``
        the limit and ``{NAME}`` an option; a string of nothing else takes the value's own type.
    options
        Defaults of values that a variant may change as ``hints.system_options``.
    results
        JMESPath of the list of results in the answer; the answer itself unless given.
    id, text, score, name, document
        JMESPath of each within one result. Without an id path, results are read as from a function:
        ids, (id, score), or objects with id, text, score, document and metadata.
    failure
        JMESPath; where it is true the answer is incomplete, and the search has failed.
    tokens
        JMESPath of the tokens that the service says it took.
    version
        The service's own version key. Without one, stored results are never used again.
    """

    preset: Literal["elasticsearch", "opensearch"] | None = None
    method: Literal["GET", "POST"] = "POST"
    params: dict[str, Scalar] = {}
    body: Any = None
    options: dict[Annotated[str, Field(pattern=r"^\w+$")], Scalar] = {}
    results: str = "@"
    id: str | None = None
    text: str | None = None
    score: str | None = None
    name: str | None = None
    document: str | None = None
    failure: str | None = None
    tokens: str | None = None
    version: str | None = None


class HttpSystem:
    """A service as a search system; its channels and modes are its own."""

    def __init__(self, settings: HttpSettings, *, where: str = "http") -> None:
        self.settings = settings
        self.pace = Pace(settings.requests_per_second)
        self.paths = {
            field: _compiled(path, f"{where}.{field}")
            for field in ("results", "failure", "tokens", *FIELDS)
            if (path := getattr(settings, field)) is not None
        }
        _check_templates(settings, where)

    def capabilities(self) -> Capabilities:
        """Say what is sent and where; nothing of the headers' values."""
        settings = self.settings
        asked = settings.model_dump(exclude={"headers", "version"})
        return Capabilities(
            identity={
                "url": settings.shown_url,
                "settings": hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest(),
                "version": settings.version or "unversioned",
            },
            versioned=settings.version is not None,
            timeout_s=settings.timeout_s + GRACE_S,
        )

    def check(self, controls: Controls) -> None:
        """Refuse channels, reranking and options that the settings do not know.

        Raises
        ------
        CapabilityError
            Also if an environment variable of a header is not set.
        """
        if controls.channels or controls.rerank:
            wanted = controls.mode or ", ".join(controls.channels) or "rerank"
            raise CapabilityError(
                f"{wanted}: a service has no channels or modes to choose",
                where=self.settings.shown_url,
                remedy="declare an option and set it with hints.system_options",
            )
        if unmet := [name for name in controls.hints.given if name != "system_options"]:
            raise CapabilityError(
                f"a service is not sent {', '.join(unmet)}",
                where=self.settings.shown_url,
                remedy="declare an option and set it with hints.system_options",
            )
        for name in controls.hints.system_options or {}:
            if name not in self.settings.options:
                raise CapabilityError(
                    f"there is no option {name!r}",
                    where=self.settings.shown_url,
                    remedy=near_name(name, self.settings.options),
                )
        self.settings.resolved_headers()

    def check_offline(self, controls: Controls) -> None:
        """Refuse every search: a service is behind the network.

        Raises
        ------
        CapabilityError
            Always.
        """
        raise CapabilityError(
            "the service needs the network, and the request is offline",
            where=self.settings.shown_url,
        )

    def open(self, context: SearchContext) -> HttpSession:
        """Open a session; nothing is sent yet.

        Raises
        ------
        CapabilityError
            If the context is offline, or a header's environment variable is not set.
        MissingExtraError
            If httpx is not installed.
        """
        if context.offline:
            self.check_offline(Controls())
        return HttpSession(self, context)


class HttpSession:
    """One session: one pool of connections, usable from several threads."""

    def __init__(self, system: HttpSystem, context: SearchContext) -> None:
        self._settings = system.settings
        self._paths = system.paths
        self._deadline = context.deadline
        self._transport = Transport(system.settings, pace=system.pace, extra=EXTRA)

    def search(self, request: QueryRequest, controls: Controls) -> QueryResult:
        """Send the query and read the answer.

        Raises
        ------
        SearchFailedError, SearchTimeoutError, LimitExceededError
            As :meth:`~evalnb.systems.transport.Transport.ask` does, and if there are no results
            where the settings say.
        """
        return metered(lambda: parse_hits(self.call(request, controls), limit=controls.limit))

    def call(self, request: QueryRequest, controls: Controls) -> list[Any]:
        """Send the query and return the results as they stand in the answer."""
        settings = self._settings
        values = {
            **settings.options,
            **(controls.hints.system_options or {}),
            "query": request.query,
            "limit": controls.limit,
        }
        answer = self._transport.ask(
            settings.method,
            settings.url,
            params=_filled(settings.params, values) or None,
            body=_filled(settings.body, values),
            deadline=self._deadline,
        )
        if "failure" in self._paths and self._found("failure", answer):
            raise SearchFailedError(
                f"the answer is incomplete: {settings.failure} is true", where=settings.shown_url
            )
        self._meter(answer)
        results = self._found("results", answer)
        if not isinstance(results, list):
            raise SearchFailedError(
                f"no list of results at {settings.results!r}, found {_outline(results)}; "
                f"the answer is {_outline(answer)}",
                where=settings.shown_url,
                remedy="correct the JMESPath of results",
            )
        return results if settings.id is None else [self._item(result) for result in results]

    def close(self) -> None:
        """Close the connections; calling it again does nothing."""
        self._transport.close()

    def _meter(self, answer: Any) -> None:
        tokens = self._found("tokens", answer) if "tokens" in self._paths else None
        if isinstance(tokens, int | float) and tokens >= 0:
            meter(Usage(tokens=round(tokens)))

    def _item(self, result: Any) -> dict[str, Any]:
        parts = {field: self._found(field, result) for field in FIELDS if field in self._paths}
        return {FIELDS[field]: value for field, value in parts.items()}

    def _found(self, field: str, value: Any) -> Any:
        from jmespath.exceptions import JMESPathError

        try:
            return self._paths[field].search(value)
        except JMESPathError as error:
            raise SearchFailedError(
                f"the JMESPath of {field} does not fit the answer: {' '.join(str(error).split())}",
                where=self._settings.shown_url,
            ) from None


def http_system(table: Mapping[str, Any], *, where: str = "http") -> HttpSystem:
    """Make a system of the keys of :class:`HttpSettings`; a preset fills in what is not given.

    Raises
    ------
    BadInputError
        Naming the key that is wrong; never a header's value.
    """
    preset = table.get("preset")
    filled = {**PRESETS.get(preset, {}), **table} if isinstance(preset, str) else dict(table)
    return HttpSystem(parse_settings(HttpSettings, filled, where=where), where=where)


def _compiled(path: str, where: str) -> ParsedResult:
    try:
        import jmespath
    except ImportError as error:
        require(EXTRA, error)
    try:
        return jmespath.compile(path)
    except jmespath.exceptions.JMESPathError as error:
        reason = " ".join(str(error).split())
        raise BadInputError(f"not a JMESPath: {reason}", where=where) from None


def _check_templates(settings: HttpSettings, where: str) -> None:
    known = {"query", "limit", *settings.options}
    found = set(_placeholders(settings.params)) | set(_placeholders(settings.body))
    unknown = sorted(found - known)
    if unknown:
        raise BadInputError(
            f"nothing is named {{{unknown[0]}}}", where=where, remedy=near_name(unknown[0], known)
        )
    try:
        json.dumps(settings.body, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise BadInputError(f"the body is no JSON: {error}", where=f"{where}.body") from None
    if "query" not in found:
        raise BadInputError(
            "the query is sent nowhere", where=where, remedy="write {query} in params or body"
        )


def _placeholders(template: Any) -> list[str]:
    if isinstance(template, str):
        return _PLACEHOLDER.findall(template)
    parts = template.values() if isinstance(template, Mapping) else template
    if not isinstance(template, Mapping | list | tuple):
        return []
    return [name for part in parts for name in _placeholders(part)]


def _filled(template: Any, values: Mapping[str, Scalar]) -> Any:
    if isinstance(template, str):
        whole = _PLACEHOLDER.fullmatch(template)
        if whole:
            return values[whole[1]]
        return _PLACEHOLDER.sub(lambda found: str(values[found[1]]), template)
    if isinstance(template, Mapping):
        return {key: _filled(part, values) for key, part in template.items()}
    return [_filled(part, values) for part in template] if isinstance(template, list) else template


def _outline(value: Any) -> str:
    if isinstance(value, dict):
        return f"an object with {', '.join(sorted(value)[:8]) or 'no keys'}"
    return "null" if value is None else f"a {type(value).__name__}"
