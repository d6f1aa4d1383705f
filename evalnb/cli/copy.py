"""``evalnb copy``: the same documents, units and vectors in a database."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalnb.cli.output import note, show


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("copy")(copy)


def copy(
    to: Annotated[Path, typer.Argument(help="TOML file with a table [postgres].")],
    *,
    workspace: Annotated[Path, typer.Option(help="Folder of the workspace.")],
    text_index: Annotated[
        str | None, typer.Option(help="Text index whose vectors are copied; the only one if not.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Workspace id of the rows; the folder's name unless given.")
    ] = None,
) -> None:
    """Copy a workspace into the tables of a Postgres database, to search the same there.

    Tables that are not there are made. An earlier copy under the same name is replaced, in one
    transaction.
    """
    from evalnb.api import open_workspace
    from evalnb.wiring import copy_workspace

    kept = name or workspace.resolve().name
    loaded, index = copy_workspace(open_workspace(workspace), to, name=kept, text_index=text_index)
    show(
        f"{loaded.n_documents:,} documents and {loaded.n_chunks:,} units under {kept!r}, "
        f"vectors of {index}"
    )
    model = index.removeprefix("text:")
    if model.startswith("lsa"):
        note("no model outside the workspace embeds queries as text:lsa-256 does: keyword only")
    else:
        note(f'queries are embedded alike with encoder = "{model}" in {to}')
