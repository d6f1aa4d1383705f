"""Judgement files of learning to rank: ``4 qid:1 # 7501 title``, with the queries in comments."""

from __future__ import annotations

import re

from evalnb.errors import GoldError
from evalnb.files import decode_text
from evalnb.gold.trec import Qrels, Topics, parse_qrels
from evalnb.gold.trec_rows import Source, read_source
from evalnb.wording import shown

_QUERY = re.compile(r"#\s*qid:([^\s:]+):\s*(.*)")
_ROW = re.compile(r"(\S+)\s+qid:([^\s#]\S*)(?:\s+\d+:\S+)*\s*#\s*(\S+)(?:\s.*)?")


def parse_ltr(
    source: Source, *, name: str | None = None, encoding: str = "utf-8"
) -> tuple[Qrels, Topics]:
    """Read grade, query and document of each row; features are passed over.

    A comment ``# qid:1: mountain boots`` says what a query asks.

    Raises
    ------
    GoldError
        As :func:`~evalnb.gold.trec.parse_qrels`, naming file and line; also for a row without a
        document behind ``#``, and a query with two texts.
    """
    data, where = read_source(source, name)
    text, notes = decode_text(data, where=where, encoding=encoding)
    rows, texts = list[str](), dict[str, str]()
    for number, line in enumerate(map(str.strip, text.split("\n")), 1):
        place = f"{where}:{number}"
        if asked := _QUERY.fullmatch(line):
            if texts.setdefault(asked[1], asked[2]) != asked[2]:
                raise GoldError(f"query {asked[1]!r} has another text above", where=place)
        elif line and not line.startswith("#"):
            row = _ROW.fullmatch(line)
            if row is None:
                raise GoldError(
                    f"found {shown(line)}, expected a grade, qid:ID, # and a document",
                    where=place,
                    remedy="such as 4 qid:1 # 7501",
                )
            rows += ["#"] * (number - 1 - len(rows))  # so that the rows keep their numbers
            rows.append("\t".join((row[2], "0", row[3], row[1])))
    qrels = parse_qrels("\n".join(rows or ["#"]).encode(), name=where)
    return Qrels(where, qrels.grades, (*notes, *qrels.notes)), Topics(where, texts)
