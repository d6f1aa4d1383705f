"""Find the systems that a command line or a variants file names."""

from __future__ import annotations

import difflib
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from evalnb.errors import BadInputError, EvalnbError, GoldError, NotFoundError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from evalnb.evaluation.request import SystemSpec, VariantsFile
    from evalnb.search.system import SearchSystem

Model = TypeVar("Model", bound="BaseModel")


def load_system(spec: SystemSpec, folder: Path) -> SearchSystem:
    """Open what a spec names; its paths are relative to ``folder``."""
    from evalnb.api import open_workspace, system

    if spec.workspace:
        return open_workspace(folder / spec.workspace)
    if spec.run:
        from evalnb.systems.runs import RunFileSystem

        return RunFileSystem(folder / spec.run)
    if spec.callable:
        return system(
            find_callable(spec.callable, folder), version=spec.version, timeout_s=spec.timeout_s
        )
    assert spec.toml is not None
    return system_from_toml(folder / spec.toml)


def system_from_option(option: str) -> SearchSystem:
    """Read ``--system``: MODULE:CALLABLE, or the path of a TOML file."""
    if option.endswith(".toml"):
        return system_from_toml(Path(option))
    from evalnb.api import system

    return system(find_callable(option, Path.cwd()))


def system_from_toml(path: Path) -> SearchSystem:
    """Read a system from a TOML file with the keys of a variants file's system."""
    from evalnb.evaluation.request import SystemSpec
    from evalnb.systems.settings import read_toml

    written = read_toml(path)
    if "http" in written:
        from evalnb.systems.http import load_http_system

        return load_http_system(path)
    if "postgres" in written:
        from evalnb.systems.postgres import load_postgres_system

        return load_postgres_system(path)
    spec = parse_record(SystemSpec, written, where=str(path))
    if spec.toml:
        raise BadInputError("a system's file cannot name another file", where=str(path))
    return load_system(spec, path.parent)


def load_variants(path: Path) -> VariantsFile:
    """Read a variants file."""
    from evalnb.evaluation.request import VARIANTS_FORMAT, VariantsFile

    written = read_json(path)
    form = written.get("format") if isinstance(written, dict) else None
    if form != VARIANTS_FORMAT:
        raise BadInputError(
            f"not a variants file: its format is {form!r}",
            where=str(path),
            remedy=f'write {{"format": "{VARIANTS_FORMAT}", "variants": [{{"name": ...}}]}}',
        )
    return parse_record(VariantsFile, written, where=str(path))


def read_json(path: Path) -> Any:
    """Read one strict JSON document."""
    from evalnb.files import read_bounded
    from evalnb.limits import CASES_BYTES
    from evalnb.strict_json import parse_strict

    content = read_bounded(path, bound=CASES_BYTES, what="a JSON document")
    return parse_strict(content, where=str(path))


def parse_record(model: type[Model], value: Any, *, where: str) -> Model:
    """Validate a JSON value as a record.

    Raises
    ------
    BadInputError
        Naming the field and what was found there.
    """
    import json

    from evalnb.strict_json import load_strict

    try:
        return load_strict(model, json.dumps(value).encode(), where=where)
    except GoldError as error:  # strict JSON is gold's; what is wrong here is no gold
        raise BadInputError(error.message, where=error.where, remedy=error.remedy) from None


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
    sys.path.insert(0, str(folder.resolve()))
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
    except Exception as error:
        raise BadInputError(
            f"importing {module_name!r} failed: {type(error).__name__}: {error}"
        ) from error
    finally:
        sys.path.pop(0)
    for part in attribute.split("."):
        if not hasattr(found, part):
            near = difflib.get_close_matches(part, dir(found), n=1)
            raise NotFoundError(
                f"{module_name!r} has no {attribute!r}",
                remedy=f"did you mean {near[0]!r}?" if near else None,
            )
        found = getattr(found, part)
    return found
