"""The ``evalnb`` command: one module per command group, one place that ends the process.

Commands raise; this module alone turns what was raised into a message and an exit status.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from evalnb.cli.commands import LazyGroup, new_app
from evalnb.cli.output import note, show
from evalnb.errors import BadInputError, EvalnbError

BAD_INPUT, NOT_EVALUATED, OWN_FAULT, INTERRUPTED = 2, 3, 70, 130
CLOSED_PIPE = 128 + 13  # what a shell reports for a program that SIGPIPE ended
MACHINE_FAULTS = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOMEM, errno.EMFILE}
)


def build_app() -> typer.Typer:
    """Assemble the application; the commands themselves are loaded when they are asked for."""
    app = new_app(
        name="evalnb", cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]}
    )
    app.callback()(_root)
    return app


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status.

    Parameters
    ----------
    argv
        The arguments after the program's name; those of the process by default.
    """
    # A stream that was closed is None: what nobody can read goes nowhere.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # spell out what a terminal's encoding lacks
            stream.reconfigure(errors="backslashreplace")
    return _delivered(_run(list(sys.argv[1:] if argv is None else argv)))


def _run(arguments: list[str]) -> int:
    """Invoke the command and turn whatever it raises into a message and a status."""
    command = typer.main.get_command(build_app())
    try:
        _refuse_empty(arguments)
        with command.make_context("evalnb", arguments) as context:
            command.invoke(context)
    except typer.Exit as leaving:
        return leaving.exit_code
    except (KeyboardInterrupt, typer.Abort):
        note("interrupted")
        return INTERRUPTED
    except Exception as error:
        return _explained(error)
    return 0


def _refuse_empty(arguments: Sequence[str]) -> None:
    """Refuse what an unset variable of the shell leaves: an empty path is the current folder."""
    for at, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if not argument or (name.startswith("--") and equals and not value):
            before = name or (arguments[at - 1] if at else "the first argument")
            raise BadInputError(
                f"an argument is empty, at {before!r}",
                remedy="is a variable of the shell unset? Leave the option out for its default",
            )


def _explained(error: Exception) -> int:
    """Say what went wrong, and choose the status that says whose fault it was."""
    if isinstance(error, typer.TyperException):
        error.show()  # type: ignore[attr-defined]
        return error.exit_code
    if isinstance(error, EvalnbError):
        note(f"{error.code}: {error}")
        return error.exit_status
    if isinstance(error, BrokenPipeError):
        return CLOSED_PIPE
    if isinstance(error, OSError):
        return refused(error)
    import traceback

    note("".join(traceback.format_exception(error)).rstrip())
    note("This is a fault of evalnb, not of its input.")
    return OWN_FAULT


def refused(error: OSError) -> int:
    """Name the file that the system refused; a full disk is not the input's fault."""
    full = error.errno in MACHINE_FAULTS
    place = f"{error.filename}: " if error.filename else ""
    note(f"{'NOT_EVALUATED' if full else 'BAD_INPUT'}: {place}{error.strerror or error}")
    return NOT_EVALUATED if full else BAD_INPUT


def _delivered(status: int) -> int:
    """Flush the result; what nobody can read any more goes nowhere instead of failing again."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return CLOSED_PIPE
        return status or refused(error)
    return status


def _print_version(wanted: bool) -> None:
    if wanted:
        import evalnb

        show(f"evalnb {evalnb.__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Measure retrieval instead of guessing it."""
