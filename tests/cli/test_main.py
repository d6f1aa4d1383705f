"""One place ends the process: what was raised decides the message and the exit status."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from types import SimpleNamespace

import pytest
import typer

from evalnb import errors
from evalnb.cli import commands
from evalnb.cli.main import main


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Add a command module: ``fail`` raises what it is told to, ``count`` takes a number."""

    def install(error: BaseException) -> None:
        def fail() -> None:
            raise error

        def count(number: int) -> None:
            typer.echo(number)

        def register(app: typer.Typer) -> None:
            app.command()(fail)
            app.command()(count)

        monkeypatch.setitem(sys.modules, "evalnb.cli.failing", SimpleNamespace(register=register))
        for name in ("fail", "count"):
            monkeypatch.setitem(commands.COMMANDS, name, ("failing", "For tests."))

    return install


ENDINGS = [
    (errors.GoldError("two", where="a:3", remedy="cut"), 2, "GOLD_INVALID: a:3: two (cut)"),
    (errors.LimitExceededError("too many"), 2, "LIMIT_EXCEEDED: too many"),
    (errors.IntegrityError("3 locators"), 1, "INTEGRITY_FAILED: 3 locators"),
    (errors.CapabilityError("no index"), 3, "CAPABILITY_UNAVAILABLE: no index"),
    (errors.NotebookError("cell 4"), 3, "NOTEBOOK_FAILED: cell 4"),
    (PermissionError(errno.EACCES, "Not permitted", "out"), 2, "BAD_INPUT: out: Not permitted"),
    (OSError(errno.ENOSPC, "No space left on device"), 3, "NOT_EVALUATED: No space left on device"),
    (KeyboardInterrupt(), 130, "interrupted"),
    (BrokenPipeError(), 141, ""),
    (typer.Exit(1), 1, ""),
    (typer.Exit(), 0, ""),
]  # fmt: skip


@pytest.mark.parametrize(("error", "status", "message"), ENDINGS, ids=lambda v: type(v).__name__)
def test_endings(
    error: BaseException,
    status: int,
    message: str,
    failing: Callable[[BaseException], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    failing(error)
    assert main(["fail"]) == status
    out, err = capsys.readouterr()
    assert (out, err.strip()) == ("", message)


def test_a_fault_of_our_own_shows_its_traceback(
    failing: Callable[[BaseException], None], capsys: pytest.CaptureFixture[str]
) -> None:
    failing(ZeroDivisionError("of our own"))
    assert main(["fail"]) == 70
    err = capsys.readouterr().err
    assert err.startswith("Traceback (most recent call last)")
    assert "ZeroDivisionError: of our own" in err
    assert err.endswith("This is a fault of evalnb, not of its input.\n")


@pytest.mark.parametrize(
    "arguments", [["nosuch"], ["fail", "--nosuch"], ["count"], ["count", "many"], []]
)
def test_usage_errors(
    arguments: list[str],
    failing: Callable[[BaseException], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    failing(ValueError())
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Usage: evalnb")


def test_hostile_text_in_an_error_reaches_the_terminal_escaped(
    failing: Callable[[BaseException], None], capsys: pytest.CaptureFixture[str]
) -> None:
    error = errors.NotFoundError("no variant 'a\x1b]0;owned\x07\x1b[2Jb'")
    failing(error)
    main(["fail"])
    assert capsys.readouterr().err == (
        "NOT_FOUND: no variant 'a\\u001b]0;owned\\u0007\\u001b[2Jb'\n"
    )


@pytest.mark.parametrize(
    "arguments",
    [["ingest", ""], ["ingest", "docs", "--workspace", ""], ["search", "q", "--workspace="]],
)
def test_an_unset_variable_is_not_the_current_folder(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith("BAD_INPUT: an argument is empty, at ")


def test_version_is_that_of_the_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"evalnb {version('evalnb')}\n"


def _process(shell: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", shell.replace("evalnb", f'"{sys.executable}" -m evalnb', 1)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )


def test_a_reader_that_leaves_is_met_in_silence() -> None:
    done = _process("evalnb --help | true; exit ${PIPESTATUS[0]}")
    assert done.stderr == ""
    assert done.returncode in (0, 141)


def test_a_full_disk_is_said_once() -> None:
    done = _process("evalnb --version > /dev/full")
    assert done.returncode == 3
    assert done.stderr == "NOT_EVALUATED: No space left on device\n"


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_is_no_fault(closed: str) -> None:
    assert (done := _process(f"evalnb --version {closed}")).returncode == 0
    assert done.stderr == ""
    assert _process(f"evalnb foo {closed}").returncode == 2


def test_a_terminal_without_unicode() -> None:
    done = _process(
        "evalnb çağrı",
        PYTHONIOENCODING="ascii",
        PYTHONUTF8="0",
        LC_ALL="C",
        PYTHONCOERCECLOCALE="0",
    )
    assert done.returncode == 2
    assert "No such command" in done.stderr
    assert done.stderr.isascii()
