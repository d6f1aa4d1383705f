"""What is asked: a query, its restrictions, and the controls that a variant may override."""

from __future__ import annotations

import datetime as dt
import math
import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from evalnb.limits import DEFAULT_LIMIT, ID_BYTES, QUERY_BYTES, RESULT_LIMIT
from evalnb.search import kinds

Mode = Literal["semantic", "keyword", "hybrid", "hybrid_rerank"]
Modality = Literal["text", "image", "code"]
Channel = Annotated[str, Field(min_length=1, max_length=ID_BYTES)]
Scalar = str | int | float | bool | None

MODE_CHANNELS: dict[Mode, tuple[str, ...]] = {
    "keyword": ("lexical",),
    "semantic": ("text",),
    "hybrid": ("lexical", "text"),
    "hybrid_rerank": ("lexical", "text"),
}
SEED_CHANNELS = frozenset({"lexical", "text", "image"})
GRAPH_CHANNELS = frozenset({"structural_graph", "semantic_graph"})
# Fields of a request that narrow what may come back: a system that ignores one answers another
# question, so a case that uses it needs a system that honours it.
RESTRICTIONS = frozenset(
    {
        "modalities",
        "exact_only",
        "source_ids",
        "document_ids",
        "revision_ids",
        "as_of",
        "image_asset_id",
    }
)
WORKSPACE_CHANNELS = SEED_CHANNELS | GRAPH_CHANNELS


check_id = kinds.check_id


def _as_tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _as_date(value: object) -> object:
    # Inside a list that became a tuple, pydantic no longer knows that the text came from JSON.
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", value, re.ASCII):
        return dt.date.fromisoformat(value)
    return value


def _check_text(value: str) -> str:
    if "\x00" in value:
        raise ValueError("the text holds a NUL character")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("the text holds lone surrogates") from None
    return value


def _check_query(value: str) -> str:
    _check_text(value)
    if not value.strip():
        raise ValueError("the query is empty")
    size = len(value.encode())
    if size > QUERY_BYTES:
        raise ValueError(f"a query of {size:,} bytes is past the limit of {QUERY_BYTES:,}")
    return value


def _check_finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("must be a finite number")
    return value


Id = Annotated[str, AfterValidator(check_id)]
Ids = Annotated[tuple[Id, ...], BeforeValidator(_as_tuple)]
Text = Annotated[str, AfterValidator(_check_text)]
Query = Annotated[str, AfterValidator(_check_query)]
Finite = Annotated[float, AfterValidator(_check_finite)]
Limit = Annotated[int, Field(ge=1, le=RESULT_LIMIT)]
Modalities = Annotated[tuple[Modality, ...], BeforeValidator(_as_tuple)]
Channels = Annotated[tuple[Channel, ...], BeforeValidator(_as_tuple)]


class Record(BaseModel):
    """A frozen, strict record; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Hints(Record):
    """Tuning hints, a closed set; they merge key by key (override > request > configuration)."""

    language: str | None = None
    lexical_operator: Literal["any", "all", "phrase"] | None = None
    lexical_index: str | None = None
    heading_weight: Annotated[Finite, Field(ge=0, le=100)] | None = None
    text_index: str | None = None
    image_index: str | None = None
    fusion: Literal["rrf", "weighted"] | None = None
    rrf_k: Annotated[int, Field(ge=1, le=100_000)] | None = None
    weights: dict[str, Annotated[Finite, Field(ge=0)]] | None = None
    normalisation: Literal["none", "min-max", "z-score", "max", "sum"] | None = None
    candidates: Annotated[int, Field(ge=1, le=10_000)] | None = None
    reranker: str | None = None
    rerank_depth: Annotated[int, Field(ge=1, le=10_000)] | None = None
    graph_hops: Annotated[int, Field(ge=1, le=10)] | None = None
    graph_decay: Annotated[Finite, Field(gt=0, le=1)] | None = None
    system_options: dict[str, Scalar] | None = None

    @property
    def given(self) -> tuple[str, ...]:
        """The names of the hints that say anything."""
        return tuple(name for name, value in self if value is not None)

    def merged(self, over: Hints | None) -> Hints:
        """Return these hints with those that ``over`` sets put in their place."""
        if over is None:
            return self
        return self.model_copy(update=over.model_dump(exclude_none=True))


class QueryRequest(Record):
    """One search request, as a gold case carries it.

    Empty restrictions restrict nothing; given ones combine by AND. ``modalities`` filters kinds of
    hits, never channels. ``mode`` unset means the workspace's configured one.
    """

    query: Query
    mode: Mode | None = None
    modalities: Modalities = ()
    exact_identifiers: Ids = ()
    exact_only: bool = False
    limit: Limit | None = None
    hints: Hints | None = None
    source_ids: Ids = ()
    document_ids: Ids = ()
    revision_ids: Ids = ()
    as_of: Annotated[dt.date | None, BeforeValidator(_as_date)] = None
    image_asset_id: Id | None = None
    trace: bool = False

    @model_validator(mode="after")
    def _exact_needs_identifiers(self) -> Self:
        if self.exact_only and not self.exact_identifiers:
            raise ValueError("exact_only without exact_identifiers can never return anything")
        return self


class Overrides(Record):
    """What a variant may change; anything else is refused."""

    mode: Mode | None = None
    modalities: Modalities | None = None
    exact_only: bool | None = None
    limit: Limit | None = None
    hints: Hints | None = None
    channels: Annotated[Channels, Field(min_length=1)] | None = None
    rerank: bool | None = None

    @model_validator(mode="after")
    def _graph_needs_seed(self) -> Self:
        chosen = set(self.channels or ())
        if chosen & GRAPH_CHANNELS and not chosen & SEED_CHANNELS:
            raise ValueError(
                "a graph channel needs lexical, text or image beside it to start from, "
                f"found only {sorted(chosen)}"
            )
        return self


class Configuration(Record):
    """A system's own defaults: what a request that says nothing gets.

    ``modes`` presets channels where the system's own names are not those of
    :data:`MODE_CHANNELS`.
    """

    mode: Mode | None = None
    modes: dict[Mode, Channels] = {}
    limit: Limit = DEFAULT_LIMIT
    hints: Hints = Hints()


class Controls(Record):
    """What a variant resolves to for one request, and what was executed."""

    mode: Mode | None = None
    channels: Channels = ()
    rerank: bool = False
    modalities: Modalities = ()
    exact_only: bool = False
    limit: Limit = DEFAULT_LIMIT
    hints: Hints = Hints()


class Scope(Record):
    """What the caller may see at all; it narrows every request (combined by AND)."""

    source_ids: Ids = ()
    document_ids: Ids = ()


def resolve_controls(
    request: QueryRequest, overrides: Overrides, configuration: Configuration
) -> Controls:
    """Resolve one request under a variant: override > request > configuration > default.

    ``mode`` is a preset of channels; explicit channels, and an explicit ``rerank``, win over it.

    Raises
    ------
    ValueError
        If the override asks for ``exact_only`` and the request has no identifiers.
    """

    def first(*values: Any) -> Any:
        return next((value for value in values if value is not None), None)

    mode: Mode | None = first(overrides.mode, request.mode, configuration.mode)
    presets = {**MODE_CHANNELS, **configuration.modes}
    channels = overrides.channels or (presets[mode] if mode else ())
    preset_rerank = mode == "hybrid_rerank" and overrides.channels is None
    exact_only = first(overrides.exact_only, request.exact_only)
    if exact_only and not request.exact_identifiers:
        raise ValueError("exact_only needs a request with exact_identifiers")
    return Controls(
        mode=None if overrides.channels else mode,
        channels=channels,
        rerank=first(overrides.rerank, preset_rerank),
        modalities=first(overrides.modalities, request.modalities),
        exact_only=exact_only,
        limit=first(overrides.limit, request.limit, configuration.limit),
        hints=configuration.hints.merged(request.hints).merged(overrides.hints),
    )
