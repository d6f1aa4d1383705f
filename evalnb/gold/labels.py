"""What cases are labelled with: ids, spans of text, edges, words, and where all that came from."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, NonNegativeInt, model_validator

from evalnb.limits import GRADE_RANGE
from evalnb.search.request import Id, Ids, Record, Text, _as_tuple
from evalnb.search.result import Edge, Kind

Grade = Annotated[int, Field(ge=-GRADE_RANGE, le=GRADE_RANGE)]
Grades = dict[Id, Grade]


class LabelledIds(Record):
    """Ids of the seven kinds, as labels."""

    source_ids: Ids = ()
    document_ids: Ids = ()
    revision_ids: Ids = ()
    unit_ids: Ids = ()
    asset_ids: Ids = ()
    definition_ids: Ids = ()
    file_ids: Ids = ()

    def of(self, kind: Kind) -> tuple[str, ...]:
        """Return the ids of one kind."""
        value: tuple[str, ...] = getattr(self, f"{kind}_ids")
        return value


class GoldSpan(Record):
    """Expected evidence: half-open codepoints of the text of a revision's extraction."""

    revision_id: Id
    start: NonNegativeInt
    end: NonNegativeInt
    quote: Text | None = None
    text_sha256: str | None = None

    @model_validator(mode="after")
    def _runs_forwards(self) -> Self:
        if self.end <= self.start:
            raise ValueError(f"the span [{self.start}, {self.end}) is empty or runs backwards")
        return self


class JudgedEdge(Edge):
    """An edge with its judgement."""

    relevant: bool


# Soft hyphen, zero-width spaces and joiners, direction marks, invisible operators, a stray BOM:
# what a reader cannot see is left out where phrases are looked for.
INVISIBLE = "\u00ad\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff"
_UNSEEN = dict.fromkeys(map(ord, INVISIBLE))


def _check_phrase(value: str) -> str:
    seen = value if value.isascii() else unicodedata.normalize("NFKC", value).translate(_UNSEEN)
    if not seen.strip():
        raise ValueError("an empty phrase would match every text")
    return value


def _phrases(value: object) -> object:
    return (value,) if isinstance(value, str) else _as_tuple(value)


Phrase = Annotated[Text, AfterValidator(_check_phrase)]


class ContentExpectation(Record):
    """One alternative: the document's name contains ``document``, the text any phrase."""

    document: Phrase | None = None
    content_contains: Annotated[tuple[Phrase, ...], BeforeValidator(_phrases)] = ()

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.document is None and not self.content_contains:
            raise ValueError("give document, content_contains, or both")
        return self


class LabelProvenance(Record):
    """Who or what made the labels."""

    method: Literal["human", "synthetic", "imported"] = "imported"
    annotators: NonNegativeInt = 0
    independent: bool = False
    note: Text = ""
