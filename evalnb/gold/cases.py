"""Gold cases: a request with its labels; immutable once pinned."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, NonNegativeInt, model_validator

from evalnb.errors import NotFoundError
from evalnb.limits import GRADE_RANGE
from evalnb.search.request import Finite, Id, Ids, QueryRequest, Record, Text, _as_tuple
from evalnb.search.result import KINDS, Edge, Kind

Split = Literal["development", "test"]
Grade = Annotated[int, Field(ge=-GRADE_RANGE, le=GRADE_RANGE)]
Grades = dict[Id, Grade]

# Intents whose labels a lexical match cannot vouch for, and modes that search by meaning.
SEMANTIC_INTENTS = frozenset({"paraphrase", "other_language", "figure"})
SEMANTIC_MODES = frozenset({"semantic", "hybrid", "hybrid_rerank"})


class LabelledIds(Record):
    """Ids of the seven kinds, as labels."""

    source_ids: Ids = ()
    document_ids: Ids = ()
    revision_ids: Ids = ()
    unit_ids: Ids = ()
    asset_ids: Ids = ()
    definition_ids: Ids = ()
    file_ids: Ids = ()

    def of(self, kind: Kind) -> tuple[str, ...]:
        """Return the ids of one kind."""
        value: tuple[str, ...] = getattr(self, f"{kind}_ids")
        return value


class GoldSpan(Record):
    """Expected evidence: half-open codepoints of the text of a revision's extraction."""

    revision_id: Id
    start: NonNegativeInt
    end: NonNegativeInt
    quote: Text | None = None
    text_sha256: str | None = None

    @model_validator(mode="after")
    def _runs_forwards(self) -> Self:
        if self.end <= self.start:
            raise ValueError(f"the span [{self.start}, {self.end}) is empty or runs backwards")
        return self


class JudgedEdge(Edge):
    """An edge with its judgement."""

    relevant: bool


def _phrases(value: object) -> object:
    return (value,) if isinstance(value, str) else _as_tuple(value)


class ContentExpectation(Record):
    """One alternative: the document's name contains ``document``, the text any phrase."""

    document: Text | None = None
    content_contains: Annotated[tuple[Text, ...], BeforeValidator(_phrases)] = ()

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.document is None and not self.content_contains:
            raise ValueError("give document, content_contains, or both")
        if any(not phrase.strip() for phrase in (*self.content_contains, self.document or "-")):
            raise ValueError("an empty phrase would match every text")
        return self


class LabelProvenance(Record):
    """Who or what made the labels."""

    method: Literal["human", "synthetic", "imported"] = "imported"
    annotators: NonNegativeInt = 0
    independent: bool = False
    note: Text = ""


class GoldCase(Record):
    """One case: everything but ``case_id``, ``split`` and ``request`` may be left out."""

    case_id: Id
    family_key: Id | None = None
    split: Split
    intent: Text | None = None
    language: Text | None = None
    description: Text | None = None
    tags: dict[str, Text] = {}
    weight: Annotated[Finite, Field(gt=0)] = 1.0
    request: QueryRequest
    expected: LabelledIds = LabelledIds()
    forbidden: LabelledIds = LabelledIds()
    spans: Annotated[tuple[GoldSpan, ...], BeforeValidator(_as_tuple)] = ()
    unit_relevance: Grades = {}
    document_relevance: Grades = {}
    file_relevance: Grades = {}
    asset_relevance: Grades = {}
    definition_relevance: Grades = {}
    graded_relevance: Grades = {}
    paths: Annotated[tuple[Ids, ...], BeforeValidator(_as_tuple)] = ()
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
        grades: Grades = dict(getattr(self, f"{kind}_relevance", {}))
        if kind in {"file", "asset"}:
            mine = set(self.expected.of(kind))
            grades.update({key: g for key, g in self.graded_relevance.items() if key in mine})
        return grades

    @model_validator(mode="after")
    def _labels_agree(self) -> Self:
        for kind in KINDS:
            expected, forbidden = set(self.expected.of(kind)), set(self.forbidden.of(kind))
            if both := sorted(expected & forbidden):
                raise ValueError(f"{kind} {both[0]!r} is both expected and forbidden")
            grades = self.relevance(kind)
            for key, grade in grades.items():
                if key in expected and grade < 1:
                    raise ValueError(f"{kind} {key!r} is expected but graded {grade}")
                if key in forbidden and grade >= 1:
                    raise ValueError(f"{kind} {key!r} is forbidden but graded {grade}")
        for key in self.graded_relevance:
            homes = [k for k in ("file", "asset") if key in set(self.expected.of(k))]
            if len(homes) != 1:
                raise ValueError(
                    f"graded_relevance key {key!r} stands in "
                    f"{'none' if not homes else 'several'} of the expected file and asset sets; "
                    "use file_relevance or asset_relevance"
                )
        for path in self.paths:
            if not path:
                raise ValueError("a path needs at least one node id")
        return self

    @model_validator(mode="after")
    def _semantic_labels_are_independent(self) -> Self:
        if self.intent in SEMANTIC_INTENTS:
            why = f"intent {self.intent}"
        elif self.request.mode in SEMANTIC_MODES:
            why = f"mode {self.request.mode}"
        else:
            return self
        given = self.label_provenance
        if (
            given is None
            or not given.independent
            or given.annotators < 1
            or not given.note.strip()
            or given.method == "synthetic"
        ):
            raise ValueError(
                f"a semantic case ({why}) needs label_provenance with independent = true, "
                "annotators >= 1 and a note; method synthetic alone does not qualify"
            )
        return self


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
    cases: Annotated[tuple[GoldCase, ...], BeforeValidator(_as_tuple)]
    notes: tuple[str, ...] = ()

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
    import json

    payload: dict[str, Any] = case.model_dump(mode="json", exclude_defaults=True)
    text = json.dumps(payload, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode() + b"\n"


def dataset_from_cases(
    cases: tuple[GoldCase, ...],
    *,
    dataset_id: str,
    name: str | None = None,
    notes: tuple[str, ...] = (),
) -> GoldDataset:
    """Pin cases in memory: the version is the digest of their canonical lines."""
    digest = hashlib.sha256()
    for case in cases:
        digest.update(canonical_line(case))
    return GoldDataset(
        dataset_id=dataset_id,
        name=name or dataset_id,
        version_sha=digest.hexdigest(),
        cases=cases,
        notes=notes,
    )
