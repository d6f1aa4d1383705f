"""What the lines of a draft's journal say, one record for each thing that people do."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, NonNegativeInt, TypeAdapter

from evalnb.gold.cases import GoldCase, Split
from evalnb.gold.labels import ContentExpectation, GoldSpan, Grade
from evalnb.search.request import Id, Record, Text, _as_tuple
from evalnb.search.result import Kind

ADJUDICATOR = "adjudicator"  # the name whose labels end a disagreement

LabelField = Annotated[Grade | Literal["forbidden"], Field(union_mode="left_to_right")]


class Header(Record):
    """What a draft is; see :func:`open_draft`."""

    format: Literal["evalnb-draft@1"] = "evalnb-draft@1"
    dataset_id: str
    kind: Kind = "document"
    grades: Annotated[tuple[int, ...], BeforeValidator(_as_tuple)] = (0, 1, 2, 3)
    independent: bool = False
    note: Text = ""
    previous: str | None = None

    def to_bytes(self) -> bytes:
        """Return what stands in draft.json."""
        return self.model_dump_json(indent=2).encode() + b"\n"


class Extract(Record):
    """One text that was returned, and where it stands, if the system says so."""

    text: str
    document: Text | None = None
    revision_id: Id | None = None
    start: NonNegativeInt | None = None


class Passage(Record):
    """What is judged under one id: every text that any system returned for it."""

    id: Id
    extracts: Annotated[tuple[Extract, ...], BeforeValidator(_as_tuple)] = ()

    def joined(self, known: Passage | None) -> Passage:
        """Return the passage with the extracts that are known already, those first."""
        before = known.extracts if known else ()
        return Passage(id=self.id, extracts=tuple(dict.fromkeys((*before, *self.extracts))))


class Asked(Record):
    """A question was written."""

    type: Literal["asked"] = "asked"
    by: Id
    case: GoldCase


class Removed(Record):
    """A question was taken out."""

    type: Literal["removed"] = "removed"
    by: Id
    case_id: Id


class Pooled(Record):
    """Passages came in for a question."""

    type: Literal["pooled"] = "pooled"
    case_id: Id
    passages: Annotated[tuple[Passage, ...], BeforeValidator(_as_tuple)]


class Judged(Record):
    """A passage was judged."""

    type: Literal["judged"] = "judged"
    by: Id
    case_id: Id
    id: Id
    label: LabelField


class Marked(Record):
    """Words of a passage were selected, as a span or as a phrase."""

    type: Literal["marked"] = "marked"
    by: Id
    case_id: Id
    id: Id
    span: GoldSpan | None = None
    phrase: ContentExpectation | None = None

    @property
    def quote(self) -> str:
        """The words."""
        if self.phrase is not None:
            return self.phrase.content_contains[0]
        return (self.span and self.span.quote) or ""


class Grouped(Record):
    """All cases were put into families and onto splits, by case_id."""

    type: Literal["grouped"] = "grouped"
    families: dict[Id, Id]
    splits: dict[Id, Split]


class Undone(Record):
    """A line was undone, counted from 0."""

    type: Literal["undone"] = "undone"
    by: Id
    line: NonNegativeInt


Deed = Judged | Marked | Asked | Removed
Event = Annotated[Deed | Pooled | Grouped | Undone, Field(discriminator="type")]
EVENT: TypeAdapter[Any] = TypeAdapter(Event)
