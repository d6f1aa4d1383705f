"""Find and open the systems that a user names: functions, folders, run files, TOML files."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, ValidationError

from evalnb.errors import BadInputError, EvalnbError, NotFoundError
from evalnb.evaluation.request import SystemSpec, Variant
from evalnb.files import read_toml
from evalnb.search.request import Id, Overrides, Record, Scope
from evalnb.search.system import SearchSystem
from evalnb.strict_json import describe_validation_error
from evalnb.systems.settings import parse_settings

if TYPE_CHECKING:
    from evalnb.systems.composed import ComposedSystem
    from evalnb.systems.function import FunctionSystem
    from evalnb.workspace.system import Workspace

RerankFunction = Callable[[str, Sequence[str]], Sequence[float]]
_opening: ContextVar[tuple[Path, ...]] = ContextVar("opening", default=())


class ChannelSpec(SystemSpec):
    """A channel of a fused system: where it is, and what it is always searched with."""

    overrides: Overrides = Overrides()


class FusedSpec(Record):
    """The table ``fused``: channels by name, and how they are fused and reranked.

    ``rerank`` is the name of a model on this machine, ``{callable = "module:name"}``, or the
    settings of a chat model.
    """

    channels: Annotated[dict[Id, ChannelSpec], Field(min_length=1)]
    rerank: str | dict[str, Any] | None = None
    k: int = 60
    weights: dict[str, float] | None = None
    candidates: int = 100


def named_variants(
    systems: Mapping[str, Any] | Any,
) -> tuple[dict[str, SearchSystem], tuple[Variant, ...]]:
    """Make variants of what was given by name; variants of one searcher share its system.

    Raises
    ------
    BadInputError
        Naming the variant that is wrong.
    """
    if not isinstance(systems, Mapping):
        if isinstance(systems, list | tuple | set):
            raise BadInputError(
                f"systems is a {type(systems).__name__}, and variants need names",
                remedy='pass {"name": function, "other name": function}',
            )
        systems = {getattr(systems, "__name__", type(systems).__name__): systems}
    if not systems:
        raise BadInputError("no system is given", remedy='pass {"name": function}')
    found: dict[str, SearchSystem] = {}
    owners: dict[int, str] = {}
    variants = []
    for name, given in systems.items():
        if isinstance(given, tuple) and len(given) != 2:
            raise BadInputError(
                f"found {len(given)} parts, expected a system and its overrides",
                where=f"variant {name!r}",
            )
        searcher, overrides = given if isinstance(given, tuple) else (given, {})
        with explained(f"variant {name!r}"):
            chosen = Overrides.model_validate(overrides)
            owner = owners.setdefault(id(searcher), str(name))
            variants.append(Variant(name=name, system=owner, overrides=chosen))
        if owner not in found:
            found[owner] = as_system(searcher)
    return found, tuple(variants)


@contextmanager
def explained(who: str = "") -> Iterator[None]:
    """Turn a record's refusal into one sentence."""
    try:
        yield
    except ValidationError as error:
        raise BadInputError(describe_validation_error(error), where=who or None) from None


def as_system(searcher: Any) -> SearchSystem:
    """Make a search system of a function, a system, or the path of a run or TOML file."""
    from evalnb.systems.function import FunctionSystem

    if isinstance(searcher, str | Path):
        path = Path(searcher)
        if path.suffix == ".toml":
            return toml_system(path)
        return load_system(SystemSpec(run=str(path)), Path())
    if all(hasattr(searcher, name) for name in ("capabilities", "check", "open")):
        ready: SearchSystem = searcher
        return ready
    return FunctionSystem(searcher)


def load_system(spec: SystemSpec, folder: Path) -> SearchSystem:
    """Open what a spec names; its paths are relative to ``folder``."""
    if spec.workspace:
        return open_workspace(folder / spec.workspace)
    if spec.run:
        from evalnb.systems.runs import RunFileSystem

        return RunFileSystem(folder / spec.run)
    if spec.callable:
        return _function(spec, folder)
    assert spec.toml is not None
    return toml_system(folder / spec.toml)


def scoped_system(
    *,
    workspace: Path | None,
    system: str | None,
    knowledge_base: str | None,
    documents: Sequence[str],
) -> tuple[SearchSystem, Scope]:
    """Open what a command line narrows: a workspace, or the database of a TOML file.

    Raises
    ------
    BadInputError
        If neither is given, or a system cannot be narrowed like that.
    NotFoundError
        If a workspace has no such knowledge base or document.
    """
    if system is not None:
        scope: dict[str, Any] = {
            "workspace": workspace and str(workspace),
            "knowledge_base": knowledge_base,
            "documents": list(documents) or None,
        }
        given = {name: value for name, value in scope.items() if value is not None}
        if given and not system.endswith(".toml"):
            raise BadInputError("a function cannot be narrowed", where=system)
        opened = toml_system(Path(system), scope=given) if given else system_from_option(system)
        return opened, Scope()
    if workspace is None:
        raise BadInputError(
            "no system to search", remedy="give --workspace DIR, or --system FILE.toml"
        )
    kb = open_workspace(workspace)
    keys = [knowledge_base] if knowledge_base is not None else []
    return kb, kb.resolve_scope(keys, documents) if keys or documents else Scope()


def system_from_option(option: str) -> SearchSystem:
    """Read ``--system``: MODULE:CALLABLE, or the path of a TOML file."""
    key = "toml" if option.endswith(".toml") else "callable"
    with explained("--system"):
        spec = SystemSpec.model_validate({key: option})
    return load_system(spec, Path.cwd())


def _function(spec: SystemSpec, folder: Path) -> FunctionSystem:
    from evalnb.systems.function import FunctionSystem

    assert spec.callable is not None
    found = find_callable(spec.callable, folder)
    return FunctionSystem(found, version=spec.version, timeout_s=spec.timeout_s)


def toml_system(path: Path, *, scope: Mapping[str, Any] | None = None) -> SearchSystem:
    """Open the system that a TOML file describes; ``scope`` stands over that of a database.

    It has one of the tables ``http``, ``postgres`` and ``fused``, or the keys of a variants file's
    system. Paths in it are relative to its folder.

    Raises
    ------
    NotFoundError
        If there is no such file.
    BadInputError
        Naming the key that is wrong.
    """
    written = read_toml(path, what="a TOML file that describes a system")
    kinds = {"http": _http, "postgres": _postgres, "fused": _fused}
    kind = next((kind for kind in kinds if kind in written), None)
    if not written.keys() & {*kinds, *SystemSpec.model_fields}:
        raise BadInputError(
            "no system is described",
            where=str(path),
            remedy=f"write a table {', '.join(f'[{name}]' for name in kinds)}, or one of the keys "
            "workspace, callable and run",
        )
    if scope and kind != "postgres":
        raise BadInputError(
            f"only a database can be narrowed by {', '.join(scope)}", where=str(path)
        )
    if kind is None:
        spec = parse_settings(SystemSpec, written, where=str(path))
        if spec.toml:
            raise BadInputError("a system's file cannot name another file", where=str(path))
        return load_system(spec, path.parent)
    table = written.pop(kind)
    if written or not isinstance(table, dict):
        raise BadInputError(
            f"{next(iter(written))!r} stands beside the table {kind}"
            if written
            else f"{kind} is no table",
            where=str(path),
            remedy=f"one system a file: write everything under [{kind}]",
        )
    if scope:
        own = table.get("scope")
        table["scope"] = {**(own if isinstance(own, dict) else {}), **scope}
    if path.resolve() in _opening.get():
        raise BadInputError("the file names itself as a channel", where=str(path))
    opening = _opening.set((*_opening.get(), path.resolve()))
    try:
        return kinds[kind](table, path)
    finally:
        _opening.reset(opening)


def _http(table: dict[str, Any], path: Path) -> SearchSystem:
    from evalnb.systems.http import http_system

    authority = table.get("ca_file")
    if isinstance(authority, str):
        table = table | {"ca_file": str(path.parent / authority)}
    return http_system(table, where=f"{path}: http")


def _postgres(table: dict[str, Any], path: Path) -> ComposedSystem:
    from evalnb.systems.postgres.system import postgres_system
    from evalnb.workspace.named import NamedEncoder, NamedReranker

    encoder, rerank = table.pop("encoder", None), table.get("rerank")
    if not isinstance(encoder, str | None):
        raise BadInputError(
            f"a model's name is expected, found {encoder!r}", where=f"{path}: postgres.encoder"
        )
    if isinstance(rerank, str):
        del table["rerank"]
    # Without a reranker of its own, hybrid_rerank is maxsim, and only who asks for it gets it.
    named = rerank if isinstance(rerank, str) else "maxsim" if rerank is None else None
    return postgres_system(
        table,
        encoder=None if encoder is None else NamedEncoder(encoder),
        rerank=None if named is None else NamedReranker(named),
        mode="hybrid" if rerank is None else None,
        where=f"{path}: postgres",
    )


def _fused(table: dict[str, Any], path: Path) -> ComposedSystem:
    spec = parse_settings(FusedSpec, table, where=f"{path}: fused")
    rerank: Any = spec.rerank
    if isinstance(rerank, dict) and "callable" in rerank:
        rerank = find_callable(str(rerank["callable"]), path.parent)
    return fused(
        {
            name: (load_system(channel, path.parent), channel.overrides)
            for name, channel in spec.channels.items()
        },
        rerank=rerank,
        k=spec.k,
        weights=spec.weights,
        candidates=spec.candidates,
    )


def fused(
    channels: Mapping[str, Any],
    *,
    rerank: Callable[..., Any] | Mapping[str, Any] | str | None = None,
    k: int,
    weights: Mapping[str, float] | None,
    candidates: int,
) -> ComposedSystem:
    """Compose channels; a channel may be a path, and the reranker a model's name."""
    from evalnb.systems.composed import ComposedSystem

    if not isinstance(channels, Mapping):
        raise BadInputError(
            f"channels is a {type(channels).__name__}, and channels need names",
            remedy='pass {"keyword": function, "semantic": function}',
        )
    if isinstance(rerank, str):
        from evalnb.workspace.named import NamedReranker

        rerank = NamedReranker(rerank)
    return ComposedSystem(
        {n: _opened(c) for n, c in channels.items()},
        rerank=rerank,
        k=k,
        weights=weights,
        candidates=candidates,
    )


def _opened(channel: Any) -> Any:
    """Open a channel that is a path, alone or with its overrides."""
    if isinstance(channel, tuple) and channel:
        return (_opened(channel[0]), *channel[1:])
    return as_system(channel) if isinstance(channel, str | Path) else channel


def open_workspace(
    directory: Path,
    *,
    rerankers: Mapping[str, RerankFunction] | None = None,
    encoders: Mapping[str, Mapping[str, Any]] | None = None,
) -> Workspace:
    """Open a workspace with the endpoints that its settings name as rerankers and encoders.

    An encoder is found by its model as well, if no other one has the same.
    """
    from evalnb.systems.providers import Embeddings, Endpoint, ListwiseReranker
    from evalnb.workspace.settings import FILE_NAME
    from evalnb.workspace.system import Workspace, open_workspace

    settings, where = open_workspace(directory).settings, directory / FILE_NAME
    listwise = {
        name: ListwiseReranker(parse_settings(Endpoint, table, where=f"{where}: rerankers.{name}"))
        for name, table in settings.rerankers.items()
    }
    tables = [(f"{where}: encoders", settings.encoders), ("encoders", encoders or {})]
    embedders = {
        name: Embeddings(parse_settings(Endpoint, {"model": name, **table}, where=f"{of}.{name}"))
        for of, named in tables
        for name, table in named.items()
    }
    models = Counter(found.name for found in embedders.values())
    by_model = {found.name: found for found in embedders.values() if models[found.name] == 1}
    return Workspace(
        directory,
        rerankers=listwise | dict(rerankers or {}),
        embedders=by_model | embedders,
    )


def find_callable(name: str, folder: Path) -> Any:
    """Import ``module:callable``, looking beside the file that names it first.

    Raises
    ------
    NotFoundError
        If the module or the name in it does not exist.
    BadInputError
        If the module cannot be imported, with its own error as the cause.
    """
    module_name, colon, attribute = name.partition(":")
    if not (colon and module_name and attribute):
        raise BadInputError(
            f"{name!r} does not name a function", remedy="write module:callable, or a .toml file"
        )
    place = str(folder.resolve())
    sys.path.insert(0, place)
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(error.name + ".")):
            raise NotFoundError(
                f"no module named {module_name!r}",
                remedy=f"looked in {folder} and the installed packages",
            ) from None
        raise BadInputError(f"importing {module_name!r} failed: {error}") from error
    except EvalnbError:
        raise
    except (Exception, SystemExit) as error:
        raise BadInputError(
            f"importing {module_name!r} failed: {type(error).__name__}: {error}"
        ) from error
    finally:
        sys.path.pop(0)
        if place not in sys.path:  # last: for what it imports later, and for worker processes
            sys.path.append(place)
    for part in attribute.split("."):
        if not hasattr(found, part):
            near = difflib.get_close_matches(part, dir(found), n=1)
            raise NotFoundError(
                f"{module_name!r} has no {attribute!r}",
                remedy=f"did you mean {near[0]!r}?" if near else None,
            )
        found = getattr(found, part)
    return found
