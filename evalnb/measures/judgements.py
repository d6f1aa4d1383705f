"""From a result to a ranking of one kind, and from gold to the judgements of that kind."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import log2
from typing import TYPE_CHECKING

from evalnb.measures.names import Dcg
from evalnb.search.ids import canonical_id
from evalnb.search.kinds import Kind

if TYPE_CHECKING:  # scoring a run file needs judgements, but none of the records
    from evalnb.gold.cases import GoldCase
    from evalnb.search.result import Hit, QueryResult

SPECIFIC_FIRST: tuple[Kind, ...] = (
    "unit",
    "definition",
    "asset",
    "file",
    "revision",
    "document",
    "source",
)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The identities of one kind, each at its first occurrence; ranks count from 1.

    Attributes
    ----------
    kind
        The kind of the ids.
    ids
        Distinct ids in rank order.
    duplicates_dropped
        How many later occurrences were dropped.
    """

    kind: Kind
    ids: tuple[str, ...]
    duplicates_dropped: int = 0


def ranking(result: QueryResult, kind: Kind) -> Ranking:
    """Rank the identities of one kind over the selected hits, in the order of the hits.

    Hits without an id of the kind take no rank. Scores never re-sort a result. A file without a
    ``file_id`` is known by its (source, revision, path); definitions also by the structured
    records of a hit's unit. Context is no hit.
    """
    if kind == "definition":
        found = list(_definition_ids(result))
    elif kind == "file":
        found = [key for hit in result.hits if (key := _file_id(hit)) is not None]
    else:
        name = f"{kind}_id"
        found = [key for hit in result.hits if (key := getattr(hit.ids, name)) is not None]
    ids = tuple(dict.fromkeys(found))
    return Ranking(kind, ids, len(found) - len(ids))


def labelled_documents(case: GoldCase) -> frozenset[str]:
    """Return every document id, or name, that the case's labels use."""
    return frozenset(
        (*case.expected.document_ids, *case.forbidden.document_ids, *case.document_relevance)
    )


def by_label(hit: Hit, documents: frozenset[str]) -> Hit:
    """Identify a hit's document as the labels do: by its id, else by its name or file name.

    A person who judges in a spreadsheet knows ``report.pdf``, not the id that a system gives it.
    """
    own = hit.ids.document_id
    label = label_of(own, hit.document_name, documents)
    if label == own:
        return hit
    return hit.model_copy(update={"ids": hit.ids.model_copy(update={"document_id": label})})


def label_of(own: str | None, name: str | None, documents: Collection[str]) -> str | None:
    """Return what labels call a document of this id and name; its id if they do not."""
    if name is None or name == own or own in documents:
        return own
    return next((n for n in (name, name.rpartition("/")[2]) if n in documents), own)


def result_by_label(case: GoldCase, result: QueryResult) -> QueryResult:
    """Identify the documents of every hit as the case's labels do."""
    if all(hit.document_name in (None, hit.ids.document_id) for hit in result.hits):
        return result  # nothing has another name, as where a system returns ids
    documents = labelled_documents(case)
    if not documents:
        return result
    hits = tuple(by_label(hit, documents) for hit in result.hits)
    if all(new is old for new, old in zip(hits, result.hits, strict=True)):
        return result
    return result.model_copy(update={"hits": hits})


def ranked_ids(case: GoldCase, result: QueryResult, kind: Kind) -> tuple[str, ...]:
    """Return the distinct ids of one kind in rank order, documents called as the labels do."""
    return ranking(result_by_label(case, result), kind).ids


def _file_id(hit: Hit) -> str | None:
    ids, path = hit.ids, getattr(hit.locator, "path", None)
    if ids.file_id is not None or path is None:
        return ids.file_id
    if ids.source_id is None or ids.revision_id is None:
        return None
    return canonical_id("file", ids.source_id, ids.revision_id, path)


def _definition_ids(result: QueryResult) -> Iterator[str]:
    keys: dict[str, list[str]] = {}
    for record in result.structured:
        if record.unit_id is not None and record.definition_id is not None:
            keys.setdefault(record.unit_id, []).append(record.definition_id)
    for hit in result.hits:
        own, structured = hit.ids.definition_id, keys.get(hit.ids.unit_id or "", ())
        if own is not None:
            yield own
        yield from (key for key in structured if key != own)


@dataclass(frozen=True, slots=True)
class Judgements:
    """What is known about the ids of one kind for one case.

    Attributes
    ----------
    grades
        Every judged id and its grade.
    expected
        The declared targets; empty if none is declared, and then the grades decide.
    content
        Whether phrases stand behind the judgements. A phrase that matches nothing anywhere is a
        miss, not a case without gold.
    enumerated
        False if the units that the phrases match are not known: then only the first match can be
        measured.
    """

    grades: Mapping[str, int]
    expected: frozenset[str] = frozenset()
    content: bool = False
    enumerated: bool = True
    _targets: dict[int, frozenset[str]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _ideals: dict[tuple[Dcg, int | None], float] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def targets(self, level: int = 1) -> frozenset[str]:
        """Return the relevant set: declared targets, else all ids, graded at the level or above."""
        found = self._targets.get(level)
        if found is None:
            pool: Iterable[str] = self.expected or self.grades
            found = frozenset(key for key in pool if self.grades.get(key, 1) >= level)
            self._targets[level] = found
        return found

    def n_graded(self, low: int, high: int | None = None) -> int:
        """Count the judged ids with a grade of at least ``low`` and below ``high``."""
        return sum(low <= g and (high is None or g < high) for g in self.grades.values())

    def ideal(self, dcg: Dcg, k: int | None) -> float:
        """Return the discounted gain of all judged grades sorted down and cut at ``k``."""
        found = self._ideals.get((dcg, k))
        if found is None:
            best = sorted((g for g in self.grades.values() if g > 0), reverse=True)[:k]
            found = discounted_gain(dcg, enumerate(best, start=1))
            self._ideals[dcg, k] = found
        return found


def discounted_gain(dcg: Dcg, graded: Iterable[tuple[int, int]]) -> float:
    """Sum gain / log2(rank + 1) over (rank, positive grade) pairs, in the order given."""
    total = 0.0
    for rank, grade in graded:
        gain = grade if dcg == "log2" else 2.0**grade - 1.0
        total += gain / (_LOG2[rank] if rank < _TABLE else log2(rank + 1))
    return total


_TABLE = 1024  # the ranks of any live result; run files go deeper
_LOG2 = [log2(rank + 1) for rank in range(_TABLE)]


def judgements(
    case: GoldCase, kind: Kind, content_units: frozenset[str] | None = None
) -> Judgements:
    """Collect a case's judgements of one kind.

    The explicit grades, every expected id without one at grade 1, every forbidden id without one
    at grade 0, and, for units, those that match the case's content at grade 1.

    Parameters
    ----------
    case
        The gold case.
    kind
        The kind of ids.
    content_units
        The units of the pinned corpus that match the case's content; None if its units cannot be
        enumerated.
    """
    expected, forbidden = set(case.expected.of(kind)), dict.fromkeys(case.forbidden.of(kind), 0)
    content = kind == "unit" and bool(case.content)
    if content and content_units:
        expected |= content_units - forbidden.keys()
    grades = forbidden | dict.fromkeys(sorted(expected), 1)
    grades |= case.relevance(kind)
    return Judgements(
        grades,
        frozenset(expected),
        content=content,
        enumerated=not content or content_units is not None,
    )


def labelled_kinds(case: GoldCase) -> frozenset[Kind]:
    """Name the kinds of which a case has targets or grades; content is gold for units."""
    kinds = {kind for kind in SPECIFIC_FIRST if case.expected.of(kind) or case.relevance(kind)}
    return frozenset(kinds | {"unit"} if case.content else kinds)


def target_kinds(cases: Iterable[GoldCase]) -> tuple[Kind, ...]:
    """Choose the kinds that a measure without a prefix reads, once for a data set.

    The most specific kind that every labelled case has. If there is none, every kind that some
    case has, the most specific first. Without any labels, none.
    """
    labelled = [kinds for case in cases if (kinds := labelled_kinds(case))]
    if not labelled:
        return ()
    shared = frozenset.intersection(*labelled)
    if shared:
        return (min(shared, key=SPECIFIC_FIRST.index),)
    return tuple(kind for kind in SPECIFIC_FIRST if kind in frozenset.union(*labelled))
