"""Read what a search function returned, whatever shape it has."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Set
from itertools import islice
from numbers import Real
from operator import index
from typing import Any, NamedTuple, Protocol, SupportsIndex, cast, runtime_checkable

from pydantic import ValidationError

from evalnb.errors import SearchFailedError
from evalnb.search.request import Controls, QueryRequest, Scalar
from evalnb.search.result import QueryResult

MOST_HITS = 10_000  # an endless generator must not fill the memory
_NAME_KEYS = ("title", "source", "file_name", "filename", "file_path")
_ID_KEYS = ("id", "id_", "node_id", "doc_id", "document_id")
_TEXT_KEYS = ("text", "page_content", "content")


@runtime_checkable
class UnreadSession(Protocol):
    """A session that can also return what was found as it came, for :func:`parse_hits`."""

    def call(self, request: QueryRequest, controls: Controls) -> object:
        """Run one search and return its results unread, best first."""


def parse_hits(returned: object, *, limit: int, numbered: bool = True) -> QueryResult:
    """Read what a search function returned, in its own order; scores never re-sort it.

    Each item may be an id, (id, score), (id, text), a dict with id, text, document (and
    document_name), score and metadata, an object with page_content or text, id and metadata, or
    such an object with a score beside it. The id is the document's, and the unit's when text is
    given; several chunks with one id become ``id#1``, ``id#2``. Hits past the limit are counted
    and left out.

    Parameters
    ----------
    numbered
        Without it, chunks keep the id they came with, and one without an id of its own has no unit
        id: for a caller who tells chunks of several lists apart.

    Raises
    ------
    SearchFailedError
        Naming the position and what was found there.
    """
    if isinstance(returned, QueryResult):
        kept = returned.hits[:limit]
        return returned.model_copy(update={"hits": kept, "n_returned": len(returned.hits)})
    if returned is None:
        raise SearchFailedError("the function returned None; return [] when nothing is found")
    if hasattr(returned, "to_dict") and hasattr(returned, "columns"):
        returned = returned.to_dict("records")  # a data frame iterates over its column names
    unordered = isinstance(returned, (str, bytes, Mapping, Set))
    if unordered or not isinstance(returned, Iterable):
        raise SearchFailedError(
            f"the function returned {_shown(returned)}; a list of results is expected, best first"
        )
    items = list(islice(returned, MOST_HITS))
    found = [_parse_item(item, rank) for rank, item in enumerate(items[:limit], 1)]
    chunks = Counter(parsed.key for parsed in found if parsed.text is not None)
    seen: Counter[str] = Counter()
    hits = []
    for rank, parsed in enumerate(found, 1):
        unit = None
        if parsed.text is not None:
            seen[parsed.key] += 1
            several = numbered and chunks[parsed.key] > 1
            unit = f"{parsed.key}#{seen[parsed.key]}" if several else parsed.key
            unit = unit if numbered or parsed.own_id else None
        hits.append(_hit(rank, parsed, unit))
    try:  # one validation of the whole result costs half of one per hit
        return QueryResult.model_validate({"hits": tuple(hits), "n_returned": len(items)})
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        rank = int(problem["loc"][1]) + 1
        message = problem["msg"].removeprefix("Value error, ")
        raise SearchFailedError(f"the id of result {rank}: {message}") from None


def _hit(rank: int, parsed: _Parsed, unit: str | None) -> dict[str, Any]:
    hit: dict[str, Any] = {
        "rank": rank,
        "kind": "document" if parsed.text is None else "unit",
        "ids": {"document_id": parsed.document, "unit_id": unit},
        "document_name": parsed.name,
        "score": parsed.score,
        "metadata": parsed.metadata,
    }
    if parsed.text is not None:
        hit |= {"text": parsed.text, "text_sha256": _sha256(parsed.text)}
    return hit


class _Parsed(NamedTuple):
    key: str
    document: str | None
    name: str
    own_id: bool = True
    text: str | None = None
    score: float | None = None
    metadata: dict[str, Scalar] = {}


def _parse_item(item: object, rank: int) -> _Parsed:
    if isinstance(item, str):
        key = _id(item, rank)
        return _Parsed(key, key, key)
    if isinstance(item, tuple | list):
        return _parse_pair(item, rank)
    if isinstance(item, Mapping):
        return _parse_fields(item.get, rank, item)
    if isinstance(item, bool) or item is None:
        raise SearchFailedError(f"result {rank} is {_shown(item)}, not an id or a document")
    try:
        key = str(index(cast("SupportsIndex", item)))  # any integer type, numpy's too
    except TypeError:
        pass
    else:
        return _Parsed(key, key, key)
    node = getattr(item, "node", None)
    if node is not None:  # a scored wrapper around a node
        return _with_score(_parse_item(node, rank), getattr(item, "score", None), rank)
    return _parse_fields(lambda name: getattr(item, name, None), rank, item)


def _parse_pair(pair: tuple[Any, ...] | list[Any], rank: int) -> _Parsed:
    if len(pair) != 2:
        raise SearchFailedError(
            f"result {rank} has {len(pair)} parts; (id, score) or (id, text) is expected"
        )
    first, second = pair
    parsed = _parse_item(first, rank)
    if isinstance(second, str):
        return parsed._replace(text=_text(second, rank))
    return _with_score(parsed, second, rank)


def _with_score(parsed: _Parsed, score: object, rank: int) -> _Parsed:
    return parsed if score is None else parsed._replace(score=_score(score, rank))


def _parse_fields(get: Callable[[str], Any], rank: int, item: object) -> _Parsed:
    metadata = get("metadata")
    details: Mapping[str, Any] = metadata if isinstance(metadata, Mapping) else {}
    text = _first(get, _TEXT_KEYS)
    if text is not None and not isinstance(text, str):
        raise SearchFailedError(f"the text of result {rank} is {_shown(text)}, not a string")
    named = _first(details.get, _NAME_KEYS)
    document = _first(get, ("document",))
    own = _first(get, _ID_KEYS)
    if own is None:
        own = _first(details.get, ("id", "doc_id")) or None
    key = own if own is not None else document or details.get("source") or named
    if key is None and text is None:
        raise SearchFailedError(
            f"result {rank} is {_shown(item)} without an id or a text",
            remedy="return ids, (id, score), (id, text), or items with id and text",
        )
    owner = key if document is None else document
    key = _id(key, rank) if key is not None else f"sha256:{_sha256(_text(text or '', rank))[:16]}"
    score = get("score")
    return _Parsed(
        key=key,
        # A text without any id is known by its digest, but nobody knows its document.
        document=None if owner is None else _id(owner, rank),
        own_id=own is not None,
        text=None if text is None else _text(text, rank),
        score=None if score is None else _score(score, rank),
        name=str(_first(get, ("document_name",)) or document or named or key),
        metadata={str(k): v for k, v in details.items() if _storable(v)},
    )


def _first(get: Callable[[str], Any], keys: tuple[str, ...]) -> Any:
    values = (get(key) for key in keys)
    return next((v for v in values if v is not None and not callable(v)), None)


def _id(value: object, rank: int) -> str:
    if not isinstance(value, str):
        try:
            value = str(index(cast("SupportsIndex", value)))  # anything else is refused below
        except TypeError:
            value = str(value) if type(value).__name__ == "UUID" else value
    if not isinstance(value, str):
        raise SearchFailedError(f"the id of result {rank} is {_shown(value)}, not text")
    return value  # the record itself checks the text of an id


def _score(value: object, rank: int) -> float:
    if isinstance(value, bool | str) or not (
        isinstance(value, Real) or hasattr(value, "__float__")
    ):
        raise SearchFailedError(f"the score of result {rank} is {_shown(value)}, not a number")
    number = float(value)
    if not math.isfinite(number):
        raise SearchFailedError(f"the score of result {rank} is {number}; it has to be finite")
    return number


def _text(value: str, rank: int) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise SearchFailedError(f"the text of result {rank} holds lone surrogates") from None
    return value


def _storable(value: object) -> bool:
    """Whether a piece of metadata can stand in a report: a finite scalar, valid as UTF-8."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, str):
        return value.encode(errors="replace") == value.encode(errors="surrogatepass")
    return isinstance(value, int)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _shown(value: object) -> str:
    shown = repr(value)
    return f"{type(value).__name__} {shown if len(shown) <= 60 else shown[:57] + '...'}"
