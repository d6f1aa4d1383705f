"""Several channels' hits on the same things: which are the same, and what each is shown with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from evalnb.errors import SearchFailedError
from evalnb.search.result import KINDS, Candidates, ChannelRank, Hit, Identities


@dataclass(frozen=True, slots=True)
class Merged:
    """Every channel's hits by id, in rank order; a merged hit is made when it is asked for."""

    channels: Mapping[str, Mapping[str, Hit]]

    def candidates(self) -> dict[str, Candidates]:
        """Return each channel's list for fusion."""
        return {
            name: Candidates.model_construct(
                ids=tuple(hits), scores=tuple(hit.score for hit in hits.values())
            )
            for name, hits in self.channels.items()
        }

    def ranked(self, ids: Sequence[str], scores: Sequence[float | None]) -> tuple[Hit, ...]:
        """Return the merged hits of these ids in this order, with their final scores."""
        wanted = set(ids)
        places: dict[str, dict[str, ChannelRank]] = {key: {} for key in ids}
        for name, hits in self.channels.items():
            for rank, (key, hit) in enumerate(hits.items(), 1):
                if key in wanted:
                    places[key][name] = ChannelRank(rank=rank, score=hit.score)
        return tuple(
            self._hit(key).model_copy(
                update={"rank": rank, "score": score, "channels": places[key]}
            )
            for rank, (key, score) in enumerate(zip(ids, scores, strict=True), 1)
        )

    def _hit(self, key: str) -> Hit:
        merged = reduce(_joined, (hits[key] for hits in self.channels.values() if key in hits))
        return merged.model_copy(update={"ids": _identities(key, merged)})


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
    channels: dict[str, dict[str, Hit]] = {}
    for name, hits in found.items():
        first = channels[name] = {}
        for hit in hits:
            first.setdefault(_key(hit, shared), hit)
    return Merged(channels)


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
