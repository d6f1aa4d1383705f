"""A real JupyterLab, started as people start it, and a real browser that reads it.

``lab.write(name, cells)`` puts a notebook into its folder, ``lab.run(name)`` opens it in a page and
runs it. When the test ends, the page must have asked for nothing beyond this machine, and the
console must be silent.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

TOKEN = "a-token-of-this-test"
START_S = 90
PATIENCE_MS = 60_000  # for one step of a page on a busy machine
RUN_ALL = """
async () => {
  const app = window.jupyterapp;
  await app.restored;
  const panel = app.shell.currentWidget;
  await panel.context.ready;
  await panel.sessionContext.ready;
  await panel.sessionContext.session.kernel.info;
  await app.commands.execute("notebook:run-all-cells");
}
"""

NARROW = 600
MAKE_ROOM = """
async () => {
  const app = window.jupyterapp;
  await app.restored;
  if (!app.shell.leftCollapsed) await app.commands.execute("application:toggle-left-area");
  for (const side of ["left", "right"])
    await app.commands.execute("application:toggle-side-tabbar", { side });
}
"""


class Page:
    """A notebook in JupyterLab; ``page`` is Playwright's own."""

    def __init__(self, browser: Any, address: str, name: str, options: dict[str, Any]) -> None:
        self.name = name
        self.page = browser.new_page(**options)
        self.page.set_default_timeout(PATIENCE_MS)
        self.asked: list[str] = []
        self.said: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.goto(f"{address}/lab/tree/{name}?reset&token={TOKEN}")
        self.page.wait_for_selector(".jp-Notebook .jp-Cell")
        if options["viewport"]["width"] < NARROW:
            self.page.evaluate(MAKE_ROOM)

    def _heard(self, message: Any) -> None:
        if message.type == "error":
            self.said.append(f"{message.text} {message.location.get('url', '')}")

    def run_all(self) -> None:
        """Run every cell and wait until all have run."""
        self.page.evaluate(RUN_ALL)
        assert not self.errors(), self.errors()

    def errors(self) -> list[str]:
        """Return what cells raised."""
        found: list[str] = self.page.locator(
            ".jp-RenderedText[data-mime-type='application/vnd.jupyter.stderr'], .jp-mod-error"
        ).all_inner_texts()
        return found

    def state(self) -> str:
        """Return the sentence of the first tool's state line."""
        text: str = self.page.locator(".evalnb-state").first.inner_text()
        return text

    def wait_for_state(self, text: str, *, timeout: float = PATIENCE_MS) -> str:
        """Wait until the state line holds a text, and return the whole line."""
        line = self.page.locator(".evalnb-state", has_text=text).first
        line.wait_for(timeout=timeout)
        return str(line.inner_text())

    def kill_kernel(self) -> None:
        """Kill the kernel's process, as the system does when memory runs out."""
        self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel"
            '.requestExecute({code: "import os; os.kill(os.getpid(), 9)"})'
        )

    def restart(self) -> None:
        """Give the notebook a new kernel."""
        self.page.evaluate(
            "async () => { const c = window.jupyterapp.shell.currentWidget.sessionContext;"
            " await c.restartKernel(); await c.session.kernel.info }"
        )

    def close(self) -> None:
        """Close the page and end its kernel."""
        self.page.evaluate(
            "async () => { const p = window.jupyterapp.shell.currentWidget;"
            " await p.sessionContext.shutdown() }"
        )
        self.page.close()

    def foreign(self) -> list[str]:
        """Return the requests that were for another machine."""
        return [url for url in self.asked if urlsplit(url).hostname not in {None, "127.0.0.1"}]


class Lab:
    """A running JupyterLab; ``folder`` is what it shows."""

    def __init__(self, folder: Path, address: str, browser: Any) -> None:
        self.folder = folder
        self.address = address
        self.browser = browser
        self.pages: list[Page] = []

    def write(self, name: str, cells: Sequence[str]) -> str:
        """Write a notebook of code cells; returns its name."""
        written = {
            "cells": [
                {
                    "cell_type": "code",
                    "id": f"cell-{at}",
                    "metadata": {},
                    "outputs": [],
                    "execution_count": None,
                    "source": source,
                }
                for at, source in enumerate(cells)
            ],
            "metadata": {
                "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}
            },
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        (self.folder / name).write_text(json.dumps(written))
        return name

    def open(self, name: str, *, width: int = 1280, height: int = 900, **options: Any) -> Page:
        """Open a notebook of the folder in a new page."""
        viewport = {"width": width, "height": height}
        opened = Page(self.browser, self.address, name, {"viewport": viewport, **options})
        self.pages.append(opened)
        return opened

    def run(self, name: str, **options: Any) -> Page:
        """Open a notebook and run it."""
        opened = self.open(name, **options)
        opened.run_all()
        return opened


@contextmanager
def started_lab(home: Path, folder: Path) -> Iterator[str]:
    """Run ``evalnb lab`` on a folder, with a home of its own, and give its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("JUPYTER")}
    environment |= {"HOME": str(home), "PYTHONUNBUFFERED": "1"}
    foreign = home / ".local" / "share" / "jupyter" / "kernels" / "python3"
    foreign.mkdir(parents=True)  # what another installation left: it must not be taken
    spec = {
        "argv": ["/bin/false", "{connection_file}"],
        "display_name": "another's",
        "language": "python",
    }
    (foreign / "kernel.json").write_text(json.dumps(spec))
    log = (home / "lab.log").open("w")
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "evalnb", "lab", str(folder), "--no-browser", "--allow-root"),
            *("--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"),
            *(f"--IdentityProvider.token={TOKEN}", "--LabApp.expose_app_in_browser=True"),
        ],
        env=environment,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(f"{address}/api/status?token={TOKEN}", process, home / "lab.log")
        yield address
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)
        log.close()


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.3)
    pytest.fail(f"JupyterLab did not start in {START_S} s\n{log.read_text()}")


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """Start JupyterLab on a fresh folder for all tests."""
    home, folder = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("notebooks")
    with started_lab(home, folder) as address:
        yield folder, address


@pytest.fixture
def lab(lab_server: tuple[Path, str], browser: Any) -> Iterator[Lab]:
    """Return JupyterLab for one test; see the module's words."""
    folder, address = lab_server
    running = Lab(folder, address, browser)
    yield running
    for page in running.pages:
        assert page.foreign() == []
        assert page.said == []
        page.close()
