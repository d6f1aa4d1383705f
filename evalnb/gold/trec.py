"""TREC files: judgements (qrels), runs and topics, read strictly and written back.

Columns stand apart by blanks or tabs; where every column stands apart by a single tab, an id may
hold blanks. A ``#`` begins a comment only as the first character of a line that is not blank. Ids
are text: ``0710``, ``1e5`` and ``NA`` stay as written. A rank column is never used.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evalnb.errors import GoldError
from evalnb.files import decode_text
from evalnb.gold.trec_rows import QRELS_COLUMNS, RUN_COLUMNS, Rows, Source, read_source
from evalnb.search.kinds import check_id
from evalnb.wording import listed

if TYPE_CHECKING:
    from evalnb.gold.cases import GoldCase, GoldDataset, Split

_TOPIC_MARK = re.compile(r"^[ \t]*<top>", re.M | re.I)
_TOPIC = re.compile(r"<top>(.*?)</top>", re.S | re.I)
_TOPIC_ID = re.compile(r"<num>\s*(?:Number:)?\s*([^<\n]+)", re.I)
_TOPIC_TEXT = re.compile(r"<title>\s*(?:Topic:)?\s*([^<]+)", re.I)


@dataclass(frozen=True, slots=True)
class Qrels:
    """Judgements: query id to document id to grade, in the order of the file."""

    name: str
    grades: Mapping[str, Mapping[str, int]]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """A run: query id to document id to score, in the order of the file.

    Attributes
    ----------
    n_rank_contradictions
        Rows whose rank column is not below that of every row with a higher score.
    """

    name: str
    scores: Mapping[str, Mapping[str, float]]
    tag: str = ""
    n_rank_contradictions: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Topics:
    """Query texts by query id."""

    name: str
    texts: Mapping[str, str]
    notes: tuple[str, ...] = ()


def rank_documents(scores: Mapping[str, float]) -> list[str]:
    """Order documents as a run file is read: by score, then by id, both descending.

    Ids compare by codepoint, which is the order of their UTF-8 bytes.

    >>> rank_documents({"d1": 1.0, "d2": 1.0, "d3": 0.5, "d10": 1.0})
    ['d2', 'd10', 'd1', 'd3']
    """
    return [key for _, key in sorted(((s, key) for key, s in scores.items()), reverse=True)]


def parse_qrels(source: Source, *, name: str | None = None, encoding: str = "utf-8") -> Qrels:
    """Read judgements: query, iteration, document, grade.

    Parameters
    ----------
    source
        A path, or the bytes of a file; gzip is recognised.
    name
        How errors call the file; the path by default.
    encoding
        Never guessed.

    Raises
    ------
    GoldError
        Naming file and line: a wrong number of columns, a grade that is no whole number or outside
        -100..100, an id that is not printable text, two rows that contradict each other, an empty
        file, a byte that is not in the encoding. Rows that repeat are merged and noted.
    NotFoundError
        If there is no such file.
    """
    rows = Rows(source, name, encoding, QRELS_COLUMNS)
    grades: dict[str, dict[str, int]] = {}
    n_repeated = 0
    for fields in rows:
        query, document, grade = rows.id(fields[0]), rows.id(fields[2]), rows.grade(fields[3])
        judged = grades.setdefault(query, {})
        if judged.setdefault(document, grade) != grade:
            first = rows.first_line(query, document)
            rows.refuse(
                f"query {query!r}, document {document!r} is graded {grade} here and "
                f"{judged[document]} on line {first}",
                remedy="keep the row that is right",
            )
        n_repeated += 1
    n_repeated -= sum(map(len, grades.values()))
    if n_repeated:
        merged = "1 repeated row was" if n_repeated == 1 else f"{n_repeated} repeated rows were"
        rows.notes.append(f"{merged} merged")
    named = {key for judged in grades.values() for key in judged}
    if named == {"0"} and (len(grades) > 1 or n_repeated):
        rows.notes.append(
            "every judgement names the document '0': do the documents stand in the second column?"
        )
    return Qrels(rows.name, grades, tuple(rows.notes))


def parse_run(source: Source, *, name: str | None = None, encoding: str = "utf-8") -> Run:
    """Read a run: query, Q0, document, rank, score, tag; what follows the tag is ignored.

    Parameters
    ----------
    source, name, encoding
        As for :func:`parse_qrels`.

    Raises
    ------
    GoldError
        Naming file and line: a wrong number of columns, a score that is no finite number, an id
        that is not printable text, a document that a query has twice, an empty file, a byte that
        is not in the encoding.
    NotFoundError
        If there is no such file.
    """
    rows = Rows(source, name, encoding, RUN_COLUMNS)
    scores: dict[str, dict[str, float]] = {}
    ranks: dict[str, list[int | None]] = {}
    tag = None
    for fields in rows:
        query, document = rows.id(fields[0]), rows.id(fields[2])
        score = rows.score(fields[4], query, document)
        ranked = scores.setdefault(query, {})
        if document in ranked:
            rows.refuse(
                f"query {query!r} has document {document!r} on line "
                f"{rows.first_line(query, document)} and again here",
                remedy="keep one of them: a document counts once",
            )
        ranked[document] = score
        ranks.setdefault(query, []).append(rows.rank(fields))
        tag = fields[5] if tag is None else tag
    n_contradicting = sum(
        count_rank_contradictions(ranked.values(), ranks[query]) for query, ranked in scores.items()
    )
    return Run(rows.name, scores, (tag or b"").decode(), n_contradicting, tuple(rows.notes))


def count_rank_contradictions(scores: Iterable[float], ranks: Iterable[int | None]) -> int:
    """Count the rows that some row of a higher score does not precede by its rank.

    Any base and gaps do; rows of equal scores may stand in any order.

    >>> count_rank_contradictions([0.2, 0.9], [0, 0]), count_rank_contradictions([2.4, 1.3], [1, 3])
    (1, 0)
    """
    pairs = [pair for pair in zip(scores, ranks, strict=True) if pair[1] is not None]
    pairs.sort(key=lambda pair: -pair[0])
    count, above, level, lowest = 0, -sys.maxsize, None, -sys.maxsize
    for score, rank in pairs:
        assert rank is not None
        if score != level:
            level, above = score, lowest
        count += rank <= above
        lowest = max(lowest, rank)
    return count


def parse_topics(source: Source, *, name: str | None = None, encoding: str = "utf-8") -> Topics:
    """Read topics: ``id<TAB>text`` (or a blank) on each line, or TREC's ``<top>`` blocks.

    Parameters
    ----------
    source, name, encoding
        As for :func:`parse_qrels`.

    Raises
    ------
    GoldError
        Naming file and line: a topic without id or text, an id used twice, an empty file.
    """
    data, where = read_source(source, name)
    text, notes = decode_text(data, where=where, encoding=encoding)
    pairs = _topic_blocks(text, where) if _TOPIC_MARK.search(text) else _topic_lines(text, where)
    texts: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, key, query in pairs:
        place = f"{where}:{number}"
        try:
            check_id(key)
        except ValueError as error:
            raise GoldError(str(error), where=place) from None
        if not query:
            raise GoldError(f"topic {key!r} has no text", where=place)
        if key in texts:
            raise GoldError(
                f"topic {key!r} stands on line {lines[key]} and again here", where=place
            )
        texts[key], lines[key] = query, number
    if not texts:
        raise GoldError("the file holds no topics", where=where)
    return Topics(where, texts, notes)


def _topic_lines(text: str, where: str) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(text.split("\n"), start=1):
        row = line.strip()
        if not row or row.startswith("#"):
            continue
        if row.startswith(("{", "[", "<")):
            raise GoldError(
                f"found {row[:20]!r}, expected an id, a tab and the text of a topic",
                where=f"{where}:{number}",
            )
        key, _, query = row.partition("\t") if "\t" in row else row.partition(" ")
        yield number, key.strip(), query.strip()


def _topic_blocks(text: str, where: str) -> Iterator[tuple[int, str, str]]:
    begun = len(re.findall("<top>", text, re.I))
    if begun != text.lower().count("</top>") or begun != len(_TOPIC.findall(text)):
        raise GoldError(
            f"{begun} topics begin with <top> and {text.lower().count('</top>')} end with </top>",
            where=where,
            remedy="close each topic before the next one",
        )
    for block in _TOPIC.finditer(text):
        number = text.count("\n", 0, block.start()) + 1
        key, query = _TOPIC_ID.search(block[1]), _TOPIC_TEXT.search(block[1])
        if key is None or query is None:
            raise GoldError("a topic needs <num> and <title>", where=f"{where}:{number}")
        yield number, key[1].strip(), " ".join(query[1].split())


def qrels_to_gold(
    qrels: Qrels,
    topics: Topics | None = None,
    *,
    dataset_id: str = "qrels",
    split: Split = "development",
) -> GoldDataset:
    """Make a gold set of judgements, one case for each judged query.

    Grades become ``document_relevance``, documents graded 1 or above ``expected.document_ids``.
    The case_id is the query id; without topics it is the query as well. Judged queries without a
    topic cannot be asked: they are left out and noted, and so are topics without judgements.

    Raises
    ------
    GoldError
        If no judged query has a topic, or a text is no query.
    """
    from evalnb.gold.cases import dataset_from_cases, imported_case
    from evalnb.gold.labels import LabelProvenance

    texts = {key: key for key in qrels.grades} if topics is None else topics.texts
    provenance = LabelProvenance(note=f"imported from {Path(qrels.name).name}")
    cases: list[GoldCase] = []
    for key, grades in qrels.grades.items():
        if key not in texts:
            continue
        fields = {
            "case_id": key,
            "request": {"query": texts[key]},
            "expected": {"document_ids": [found for found, grade in grades.items() if grade >= 1]},
            "document_relevance": dict(grades),
            "label_provenance": provenance,
        }
        where = f"{(topics or qrels).name}: topic {key!r}"
        cases.append(imported_case(len(cases) + 1, fields, split=split, where=where))
    notes = list(qrels.notes)
    if topics is not None:
        notes += [*topics.notes, *_unmatched(qrels, topics)]
        if not cases:
            raise GoldError(
                f"no judged query has a topic: {listed(qrels.grades)} against "
                f"{listed(topics.texts)}",
                where=topics.name,
                remedy="give the topics that belong to these judgements",
            )
    return dataset_from_cases(tuple(cases), dataset_id=dataset_id, notes=tuple(notes))


def _unmatched(qrels: Qrels, topics: Topics) -> Iterator[str]:
    for what, ids, others in (
        ("judged queries have no topic and are left out", qrels.grades, topics.texts),
        ("topics have no judgements and are left out", topics.texts, qrels.grades),
    ):
        missing = [key for key in ids if key not in others]
        if missing:
            yield f"{len(missing)} of {len(ids)} {what}: {listed(missing)}"


def format_qrels(grades: Mapping[str, Mapping[str, int]]) -> str:
    """Write judgements as text; columns stand apart by tabs where an id holds a blank.

    Raises
    ------
    GoldError
        For an id that would not read back.
    """
    return _format(
        (
            (query, "0", document, str(grade))
            for query, d in grades.items()
            for document, grade in d.items()
        )
    )


def format_run(scores: Mapping[str, Mapping[str, float]], *, tag: str = "evalnb") -> str:
    """Write a run as text, in rank order, with scores that read back exactly.

    Raises
    ------
    GoldError
        For an id or a tag that would not read back.
    """
    return _format(
        (query, "Q0", document, str(rank), repr(float(found[document])), tag)
        for query, found in scores.items()
        for rank, document in enumerate(rank_documents(found), start=1)
    )


def format_topics(texts: Mapping[str, str]) -> str:
    """Write topics as ``id<TAB>text`` lines; white space in a text becomes single blanks."""
    return "".join(f"{key}\t{' '.join(text.split())}\n" for key, text in texts.items())


def _format(rows: Iterable[tuple[str, ...]]) -> str:
    written = list(rows)
    for row in written:
        for field in row:
            if not field or field != field.strip() or "\t" in field or "\n" in field:
                raise GoldError(f"{field!r} would not read back from a TREC file")
        if row[0].startswith("#"):
            raise GoldError(f"query {row[0]!r} would read back as a comment")
    blanks = any(" " in field for row in written for field in row)
    return "".join(("\t" if blanks else " ").join(row) + "\n" for row in written)
