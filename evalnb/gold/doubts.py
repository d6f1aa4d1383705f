"""What is allowed in a gold set, and yet makes its figures doubtful."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from evalnb.gold.cases import GoldCase
from evalnb.gold.likeness import AlikeSets, folded_words

LIKENESS = 0.8  # shared words over all words of two questions: four of five
MOST_WORDS = 64  # of one question that are compared; a pasted page is no question
MOST_HOLDERS = 50  # questions looked up by one word; a word of more tells them apart badly
MOST_TWINS = 1_000  # a set made from a template is known as one by then
SHOWN = 20


@dataclass(frozen=True, slots=True)
class Twins:
    """Two cases that ask nearly the same and are not held together.

    Attributes
    ----------
    first, second
        Their case_ids, in file order.
    across
        ``splits`` where one is for development and the other for the test, else ``families``.
    """

    first: str
    second: str
    across: str


@dataclass(frozen=True, slots=True)
class _Place:
    case_id: str
    split: str
    family: str


@dataclass(slots=True)
class TwinFinder:
    """Finds nearly equal questions that stand on both splits, or count as independent.

    Cases stream by; of each, its words are kept as numbers. Two questions are compared by the
    Jaccard index of their words, folded by case and Unicode form. For every case at most one twin
    before it is named, on the other split if there is one.
    """

    _numbers: dict[str, int] = field(default_factory=dict)
    _counts: Counter[int] = field(default_factory=Counter)
    _asked: list[tuple[tuple[int, ...], _Place]] = field(default_factory=list)

    def add(self, case: GoldCase) -> None:
        """Take one more case in."""
        words = list(dict.fromkeys(folded_words(case.request.query)))[:MOST_WORDS]
        kept = tuple(sorted(self._numbers.setdefault(word, len(self._numbers)) for word in words))
        self._counts.update(kept)
        self._asked.append((kept, _Place(case.case_id, case.split, case.family)))

    def find(self) -> Iterator[Twins]:
        """Compare every question with those before it that share a rare word."""
        groups: dict[tuple[int, ...], list[_Place]] = defaultdict(list)
        asked: AlikeSets[tuple[int, ...], int]
        asked = AlikeSets(self._counts, likeness=LIKENESS, most=MOST_HOLDERS)
        for words, place in self._asked:
            near = [words, *(other for other, _ in asked.take(words, words) if other != words)]
            others = [each for key in near for each in groups[key] if each.family != place.family]
            if others:
                twin = next((each for each in others if each.split != place.split), others[0])
                across = "families" if twin.split == place.split else "splits"
                yield Twins(twin.case_id, place.case_id, across)
            _remember(groups[words], place)


def _remember(group: list[_Place], place: _Place) -> None:
    """Keep two families of each split: enough to find one that is not the next case's own."""
    families = {other.family for other in group if other.split == place.split}
    if len(families) < 2 and place.family not in families:
        group.append(place)


def format_twins(twins: Iterable[Twins]) -> list[str]:
    """Write the findings, those across splits first."""
    found = sorted(islice(twins, MOST_TWINS), key=lambda twin: twin.across != "splits")
    lines = [
        f"{twin.first} and {twin.second} ask nearly the same "
        + (
            "and stand on both splits: put them on one"
            if twin.across == "splits"
            else "and count as independent: give them one family_key"
        )
        for twin in found[:SHOWN]
    ]
    if (more := len(found) - SHOWN) > 0:
        at_least = "at least " if len(found) == MOST_TWINS else ""
        lines.append(f"{at_least}{more} more cases ask nearly the same as another")
    return lines
