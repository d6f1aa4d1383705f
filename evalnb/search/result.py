"""What comes back: ranked hits, every other surface that shows content, and the candidates."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, NonNegativeInt, PositiveInt

from evalnb.search import kinds
from evalnb.search.request import Finite, Id, Ids, Record, Scalar, _as_tuple

Kind = kinds.Kind
KINDS = kinds.KINDS


class Identities(Record):
    """The ids of one thing, from its source down; what a system cannot give is null."""

    source_id: Id | None = None
    document_id: Id | None = None
    revision_id: Id | None = None
    unit_id: Id | None = None
    asset_id: Id | None = None
    definition_id: Id | None = None
    file_id: Id | None = None

    def of(self, kind: Kind) -> str | None:
        """Return the id of one kind."""
        value: str | None = getattr(self, f"{kind}_id")
        return value


class Span(Record):
    """Half-open codepoint range [start, end) in an extraction's text, as ``str`` indexes it."""

    extraction_id: Id
    start: NonNegativeInt
    end: NonNegativeInt


class TextLocator(Record):
    """A span of text, with the path it stands in."""

    type: Literal["text"] = "text"
    path: str
    start: NonNegativeInt
    end: NonNegativeInt


class LineLocator(Record):
    """Lines of a file, 1-based and inclusive."""

    type: Literal["lines"] = "lines"
    path: str
    first_line: PositiveInt
    last_line: PositiveInt


class PageLocator(Record):
    """A box on a page, in points from the top left; pages are 1-based."""

    type: Literal["page"] = "page"
    path: str
    page: PositiveInt
    box: Annotated[tuple[Finite, Finite, Finite, Finite] | None, BeforeValidator(_as_tuple)] = None


class AssetLocator(Record):
    """A whole asset, bound to its bytes."""

    type: Literal["asset"] = "asset"
    asset_id: Id
    sha256: str


Locator = Annotated[
    TextLocator | LineLocator | PageLocator | AssetLocator, Field(discriminator="type")
]


class ChannelRank(Record):
    """Where one channel had a hit."""

    rank: PositiveInt
    score: Finite | None = None


class Hit(Record):
    """One selected result. Its order in :class:`QueryResult` is its rank."""

    rank: PositiveInt
    kind: Kind = "document"
    ids: Identities
    document_name: str | None = None
    text: str | None = None
    text_sha256: str | None = None
    span: Span | None = None
    locator: Locator | None = None
    score: Finite | None = None
    # A factory, as pydantic would copy a literal default deeply for each of many hits.
    channels: dict[str, ChannelRank] = Field(default_factory=dict)
    metadata: dict[str, Scalar] = Field(default_factory=dict)


class Excerpt(Record):
    """Context around a hit: it is shown to the reader, so it can leak, but it is no hit."""

    ids: Identities
    text: str = ""


class Citation(Record):
    """A pointer from the result to its evidence."""

    ids: Identities
    span: Span | None = None
    locator: Locator | None = None
    text_sha256: str | None = None


class VisualProxy(Record):
    """Text that stands for an image: caption, alternative text, surrounding text."""

    ids: Identities
    text: str = ""
    locator: Locator | None = None


class Edge(Record):
    """A directed, typed edge."""

    source: Id
    target: Id
    kind: str


class GraphSupport(Record):
    """The part of a graph that supports the result; a path is its ordered node ids."""

    nodes: Ids = ()
    edges: Annotated[tuple[Edge, ...], BeforeValidator(_as_tuple)] = ()
    paths: Annotated[tuple[Ids, ...], BeforeValidator(_as_tuple)] = ()


class TokenCount(Record):
    """Tokens that a model read and wrote: they have different prices."""

    input: NonNegativeInt = 0
    output: NonNegativeInt = 0


class Usage(Record):
    """What a search consumed at providers; null means not reported.

    ``by_model`` splits tokens by the model that they were charged to, where that is known;
    ``repaired`` counts answers of a model that could be used only in part.
    """

    calls: NonNegativeInt | None = None
    tokens: NonNegativeInt | None = None
    cost: Finite | None = None
    repaired: NonNegativeInt | None = None
    by_model: dict[str, TokenCount] = Field(default_factory=dict)


class Candidates(Record):
    """One channel's list before fusion: ids and scores in rank order, of equal length."""

    ids: Ids = ()
    scores: Annotated[tuple[Finite | None, ...], BeforeValidator(_as_tuple)] = ()


class Decision(Record):
    """One step of a search: what was done, to how many, and to which ids."""

    step: str
    detail: str = ""
    ids: Ids = ()


class Trace(Record):
    """The decisions of one search in order; times stand in the report's ``observed`` only."""

    decisions: Annotated[tuple[Decision, ...], BeforeValidator(_as_tuple)] = ()


class QueryResult(Record):
    """Everything one search returned.

    ``hits`` are the selected results; the order is the ranking. ``references`` is null where the
    system does not extract any. ``status`` is ``ok`` for an empty list too; a failure is
    ``unavailable`` with its reason.
    """

    hits: Annotated[tuple[Hit, ...], BeforeValidator(_as_tuple)] = ()
    context: Annotated[tuple[Excerpt, ...], BeforeValidator(_as_tuple)] = ()
    structured: Annotated[tuple[Identities, ...], BeforeValidator(_as_tuple)] = ()
    citations: Annotated[tuple[Citation, ...], BeforeValidator(_as_tuple)] = ()
    visual_proxies: Annotated[tuple[VisualProxy, ...], BeforeValidator(_as_tuple)] = ()
    graph: GraphSupport | None = None
    references: Ids | None = None
    decisions: Annotated[tuple[Decision, ...], BeforeValidator(_as_tuple)] = ()
    usage: Usage = Field(default_factory=Usage)
    status: Literal["ok", "unavailable"] = "ok"
    reason: str | None = None
    n_returned: NonNegativeInt | None = None
    candidates: dict[str, Candidates] = Field(default_factory=dict)
    rerank_scores: Candidates | None = None
    trace: Trace | None = None
