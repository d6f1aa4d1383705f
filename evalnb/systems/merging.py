"""Several channels' hits on the same things: which are the same, and what each is shown with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from evalnb.errors import SearchFailedError
from evalnb.search.result import KINDS, Candidates, ChannelRank, Hit, Identities


@dataclass(frozen=True, slots=True)
class Merged:
    """The candidates of every channel, and one hit for each id among them."""

    lists: Mapping[str, Candidates]
    hits: Mapping[str, Hit]

    def ranked(self, ids: Sequence[str], scores: Sequence[float | None]) -> tuple[Hit, ...]:
        """Return the hits of these ids in this order, with their final scores."""
        return tuple(
            self.hits[key].model_copy(update={"rank": rank, "score": score})
            for rank, (key, score) in enumerate(zip(ids, scores, strict=True), 1)
        )


def merge_hits(found: Mapping[str, Sequence[Hit]]) -> Merged:
    """Find the hits of several channels that mean the same thing.

    Hits with the same id are the same. Where one channel shows two texts under one id, or a text
    has no id of its own, ids name documents and not chunks: then id and text together tell chunks
    apart, as ``id#`` and eight digits of the text's SHA-256, alike in every channel.

    A merged hit is the first one that has a text, else the first one; the first name that is more
    than an id is its name. It carries its rank and score in every channel; later duplicates within
    one channel are dropped before ranks are counted.
    """
    shared = {key for hits in found.values() for key in _ids_with_several_texts(hits)}
    merged: dict[str, Hit] = {}
    places: defaultdict[str, dict[str, ChannelRank]] = defaultdict(dict)
    lists = {}
    for name, hits in found.items():
        first: dict[str, Hit] = {}
        for hit in hits:
            first.setdefault(_key(hit, shared), hit)
        lists[name] = Candidates(
            ids=tuple(first), scores=tuple(hit.score for hit in first.values())
        )
        for rank, (key, hit) in enumerate(first.items(), 1):
            places[key][name] = ChannelRank(rank=rank, score=hit.score)
            merged[key] = _joined(merged[key], hit) if key in merged else hit
    return Merged(
        lists=lists,
        hits={
            key: hit.model_copy(update={"ids": _identities(key, hit), "channels": places[key]})
            for key, hit in merged.items()
        },
    )


def _ids_with_several_texts(hits: Sequence[Hit]) -> list[str]:
    texts: defaultdict[str, set[str]] = defaultdict(set)
    for hit in hits:
        own = hit.ids.of(hit.kind)
        if own is not None and hit.text is not None:
            texts[own].add(hit.text)
    return [key for key, several in texts.items() if len(several) > 1]


def _key(hit: Hit, shared: Collection[str]) -> str:
    own = hit.ids.of(hit.kind)
    key = own or next((i for i in map(hit.ids.of, reversed(KINDS)) if i is not None), None)
    if key is None:
        raise SearchFailedError(f"hit {hit.rank} has no id of any kind")
    if hit.text_sha256 is not None and (own is None or own in shared):
        return f"{key}#{hit.text_sha256[:8]}"
    return key


def _joined(first: Hit, other: Hit) -> Hit:
    shown = other if first.text is None and other.text is not None else first
    named = first if _has_name(first) or not _has_name(other) else other
    rest = other if shown is first else first
    return shown.model_copy(
        update={
            "document_name": named.document_name,
            "ids": Identities(
                **{
                    field: value if value is not None else getattr(rest.ids, field)
                    for field, value in shown.ids
                }
            ),
            "metadata": {**other.metadata, **first.metadata},
        }
    )


def _has_name(hit: Hit) -> bool:
    return hit.document_name is not None and hit.document_name not in {i for _, i in hit.ids}


def _identities(key: str, hit: Hit) -> Identities:
    if hit.kind != "unit" or hit.ids.unit_id == key:
        return hit.ids
    return hit.ids.model_copy(update={"unit_id": key})
