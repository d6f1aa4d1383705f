"""Gold cases: a request with its labels; immutable once pinned."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from evalnb.errors import GoldError, NotFoundError
from evalnb.gold.labels import (
    ContentExpectation,
    GoldSpan,
    Grades,
    JudgedEdge,
    LabelledIds,
    LabelProvenance,
)
from evalnb.search.request import Finite, Id, Ids, QueryRequest, Record, Text, _as_tuple
from evalnb.search.result import KINDS, Edge, Kind
from evalnb.strict_json import describe_validation_error

__all__ = ["GoldCase", "GoldDataset", "dataset_from_cases"]
__all__ += ["ContentExpectation", "GoldSpan", "JudgedEdge", "LabelProvenance", "LabelledIds"]

Split = Literal["development", "test"]

# Intents whose labels a lexical match cannot vouch for, and modes that search by meaning.
SEMANTIC_INTENTS = frozenset({"paraphrase", "other_language", "figure"})
SEMANTIC_MODES = frozenset({"semantic", "hybrid", "hybrid_rerank"})

NodePath = Annotated[Ids, Field(min_length=1)]  # names at least one node
_KIND_OF: dict[str, Kind] = {f"{kind}_ids": kind for kind in KINDS}
FLAT_KINDS: tuple[Kind, ...] = ("file", "asset")  # what the legacy flat grades may name


class GoldCase(Record):
    """One case: everything but ``case_id``, ``split`` and ``request`` may be left out."""

    case_id: Id
    family_key: Id | None = None
    split: Split
    intent: Text | None = None
    language: Text | None = None
    description: Text | None = None
    tags: dict[Text, Text] = Field(default_factory=dict)
    weight: Annotated[Finite, Field(gt=0)] = 1.0
    request: QueryRequest
    expected: LabelledIds = LabelledIds()
    forbidden: LabelledIds = LabelledIds()
    spans: Annotated[tuple[GoldSpan, ...], BeforeValidator(_as_tuple)] = ()
    unit_relevance: Grades = Field(default_factory=dict)
    document_relevance: Grades = Field(default_factory=dict)
    file_relevance: Grades = Field(default_factory=dict)
    asset_relevance: Grades = Field(default_factory=dict)
    definition_relevance: Grades = Field(default_factory=dict)
    graded_relevance: Grades = Field(default_factory=dict)
    paths: Annotated[tuple[NodePath, ...], BeforeValidator(_as_tuple)] = ()
    references: Ids = ()
    edges: Annotated[tuple[JudgedEdge, ...], BeforeValidator(_as_tuple)] = ()
    content: Annotated[tuple[ContentExpectation, ...], BeforeValidator(_as_tuple)] = ()
    label_provenance: LabelProvenance | None = None

    @property
    def family(self) -> str:
        """The family key; without one, a case is its own family."""
        return self.case_id if self.family_key is None else self.family_key

    def relevance(self, kind: Kind) -> Grades:
        """Return the explicit grades of one kind, the legacy flat map sorted into its kind."""
        grades: Grades = dict(self.__dict__.get(f"{kind}_relevance", {}))
        if self.graded_relevance and kind in FLAT_KINDS:
            mine = set(self.expected.of(kind))
            grades.update({key: g for key, g in self.graded_relevance.items() if key in mine})
        return grades

    def document_grades(self) -> Grades:
        """Return judgements as qrels have them: expected documents at 1 unless graded."""
        return {**dict.fromkeys(self.expected.document_ids, 1), **self.document_relevance}

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        # Runs for each of 100,000 lines: what is not labelled costs nothing.
        if self.expected.model_fields_set:
            self._check_expected()
        if self.forbidden.model_fields_set:
            self._check_forbidden()
        if self.graded_relevance:
            self._check_flat_grades()
        if self.edges:
            self._check_edges()
        if self.intent in SEMANTIC_INTENTS or self.request.mode in SEMANTIC_MODES:
            self._check_independence()
        return self

    def _check_expected(self) -> None:
        for field in self.expected.model_fields_set:
            kind = _KIND_OF[field]
            if grades := self.relevance(kind):
                for key in self.expected.of(kind):
                    if grades.get(key, 1) < 1:
                        raise ValueError(f"{kind} {key!r} is expected but graded {grades[key]}")

    def _check_forbidden(self) -> None:
        for field in self.forbidden.model_fields_set:
            kind = _KIND_OF[field]
            expected, grades = set(self.expected.of(kind)), self.relevance(kind)
            for key in self.forbidden.of(kind):
                if key in expected:
                    raise ValueError(f"{kind} {key!r} is both expected and forbidden")
                if grades.get(key, 0) >= 1:
                    raise ValueError(f"{kind} {key!r} is forbidden but graded {grades[key]}")

    def _check_flat_grades(self) -> None:
        homes = {kind: set(self.expected.of(kind)) for kind in FLAT_KINDS}
        for key, flat in self.graded_relevance.items():
            found = sum(key in ids for ids in homes.values())
            if found != 1:
                raise ValueError(
                    f"graded_relevance key {key!r} stands in {'several' if found else 'none'} of "
                    "the expected file and asset sets; use file_relevance or asset_relevance"
                )
            for kind in FLAT_KINDS:
                grade = getattr(self, f"{kind}_relevance").get(key, flat)
                if key in homes[kind] and grade != flat:
                    raise ValueError(
                        f"{kind} {key!r} is graded {grade} in {kind}_relevance and {flat} in "
                        "graded_relevance"
                    )

    def _check_edges(self) -> None:
        judged: dict[Edge, bool] = {}
        for edge in self.edges:
            bare = Edge(source=edge.source, target=edge.target, kind=edge.kind)
            if judged.setdefault(bare, edge.relevant) != edge.relevant:
                raise ValueError(
                    f"the edge from {edge.source!r} to {edge.target!r} ({edge.kind}) is judged "
                    "both relevant and not relevant"
                )

    def _check_independence(self) -> None:
        given = self.label_provenance
        if (
            given is None
            or not given.independent
            or given.annotators < 1
            or not given.note.strip()
            or given.method == "synthetic"
        ):
            semantic = self.intent in SEMANTIC_INTENTS
            why = f"intent {self.intent}" if semantic else f"mode {self.request.mode}"
            raise ValueError(
                f"a semantic case ({why}) needs label_provenance with independent = true, "
                "annotators >= 1 and a note; method synthetic alone does not qualify"
            )


class CaseRules:
    """What must hold between cases: unique ids, and each family on one split.

    Parameters
    ----------
    where
        The file, for errors.
    unit
        What the numbers of the cases count there, such as ``line``.
    """

    def __init__(self, *, where: str, unit: str = "case") -> None:
        self._where, self._unit = where, unit
        self._ids: dict[str, int] = {}
        self._families: dict[str, tuple[str, int]] = {}

    def add(self, case: GoldCase, number: int) -> None:
        """Check one more case against those before it.

        Raises
        ------
        GoldError
            Naming both cases.
        """
        where = f"{self._where}:{number}" if self._unit == "line" else self._where
        first = self._ids.setdefault(case.case_id, number)
        if first != number:
            raise GoldError(
                f"case_id {case.case_id!r} stands twice: {self._unit}s {first} and {number}",
                where=where,
                remedy="give every case an id of its own",
            )
        split, first = self._families.setdefault(case.family, (case.split, number))
        if split != case.split:
            raise GoldError(
                f"family {case.family!r} is on both splits: {split} ({self._unit} {first}) and "
                f"{case.split} ({self._unit} {number})",
                where=where,
                remedy="put cases that are not independent on one split",
            )


class Parsed(NamedTuple):
    """Cases, and what a reader ought to know about how they were read."""

    cases: tuple[GoldCase, ...]
    notes: tuple[str, ...]


class GoldDataset(Record):
    """An immutable, digest-pinned set of cases.

    Attributes
    ----------
    dataset_id
        The registered name.
    version_sha
        SHA-256 of the exact bytes of cases.jsonl.
    notes
        What a reader ought to know about how the set was loaded: a dropped BOM, a skipped comment,
        merged duplicates, the grade map used.
    """

    dataset_id: str
    name: str
    version_sha: str
    cases: Annotated[tuple[GoldCase, ...], BeforeValidator(_as_tuple), Field(repr=False)]
    notes: tuple[str, ...] = ()

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Count the cases instead of writing them out."""
        yield from super().__repr_args__()
        yield "n_cases", len(self.cases)

    def __len__(self) -> int:
        """Count the cases."""
        return len(self.cases)

    def __iter__(self) -> Iterator[GoldCase]:  # type: ignore[override]  # cases, not fields
        """Iterate over the cases."""
        return iter(self.cases)

    def split(self, split: str) -> tuple[GoldCase, ...]:
        """Return the cases of one split, in file order.

        Raises
        ------
        NotFoundError
            If there are none, naming the splits that there are.
        """
        chosen = tuple(case for case in self.cases if case.split == split)
        if not chosen:
            others = ", ".join(sorted({case.split for case in self.cases})) or "none: no cases"
            raise NotFoundError(
                f"gold set {self.dataset_id!r} has no case in split {split!r}",
                remedy=f"splits it has: {others}",
            )
        return chosen

    @property
    def has_families(self) -> bool:
        """Whether any case names a family; otherwise all are treated as independent."""
        return any(case.family_key is not None for case in self.cases)


def canonical_line(case: GoldCase) -> bytes:
    """Serialise one case as it stands in cases.jsonl: without defaults, keys sorted, LF."""
    payload: dict[str, Any] = case.model_dump(mode="json", exclude_defaults=True)
    text = json.dumps(payload, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode() + b"\n"


def imported_case(ordinal: int, fields: Mapping[str, Any], *, split: Split, where: str) -> GoldCase:
    """Make a case of what a person's file says.

    Parameters
    ----------
    ordinal
        Position among the cases of the file, from 1; with the query it makes the case_id.
    fields
        Of the case, as they stand in cases.jsonl; without case_id, and maybe without split.
    where
        The place in the file, for errors.

    Raises
    ------
    GoldError
        If it is no case, naming the field.
    """
    query = str(fields["request"]["query"])
    mark = hashlib.sha256(query.encode(errors="replace")).hexdigest()[:8]
    labels = LabelProvenance(method="imported")
    try:
        return GoldCase.model_validate(
            {
                "case_id": f"{ordinal:04d}-{mark}",
                "split": split,
                "label_provenance": labels,
                **fields,
            }
        )
    except ValidationError as error:
        known = GoldCase.model_fields
        raise GoldError(describe_validation_error(error, known=known), where=where) from error


def imported_cases(
    entries: Iterable[tuple[str, Mapping[str, Any]]], *, split: Split, where: str
) -> tuple[GoldCase, ...]:
    """Make the cases of a file of its entries, each a place and fields for :func:`imported_case`.

    Raises
    ------
    GoldError
        If an entry is no case, or there are none.
    """
    cases = tuple(
        imported_case(ordinal, fields, split=split, where=place)
        for ordinal, (place, fields) in enumerate(entries, 1)
    )
    if not cases:
        raise GoldError("there are no cases", where=where)
    return cases


def dataset_from_cases(
    cases: tuple[GoldCase, ...],
    *,
    dataset_id: str,
    name: str | None = None,
    notes: tuple[str, ...] = (),
    where: str | None = None,
) -> GoldDataset:
    """Pin cases in memory: the version is the digest of their canonical lines.

    Parameters
    ----------
    where
        What they came from, for errors; the dataset_id by default.

    Raises
    ------
    GoldError
        If two cases have one id, or a family stands on both splits.
    """
    digest, rules = hashlib.sha256(), CaseRules(where=where or dataset_id)
    for number, case in enumerate(cases, 1):
        rules.add(case, number)
        digest.update(canonical_line(case))
    # The cases are records already: validating them again costs a fifth of a large load.
    return GoldDataset.model_construct(
        dataset_id=dataset_id,
        name=name or dataset_id,
        version_sha=digest.hexdigest(),
        cases=cases,
        notes=notes,
    )
