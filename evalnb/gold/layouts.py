"""Judgements whose rows have another layout than TREC's: BEIR's, and learning to rank's.

Each row is rewritten as TREC's and keeps its number, so that one reader checks them all.
"""

from __future__ import annotations

import re

from evalnb.errors import GoldError
from evalnb.files import decode_text
from evalnb.gold.trec import Qrels, Topics, parse_qrels
from evalnb.gold.trec_rows import Source, read_source
from evalnb.limits import MIB
from evalnb.wording import shown

BEIR_HEADER = "query-id\tcorpus-id\tscore"
HEAD_BYTES = MIB  # in which the first row stands, below comments

_BEIR = re.compile(rb"(?:\xef\xbb\xbf)?query-id\tcorpus-id\tscore(?=\s|\Z)", re.I)
_LTR = re.compile(rb"(?:\xef\xbb\xbf)?(?:[ \t\r]*(?:#[^\n]*)?\n)*[ \t]*[^\s#]\S*[ \t]+qid:\S")
_LTR_QUERY = re.compile(r"#\s*qid:([^\s:]+):\s*(.*)")
_LTR_ROW = re.compile(r"(\S+)\s+qid:([^\s#]\S*)(?:\s+\d+:\S+)*\s*#\s*(\S+)(?:\s.*)?")


def is_beir(head: bytes) -> bool:
    """Whether a file begins with the header of BEIR's judgements."""
    return _BEIR.match(head) is not None


def is_ltr(head: bytes) -> bool:
    """Whether the first row of a file, below comments, is one of learning to rank."""
    return _LTR.match(head) is not None


def parse_beir_qrels(source: Source, *, name: str | None = None, encoding: str = "utf-8") -> Qrels:
    """Read judgements of three columns under a header.

    Raises
    ------
    GoldError
        As :func:`~evalnb.gold.trec.parse_qrels`, naming file and line.
    """
    lines, where, notes = _lines(source, name, encoding)
    rows = {}
    for number, line in enumerate(lines, 1):
        fields = line.split("\t")
        if number == 1 or not line.strip():
            continue
        if len(fields) != 3 or line.startswith("#"):
            raise GoldError(
                f"found {shown(line)}, expected a query id without # before it, a document id and "
                "a grade",
                where=f"{where}:{number}",
                remedy="columns stand apart by single tabs",
            )
        rows[number] = (fields[0], fields[1], fields[2])
    return _as_trec(rows, where, notes)


def parse_ltr(
    source: Source, *, name: str | None = None, encoding: str = "utf-8"
) -> tuple[Qrels, Topics]:
    """Read grade, query and document of rows like ``4 qid:1 # 7501 title``.

    Features are passed over. A comment ``# qid:1: mountain boots`` says what a query asks.

    Raises
    ------
    GoldError
        As :func:`~evalnb.gold.trec.parse_qrels`, naming file and line; also for a row without a
        document behind ``#``, and a query with two texts.
    """
    lines, where, notes = _lines(source, name, encoding)
    rows, texts = {}, dict[str, str]()
    for number, line in enumerate(map(str.strip, lines), 1):
        place = f"{where}:{number}"
        if asked := _LTR_QUERY.fullmatch(line):
            if texts.setdefault(asked[1], asked[2]) != asked[2]:
                raise GoldError(f"query {asked[1]!r} has another text above", where=place)
        elif line and not line.startswith("#"):
            row = _LTR_ROW.fullmatch(line)
            if row is None:
                raise GoldError(
                    f"found {shown(line)}, expected a grade, qid:ID, # and a document",
                    where=place,
                    remedy="such as 4 qid:1 # 7501",
                )
            rows[number] = (row[2], row[3], row[1])
    return _as_trec(rows, where, notes), Topics(where, texts)


def _lines(
    source: Source, name: str | None, encoding: str
) -> tuple[list[str], str, tuple[str, ...]]:
    data, where = read_source(source, name)
    text, notes = decode_text(data, where=where, encoding=encoding)
    return [line.rstrip("\r") for line in text.split("\n")], where, notes


def _as_trec(rows: dict[int, tuple[str, str, str]], where: str, notes: tuple[str, ...]) -> Qrels:
    """Check rows of query, document and grade by their line numbers."""
    lines = ["#"] * max(rows, default=1)
    for number, (query, document, grade) in rows.items():
        lines[number - 1] = f"{query}\t0\t{document}\t{grade}"
    qrels = parse_qrels("\n".join(lines).encode(), name=where)
    return Qrels(where, qrels.grades, (*notes, *qrels.notes))
