"""One door for gold: whatever a person has, as a pinned set of cases."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from evalnb.errors import BadInputError, GoldError
from evalnb.files import decode_text, missing_path, read_bounded, stands
from evalnb.gold.beir import (
    is_beir_qrels,
    load_beir_dir,
    parse_beir_qrels,
    parse_beir_queries,
)
from evalnb.gold.cases import GoldCase, GoldDataset, Parsed, dataset_from_cases
from evalnb.gold.dataset import CASES, MANIFEST, load_gold_dir
from evalnb.gold.golden import parse_golden
from evalnb.gold.options import Options
from evalnb.gold.tabular.rows import parse_table
from evalnb.gold.tabular.table import Table
from evalnb.gold.trec import parse_qrels, parse_topics, qrels_to_gold
from evalnb.limits import CASES_BYTES, CASES_LINES, check_limit
from evalnb.strict_json import check_values, describe_validation_error, parse_strict
from evalnb.wording import near_names, shown

_INSTEAD = {
    ".xls": "save it as .xlsx or .csv",
    ".ods": "save it as .xlsx or .csv",
    ".numbers": "export it as .xlsx or .csv",
    ".jsonl": "give the folder that holds it; a cases.jsonl stands beside its manifest.json",
    ".parquet": "pass the DataFrame itself",
    ".yaml": "write it as golden.json",
    ".yml": "write it as golden.json",
}


def load_gold(
    source: Any,
    *,
    topics: str | Path | None = None,
    split: str | None = None,
    mapping: Mapping[str, str] | None = None,
    grades: Mapping[Any, int] | None = None,
    encoding: str = "utf-8",
) -> GoldDataset:
    """Load questions with known answers, whatever form they have.

    Parameters
    ----------
    source
        A gold directory, a BEIR folder, golden.json, csv, tsv, xlsx, TREC qrels, a DataFrame, a
        list of dicts, or a set that is loaded already.
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
    options = Options(topics=topics, split=split, mapping=mapping, grades=grades, encoding=encoding)
    if isinstance(source, (str, os.PathLike)):
        return load_gold_file(Path(source), options)
    if type(source).__name__ == "DataFrame" and hasattr(source, "itertuples"):
        from evalnb.gold.tabular.frames import read_frame

        options.refuse_others("a DataFrame", *_ROWS)
        return _pinned(_parse_rows(read_frame(source), options), "DataFrame", options)
    if isinstance(source, Mapping):
        options.refuse_others("a dict", *_GOLDEN)
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
        If ``kind`` is not one of :data:`FORMATS`, besides what :func:`load_gold` raises.
    """
    if not stands(path):
        raise missing_path(path)
    kind = kind or _kind_of(path)
    if kind not in FORMATS:
        raise BadInputError(
            f"no kind of gold is called {kind!r}{near_names(kind, FORMATS)}",
            remedy=f"kinds: {', '.join(FORMATS)}",
        )
    chosen = FORMATS[kind]
    options.refuse_others(chosen.what, *chosen.options)
    found = chosen.read(path, options)
    if isinstance(found, GoldDataset):
        return found
    name = path.resolve().name if path.is_dir() else path.stem
    return _pinned(found, name, options, where=str(path))


def _kind_of(path: Path) -> str:
    ending = path.suffix.lower()
    if path.is_dir():
        return "beir" if (path / "queries.jsonl").exists() else "directory"
    if ending in _INSTEAD:
        raise BadInputError(
            f"gold is not read from {ending} files", where=str(path), remedy=_INSTEAD[ending]
        )
    if ending == ".tsv" and is_beir_qrels(path):
        return "qrels"
    return _ENDINGS.get(ending, "qrels")


def _read_directory(path: Path, options: Options) -> GoldDataset:
    if path.is_dir() and not any((path / name).exists() for name in (MANIFEST, CASES)):
        raise GoldError(
            "the folder holds no gold: neither manifest.json with cases.jsonl nor a BEIR folder's "
            "corpus.jsonl with queries.jsonl",
            where=str(path),
        )
    return load_gold_dir(path)


def _read_beir(path: Path, options: Options) -> Parsed:
    return load_beir_dir(path, options)


def _read_golden(path: Path, options: Options) -> Parsed:
    text, notes = decode_text(_read(path), where=str(path), encoding=options.encoding)
    document = parse_strict(text.encode(), where=str(path))
    cases, more = _parse_golden(document, str(path), options)
    return Parsed(cases, (*notes, *more))


def _read_delimited(path: Path, options: Options) -> Parsed:
    from evalnb.gold.tabular.delimited import read_delimited

    table = read_delimited(
        _read(path), name=str(path), encoding=options.encoding, mapping=options.mapping
    )
    return _parse_rows(table, options)


def _read_workbook(path: Path, options: Options) -> Parsed:
    from evalnb.gold.tabular.sheets import read_sheet

    return _parse_rows(read_sheet(_read(path), name=str(path), sheet=options.sheet), options)


def _read_qrels(path: Path, options: Options) -> Parsed:
    if is_beir_qrels(path):
        qrels = parse_beir_qrels(path)
    else:
        qrels = parse_qrels(path, encoding=options.encoding)
    if options.grade_map is not None:
        qrels = replace(qrels, grades=_mapped(qrels.grades, options.grade_map, str(path)))
    topics = None
    if options.topics is not None:
        given = Path(options.topics)
        beir = given.suffix == ".jsonl"
        topics = (
            parse_beir_queries(given) if beir else parse_topics(given, encoding=options.encoding)
        )
    gold = qrels_to_gold(qrels, topics, split=options.default_split)
    return Parsed(gold.cases, gold.notes)


class Format(NamedTuple):
    """A form in which gold lies on a disk: how errors call it, what options it heeds."""

    what: str
    options: tuple[str, ...]
    read: Callable[[Path, Options], Parsed | GoldDataset]


_GOLDEN = ("split", "mapping")
_ROWS = ("split", "mapping", "grades")
FORMATS = {
    "directory": Format("a gold directory, whose cases say it all", (), _read_directory),
    "golden": Format("golden.json", _GOLDEN, _read_golden),
    "csv": Format("a csv file", _ROWS, _read_delimited),
    "xlsx": Format("a workbook", (*_ROWS, "sheet"), _read_workbook),
    "qrels": Format("qrels", ("topics", "split", "grades"), _read_qrels),
    "beir": Format("a BEIR folder", ("split",), _read_beir),
}
_ENDINGS = {
    ".json": "golden",
    ".csv": "csv",
    ".tsv": "csv",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
}


def _read(path: Path) -> bytes:
    return read_bounded(path, bound=CASES_BYTES, what="a gold file")


def _parse_golden(document: Any, where: str, options: Options) -> Parsed:
    return parse_golden(document, where=where, split=options.default_split, mapping=options.mapping)


def _parse_rows(table: Table, options: Options) -> Parsed:
    return parse_table(
        table, split=options.default_split, mapping=options.mapping, grades=options.grade_map
    )


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
        options.refuse_others("a list of rows", *_ROWS)
        return _parse_rows(read_records(elements, name="list"), options)
    options.refuse_others("a list of golden.json's cases", *_GOLDEN)
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


def _mapped(
    grades: Mapping[str, Mapping[str, int]], mapping: Mapping[str, int], where: str
) -> dict[str, dict[str, int]]:
    found = {str(grade) for judged in grades.values() for grade in judged.values()}
    if left := sorted(found - set(mapping)):
        raise GoldError(
            f"grade {left[0]} is not in the grade map",
            where=where,
            remedy=f"it maps {', '.join(mapping)}",
        )
    return {
        query: {key: mapping[str(grade)] for key, grade in judged.items()}
        for query, judged in grades.items()
    }


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
