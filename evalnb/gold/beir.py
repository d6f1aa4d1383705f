"""BEIR folders: queries.jsonl, qrels/SPLIT.tsv, and a corpus.jsonl to check the labels against."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

from evalnb.errors import BadInputError, GoldError, NotFoundError
from evalnb.files import write_folder
from evalnb.gold.cases import GoldCase, GoldDataset, Parsed, Split
from evalnb.gold.layouts import BEIR_HEADER, parse_beir_qrels
from evalnb.gold.options import Options
from evalnb.gold.trec import Topics, qrels_to_gold
from evalnb.limits import CASES_BYTES, MIB
from evalnb.strict_json import read_json_lines
from evalnb.wording import listed, shown

CORPUS_BYTES = 1024 * MIB  # a larger corpus is not checked: that would take minutes
_SPLITS: dict[str, Split] = {"test": "test"}  # train and dev are both for development
_NAMES: dict[Split, str] = {"development": "dev", "test": "test"}


def parse_beir_queries(path: Path) -> Topics:
    """Read ``{"_id", "text"}`` a line; other keys are not read.

    Raises
    ------
    GoldError
        Naming the line: no strict JSON, a missing id or text, an id used twice.
    """
    texts: dict[str, str] = {}
    for number, record in read_json_lines(path, bound=CASES_BYTES):
        key, text = record.get("_id"), record.get("text")
        if not isinstance(key, str) or not isinstance(text, str):
            raise GoldError(
                f"expected texts under _id and text, found {shown(record)}",
                where=f"{path}:{number}",
            )
        if key in texts:
            raise GoldError(f"query {key!r} stands twice", where=f"{path}:{number}")
        texts[key] = text
    return Topics(str(path), texts)


def load_beir_dir(path: Path, options: Options) -> Parsed:
    """Read a BEIR folder.

    Judgements of ``qrels/test.tsv`` are the test split, those of other files in ``qrels`` the
    development split; a lone ``qrels.tsv`` is whichever the options say.

    Raises
    ------
    GoldError
        As the parsers of its files, and for a query judged in two files.
    NotFoundError
        If there are no judgements.
    """
    topics = parse_beir_queries(path / "queries.jsonl")
    cases: list[GoldCase] = []
    notes = list(topics.notes)
    judged: dict[str, Path] = {}
    for file, of_split in _judgement_files(path, options):
        qrels = parse_beir_qrels(file)
        for key in qrels.grades:
            if key in judged:
                raise GoldError(
                    f"query {key!r} is judged here and in {judged[key].name}", where=str(file)
                )
            judged[key] = file
        part = qrels_to_gold(qrels, topics, split=of_split)
        cases += part.cases
        notes += (f"{file.name}: {note}" for note in part.notes if "no judgements" not in note)
    if unasked := [key for key in topics.texts if key not in judged]:
        notes.append(f"queries without judgements, left out: {len(unasked)} ({listed(unasked)})")
    documents = {key for case in cases for key in case.document_relevance}
    notes += _corpus_notes(path / "corpus.jsonl", documents)
    return Parsed(tuple(cases), tuple(notes))


def _judgement_files(path: Path, options: Options) -> list[tuple[Path, Split]]:
    if (path / "qrels.tsv").exists():
        return [(path / "qrels.tsv", options.default_split)]
    if files := sorted((path / "qrels").glob("*.tsv")):
        if options.split is not None:
            raise BadInputError(
                "split has no effect on a BEIR folder whose files name their splits",
                where=str(path / "qrels"),
                remedy="leave split out",
            )
        return [(file, _SPLITS.get(file.stem, "development")) for file in files]
    raise NotFoundError("no judgements: neither qrels/*.tsv nor qrels.tsv", where=str(path))


def _corpus_notes(path: Path, judged: Collection[str]) -> list[str]:
    """Name the judged documents that the corpus does not have; they stay in every denominator."""
    if not path.exists():
        return []
    if path.stat().st_size > CORPUS_BYTES:
        return ["corpus.jsonl is past 1 GiB: judged documents were not looked up in it"]
    ids = {record.get("_id") for _, record in read_json_lines(path, bound=CORPUS_BYTES)}
    missing = [key for key in sorted(judged) if key not in ids]
    return [f"judged but not in the corpus: {len(missing)} ({listed(missing)})"] if missing else []


def write_beir_dir(dataset: GoldDataset, path: Path) -> None:
    """Write queries.jsonl and one file of judgements a split; gold has no texts for a corpus.

    Raises
    ------
    OSError
        If the folder exists and is not empty.
    """
    queries = [
        json.dumps({"_id": case.case_id, "text": case.request.query}, ensure_ascii=False)
        for case in dataset.cases
    ]
    files = {"queries.jsonl": "\n".join(queries).encode() + b"\n"}
    for split, name in _NAMES.items():
        rows = [
            f"{case.case_id}\t{key}\t{grade}"
            for case in dataset.cases
            if case.split == split
            for key, grade in case.document_grades().items()
        ]
        if rows:
            files[f"qrels/{name}.tsv"] = "\n".join((BEIR_HEADER, *rows)).encode() + b"\n"
    write_folder(path, files)
