"""How a service is reached: its address, its headers from the environment, its pace."""

from __future__ import annotations

import os
import re
import threading
import time
from typing import Annotated

from pydantic import AfterValidator, Field

from evalnb.errors import CapabilityError, SearchTimeoutError
from evalnb.search.request import Finite, Record, Text
from evalnb.search.secrets import SECRET_NAME

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def _check_url(value: str) -> str:
    if not re.match(r"https?://[^/?#\s]+", value):
        raise ValueError("a URL begins with http:// or https:// and a host")
    if "@" in value.split("/")[2]:
        raise ValueError("no user or password in the URL; send them in a header")
    return value


HeaderName = Annotated[str, Field(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")]  # RFC 9110: a token


class Connection(Record):
    """How a service is reached.

    Attributes
    ----------
    url
        Where it answers.
    headers
        Sent with every request; ``${NAME}`` stands for an environment variable.
    timeout_s
        Seconds for one request with all its retries.
    retries
        How often a request is sent again after 429, a status of 500 or more, or a lost connection.
    requests_per_second
        The most that are sent, over all threads; null for no limit.
    ca_file
        A file of certificates to trust instead of the well-known ones.
    """

    url: Annotated[str, AfterValidator(_check_url)]
    headers: Annotated[dict[HeaderName, str], Field(repr=False)] = {}
    timeout_s: Annotated[Finite, Field(gt=0, le=3600)] = 30.0
    retries: Annotated[int, Field(ge=0, le=10)] = 2
    requests_per_second: Annotated[Finite, Field(gt=0)] | None = None
    ca_file: Text | None = None

    @property
    def shown_url(self) -> str:
        """The URL without its query, which may hold a key."""
        return re.split("[?#]", self.url)[0]

    def resolved_headers(self) -> tuple[dict[str, str], frozenset[str]]:
        """Read the environment: the headers, and which strings in them are secrets.

        Raises
        ------
        CapabilityError
            Naming the variable that is not set, or the header that cannot be sent.
        """
        headers: dict[str, str] = {}
        secrets: set[str] = set()
        for name, template in self.headers.items():
            value, from_environment = _filled(template, name)
            if not (value.isascii() and value.isprintable()):
                raise CapabilityError(
                    f"the value of header {name!r} cannot be sent",
                    where=self.shown_url,
                    remedy="it has to be printable ASCII",
                )
            headers[name] = value
            secrets.update(from_environment)
            if value and SECRET_NAME.search(name):
                secrets.add(value)
        bare = {value.split()[-1] for value in secrets}  # behind a scheme such as Bearer
        return headers, frozenset(secrets | bare)


class Pace:
    """Spaces requests out over all threads that share it."""

    def __init__(self, per_second: float | None) -> None:
        self._interval = 0.0 if per_second is None else 1 / per_second
        self._next = 0.0
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[Pace], tuple[None]]:
        """Go to another process, unless there is a pace to keep: each would keep its own."""
        if self._interval:
            raise TypeError("requests_per_second holds within one process only")
        return Pace, (None,)

    def wait(self, deadline: float) -> None:
        """Wait for a turn.

        Raises
        ------
        SearchTimeoutError
            If it comes after the deadline; it is given back then.
        """
        with self._lock:
            turn = max(self._next, time.monotonic())
            if turn > deadline:
                raise SearchTimeoutError(
                    "no turn within the time left",
                    remedy="raise timeout_s or requests_per_second",
                )
            self._next = turn + self._interval
        time.sleep(max(0.0, turn - time.monotonic()))


def _filled(template: str, header: str) -> tuple[str, list[str]]:
    values = {name: _environment(name, header) for name in _VARIABLE.findall(template)}
    return _VARIABLE.sub(lambda found: values[found[1]], template), list(values.values())


def _environment(variable: str, header: str) -> str:
    value = os.environ.get(variable, "").strip()
    if not value:
        raise CapabilityError(
            f"the environment variable {variable} is not set; header {header!r} needs it",
            remedy=f"export {variable}=...",
        )
    return value
