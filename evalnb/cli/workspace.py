"""``evalnb ingest``, ``index``, ``snapshot``, ``search`` and ``config``: one workspace's life."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from evalnb.cli.output import note, print_json, show
from evalnb.errors import BadInputError

WorkspaceOption = Annotated[Path, typer.Option("--workspace", help="Folder of the workspace.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]

_SHOWN_SKIPPED = 20  # more would hide the summary; --json lists all
_SNIPPET = 160  # characters


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("ingest")(ingest)
    app.command("index")(index)
    app.command("search")(search)
    snapshot = typer.Typer(
        no_args_is_help=True, help="Pin what a search sees: create, list, activate."
    )
    snapshot.command("create")(snapshot_create)
    snapshot.command("list")(snapshot_list)
    snapshot.command("activate")(snapshot_activate)
    app.add_typer(snapshot, name="snapshot")
    config = typer.Typer(no_args_is_help=True, help="Show or change a workspace's defaults.")
    config.command("get")(config_get)
    config.command("set")(config_set)
    app.add_typer(config, name="config")


def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files, folders, or files of records.")],
    *,
    workspace: WorkspaceOption,
    source: Annotated[
        str, typer.Option(help="Key of the knowledge base that the documents belong to.")
    ] = "default",
    chunker: Annotated[str | None, typer.Option(help="headings or size.")] = None,
    chunk_size: Annotated[int | None, typer.Option(help="Characters of a unit at most.")] = None,
    chunk_overlap: Annotated[
        int | None, typer.Option(help="Characters repeated at the start of the next unit.")
    ] = None,
    language: Annotated[
        str | None, typer.Option(help="Language of the documents, such as en or tr.")
    ] = None,
    build: Annotated[
        bool, typer.Option("--index/--no-index", help="Build the lexical index as well.")
    ] = True,
    prune: Annotated[
        bool, typer.Option("--prune", help="Leave out documents of the source that are gone.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Read documents into a workspace, made if it is not there, and index them.

    Chunking and language are kept as the workspace's settings. A new snapshot is activated.
    """
    from tqdm import tqdm

    from evalnb.workspace.system import open_workspace

    given = {
        "chunker": chunker,
        "chunk_size": chunk_size,
        "chunk_overlap": chunk_overlap,
        "language": language,
    }
    settings = {name: value for name, value in given.items() if value is not None}
    for path in paths:
        if not path.exists():
            from evalnb.files import missing_path

            raise missing_path(path)
    opened = open_workspace(workspace, create=True)
    with tqdm(unit=" documents", disable=None, delay=1) as bar:
        done = opened.ingest(
            paths,
            source=source,
            settings=settings,
            build=build,
            prune=prune,
            progress=bar.update,
        )
    found, snapshot = done.ingested, done.snapshot
    if as_json:
        print_json(
            {
                "new": found.new,
                "updated": found.updated,
                "unchanged": found.unchanged,
                "absent": found.absent,
                "withdrawn": found.withdrawn,
                "skipped": [{"name": s.name, "reason": s.reason} for s in found.skipped],
                "snapshot_id": snapshot.snapshot_id,
                "documents": snapshot.n_documents,
                "units": snapshot.n_units,
                "index": done.index,
            }
        )
        return
    for skipped in found.skipped[:_SHOWN_SKIPPED]:
        note(f"skipped {skipped.name}: {skipped.reason}".replace("\n", "\\n"))
    if len(found.skipped) > _SHOWN_SKIPPED:
        note(f"... and {len(found.skipped) - _SHOWN_SKIPPED:,} more; --json lists all")
    if found.absent and any(path.is_dir() for path in paths):
        note(
            f"{found.absent:,} earlier documents of the source were not among these and stay; "
            "--prune leaves them out"
        )
    withdrawn = f", {found.withdrawn:,} left out" if found.withdrawn else ""
    show(
        f"{found.new:,} new, {found.updated:,} updated, {found.unchanged:,} unchanged, "
        f"{len(found.skipped):,} skipped{withdrawn}"
    )
    show(
        f"active snapshot {snapshot.snapshot_id}: {snapshot.n_documents:,} documents, "
        f"{snapshot.n_units:,} units"
    )
    show(f"index {done.index}" if done.index else "no index built; see: evalnb index")
    if done.index and opened.settings.language is None:
        note("no language is set: words are found as they are written (--language en stems them)")


def index(
    name: Annotated[
        str | None,
        typer.Argument(
            help="lexical:stem-XX, lexical:plain, text:lsa-256, text:minilm-l6-v2-int8, "
            "text:onnx:DIR or text:openai:NAME; the configured lexical one unless given."
        ),
    ] = None,
    *,
    workspace: WorkspaceOption,
    as_json: JsonOption = False,
) -> None:
    """Build an index over the active snapshot, or mend a damaged one.

    A text index embeds every unit; what was embedded before is used again, and a stopped build goes
    on where it was. text:openai:NAME asks the endpoint that the setting encoders.NAME describes.
    """
    from tqdm import tqdm

    from evalnb.api import open_workspace

    opened = open_workspace(workspace)
    chosen = name or opened.settings.lexical_index
    with tqdm(total=opened.snapshot().n_units, unit=" units", disable=None, delay=1) as bar:
        built = opened.index(chosen, progress=bar.update)
    manifest = opened.index_manifest(chosen)
    if as_json:
        print_json({"index": chosen, "built": built, "identity": manifest["identity"]})
    else:
        show(f"{chosen}: {'built' if built else 'was there already'}")
    if n_truncated := manifest.get("n_truncated"):
        note(
            f"{n_truncated:,} of {manifest['n_units']:,} units are longer than the "
            f"{manifest['settings']['max_tokens']} tokens that the model reads; the rest of them "
            "has no part in their vectors (smaller chunks: evalnb ingest --chunk-size)"
        )


def search(
    query: Annotated[str, typer.Argument(help="What to look for; no character is syntax.")],
    *,
    workspace: WorkspaceOption,
    limit: Annotated[int | None, typer.Option(help="Hits at most.")] = None,
    mode: Annotated[
        str | None, typer.Option(help="keyword, semantic, hybrid or hybrid_rerank.")
    ] = None,
    operator: Annotated[
        str | None, typer.Option(help="any, all or phrase: how words combine.")
    ] = None,
    language: Annotated[str | None, typer.Option(help="Language of the index to read.")] = None,
    lexical_index: Annotated[
        str | None, typer.Option(help="Index to read, such as lexical:stem-tr.")
    ] = None,
    text_index: Annotated[
        str | None, typer.Option(help="Text index to read, such as text:lsa-256.")
    ] = None,
    reranker: Annotated[
        str | None, typer.Option(help="For hybrid_rerank: maxsim, onnx:DIR or a configured name.")
    ] = None,
    identifier: Annotated[
        list[str] | None, typer.Option(help="Exact identifier to put first; may be repeated.")
    ] = None,
    exact_only: Annotated[
        bool, typer.Option("--exact-only", help="Only hits that carry an identifier.")
    ] = False,
    source: Annotated[
        list[str] | None, typer.Option(help="Knowledge base by key or id; may be repeated.")
    ] = None,
    document: Annotated[
        list[str] | None, typer.Option(help="Document by name or id; may be repeated.")
    ] = None,
    as_of: Annotated[str | None, typer.Option(help="Only what was valid on this date.")] = None,
    snapshot: Annotated[
        str | None, typer.Option(help="Snapshot instead of the active one.")
    ] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Say what was decided.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Search a workspace once: rank, score, document and the text around the match."""
    from evalnb.api import open_workspace
    from evalnb.search.system import SearchContext

    hints = {
        "lexical_operator": operator,
        "language": language,
        "lexical_index": lexical_index,
        "text_index": text_index,
        "reranker": reranker,
    }
    request = _request(
        {
            "query": query,
            "mode": mode,
            "limit": limit,
            "hints": {name: value for name, value in hints.items() if value is not None},
            "exact_identifiers": identifier or [],
            "exact_only": exact_only,
            "as_of": as_of,
            "trace": trace,
        }
    )
    opened = open_workspace(workspace)
    scope = opened.resolve_scope(source or (), document or ())
    session = opened.open(SearchContext(snapshot_id=snapshot, scope=scope))
    try:
        result = session.ask(request)
    finally:
        session.close()
    if as_json:
        print_json(result.model_dump(mode="json", exclude_none=True))
        return
    for decision in result.trace.decisions if result.trace else ():
        note(f"{decision.step}: {decision.detail}")
    for hit in result.hits:
        score = "-" if hit.score is None else f"{hit.score:.3f}"
        show(f"{hit.rank:>3}  {score:>8}  {hit.document_name}")
        show(f"     {_snippet(hit.text or '', query)}")
    if not result.hits:
        note("no hits")


def _request(given: dict[str, Any]) -> Any:
    import json

    from pydantic import ValidationError

    from evalnb.search.request import QueryRequest
    from evalnb.strict_json import check_values, describe_validation_error

    check_values(given, where="search")
    try:
        return QueryRequest.model_validate_json(json.dumps(given))
    except ValidationError as error:
        raise BadInputError(describe_validation_error(error)) from error


def _snippet(text: str, query: str) -> str:
    """Return one line of the text, from a little before the query's longest word in it."""
    line = " ".join(text.split())
    folded = line.casefold()
    words = sorted(query.casefold().split(), key=len, reverse=True)
    first = next((place for word in words if (place := folded.find(word)) >= 0), 0)
    start = 0 if first < _SNIPPET // 2 else line.rfind(" ", 0, first - _SNIPPET // 4) + 1
    shown = line[start : start + _SNIPPET]
    return f"{'... ' if start else ''}{shown}{' ...' if start + _SNIPPET < len(line) else ''}"


def snapshot_create(
    *,
    workspace: WorkspaceOption,
    activate: Annotated[bool, typer.Option("--activate", help="Search it from now on.")] = False,
) -> None:
    """Pin the newest and the dated revisions, cut as the settings say."""
    from evalnb.workspace.system import open_workspace

    opened = open_workspace(workspace)
    made = opened.create_snapshot()
    if activate:
        opened.activate(made.snapshot_id)
    show(f"{made.snapshot_id}  {made.n_documents:,} documents  {made.n_units:,} units")


def snapshot_list(*, workspace: WorkspaceOption, as_json: JsonOption = False) -> None:
    """List the snapshots, oldest first; the active one is marked."""
    from dataclasses import asdict

    from evalnb.workspace.system import open_workspace

    opened = open_workspace(workspace)
    active = opened.active_snapshot_id()
    snapshots = opened.snapshots()
    if as_json:
        print_json([asdict(s) | {"active": s.snapshot_id == active} for s in snapshots])
        return
    for s in snapshots:
        mark = "*" if s.snapshot_id == active else " "
        show(
            f"{mark} {s.snapshot_id}  {s.created_at}  {s.n_documents:,} documents  "
            f"{s.n_units:,} units  {s.chunking}"
        )


def snapshot_activate(
    snapshot_id: Annotated[str, typer.Argument(help="Id of the snapshot.")],
    *,
    workspace: WorkspaceOption,
) -> None:
    """Make a snapshot the one that searches see when they name none."""
    from evalnb.workspace.system import open_workspace

    show(f"active snapshot {open_workspace(workspace).activate(snapshot_id).snapshot_id}")


def config_get(
    key: Annotated[str | None, typer.Argument(help="One setting; all unless given.")] = None,
    *,
    workspace: WorkspaceOption,
) -> None:
    """Print the settings as JSON, or one of them."""
    from evalnb.errors import NotFoundError
    from evalnb.wording import near_names
    from evalnb.workspace.system import open_workspace

    settings = open_workspace(workspace).settings.model_dump(mode="json")
    place: Any = settings
    for part in key.split(".") if key else ():
        if not isinstance(place, dict) or part not in place:
            raise NotFoundError(f"no setting is called {key!r}{near_names(part, settings)}")
        place = place[part]
    print_json(place)


def config_set(
    key: Annotated[str, typer.Argument(help="Setting, such as language or hints.rrf_k.")],
    value: Annotated[str, typer.Argument(help="Its value; null puts the default back.")],
    *,
    workspace: WorkspaceOption,
) -> None:
    """Change one setting; what is indexed stays until the next ingest or index."""
    import json

    from evalnb.workspace.system import open_workspace

    try:
        parsed = json.loads(value)
    except ValueError:
        parsed = value
    open_workspace(workspace).configure({key: parsed})
    show(f"{key} = {json.dumps(parsed, ensure_ascii=False)}")
