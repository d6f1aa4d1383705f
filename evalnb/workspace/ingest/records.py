"""Records: documents that come as JSON, a whole corpus or one a line."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import Field, ValidationError, model_validator

from evalnb.errors import BadInputError
from evalnb.files import no_gold, read_bounded
from evalnb.limits import MIB
from evalnb.search.request import Id, Ids, Record, Text
from evalnb.strict_json import describe_validation_error, parse_strict, read_json_lines
from evalnb.workspace.documents import Extracted

EXTRACTOR = "record@1"
CORPUS_BYTES = 4_096 * MIB  # records are streamed by line; a whole corpus.json has to fit memory
LINE_SUFFIXES = frozenset({".jsonl", ".ndjson"})

Model = TypeVar("Model", bound=Record)


class DocumentRecord(Record):
    """One document of a corpus; ``path`` is its key and name."""

    path: Id
    title: Text | None = None
    text: Text = ""
    identifiers: Ids = ()
    language: Text | None = None
    effective_from: dt.date | None = None
    effective_to: dt.date | None = None

    @model_validator(mode="after")
    def _dates_run_forwards(self) -> Self:
        if self.effective_from and self.effective_to and self.effective_to < self.effective_from:
            raise ValueError(
                f"effective_to {self.effective_to} is before effective_from {self.effective_from}"
            )
        return self

    def extracted(self) -> Extracted:
        """Turn the record into a document; its dates are attributes and do not make a revision."""
        made_of = {"identifiers": self.identifiers, "text": self.text, "title": self.title}
        content = json.dumps(made_of, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return Extracted(
            path=self.path,
            text=self.text if self.text.strip() else self.title or "",  # a title alone is found
            bytes_sha256=hashlib.sha256(content.encode()).hexdigest(),
            extractor=EXTRACTOR,
            title=self.title,
            identifiers=self.identifiers,
            language=self.language,
            effective_from=self.effective_from,
            effective_to=self.effective_to,
        )


class SourceRecord(Record):
    """One source of a corpus with its documents."""

    key: Id
    documents: tuple[DocumentRecord, ...]


class CorpusRecord(Record):
    """A whole corpus; its cases are gold, and are not read here."""

    sources: Annotated[tuple[SourceRecord, ...], Field(min_length=1)]
    cases: Any = None


def read_corpus(document: Any, *, where: str) -> Iterator[tuple[str, Extracted]]:
    """Yield (source key, document) of a parsed corpus.json.

    Raises
    ------
    BadInputError
        Naming the field that is wrong.
    """
    corpus = _validated(CorpusRecord, document, where=where)
    for source in corpus.sources:
        paths = _Paths()
        for number, record in enumerate(source.documents, 1):
            yield source.key, paths.add(record, f"{where}: {source.key}, document {number}")


def read_records_file(path: Path, *, source_key: str) -> Iterator[tuple[str, Extracted]]:
    """Yield (source key, document) of corpus.json, or of a file with one record a line.

    A line is a document record, or BEIR's: ``_id``, ``title``, ``text`` and ``metadata``.

    Raises
    ------
    BadInputError
        Naming the line and the field that is wrong.
    """
    with no_gold():
        if path.suffix.casefold() not in LINE_SUFFIXES:
            data = read_bounded(path, bound=CORPUS_BYTES, what="a corpus of records")
            yield from read_corpus(parse_strict(data, where=str(path)), where=str(path))
            return
        paths = _Paths()
        for number, value in read_json_lines(path, bound=1 << 62):
            place = f"{path}:{number}"
            record = _validated(DocumentRecord, _from_beir(value), where=place)
            yield source_key, paths.add(record, place)


class _Paths:
    """What undated records of one source hold: a path stands for one of them."""

    def __init__(self) -> None:
        self._undated: dict[str, tuple[str, str]] = {}

    def add(self, record: DocumentRecord, where: str) -> Extracted:
        document = record.extracted()
        if record.effective_from is None and record.effective_to is None:
            mine = document.bytes_sha256
            held, first = self._undated.setdefault(record.path, (mine, where))
            if held != mine:
                raise BadInputError(
                    f"{record.path!r} holds another text than at {first}",
                    where=where,
                    remedy="give the two paths of their own, or dates if they are editions",
                )
        return document


def _from_beir(value: dict[str, Any]) -> dict[str, Any]:
    if "_id" not in value:
        return value
    kept = {key: item for key, item in value.items() if key not in ("_id", "metadata")}
    return {"path": value["_id"], **kept, "title": value.get("title") or None}


def _validated(model: type[Model], value: Any, *, where: str) -> Model:
    try:
        return model.model_validate_json(json.dumps(value))
    except ValidationError as error:
        raise BadInputError(
            describe_validation_error(error, known=model.model_fields), where=where
        ) from error
