"""What a run ran on: versions that decide results, and hardware that only explains times."""

from __future__ import annotations

import gc
import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

# Libraries whose version can change a ranking or a figure.
DECIDING = ("numpy", "pydantic", "tantivy")


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    found = [("python", platform.python_version())]
    for name in ("evalnb", *DECIDING):
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return tuple(found)


def versions() -> dict[str, str]:
    """Versions of Python, evalnb and the libraries that decide results."""
    return dict(_versions())


def hardware() -> dict[str, Any]:
    """Machine, processor count and memory in bytes."""
    import psutil

    return {
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
    }


@contextmanager
def rare_collections() -> Iterator[None]:
    """Let Python look for reference cycles a hundred times less often.

    Retained results have none, and looking through all of them again and again costs a third of
    evalnb's own time. Cycles of the searched functions are still collected.
    """
    before = gc.get_threshold()
    gc.set_threshold(100 * before[0], *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def git_revision() -> str | None:
    """Revision of the current folder's checkout, with ``+`` where it has uncommitted changes."""
    try:
        head = _git("rev-parse", "HEAD")
        return head + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return None  # no git, or no checkout: nothing to say


def _git(*arguments: str) -> str:
    done = subprocess.run(  # noqa: S603  # fixed arguments, no shell
        ["git", *arguments],  # noqa: S607  # the user's own git, wherever it is installed
        capture_output=True,
        text=True,
        timeout=5,
        check=True,
    )
    return done.stdout.strip()
