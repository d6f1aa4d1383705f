"""Bring every pasted ``evalnb ... --help`` in the documentation up to date.

Run ``make docs``. A pasted help is a console block whose first line is the command::

    ```console
    $ evalnb score --help
    ...
    ```
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
HELP_BLOCK = re.compile(r"(```console\n\$ evalnb(?P<words>(?: [a-z-]+)*) --help\n).*?(```)", re.S)


def documents() -> list[Path]:
    """List the documents that may carry a pasted help."""
    return [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]


def current_help(words: list[str]) -> str:
    """Return what ``evalnb WORDS --help`` prints on a terminal of 80 columns."""
    from evalnb.cli.main import main

    os.environ["COLUMNS"] = "80"
    with contextlib.redirect_stdout(io.StringIO()) as out:
        status = main([*words, "--help"])
    if status != 0:
        raise SystemExit(f"evalnb {' '.join(words)} --help ended with status {status}")
    return out.getvalue()


def regenerated(text: str) -> str:
    """Return a document with every pasted help replaced by the current one."""
    return HELP_BLOCK.sub(
        lambda found: found[1] + current_help(found["words"].split()) + found[3], text
    )


def pasted_commands(text: str) -> list[str]:
    """List the commands whose help a document shows, as they are typed after ``evalnb``."""
    return [found["words"].strip() for found in HELP_BLOCK.finditer(text)]


if __name__ == "__main__":
    for path in documents():
        path.write_text(regenerated(path.read_text()))
