"""How alike texts are by the words that they share."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping
from math import ceil
from typing import Any, Generic, TypeVar

_WORD = re.compile(r"\w+")

K = TypeVar("K", bound=Hashable)
T = TypeVar("T", bound=Any)


def folded_words(text: str) -> list[str]:
    """Return the words of a text, folded by case and Unicode form; without any, all of it."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _WORD.findall(folded) or [folded]


class AlikeSets(Generic[K, T]):
    """Sets by key, each compared with those that were taken in before it.

    The likeness is the Jaccard index |A ∩ B| / |A ∪ B|. Two sets can only reach it if they share
    one of their rarest members (Chaudhuri, Ganti and Kaushik 2006, "A primitive operator for
    similarity joins"), so that only such pairs are compared.

    Parameters
    ----------
    counts
        How many sets hold each member.
    likeness
        What pairs have to reach.
    most
        How many sets are looked up by one member; every pair is found unless given.
    """

    def __init__(
        self, counts: Mapping[T, int], *, likeness: float, most: float = float("inf")
    ) -> None:
        self._counts, self._likeness, self._most = counts, likeness, most
        self._sets: dict[K, Collection[T]] = {}
        self._holders: dict[T, list[K]] = defaultdict(list)

    def take(self, key: K, members: Collection[T]) -> list[tuple[K, float]]:
        """Return what came before and is alike, and how much; a key that stands is kept once."""
        rarest = sorted(members, key=lambda member: (self._counts[member], member))
        prefix = rarest[: len(rarest) - ceil(self._likeness * len(rarest) - 1e-9) + 1]
        own, found = frozenset(members), []
        for other in dict.fromkeys(held for member in prefix for held in self._holders[member]):
            shared = len(own.intersection(self._sets[other]))
            alike = shared / (len(own) + len(self._sets[other]) - shared)
            if alike >= self._likeness:
                found.append((other, alike))
        if key not in self._sets:
            self._sets[key] = members
            for member in prefix:
                if len(self._holders[member]) < self._most:
                    self._holders[member].append(key)
        return found
