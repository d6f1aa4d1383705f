"""One door for gold: whatever a person has, as a pinned set of cases."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from evalnb.errors import BadInputError, GoldError
from evalnb.files import missing_path, stands
from evalnb.gold.cases import GoldCase, GoldDataset, Parsed, dataset_from_cases
from evalnb.gold.cases_file import collector_off
from evalnb.gold.formats import FORMATS, GOLDEN, ROWS, find_format, parse_rows
from evalnb.gold.golden import parse_golden
from evalnb.gold.options import Options
from evalnb.limits import CASES_LINES, check_limit
from evalnb.strict_json import check_values, describe_validation_error
from evalnb.wording import near_names, shown


def load_gold(
    source: Any,
    *,
    topics: str | Path | None = None,
    split: str | None = None,
    mapping: Mapping[str, str] | None = None,
    grades: Mapping[Any, int] | None = None,
    encoding: str = "utf-8",
    sheet: str | None = None,
    format: str | None = None,  # noqa: A002  # the word of the command line
) -> GoldDataset:
    """Load questions with known answers, whatever form they have.

    Parameters
    ----------
    source
        A file or folder in one of :data:`~evalnb.gold.formats.FORMATS`, a DataFrame, a list of
        dicts, or a set that is loaded already.
    topics
        The file of query texts that belongs to qrels.
    split
        ``development`` or ``test``, for cases that name none; development by default.
    mapping
        Our column or key names to those of the file: ``{"query": "question"}``.
    grades
        Grades of the file to the grades they stand for, printed in the notes: ``{1: 4, 2: 3}``.
    encoding
        Of a text file; never guessed.
    sheet
        Of a workbook; the first one that is not hidden by default.
    format
        Of a file, by its name among the formats; by default its contents and ending tell.

    Returns
    -------
    GoldDataset
        With ``notes`` on everything that was not taken literally.

    Raises
    ------
    GoldError
        Naming the place, what was found there and what to do.
    NotFoundError
        If there is no such file, naming those near it.
    BadInputError
        For an option that the source has no use for, or a source of another kind.
    """
    if isinstance(source, GoldDataset):
        return source
    options = Options(
        topics=topics,
        split=split,
        mapping=mapping,
        grades=grades,
        encoding=encoding,
        sheet=sheet,
    )
    if isinstance(source, (str, os.PathLike)):
        return load_gold_file(Path(source), options, kind=format)
    if format is not None:
        raise BadInputError("format has no effect on what is no file", remedy="leave format out")
    if type(source).__name__ == "DataFrame" and hasattr(source, "itertuples"):
        from evalnb.gold.tabular.frames import read_frame

        options.refuse_others("a DataFrame", *ROWS)
        return _pinned(parse_rows(read_frame(source), options), "DataFrame", options)
    if isinstance(source, Mapping):
        options.refuse_others("a dict", *GOLDEN)
        return _pinned(_parse_golden(dict(source), "dict", options), "dict", options)
    if isinstance(source, Sequence) and not isinstance(source, bytes):
        return _pinned(_parse_list(list(source), options), "list", options)
    raise BadInputError(
        f"gold cannot be read from {shown(source)}",
        remedy="give a path, a DataFrame or a list of dicts",
    )


def load_gold_file(path: Path, options: Options, *, kind: str | None = None) -> GoldDataset:
    """Load a file or folder of a kind; by default its contents and ending tell which.

    Raises
    ------
    BadInputError
        If ``kind`` is not one of :data:`~evalnb.gold.formats.FORMATS`, besides what
        :func:`load_gold` raises.
    """
    if not stands(path):
        raise missing_path(path)
    kind = kind or find_format(path, options)
    if kind not in FORMATS:
        raise BadInputError(
            f"no kind of gold is called {kind!r}{near_names(kind, FORMATS)}",
            remedy=f"kinds: {', '.join(FORMATS)}",
        )
    chosen = FORMATS[kind]
    options.refuse_others(chosen.what, *chosen.options)
    name = path.resolve().name if path.is_dir() else path.stem
    with collector_off():  # halves the time of a large table
        found = chosen.read(path, options)
        if isinstance(found, GoldDataset):
            return found
        return _pinned(found, name, options, where=str(path))


def _parse_golden(document: Any, where: str, options: Options) -> Parsed:
    return parse_golden(document, where=where, split=options.default_split, mapping=options.mapping)


def _parse_list(elements: list[Any], options: Options) -> Parsed:
    """Read a list of cases, of dicts as cases.jsonl or golden.json have them, or of flat rows."""
    from evalnb.gold.tabular.frames import read_records

    if not elements:
        raise GoldError("the list is empty", where="list")
    if any(isinstance(element, GoldCase) for element in elements) or any(
        isinstance(element, Mapping) and "request" in element for element in elements
    ):
        options.refuse_others("a list of cases")
        return Parsed(tuple(_case(element, at) for at, element in enumerate(elements)), ())
    if not all(isinstance(element, Mapping) for element in elements):
        other = next(element for element in elements if not isinstance(element, Mapping))
        raise GoldError(f"expected a list of dicts, found {shown(other)} in it", where="list")
    if _are_rows(elements, options.mapping or {}):
        options.refuse_others("a list of rows", *ROWS)
        return parse_rows(read_records(elements, name="list"), options)
    options.refuse_others("a list of golden.json's cases", *GOLDEN)
    return _parse_golden([dict(element) for element in elements], "list", options)


def _are_rows(elements: Sequence[Mapping[str, Any]], mapping: Mapping[str, str]) -> bool:
    """Whether each dict is flat, as a row is: nothing nested but a list of ids."""
    several = {mapping.get(name, name) for name in ("expected", "forbidden")}
    return not any(
        isinstance(value, Mapping) or (isinstance(value, (list, tuple)) and key not in several)
        for element in elements
        for key, value in element.items()
    )


def _case(element: Any, at: int) -> GoldCase:
    if isinstance(element, GoldCase):
        return element
    where = f"list[{at}]"
    check_values(element, where=where)
    try:
        return GoldCase.model_validate_json(json.dumps(element, default=str))
    except ValidationError as error:
        known = GoldCase.model_fields
        raise GoldError(describe_validation_error(error, known=known), where=where) from error


def _pinned(
    parsed: Parsed, name: str, options: Options, *, where: str | None = None
) -> GoldDataset:
    where = where or name
    check_limit("cases", len(parsed.cases), CASES_LINES, argument="", where=where)
    return dataset_from_cases(
        parsed.cases,
        dataset_id=_dataset_id(name),
        name=name,
        notes=(*parsed.notes, *options.notes()),
        where=where,
    )


def _dataset_id(name: str) -> str:
    """Make a dataset_id of a file's name; what it cannot hold becomes a hyphen."""
    made = re.sub(r"[^A-Za-z0-9_-]+|\.+", "-", name).strip("-_")
    return made[:128] or "gold"
