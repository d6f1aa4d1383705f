"""The forms in which gold lies on a disk: how each is called, recognised and read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import jiter

from evalnb.errors import BadInputError, GoldError
from evalnb.files import decode_text, read_bounded
from evalnb.gold.autorag import parse_autorag
from evalnb.gold.beir import load_beir_dir, parse_beir_queries
from evalnb.gold.cases import GoldDataset, Parsed, Split
from evalnb.gold.contexts import parse_rag_dataset, parse_ragas
from evalnb.gold.dataset import CASES, MANIFEST, load_gold_dir
from evalnb.gold.golden import parse_golden
from evalnb.gold.layouts import HEAD_BYTES, is_beir, is_ltr, parse_ltr
from evalnb.gold.nested import read_qrels
from evalnb.gold.options import Options
from evalnb.gold.parquet import MAGIC, parquet_columns, read_parquet
from evalnb.gold.squad import parse_squad
from evalnb.gold.tabular import quepid
from evalnb.gold.tabular.delimited import read_delimited
from evalnb.gold.tabular.rows import parse_table
from evalnb.gold.tabular.table import Table
from evalnb.gold.trec import Qrels, Topics, parse_topics, qrels_to_gold
from evalnb.limits import CASES_BYTES
from evalnb.strict_json import parse_strict, read_json_lines

NO_TOPICS = "without topics, the ids of the queries are asked as their texts"
_INSTEAD = {
    ".xls": "save it as .xlsx or .csv",
    ".ods": "save it as .xlsx or .csv",
    ".numbers": "export it as .xlsx or .csv",
    ".jsonl": "give the folder that holds it; a cases.jsonl stands beside its manifest.json",
    ".parquet": "pass the DataFrame itself",
    ".yaml": "write it as golden.json",
    ".yml": "write it as golden.json",
}


def find_format(path: Path, options: Options) -> str:
    """Tell a file's or folder's form by its ending and what it holds.

    Raises
    ------
    BadInputError
        For an ending that is never read, with what to do instead.
    GoldError
        For a file that may be of several forms.
    """
    ending = path.suffix.lower()
    if path.is_dir():
        return "beir" if (path / "queries.jsonl").exists() else "directory"
    with path.open("rb") if path.is_file() else BytesIO() as file:
        head = file.read(HEAD_BYTES).removeprefix(b"\xef\xbb\xbf")
    kind: str | None
    if ending == ".json":
        kind = _find_json_format(path)
    elif ending == ".parquet":
        kind = _find_parquet_format(path)
    elif ending == ".jsonl":
        kind = "ragas" if b'"user_input"' in head else None
    elif ending in {".xlsx", ".xlsm"}:
        kind = "xlsx"
    elif ending in {".csv", ".tsv"} and not is_beir(head):
        kind = "quepid" if options.mapping is None and quepid.is_quepid(head) else "csv"
    else:
        kind = None if ending in _INSTEAD else "ltr" if is_ltr(head) else "qrels"
    if kind is None:
        raise BadInputError(
            f"gold is not read from {ending} files", where=str(path), remedy=_INSTEAD[ending]
        )
    return kind


def _find_json_format(path: Path) -> str:
    try:
        document = jiter.from_json(_read(path))
    except ValueError:
        return "golden"  # whose reader says what is wrong
    if not isinstance(document, dict):
        return "golden"
    marks = {"cases": "golden", "data": "squad", "examples": "llamaindex"}
    found = [kind for key, kind in marks.items() if isinstance(document.get(key), list)]
    if len(found) > 1:
        raise GoldError(
            f"the file may be {' or '.join(found)}",
            where=str(path),
            remedy=f"say which: --format {found[0]}, or format={found[0]!r} in Python",
        )
    nested = document and all(isinstance(values, dict) for values in document.values())
    return found[0] if found else "qrels" if nested else "golden"


def _find_parquet_format(path: Path) -> str | None:
    columns = parquet_columns(_read(path), where=str(path))
    marks = {"retrieval_gt": "autorag", "user_input": "ragas", "q_id": "qrels"}
    return next((kind for mark, kind in marks.items() if mark in columns), None)


def _read(path: Path) -> bytes:
    return read_bounded(path, bound=CASES_BYTES, what="a gold file")


def _read_directory(path: Path, options: Options) -> GoldDataset:
    if path.is_dir() and not any((path / name).exists() for name in (MANIFEST, CASES)):
        raise GoldError(
            "the folder holds no gold: neither manifest.json with cases.jsonl nor a BEIR folder's "
            "corpus.jsonl with queries.jsonl",
            where=str(path),
        )
    return load_gold_dir(path)


class _Parse(Protocol):
    def __call__(self, document: Any, *, where: str, split: Split) -> Parsed: ...


def _read_json(path: Path, options: Options, *, parse: _Parse) -> Parsed:
    text, notes = decode_text(_read(path), where=str(path), encoding=options.encoding)
    document = parse_strict(text.encode(), where=str(path))
    cases, more = parse(document, where=str(path), split=options.default_split)
    return Parsed(cases, (*notes, *more))


def _read_autorag(path: Path, options: Options) -> Parsed:
    return parse_autorag(_read(path), where=str(path), split=options.default_split)


def _read_ragas(path: Path, options: Options) -> Parsed:
    data, where = _read(path), str(path)
    rows: list[Mapping[str, Any]]
    if data.startswith(MAGIC):
        names = ("user_input", "reference_contexts")
        columns = read_parquet(data, where=where, columns=names, optional=("synthesizer_name",))
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    else:
        rows = [row for _, row in read_json_lines(path, bound=CASES_BYTES)]
    return parse_ragas(rows, where=where, split=options.default_split)


def _read_golden(path: Path, options: Options) -> Parsed:
    return _read_json(path, options, parse=partial(parse_golden, mapping=options.mapping))


def _read_delimited(path: Path, options: Options) -> Parsed:
    return parse_rows(_delimited(path, options), options)


def _delimited(path: Path, options: Options) -> Table:
    return read_delimited(
        _read(path), name=str(path), encoding=options.encoding, mapping=options.mapping
    )


def _read_quepid(path: Path, options: Options) -> Parsed:
    options = replace(options, mapping=quepid.MAPPING)
    return parse_rows(quepid.leave_unrated(_delimited(path, options)), options)


def _read_workbook(path: Path, options: Options) -> Parsed:
    from evalnb.gold.tabular.sheets import read_sheet

    return parse_rows(read_sheet(_read(path), name=str(path), sheet=options.sheet), options)


def parse_rows(table: Table, options: Options) -> Parsed:
    """Read a table of gold as the options say."""
    return parse_table(
        table, split=options.default_split, mapping=options.mapping, grades=options.grade_map
    )


def _read_qrels(path: Path, options: Options) -> Parsed:
    return _judged(read_qrels(path, encoding=options.encoding), None, options)


def _read_ltr(path: Path, options: Options) -> Parsed:
    qrels, topics = parse_ltr(path, encoding=options.encoding)
    return _judged(qrels, topics if topics.texts else None, options)


def _judged(qrels: Qrels, topics: Topics | None, options: Options) -> Parsed:
    """Make cases of judgements, with the topics of the options before those of the file."""
    if options.grade_map is not None:
        qrels = replace(qrels, grades=_mapped(qrels, options.grade_map))
    if options.topics is not None:
        given = Path(options.topics)
        beir = given.suffix == ".jsonl"
        topics = (
            parse_beir_queries(given) if beir else parse_topics(given, encoding=options.encoding)
        )
    gold = qrels_to_gold(qrels, topics, split=options.default_split)
    return Parsed(gold.cases, gold.notes if topics else (*gold.notes, NO_TOPICS))


def _mapped(qrels: Qrels, mapping: Mapping[str, int]) -> dict[str, dict[str, int]]:
    found = {str(grade) for judged in qrels.grades.values() for grade in judged.values()}
    if left := sorted(found - set(mapping)):
        raise GoldError(
            f"grade {left[0]} is not in the grade map",
            where=qrels.name,
            remedy=f"it maps {', '.join(mapping)}",
        )
    return {
        query: {key: mapping[str(grade)] for key, grade in judged.items()}
        for query, judged in qrels.grades.items()
    }


class Format(NamedTuple):
    """One form: how errors call it, what options it heeds, how a file of it is read."""

    what: str
    options: tuple[str, ...]
    read: Callable[[Path, Options], Parsed | GoldDataset]


GOLDEN = ("split", "mapping")
ROWS = ("split", "mapping", "grades")
_QRELS = ("topics", "split", "grades")
FORMATS = {
    "directory": Format("a gold directory, whose cases say it all", (), _read_directory),
    "golden": Format("golden.json", GOLDEN, _read_golden),
    "csv": Format("a csv file", ROWS, _read_delimited),
    "xlsx": Format("a workbook", (*ROWS, "sheet"), _read_workbook),
    "qrels": Format("qrels", _QRELS, _read_qrels),
    "beir": Format("a BEIR folder", ("split",), load_beir_dir),
    "quepid": Format("a file of Quepid", ("split", "grades"), _read_quepid),
    "ltr": Format("a judgement file of learning to rank", _QRELS, _read_ltr),
    "squad": Format("a SQuAD file", ("split",), partial(_read_json, parse=parse_squad)),
    "llamaindex": Format(
        "a dataset of LlamaIndex", ("split",), partial(_read_json, parse=parse_rag_dataset)
    ),
    "ragas": Format("a test set of Ragas", ("split",), _read_ragas),
    "autorag": Format("a data set of AutoRAG", ("split",), _read_autorag),
}
