"""``evalnb copy``: the same documents, units and vectors in a database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalnb.cli.output import note, show
from evalnb.errors import BadInputError

if TYPE_CHECKING:
    from evalnb.systems.postgres.loading import Loaded
    from evalnb.workspace.system import Workspace


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

    kept = name or workspace.resolve().name
    loaded, index = copy_workspace(open_workspace(workspace), to, name=kept, text_index=text_index)
    show(
        f"{loaded.n_documents:,} documents and {loaded.n_chunks:,} units under {kept!r}, "
        f"vectors of {index}"
    )
    model = index.removeprefix("text:")
    if model.startswith("lsa"):
        note("no model outside the workspace embeds queries as text:lsa-256 does: keyword only")
    elif model.startswith("openai:"):
        note(
            f"queries are embedded alike with the endpoint's table as [postgres.embeddings] in {to}"
        )
    else:
        note(f'queries are embedded alike with encoder = "{model}" in {to}')


def copy_workspace(
    workspace: Workspace, path: Path, *, name: str, text_index: str | None = None
) -> tuple[Loaded, str]:
    """Copy a workspace's documents, units and vectors into the database of a TOML file.

    Parameters
    ----------
    name
        What the rows are kept under: another copy under it takes their place.

    Returns
    -------
    tuple
        How much was copied, and which text index its vectors are of.

    Raises
    ------
    BadInputError
        If the file describes no database with a table of documents.
    CapabilityError
        If there is no text index, or the server refuses.
    """
    from evalnb.files import read_toml
    from evalnb.search.system import SearchContext
    from evalnb.systems.postgres.loading import Chunk, load_chunks
    from evalnb.systems.postgres.system import postgres_settings

    table = read_toml(path, what="a TOML file that describes a system").get("postgres")
    if not isinstance(table, dict):
        raise BadInputError("no table [postgres]", where=str(path))
    kept = {key: value for key, value in table.items() if key not in ("encoder", "rerank")}
    settings = postgres_settings(kept, where=f"{path}: postgres")
    index = workspace.text_index(text_index)
    session = workspace.open(SearchContext())
    try:
        chunks = (
            Chunk(u.unit_id, u.text, vector.tolist(), u.document_id, u.document_name, source)
            for u, (_, source, vector) in zip(session.units(), index.unit_vectors(), strict=True)
        )
        dimensions = index.encoder.dimensions
        return load_chunks(settings, chunks, workspace=name, dimensions=dimensions), index.name
    finally:
        session.close()
