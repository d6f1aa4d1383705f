"""Where the tests find data, and what a missing part means.

On a developer's machine a test whose data or browser is absent is skipped and says so. With
EVALNB_REQUIRE=1, as in continuous integration, the same absence fails.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import settings

PROJECT = Path(__file__).resolve().parent.parent

EVERY_RUN = 40  # of each property; make soak takes thousands
settings.register_profile("developer", deadline=None, max_examples=EVERY_RUN)
settings.register_profile("ci", deadline=None, max_examples=EVERY_RUN, derandomize=True)
settings.register_profile("soak", deadline=None, max_examples=20_000)
SOAK = bool(os.environ.get("EVALNB_SOAK"))
settings.load_profile("soak" if SOAK else "ci" if os.environ.get("CI") else "developer")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave slow tests to continuous integration, so that every run stays short."""
    if os.environ.get("EVALNB_REQUIRE") or SOAK:
        return
    later = pytest.mark.skip(
        reason="slow: EVALNB_REQUIRE=1 runs it, as continuous integration does"
    )
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(later)


BROWSER_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
LAYOUT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture(scope="session")
def play_session() -> Callable[[str, Path], None]:
    """Return what runs a console block of the documentation in a folder.

    ``cat`` shows files that the block brings; each command prints what stands below it.
    """
    from evalnb.cli.main import main

    def play(session: str, folder: Path) -> None:
        parts = re.split(r"^\$ (.*)\n", session, flags=re.M)[1:]
        for typed, shown in zip(parts[::2], parts[1::2], strict=True):
            program, *arguments = shlex.split(typed)
            if program == "cat":
                (folder / arguments[0]).write_text(shown)
                continue
            assert program == "evalnb", typed
            with contextlib.redirect_stdout(io.StringIO()) as out:
                status = main(arguments)
            assert status == 0, typed
            alike = doctest.OutputChecker().check_output(shown, out.getvalue(), LAYOUT)
            assert alike, f"{typed}\n{out.getvalue()}"

    return play


def _missing(reason: str) -> NoReturn:
    if os.environ.get("EVALNB_REQUIRE"):
        pytest.fail(f"required here: {reason}", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def effort() -> Callable[[int, int], int]:
    """Choose how many rounds: a few in every run, the full count under ``make soak``."""
    return lambda few, full: full if SOAK else few


@pytest.fixture(scope="session")
def project_dir() -> Path:
    """Return the root of the working tree."""
    return PROJECT


@pytest.fixture(scope="session")
def gold_dir() -> Path:
    """Return the folder of the gold sets that travel with the package."""
    return PROJECT / "gold"


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of real collections, runs and gold sets: EVALNB_DATA, else beside us."""
    configured = os.environ.get("EVALNB_DATA")
    folder = Path(configured) if configured else PROJECT.parent / "shared" / "data"
    if not folder.is_dir():
        _missing(f"no test data in {folder}; set EVALNB_DATA")
    return folder


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """Return a real browser's executable."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        _missing("no chromium on the PATH")
    return found


@contextlib.contextmanager
def started_browser(executable: str) -> Iterator[Any]:
    """Run a browser."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=executable, args=BROWSER_FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def browser(chromium_path: str) -> Iterator[Any]:
    """Return a browser for the tests of a module."""
    with started_browser(chromium_path) as opened:
        yield opened
