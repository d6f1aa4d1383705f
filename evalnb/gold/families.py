"""Which cases are not independent, and how families go to the two splits.

Cases whose questions or whose evidence are nearly the same succeed and fail together: they count
as one observation, and must not stand on both splits. What is found here is a suggestion; whether
two texts are editions of each other is for people to say.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from evalnb.errors import BadInputError, GoldError
from evalnb.gold.cases import Split
from evalnb.gold.doubts import LIKENESS
from evalnb.gold.likeness import AlikeSets, folded_words

SHINGLE = 5  # words in a row: long enough to be no common phrase
DERIVED = 0.5  # shared shingles over all shingles of two texts, from which one is an edition


@dataclass(frozen=True, slots=True)
class Reason:
    """Why two cases seem to belong together.

    Attributes
    ----------
    first, second
        Two cases, or two texts that answer them.
    says
        What holds of them, and ``by`` whom, if another id completes it.
    """

    first: str
    second: str
    says: str
    by: str = ""

    def __str__(self) -> str:
        """Say it on a line."""
        return f"{self.first} and {self.second} {self.says} {self.by}".rstrip()


@dataclass(frozen=True, slots=True)
class Family:
    """Cases that seem to belong together, and why."""

    key: str
    case_ids: tuple[str, ...]
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Near:
    """Two texts and the Jaccard index of their shingles."""

    first: str
    second: str
    likeness: float


def near_duplicates(
    texts: Mapping[str, str], *, likeness: float = DERIVED, shingle: int = SHINGLE
) -> Iterator[Near]:
    """Find every pair of texts whose sets of word shingles are alike; exact, whatever the number.

    The likeness is the Jaccard index |A ∩ B| / |A ∪ B| of sets of ``shingle`` words in a row,
    folded by case and Unicode form; a shorter text is one shingle.

    Raises
    ------
    BadInputError
        If ``likeness`` is not above 0 and at most 1, or ``shingle`` is below 1.
    """
    if not 0 < likeness <= 1 or shingle < 1:
        raise BadInputError(
            f"likeness is {likeness} and shingle {shingle}; expected 0 < likeness <= 1 and a "
            "shingle of 1 or more words"
        )
    sets = {key: _shingles(text, shingle) for key, text in texts.items()}
    counts = Counter(piece for pieces in sets.values() for piece in pieces)
    taken: AlikeSets[str, str] = AlikeSets(counts, likeness=likeness)
    for key, pieces in sets.items():
        yield from (Near(other, key, alike) for other, alike in taken.take(key, pieces))


def _shingles(text: str, size: int) -> frozenset[str]:
    words = folded_words(text)
    return frozenset(" ".join(words[at : at + size]) for at in range(max(1, len(words) - size + 1)))


def suggest_families(
    questions: Mapping[str, str],
    evidence: Mapping[str, Mapping[str, str]],
    *,
    known: Mapping[str, str] | None = None,
    likeness: float = DERIVED,
) -> tuple[Family, ...]:
    """Group cases that ask nearly the same, or whose evidence is the same or nearly so.

    Parameters
    ----------
    questions
        The query of every case, by case_id.
    evidence
        By case_id, the texts that answer it, by id; an id has one text in all cases.
    known
        The family that a case stands in already, by case_id.
    likeness
        From which texts of evidence count as editions of each other. Questions do from 0.8 of
        their words, as in ``evalnb gold verify``.

    Returns
    -------
    tuple of Family
        Groups of two cases or more, each named after its first case.
    """
    texts = {key: text for found in evidence.values() for key, text in found.items()}
    cases_of: dict[str, list[str]] = defaultdict(list)
    for case_id in questions:
        for key in evidence.get(case_id, ()):
            cases_of[key].append(case_id)
    links = [
        _link(pair.first, pair.second, "ask nearly the same")
        for pair in near_duplicates(questions, likeness=LIKENESS, shingle=1)
    ]
    first: dict[str, str] = {}
    for case_id, family in (known or {}).items():
        if (other := first.setdefault(family, case_id)) != case_id:
            links.append(_link(other, case_id, "are already of family", family))
    for key, sharing in cases_of.items():
        links += (_link(sharing[0], other, "are answered by", key) for other in sharing[1:])
    for pair in near_duplicates(texts, likeness=likeness):
        one, other = cases_of[pair.first][0], cases_of[pair.second][0]
        reason = Reason(pair.first, pair.second, f"share {pair.likeness:.0%} of their text")
        links += [(one, other, reason)] if one != other else []
    return tuple(_joined(questions, links))


def _link(one: str, other: str, says: str, by: str = "") -> tuple[str, str, Reason]:
    return one, other, Reason(one, other, says, by)


def _joined(members: Iterable[str], links: Iterable[tuple[str, str, Reason]]) -> Iterator[Family]:
    group = {member: [member] for member in members}
    said: list[tuple[str, Reason]] = []
    for one, other, reason in links:
        said.append((one, reason))
        if group[one] is not group[other]:
            group[one] += group[other]
            for member in group[other]:
                group[member] = group[one]
    order = {member: at for at, member in enumerate(group)}
    for member, found in group.items():
        cases = sorted(found, key=order.__getitem__)
        if len(cases) > 1 and member == cases[0]:
            reasons = dict.fromkeys(reason for one, reason in said if group[one] is found)
            yield Family(member, tuple(cases), tuple(reasons))


def split_by_family(
    families: Mapping[str, str],
    *,
    test_share: float = 0.5,
    seed: int = 0,
    fixed: Mapping[str, Split] | None = None,
) -> dict[str, Split]:
    """Deal families to the splits, whole, in an order that the seed draws.

    Parameters
    ----------
    families
        The family of every case, by case_id.
    test_share
        The share of cases that the test split should have; met as nearly as whole families allow.
    fixed
        Cases that stand on a split already, and with them their family: what was tuned on must
        not become a test.

    Raises
    ------
    BadInputError
        If the share is not from 0 to 1.
    GoldError
        If a family has fixed cases on both splits.
    """
    if not 0 <= test_share <= 1:
        raise BadInputError(f"test_share is {test_share}, expected 0 to 1")
    sizes = Counter(families.values())
    sides: dict[str, Split] = {}
    for case_id, split in (fixed or {}).items():
        family = families.get(case_id, case_id)
        if sides.setdefault(family, split) != split:
            raise GoldError(
                f"family {family!r} would hold cases of both splits, such as {case_id!r}",
                remedy="keep it apart, or start a new set in which none is fixed",
            )
    wanted = test_share * len(families)
    dealt = sum(sizes[family] for family, split in sides.items() if split == "test")
    for family in sorted(sizes.keys() - sides.keys(), key=lambda name: _drawn(seed, name)):
        nearer = abs(dealt + sizes[family] - wanted) < abs(dealt - wanted)
        sides[family] = "test" if nearer else "development"
        dealt += sizes[family] if nearer else 0
    return {case_id: sides[family] for case_id, family in families.items()}


def _drawn(seed: int, name: str) -> tuple[bytes, str]:
    return hashlib.sha256(f"{seed}\x00{name}".encode()).digest(), name
