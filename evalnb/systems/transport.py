"""JSON over HTTP for search: bounded, retried, paced, and silent about secrets."""

from __future__ import annotations

import datetime as dt
import json
import logging
import random
import ssl
import time
import weakref
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

import jiter

from evalnb.errors import (
    BadInputError,
    CapabilityError,
    LimitExceededError,
    MissingExtraError,
    SearchFailedError,
    SearchTimeoutError,
)
from evalnb.limits import MIB
from evalnb.search.metering import meter
from evalnb.search.result import Usage
from evalnb.search.secrets import SECRET_LENGTH
from evalnb.systems.connection import Connection, Pace

if TYPE_CHECKING:
    import httpx

ANSWER_BYTES = 10 * MIB  # a thousand long hits fit; more is not an answer to one search
CONNECT_S = 10.0
REDIRECTS = 5
BACKOFF_S = 0.125  # doubled by every attempt, up to:
BACKOFF_MOST_S = 8.0
RETRY_AFTER_MOST_S = 60.0  # a server that asks for more is not available now
EXCERPT = 160

_sending: ContextVar[bool] = ContextVar("sending", default=False)


class Transport:
    """Sends requests and reads JSON answers; usable from several threads at once.

    Nothing that it raises holds a header's value, and secrets are taken out of the answers too: an
    echo of the request must not reach a report.
    """

    def __init__(self, connection: Connection, *, pace: Pace, extra: str) -> None:
        self.connection = connection
        self._pace = pace
        headers, self._secrets = connection.resolved_headers()
        self._long_secrets = [s for s in self._secrets if len(s) >= SECRET_LENGTH]
        self._client = _client(connection, headers, extra)
        # Models that nobody closes, such as a workspace's, leave no socket open behind them.
        self._finalizer = weakref.finalize(self, self._client.close)

    def close(self) -> None:
        """Close the connections; calling it again does nothing."""
        self._finalizer()

    def ask(
        self,
        method: str,
        url: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: Any = None,
        deadline: float | None = None,
    ) -> Any:
        """Send one request and return its JSON answer.

        Parameters
        ----------
        deadline
            A ``time.monotonic()`` value; the connection's ``timeout_s`` holds besides.

        Raises
        ------
        SearchTimeoutError
            If there is no whole answer in time.
        LimitExceededError
            If the answer is past 10 MiB.
        SearchFailedError
            For anything else that is not a JSON answer with a status of 200 to 299.
        """
        ends = time.monotonic() + self.connection.timeout_s
        ends = ends if deadline is None else min(ends, deadline)
        request = self._client.build_request(method, url, json=body)
        # Not as params=: that would drop what the URL asks for itself.
        request.url = request.url.copy_merge_params(params or {})
        attempts = 0
        while True:
            attempts += 1
            self._pace.wait(ends)
            meter(Usage(calls=1))
            try:
                return self._answer(request, ends)
            except _PassingError as passing:
                wait = _backoff(attempts) if passing.retry_after is None else passing.retry_after
                last = attempts > self.connection.retries or wait > RETRY_AFTER_MOST_S
                if last or time.monotonic() + wait >= ends:
                    self._fail(f"{passing} ({_times(attempts)})")
            time.sleep(wait)

    def _answer(self, request: httpx.Request, ends: float) -> Any:
        import httpx

        try:
            return self._parsed(*self._read(request, ends))
        except (httpx.ReadTimeout, httpx.WriteTimeout, httpx.PoolTimeout):
            raise SearchTimeoutError("no answer in time", where=self._where) from None
        except httpx.ConnectError as error:
            if _is_tls(error):
                self._fail(
                    f"TLS: {self._clean(str(error))}",
                    remedy="name the authority's certificate as ca_file, or correct the URL",
                )
            raise _PassingError(f"cannot connect: {self._clean(str(error))}") from None
        except httpx.ConnectTimeout:
            raise _PassingError("cannot connect in time") from None
        except httpx.NetworkError:
            raise _PassingError("the connection was lost") from None
        except httpx.RemoteProtocolError:
            raise _PassingError("the server broke off its answer") from None
        except httpx.HTTPError as error:
            self._fail(f"{type(error).__name__}: {self._clean(str(error))}")

    def _read(self, request: httpx.Request, ends: float) -> tuple[httpx.Response, bytes]:
        n_redirects = 0
        while True:
            request.extensions["timeout"] = _timeouts(ends - time.monotonic())
            sending = _sending.set(True)
            try:
                response = self._client.send(request, stream=True)
            finally:
                _sending.reset(sending)
            try:
                if response.next_request is None:
                    return response, self._content(response, ends)
                if n_redirects == REDIRECTS:
                    self._fail(f"more than {REDIRECTS} redirects")
                request = self._redirected(request, response)
                n_redirects += 1
            finally:
                response.close()

    def _redirected(self, request: httpx.Request, response: httpx.Response) -> httpx.Request:
        # Headers carry secrets: they go to the host that they were written for, and nowhere else.
        following = response.next_request
        assert following is not None
        old, new = request.url, following.url
        same_origin = (new.scheme, new.host, new.port) == (old.scheme, old.host, old.port)
        upgraded = new.host == old.host and (old.scheme, new.scheme) == ("http", "https")
        if not (same_origin or upgraded):
            self._fail("redirected to another host", remedy="write the final URL")
        if following.method != request.method:
            self._fail(
                f"status {response.status_code} turns {request.method} into {following.method}",
                remedy="write the final URL",
            )
        return following

    def _content(self, response: httpx.Response, ends: float) -> bytes:
        content = bytearray()
        for chunk in response.iter_bytes():
            content += chunk
            if len(content) > ANSWER_BYTES:
                raise LimitExceededError(
                    f"the answer is past the limit of {ANSWER_BYTES:,} bytes",
                    where=self._where,
                    remedy="ask for fewer fields or a smaller limit",
                )
            if time.monotonic() > ends:
                raise SearchTimeoutError("the answer was not complete in time", where=self._where)
        return _without(bytes(content), self._long_secrets)

    def _parsed(self, response: httpx.Response, content: bytes) -> Any:
        status = response.status_code
        if not response.is_success:
            found = f"status {status} {response.reason_phrase}".rstrip()
            found += f": {self._excerpt(content)}" if content.strip() else ""
            if status == 429 or status >= 500:
                raise _PassingError(found, _retry_after(response.headers.get("retry-after")))
            remedy = "check the headers and the environment variables in them"
            self._fail(found, remedy=remedy if status in (401, 403) else None)
        try:
            return jiter.from_json(content, allow_inf_nan=False)
        except ValueError as error:
            kind = self._clean(response.headers.get("content-type", "no content type"))
            self._fail(f"the answer ({kind}) is not JSON: {error}: {self._excerpt(content)}")

    @property
    def _where(self) -> str:
        return self.connection.shown_url

    def _clean(self, text: str) -> str:
        return _without(text.encode(errors="replace"), self._secrets).decode(errors="replace")

    def _excerpt(self, content: bytes) -> str:
        text = " ".join(self._clean(content.decode(errors="replace")).split())
        return text if len(text) <= EXCERPT else f"{text[: EXCERPT - 3]}..."

    def _fail(self, message: str, *, remedy: str | None = None) -> NoReturn:
        raise SearchFailedError(message, where=self._where, remedy=remedy) from None


class _PassingError(Exception):
    """A failure that another attempt may not meet."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


def require(extra: str, error: ImportError) -> NoReturn:
    """Say which extra an import belongs to.

    Raises
    ------
    MissingExtraError
        Always.
    """
    raise MissingExtraError(
        f"{error.name} is not installed", remedy=f"pip install 'evalnb[{extra}]'"
    ) from None


def _client(connection: Connection, headers: dict[str, str], extra: str) -> httpx.Client:
    try:
        import httpx
    except ImportError as error:
        require(extra, error)
    try:
        httpx.URL(connection.url)
    except httpx.InvalidURL as error:
        raise BadInputError(f"not a URL: {error}", where=connection.shown_url) from None
    from evalnb import __version__

    logging.getLogger("httpx").addFilter(_is_not_ours)
    return httpx.Client(
        headers={"User-Agent": f"evalnb/{__version__}", **headers},
        verify=_trust(connection.ca_file),
        follow_redirects=False,
    )


def _is_not_ours(record: logging.LogRecord) -> bool:
    """Keep our URLs out of the log: their query may hold a key."""
    return not _sending.get()


@cache  # reading the well-known authorities takes longer than many a search
def _trust(ca_file: str | None) -> ssl.SSLContext:
    import httpx

    if ca_file is None:
        return httpx.create_ssl_context()
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise CapabilityError(f"the certificates cannot be read: {error}", where=ca_file) from None


def _timeouts(left: float) -> dict[str, float]:
    left = max(left, 0.001)
    return {"connect": min(left, CONNECT_S), "read": left, "write": left, "pool": left}


def _backoff(attempts: int) -> float:
    spread = random.uniform(0.5, 1.0)  # noqa: S311  # clients must not return all at once
    return min(BACKOFF_MOST_S, BACKOFF_S * 2.0**attempts) * spread


def _retry_after(value: str | None) -> float | None:
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=dt.UTC)
    return max(0.0, (when - dt.datetime.now(dt.UTC)).total_seconds())


def _is_tls(error: BaseException) -> bool:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return True
        cause = cause.__cause__ or cause.__context__
    return "[SSL" in str(error)


def _without(content: bytes, secrets: Iterable[str]) -> bytes:
    for secret in sorted(secrets, key=len, reverse=True):
        for form in {secret, json.dumps(secret)[1:-1]}:
            content = content.replace(form.encode(), b"***")
    return content


def _times(attempts: int) -> str:
    return "1 attempt" if attempts == 1 else f"{attempts} attempts"
