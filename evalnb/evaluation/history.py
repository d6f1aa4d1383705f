"""What changed since the last run: settings, flipped cases, values, and how the means went on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ValidationError

from evalnb.errors import BadInputError, NotFoundError
from evalnb.evaluation.canonical import canonical_json
from evalnb.evaluation.report import (
    DatasetRecord,
    EvaluationReport,
    VariantRecord,
    load_report_record,
)
from evalnb.files import write_file
from evalnb.measures.names import parse_measure
from evalnb.search.request import Finite, Id, Record, _as_tuple
from evalnb.search.system import Cut
from evalnb.strict_json import describe_validation_error

HISTORY_NAME = "history.jsonl"
KEPT_RUNS = 100  # per folder: more than anybody looks back on, and a bound on the file
FLIP = "Success@5"  # whether a case has anything relevant where people look
QUERY_LENGTH = 120

Values = Annotated[tuple[Finite | None, ...], BeforeValidator(_as_tuple)]


class PastRun(Record):
    """What is remembered of a report: ``values`` are parallel to ``case_ids``, null for N/A."""

    format: Literal["evalnb-history@1"] = "evalnb-history@1"
    finished_at: str
    git_revision: str | None = None
    dataset: DatasetRecord
    settings: dict[str, Any]
    variants: Annotated[tuple[VariantRecord, ...], BeforeValidator(_as_tuple)]
    cuts: dict[str, Cut | None] = {}
    versions: dict[str, str] = {}
    case_ids: Annotated[tuple[Id, ...], BeforeValidator(_as_tuple)]
    queries: Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
    values: dict[str, dict[str, Values]]

    @property
    def about(self) -> tuple[str, str]:
        """The gold set and split: only runs of the same can be compared."""
        return self.dataset.id, self.dataset.split


@dataclass(frozen=True, slots=True)
class SettingChange:
    """Something that was set otherwise; None where it did not exist."""

    what: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class CaseChange:
    """A case whose value changed: ``lost`` and ``won`` are flips in the first ranks."""

    outcome: Literal["lost", "won", "n/a now", "n/a before", "worse", "better"]
    variant: str
    case_id: str
    query: str
    measure: str
    before: float | None
    after: float | None

    @property
    def size(self) -> float:
        """How far the value moved; a value that came or went moved farthest."""
        if self.before is None or self.after is None:
            return float("inf")
        return abs(self.after - self.before)


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs between two runs of one gold set and split."""

    settings: tuple[SettingChange, ...]
    flips: tuple[CaseChange, ...]
    values: tuple[CaseChange, ...]


@dataclass(frozen=True, slots=True)
class Trend:
    """One variant's means of one measure, run by run; None where the run has none."""

    variant: str
    measure: str
    means: tuple[float | None, ...]
    n: tuple[int, ...]


def past_run(report: EvaluationReport) -> PastRun:
    """Keep of a report what later runs are compared with: compared measures, and flips."""
    request = report.request
    return PastRun(
        finished_at=report.observed.finished_at,
        git_revision=report.observed.git_revision,
        dataset=report.dataset,
        settings={
            "seed": request.seed,
            "repetitions": request.repetitions,
            "limit": request.limit,
            "scope": report.scope.model_dump(mode="json", exclude_defaults=True) or None,
        },
        variants=report.variants,
        cuts=report.cuts,
        versions=report.versions,
        case_ids=tuple(case.case_id for case in report.cases),
        queries=tuple(case.request.query[:QUERY_LENGTH] for case in report.cases),
        values=_values(report),
    )


def _values(report: EvaluationReport) -> dict[str, dict[str, Values]]:
    """Average repetitions; a case that is N/A in one of them is N/A."""
    wanted = {*report.compared, FLIP}
    found: dict[tuple[str, str, str], list[float | None]] = defaultdict(list)
    names: dict[str, set[str | None]] = defaultdict(set)
    for result in report.results:
        for score in result.scores:
            if score.measure in wanted:
                names[score.measure].add(score.kind)
    for result in report.results:
        for score in result.scores:
            if score.measure in wanted:
                kinds = len(names[score.measure]) > 1
                name = f"{score.kind}:{score.measure}" if kinds else score.measure
                found[result.variant, name, result.case_id].append(score.value)
    values: dict[str, dict[str, Values]] = {variant.name: {} for variant in report.variants}
    for variant, name in dict.fromkeys((variant, name) for variant, name, _ in found):
        values[variant][name] = tuple(
            _mean(found.get((variant, name, case.case_id), [None])) for case in report.cases
        )
    return values


def _mean(values: Sequence[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return fsum(numbers) / len(numbers) if numbers and len(numbers) == len(values) else None


def remember(report: EvaluationReport, folder: Path) -> None:
    """Add a report to its folder's history; the oldest runs go when there are too many."""
    path = folder / HISTORY_NAME
    earlier = path.read_bytes().splitlines() if path.exists() else []
    kept = earlier[-(KEPT_RUNS - 1) :]
    write_file(path, b"\n".join([*kept, canonical_json(past_run(report))]) + b"\n")


def load_past_runs(paths: Sequence[Path]) -> list[PastRun]:
    """Read reports, report folders and folders of these, oldest run first.

    Raises
    ------
    NotFoundError
        If there is no report in a folder.
    BadInputError
        If a history or a report is damaged or a newer evalnb's, naming the line.
    """
    # A folder's report is the last run of its history, too.
    found = {canonical_json(run): run for path in paths for run in _found(path)}
    return sorted(found.values(), key=lambda run: run.finished_at)


def _found(path: Path) -> Iterator[PastRun]:
    if not path.is_dir():
        yield from _lines(path) if path.suffix == ".jsonl" else [past_run(load_report_record(path))]
        return
    folders = [path, *sorted(p for p in path.iterdir() if p.is_dir())]
    files = [
        folder / name
        for folder in folders
        for name in (HISTORY_NAME, "report.json")
        if (folder / name).is_file()
    ]
    if not files:
        raise NotFoundError(
            "no report here", where=str(path), remedy="evalnb evaluate ... --out DIR writes one"
        )
    for file in files:
        yield from _found(file)


def _lines(path: Path) -> Iterator[PastRun]:
    if not path.is_file():
        raise NotFoundError("no such file or folder", where=str(path))
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            yield PastRun.model_validate_json(line)
        except ValidationError as error:
            raise BadInputError(
                f"not a run that this version reads: {describe_validation_error(error)}",
                where=f"{path}:{number}",
                remedy="delete the line; the run's report is not touched",
            ) from None


def changes(before: PastRun, after: PastRun) -> Changes:
    """Say what differs between two runs of one gold set and split.

    Cases are compared where both runs have them, by variant and measure.
    """
    moved = list(_case_changes(before, after))
    flips = [c for c in moved if c.measure.endswith(FLIP) and c.outcome in ("lost", "won")]
    others = [c for c in moved if not c.measure.endswith(FLIP)]
    return Changes(
        settings=tuple(_setting_changes(before, after)),
        flips=tuple(sorted(flips, key=lambda c: c.outcome)),  # lost before won
        values=tuple(sorted(others, key=lambda c: (c.measure, c.variant, -c.size))),
    )


def _setting_changes(before: PastRun, after: PastRun) -> Iterator[SettingChange]:
    one, other = _settings(before), _settings(after)
    for what in dict.fromkeys((*one, *other)):
        if one.get(what) != other.get(what):
            yield SettingChange(what, one.get(what), other.get(what))


def _settings(run: PastRun) -> dict[str, str | None]:
    """Name everything that was pinned, in the order in which a reader asks for it."""
    found = {
        "git revision": run.git_revision,
        "gold version": run.dataset.version_sha,
        "cases": len(run.case_ids),
        **run.settings,
    }
    for variant in run.variants:
        place = f"variant {variant.name}"
        found |= {f"{place}: system": variant.system, f"{place}: controls": variant.config_id}
        found |= {f"{place}: {key}": value for key, value in _flat(variant.overrides)}
        found |= {f"{place}: {key}": value for key, value in variant.identity.items()}
    for system, cut in run.cuts.items():
        if cut is not None:
            found[f"system {system}: snapshot"] = cut.snapshot_id
            found |= {f"system {system}: index {k}": v for k, v in cut.indexes.items()}
            found |= {f"system {system}: epoch {k}": v for k, v in cut.epochs.items()}
    found |= {f"version of {name}": version for name, version in run.versions.items()}
    return {what: None if value is None else str(value) for what, value in found.items()}


def _flat(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _case_changes(before: PastRun, after: PastRun) -> Iterator[CaseChange]:
    earlier = {case_id: at for at, case_id in enumerate(before.case_ids)}
    pairs = [(earlier[c], at) for at, c in enumerate(after.case_ids) if c in earlier]
    for variant, measures in after.values.items():
        for measure, values in measures.items():
            old = before.values.get(variant, {}).get(measure)
            if old is None:
                continue
            for was, now in pairs:
                if old[was] != values[now]:
                    yield CaseChange(
                        _outcome(measure, old[was], values[now]),
                        variant,
                        after.case_ids[now],
                        after.queries[now],
                        measure,
                        old[was],
                        values[now],
                    )


def _outcome(measure: str, before: float | None, after: float | None) -> Any:
    if before is None or after is None:
        return "n/a before" if before is None else "n/a now"
    if measure.endswith(FLIP):
        return "lost" if after < before else "won"
    name = measure.rpartition(":")[2]
    better = (after > before) == parse_measure(name).higher_is_better
    return "better" if better else "worse"


def trends(runs: Sequence[PastRun]) -> list[Trend]:
    """Follow every mean over the runs; the last one says which variants and measures there are."""
    found = []
    for variant, measures in runs[-1].values.items():
        for measure in measures:
            columns = [run.values.get(variant, {}).get(measure, ()) for run in runs]
            numbers = [[v for v in column if v is not None] for column in columns]
            found.append(
                Trend(
                    variant,
                    measure,
                    tuple(fsum(column) / len(column) if column else None for column in numbers),
                    tuple(map(len, numbers)),
                )
            )
    return found
