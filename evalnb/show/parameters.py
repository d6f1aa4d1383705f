"""The parameters that a notebook declares: names and types, read from its tagged cell.

The cell is parsed, never run. A name that it does not declare, or a value that does not fit the
declared type, is refused before any kernel starts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError

from evalnb.errors import BadInputError

PARAMETERS_TAG = "parameters"
# A name is pasted into the notebook as code, so it has to be nothing but a name.
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_PLAIN: dict[str, Any] = {"str": str, "int": int, "float": float, "bool": bool, "None": type(None)}
_GENERIC: dict[str, Any] = {"list": list, "List": list, "dict": dict, "Dict": dict}
_STRICT = ConfigDict(strict=True, allow_inf_nan=False)


def declared_parameters(notebook: Mapping[str, Any], *, where: str = "") -> dict[str, Any]:
    """Read the parameters of a notebook, given as parsed JSON.

    Returns
    -------
    dict
        Each name with its type: the annotation, else the type of the default.

    Raises
    ------
    BadInputError
        If the tagged cell is no Python, or declares a type that cannot be checked.
    """
    for cell in notebook.get("cells", []):
        tags = cell.get("metadata", {}).get("tags", [])
        if cell.get("cell_type") == "code" and PARAMETERS_TAG in tags:
            return _declared_in("".join(cell.get("source", "")), where)
    return {}


def check_parameters(
    declared: Mapping[str, Any], given: Mapping[str, Any], *, where: str = ""
) -> dict[str, Any]:
    """Check values against declared types; text stays text, and nothing is guessed.

    Raises
    ------
    BadInputError
        For an unknown name or a value that does not fit, naming the parameter.
    """
    checked = {}
    for name, value in given.items():
        if name not in declared or not _NAME.fullmatch(name):
            raise BadInputError(
                f"the notebook declares no parameter {name!r}",
                where=where or None,
                remedy=f"it declares: {', '.join(declared) or 'none'}",
            )
        plain = list(value) if isinstance(value, tuple) else value
        adapter: TypeAdapter[Any] = TypeAdapter(declared[name], config=_STRICT)
        try:
            checked[name] = adapter.validate_python(plain)
        except ValidationError as error:
            finding = error.errors(include_url=False)[0]["msg"]
            raise BadInputError(
                f"parameter {name} does not take {value!r}: {finding}", where=where or None
            ) from None
    return checked


def _declared_in(source: str, where: str) -> dict[str, Any]:
    try:
        statements = ast.parse(source).body
    except SyntaxError as error:
        raise BadInputError(
            f"the parameters cell is no Python: {error.msg}, line {error.lineno}",
            where=where or None,
        ) from None
    declared: dict[str, Any] = {}
    for statement in statements:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            declared[statement.target.id] = _type(statement.annotation, where)
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    declared[target.id] = _type_of_default(statement.value)
    return declared


def _type_of_default(value: ast.expr) -> Any:
    try:
        default = ast.literal_eval(value)
    except ValueError:
        return Any
    return Any if default is None else type(default)


def _type(annotation: ast.expr, where: str) -> Any:
    """Build the type that an annotation spells, from a closed set."""
    match annotation:
        case ast.Constant(value=None):
            return type(None)
        case ast.Constant(value=str() as quoted):
            return _type(ast.parse(quoted, mode="eval").body, where)
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in _PLAIN | _GENERIC:
            return (_PLAIN | _GENERIC)[name]
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _type(left, where) | _type(right, where)
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inner):
            return _subscripted(name, inner, where)
    raise _uncheckable(ast.unparse(annotation), where)


def _subscripted(name: str, inner: ast.expr, where: str) -> Any:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if name == "Literal":
        return Literal[tuple(ast.literal_eval(part) for part in parts)]
    types = tuple(_type(part, where) for part in parts)
    if name in {"Union", "Optional"}:
        return reduce(or_, [*types, *([type(None)] * (name == "Optional"))])
    if name in _GENERIC:
        return _GENERIC[name][types]
    raise _uncheckable(f"{name}[...]", where)


def _uncheckable(written: str, where: str) -> BadInputError:
    return BadInputError(
        f"the parameters cell declares a type that cannot be checked: {written}",
        where=where or None,
        remedy="use str, int, float, bool, None, list, dict, Literal, and unions of them",
    )
