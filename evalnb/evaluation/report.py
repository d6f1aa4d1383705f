"""The report: every case x variant x repetition with all that explains its score."""

from __future__ import annotations

import codecs
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from pydantic import BeforeValidator, Field, NonNegativeInt, ValidationError

from evalnb.errors import BadInputError, NotFoundError
from evalnb.evaluation.canonical import canonical_json
from evalnb.evaluation.request import EvaluationRequest
from evalnb.files import open_bounded, refuse_lfs_pointer, stands, write_file
from evalnb.gold.cases import GoldCase
from evalnb.limits import Limits, check_limit
from evalnb.measures.judgements import Judgements, judgements
from evalnb.measures.scoring import ScoreRow
from evalnb.search.request import Controls, Finite, Id, Ids, QueryRequest, Record, Scope, _as_tuple
from evalnb.search.result import Candidates, Kind, QueryResult
from evalnb.search.system import Cut

REPORT_FORMAT = "evalnb-report@1"


class DatasetRecord(Record):
    """Which gold was measured against."""

    id: str
    name: str
    version_sha: str
    split: str
    notes: tuple[str, ...] = ()
    families: bool = False


class VariantRecord(Record):
    """A variant as it ran. ``config_id`` digests its controls and its system's identity."""

    name: Id
    label: str | None = None
    system: Id
    config_id: str
    overrides: dict[str, Any] = {}
    identity: dict[str, str] = {}


class CandidateColumns(Record):
    """One channel's candidates: positions in the report's id table, and scores."""

    positions: Annotated[tuple[NonNegativeInt, ...], BeforeValidator(_as_tuple)] = ()
    scores: Annotated[tuple[Finite | None, ...], BeforeValidator(_as_tuple)] = ()


class CaseResult(Record):
    """One search and its scores. Its result's candidates stand in ``candidates``, in columns."""

    variant: Id
    repetition: NonNegativeInt
    case_id: Id
    seed: NonNegativeInt
    request: QueryRequest
    controls: Controls
    result: QueryResult
    candidates: dict[str, CandidateColumns] = {}
    duplicates_dropped: NonNegativeInt = 0
    scores: Annotated[tuple[ScoreRow, ...], BeforeValidator(_as_tuple)] = ()


class AggregateRow(Record):
    """One mean with its counts; the columns of the aggregates frame."""

    variant: Id
    slice: str = "all"
    measure: str
    k: int | None
    kind: str | None
    n: NonNegativeInt
    n_undefined: NonNegativeInt
    n_unavailable: NonNegativeInt
    mean: Finite | None
    weighted_mean: Finite | None = None
    micro: Finite | None = None
    success_rate: Finite | None = None
    mean_failed_zero: Finite | None = None
    ci_low: Finite | None = None
    ci_high: Finite | None = None
    ci_method: str | None = None
    note: str = ""


class InvalidLocator(Record):
    """A result whose locators did not all verify."""

    variant: Id
    repetition: NonNegativeInt
    case_id: Id
    reason: str


class Integrity(Record):
    """Whether everything returned agrees with the pinned corpus."""

    ok: bool = True
    n_checked: NonNegativeInt = 0
    invalid: Annotated[tuple[InvalidLocator, ...], BeforeValidator(_as_tuple)] = ()


class Price(Record):
    """What a model's provider charges for a million tokens, in the user's currency."""

    input_per_million: Annotated[Finite, Field(ge=0)]
    output_per_million: Annotated[Finite, Field(ge=0)] = 0.0


class DocumentName(Record):
    """A document that candidates belong to: its id, and what it is called."""

    id: Id
    name: str | None = None


class Observed(Record):
    """What differs between two identical runs: times, dates, machine, prices. Nothing else does.

    ``latency_ms`` is parallel to the report's results; null where the search did not finish.
    ``warm_up`` holds the positions of those that were the first of their session.
    """

    started_at: str = ""
    finished_at: str = ""
    duration_s: Finite = 0.0
    latency_ms: Annotated[tuple[Finite | None, ...], BeforeValidator(_as_tuple)] = ()
    warm_up: Annotated[tuple[NonNegativeInt, ...], BeforeValidator(_as_tuple)] = ()
    hardware: dict[str, Any] = {}
    git_revision: str | None = None
    command: str | None = None
    n_resumed: NonNegativeInt = 0
    prices: dict[str, Price] = {}


class EvaluationReport(Record):
    """One pinned comparison, everything retained.

    ``compared`` are the measures that carry verdicts; ``measures`` are all that were computed.
    ``limits`` holds only the bounds that were raised. ``languages`` counts the units of a system's
    corpus by language, "" where none is named. ``id_documents`` is parallel to ``ids``: the
    position in ``documents`` of a candidate's document, -1 where that is not known.
    """

    format: Literal["evalnb-report@1"] = "evalnb-report@1"
    dataset: DatasetRecord
    request: EvaluationRequest
    scope: Scope = Scope()
    limits: dict[str, int] = {}
    compared: Annotated[tuple[str, ...], BeforeValidator(_as_tuple)] = ()
    measures: Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
    kinds: tuple[Kind, ...]
    variants: Annotated[tuple[VariantRecord, ...], BeforeValidator(_as_tuple)]
    cuts: dict[str, Cut | None] = {}
    cases: Annotated[tuple[GoldCase, ...], BeforeValidator(_as_tuple)]
    content_units: dict[str, dict[str, Ids]] = {}
    languages: dict[str, dict[str, int]] = {}
    results: Annotated[tuple[CaseResult, ...], BeforeValidator(_as_tuple)]
    ids: Ids = ()
    documents: Annotated[tuple[DocumentName, ...], BeforeValidator(_as_tuple)] = ()
    id_documents: Annotated[tuple[int, ...], BeforeValidator(_as_tuple)] = ()
    aggregates: Annotated[tuple[AggregateRow, ...], BeforeValidator(_as_tuple)] = ()
    integrity: Integrity = Integrity()
    notes: tuple[str, ...] = ()
    versions: dict[str, str] = {}
    observed: Observed = Observed()

    def judged(self, case: GoldCase, variant: str, kind: Kind) -> Judgements:
        """Return a case's judgements of one kind, as a variant was scored by them."""
        system = next(record.system for record in self.variants if record.name == variant)
        units = self.content_units.get(system, {}).get(case.case_id)
        return judgements(case, kind, None if units is None else frozenset(units))

    def documents_by_id(self) -> dict[str, tuple[str, str | None]]:
        """Return the id and the name of each candidate's document, where they are known."""
        return {
            key: (self.documents[at].id, self.documents[at].name)
            for key, at in zip(self.ids, self.id_documents, strict=False)
            if at >= 0
        }

    def candidates(self, result: CaseResult) -> dict[str, Candidates]:
        """Return one result's candidates per channel, with their ids."""
        return {
            channel: Candidates(
                ids=tuple(self.ids[position] for position in columns.positions),
                scores=columns.scores,
            )
            for channel, columns in result.candidates.items()
        }


class ReportView(Protocol):
    """What shows a record, as :class:`evalnb.Report` does."""

    record: EvaluationReport


AnyReport = EvaluationReport | ReportView


def record_of(report: AnyReport) -> EvaluationReport:
    """Return a report's record, given it or a view of it.

    Raises
    ------
    BadInputError
        If it is neither.
    """
    record = getattr(report, "record", report)
    if not isinstance(record, EvaluationReport):
        raise BadInputError(
            f"expected a report, found {type(report).__name__}",
            remedy="pass what evalnb.evaluate or evalnb.load_report returned",
        )
    return record


def check_variant(name: str, names: Iterable[str], *, baseline: bool = False) -> None:
    """Refuse a variant, or a baseline, that is none of these.

    Raises
    ------
    NotFoundError
        Naming those that there are.
    """
    known = list(names)
    if name not in known:
        said = (
            f"the baseline {name!r} is no variant" if baseline else f"there is no variant {name!r}"
        )
        raise NotFoundError(said, remedy=f"variants: {', '.join(known)}")


def save_report(report: EvaluationReport, path: Path, *, limits: Limits | None = None) -> None:
    """Write a report as canonical JSON, whole or not at all.

    Raises
    ------
    LimitExceededError
        If the serialised report is past its bound.
    """
    content = canonical_json(report)
    bounds = limits or Limits(**report.limits)
    check_limit(
        "serialised report, bytes",
        len(content),
        bounds.report_bytes,
        argument="limits=evalnb.Limits(report_bytes=N)",
        where=str(path),
    )
    write_file(path, content)


def load_report_record(path: Path) -> EvaluationReport:
    """Read a report file, or the report.json of a report folder.

    Raises
    ------
    NotFoundError
        If there is none.
    BadInputError
        If it is not a whole report of a format that this version reads.
    """
    file = path / "report.json" if stands(path) and path.is_dir() else path
    try:
        with open_bounded(file, bound=sys.maxsize, what="a report") as opened:
            content = opened.read().removeprefix(codecs.BOM_UTF8)
    except NotFoundError:
        below = sorted(str(found.parent) for found in path.glob("*/report.json"))
        raise NotFoundError(
            "no report here",
            where=str(file),
            remedy=f"below it: {', '.join(below[:3])}"
            if below
            else "evalnb evaluate ... --out DIR writes one",
        ) from None
    refuse_lfs_pointer(content, where=str(file))
    try:
        report = EvaluationReport.model_validate_json(content)
        why = next(_disagreements(report), None)
    except ValidationError as error:
        why = _why_unreadable(content, error)
    if why:
        remedy = "write it again with evalnb evaluate"
        raise BadInputError(why, where=str(file), remedy=remedy) from None
    return report


def _disagreements(report: EvaluationReport) -> Iterator[str]:
    """Say where a report that was edited by hand, or joined, contradicts itself."""
    names = [variant.name for variant in report.variants]
    case_ids = [case.case_id for case in report.cases]
    found = Counter((each.variant, each.case_id, each.repetition) for each in report.results)
    wanted = dict.fromkeys(product(names, case_ids, range(report.request.repetitions)))
    yield from (f"the variant {key!r} stands twice" for key, n in Counter(names).items() if n > 1)
    yield from (f"the case {key!r} stands twice" for key, n in Counter(case_ids).items() if n > 1)
    for key, n in found.items():
        if n > 1:
            yield f"the result of {_words(key)} stands twice"
        if key not in wanted:
            yield f"the result of {_words(key)} is of no variant, case or repetition of the report"
    if missing := [key for key in wanted if key not in found]:
        yield f"{len(missing):,} of {len(wanted):,} results are missing: {_words(missing[0])}"
    if not report.compared or not set(report.compared) <= set(report.measures):
        yield "what is compared are not measures that were computed"
    if max(report.id_documents, default=-1) >= len(report.documents):
        yield "candidates belong to documents that are not listed"
    scored = Counter({(score.measure, score.kind) for e in report.results for score in e.scores})
    for each in report.results:
        place = _words((each.variant, each.case_id, each.repetition))
        if Counter((score.measure, score.kind) for score in each.scores) != scored:
            yield f"the result of {place} does not have every score once"
        if [hit.rank for hit in each.result.hits] != list(range(1, len(each.result.hits) + 1)):
            yield f"the hits of {place} do not stand by their ranks"
        for channel, columns in each.candidates.items():
            fits = len(columns.positions) == len(columns.scores)
            if not fits or max(columns.positions, default=-1) >= len(report.ids):
                yield f"the candidates of {channel!r} of {place} do not fit the report's ids"


def _words(key: tuple[str, str, int]) -> str:
    variant, case_id, repetition = key
    return f"variant {variant!r}, case {case_id!r}, repetition {repetition}"


def _why_unreadable(content: bytes, error: ValidationError) -> str:
    try:
        written = json.loads(content.decode())
    except UnicodeDecodeError as broken:
        return f"not UTF-8 text ({broken.reason} at byte {broken.start})"
    except (ValueError, RecursionError) as broken:
        return f"not a whole JSON document ({broken}); was it cut off?"
    form = written.get("format") if isinstance(written, dict) else None
    if form != REPORT_FORMAT:
        newer = isinstance(form, str) and form.startswith("evalnb-report@")
        return (
            f"the report has format {form!r}, this version reads {REPORT_FORMAT!r}: upgrade evalnb"
            if newer
            else f"not a report: its format is {form!r}, expected {REPORT_FORMAT!r}"
        )
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    return f"field {field}: {first['msg']}"


def differing(reports: Sequence[EvaluationReport]) -> Iterator[str]:
    """Say what several reports do not share: the gold version, the split, a system's cut."""
    first = reports[0]
    for other in reports[1:]:
        for name in ("version_sha", "split"):
            one, two = getattr(first.dataset, name), getattr(other.dataset, name)
            if one != two:
                yield f"the reports differ in {name} of the gold: {one[:12]} and {two[:12]}"
        for system in sorted(first.cuts.keys() & other.cuts.keys()):
            if first.cuts[system] != other.cuts[system]:
                yield f"the reports searched different states of {system!r}"
