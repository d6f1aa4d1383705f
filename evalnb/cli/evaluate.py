"""``evalnb evaluate`` and ``evalnb eval-retrieval``."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalnb.cli.output import note, print_json, show
from evalnb.cli.report_folder import save_into, sole_writer, write_folder
from evalnb.errors import BadInputError, NotFoundError

if TYPE_CHECKING:
    from evalnb.api import Comparison, Report
    from evalnb.evaluation.report import Price
    from evalnb.evaluation.request import EvaluationRequest
    from evalnb.gold.cases import GoldDataset
    from evalnb.search.request import Scope
    from evalnb.search.system import SearchSystem

MODES = ("semantic", "keyword", "hybrid", "hybrid_rerank")

MaxSearches = Annotated[
    int | None, typer.Option(min=1, help="Bound on cases x variants x repetitions (1,024).")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("evaluate")(evaluate)
    app.command("eval-retrieval")(eval_retrieval)


def evaluate(
    dataset_id: Annotated[str, typer.Argument(help="Id of the gold set, as its manifest says.")],
    split: Annotated[str, typer.Argument(help="development or test.")],
    *,
    dataset_path: Annotated[
        Path, typer.Option(help="Gold directory, or any file that `gold import` reads.")
    ],
    workspace: Annotated[Path | None, typer.Option(help="Embedded workspace to search.")] = None,
    system: Annotated[
        str | None, typer.Option(help="MODULE:CALLABLE, or a TOML file that names a system.")
    ] = None,
    variants: Annotated[Path | None, typer.Option(help="Variants file (JSON).")] = None,
    request_file: Annotated[Path | None, typer.Option(help="Full request (JSON).")] = None,
    baseline: Annotated[str | None, typer.Option(help="Variant to compare with.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for report.json, tables, notebooks and HTML.")
    ] = None,
    notebooks: Annotated[
        bool, typer.Option(help="With --out: also run both notebooks and export them.")
    ] = True,
    allow_unavailable: Annotated[
        bool, typer.Option("--allow-unavailable", help="Report a missing capability as n/a.")
    ] = False,
    max_searches: MaxSearches = None,
    executor: Annotated[
        str | None,
        typer.Option(help="Search in local:N threads, processes:N, or dask:ADDRESS."),
    ] = None,
    prices: Annotated[
        Path | None, typer.Option(help="Price table of models (TOML or JSON), for the cost.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Evaluate variants over one split of a gold set.

    Without --variants or --request-file: one variant named "configured", the active snapshot,
    seed 0, one repetition.
    """
    from evalnb.evaluation.costs import load_prices
    from evalnb.gold.loading import load_gold

    known = None if prices is None else load_prices(prices)
    gold = load_gold(dataset_path)
    if gold.dataset_id != dataset_id:
        raise BadInputError(
            f"the gold set there is {gold.dataset_id!r}, not {dataset_id!r}",
            where=str(dataset_path),
            remedy=f"evalnb evaluate {gold.dataset_id} {split} ...",
        )
    with redirect_stdout(sys.stderr):  # what a module prints while it is imported is no result
        request, systems = _request(
            dataset_id,
            split,
            workspace=workspace,
            system=system,
            variants=variants,
            request_file=request_file,
        )
    changes: dict[str, Any] = {"allow_unavailable": allow_unavailable or request.allow_unavailable}
    if baseline is not None:
        changes["baseline"] = baseline
    request = _changed(request, changes)
    with sole_writer(out):
        report = run(
            gold,
            systems,
            request,
            out=out,
            max_searches=max_searches,
            executor=executor,
            prices=known,
        )
        finish(report, out=out, notebooks=notebooks, as_json=as_json)


def eval_retrieval(
    golden: Annotated[Path, typer.Argument(help="golden.json, or any gold set.")],
    *,
    workspace: Annotated[
        Path | None,
        typer.Option(help="Embedded workspace to search; with --system, an id in its database."),
    ] = None,
    system: Annotated[
        str | None, typer.Option(help="TOML file of a database or of fused channels.")
    ] = None,
    knowledge_base: Annotated[
        str | None, typer.Option(help="Source key: search only this knowledge base.")
    ] = None,
    documents: Annotated[
        str | None, typer.Option(help="Names or ids, separated by commas: search only these.")
    ] = None,
    modes: Annotated[str, typer.Option(help="Legs to measure.")] = ",".join(MODES),
    top_k: Annotated[int, typer.Option(min=1, max=1000, help="Depth of each search.")] = 10,
    max_searches: MaxSearches = None,
    out: Annotated[Path | None, typer.Option(help="Also write report.json to this folder.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Measure where the first correct chunk lands, for each retrieval leg.

    A leg that the system lacks is n/a and poisons nothing; one leg that was evaluated is enough.
    """
    from evalnb.comparison.advice import advise
    from evalnb.evaluation.doubts import doubts
    from evalnb.gold.loading import load_gold
    from evalnb.show.decisions import decisions_text
    from evalnb.show.tables import eval_retrieval_text
    from evalnb.wiring import scoped_system

    if knowledge_base is not None and documents is not None:
        raise BadInputError("give --knowledge-base or --documents, not both")
    chosen = tuple(dict.fromkeys(mode.strip() for mode in modes.split(",") if mode.strip()))
    if not chosen or (unknown := sorted(set(chosen) - set(MODES))):
        raise BadInputError(
            f"unknown mode {unknown[0]!r}" if chosen else "no mode is given",
            remedy=f"--modes takes some of {','.join(MODES)}",
        )
    names = [name.strip() for name in (documents or "").split(",") if name.strip()]
    if documents is not None and not names:
        raise BadInputError(f"--documents names none: {documents!r}")
    opened, scope = scoped_system(
        workspace=workspace, system=system, knowledge_base=knowledge_base, documents=names
    )
    gold = load_gold(golden)
    request = _changed(
        _leg_request(chosen, split=gold.cases[0].split if gold.cases else "development"),
        {"limit": top_k, "allow_unavailable": True},
    )
    with sole_writer(out):
        report = run(
            gold, {"workspace": opened}, request, out=out, max_searches=max_searches, scope=scope
        )
        if as_json:
            print_json(_summary(report, paths={}))
        else:
            show(eval_retrieval_text(report.record))
            for doubt in doubts(report.record.cases, report.record.results):
                note(doubt)
            if decided := decisions_text(advise(report.record)):
                note("\n" + decided)  # beside the tables, which scripts read
        if out is not None:
            note(f"report: {save_into(report, out)}")
    raise typer.Exit(_status(report, any_variant=True))


def _leg_request(modes: tuple[str, ...], *, split: Any) -> EvaluationRequest:
    from evalnb.evaluation.request import EvaluationRequest, Variant
    from evalnb.search.request import Overrides

    return EvaluationRequest(
        split=split,
        variants=tuple(
            Variant(name=mode, overrides=Overrides.model_validate({"mode": mode})) for mode in modes
        ),
        measures=("RR", "Success@1", "Success@3", "Success@5"),
    )


def _request(
    dataset_id: str,
    split: str,
    *,
    workspace: Path | None,
    system: str | None,
    variants: Path | None,
    request_file: Path | None,
) -> tuple[EvaluationRequest, dict[str, SearchSystem]]:
    from evalnb.api import open_workspace
    from evalnb.cli.systems import parse_record, read_json
    from evalnb.evaluation.request import EvaluationRequest
    from evalnb.evaluation.variants import load_variants
    from evalnb.wiring import load_system, system_from_option

    if variants is not None and request_file is not None:
        raise BadInputError("give --variants or --request-file, not both")
    if workspace is not None and system is not None:
        raise BadInputError("give --workspace or --system, not both")
    systems: dict[str, SearchSystem] = {}
    given: dict[str, Any] = {"dataset_id": dataset_id, "split": split}
    if request_file is not None:
        written = read_json(request_file)
        for key, value in given.items():
            if isinstance(written, dict) and written.setdefault(key, value) != value:
                raise BadInputError(
                    f"the request says {key} {written[key]!r}, the command line {value!r}",
                    where=str(request_file),
                )
        request = parse_record(EvaluationRequest, written, where=str(request_file))
    elif variants is not None:
        file = load_variants(variants)
        for name, spec in file.systems.items():
            systems[name] = load_system(spec, variants.parent)
        given["variants"] = [v.model_dump(mode="json", exclude_none=True) for v in file.variants]
        request = parse_record(EvaluationRequest, given, where=str(variants))
    else:
        given["variants"] = [{"name": "configured"}]
        request = parse_record(EvaluationRequest, given, where="command line")
    # One system that variants name and nothing places is the one that an option gives.
    unplaced = {variant.system for variant in request.variants} - systems.keys()
    given_as = unplaced.pop() if len(unplaced) == 1 else "workspace"
    if workspace is not None:
        systems[given_as] = open_workspace(workspace)
    if system is not None:
        systems[given_as] = system_from_option(system)
    if not systems:
        raise NotFoundError(
            "no system to search",
            remedy=f"give --workspace DIR, --system, or {_systems(given_as)} in --variants",
        )
    return request, systems


def _systems(name: str) -> str:
    """Write how a variants file says where a system is."""
    if name == "workspace":
        return "systems"
    return json.dumps({"systems": {name: {"toml": "FILE"}}}, ensure_ascii=False)[1:-1]


def _changed(request: EvaluationRequest, changes: dict[str, Any]) -> EvaluationRequest:
    from evalnb.cli.systems import parse_record

    written = request.model_dump(mode="json", exclude_none=True) | changes
    return parse_record(type(request), written, where="command line")


def run(
    gold: GoldDataset,
    systems: Mapping[str, SearchSystem],
    request: EvaluationRequest,
    *,
    out: Path | None,
    max_searches: int | None,
    scope: Scope | None = None,
    executor: str | None = None,
    prices: Mapping[str, Price] | None = None,
) -> Report:
    """Evaluate with a progress bar; ``out`` keeps what was answered, for the next run."""
    from dataclasses import replace

    from evalnb.api import Report
    from evalnb.evaluation.costs import priced, unpriced_models
    from evalnb.evaluation.progress import progress_bar
    from evalnb.evaluation.runner import run_evaluation
    from evalnb.limits import Limits

    limits = Limits.raised_by(request.limits)
    if max_searches is not None:
        limits = replace(limits, searches=max_searches)
    # Nor is what a function prints while it searches.
    with progress_bar() as progress, redirect_stdout(sys.stderr):
        record = run_evaluation(
            gold,
            systems,
            request,
            scope=scope,
            limits=limits,
            cache=out,
            executor=executor,
            progress=progress,
            command=shlex.join(["evalnb", *sys.argv[1:]]),
        )
    if record.observed.n_resumed:
        note(
            f"took over {record.observed.n_resumed} of {len(record.results)} searches of a stopped "
            "run or an earlier one, with the times they took then"
        )
    if prices is not None:
        record = priced(record, prices)
        for model in unpriced_models(record):
            note(f"model {model!r} has no price: its searches have no cost")
    return Report(record)


def finish(report: Report, *, out: Path | None, notebooks: bool, as_json: bool) -> None:
    """Write the folder, print the result, and leave with its exit status."""
    from evalnb.comparison.advice import advise
    from evalnb.show.decisions import decisions_text
    from evalnb.show.tables import report_text

    comparison = _comparison(report)
    paths = {} if out is None else write_folder(report, comparison, out, notebooks=notebooks)
    if as_json:
        print_json(_summary(report, paths=paths))
    else:
        show(report_text(report.record))
        if comparison is not None:
            show("\n" + str(comparison))
        for path in paths.values():
            show(str(path))
        if decided := decisions_text(advise(report.record)):
            show("\n" + decided)
    raise typer.Exit(_status(report, any_variant=False))


def _comparison(report: Report) -> Comparison | None:
    from evalnb.api import compare

    record = report.record
    if len(record.variants) == 1:
        return None
    return compare(report, baseline=record.request.baseline or record.variants[0].name)


def _summary(report: Report, *, paths: dict[str, Path]) -> dict[str, Any]:
    from evalnb.evaluation.costs import variant_costs

    record = report.record
    return {
        "dataset": record.dataset.model_dump(mode="json"),
        "paths": {name: str(path) for name, path in paths.items()},
        "aggregates": [row.model_dump(mode="json") for row in record.aggregates],
        "observed": {"costs": list(variant_costs(record))},  # as in the report: times differ
        "integrity": record.integrity.model_dump(mode="json"),
    }


def _status(report: Report, *, any_variant: bool) -> int:
    """Return the exit status; failures of single cases are a warning on stderr."""
    record = report.record
    failed: dict[str, list[str]] = {variant.name: [] for variant in record.variants}
    ok = dict.fromkeys(failed, 0)
    for result in record.results:
        if result.result.status == "ok":
            ok[result.variant] += 1
        else:
            failed[result.variant].append(result.result.reason or "no reason given")
    for name, reasons in failed.items():
        if reasons:
            more = "" if len(set(reasons)) == 1 else f" (and {len(set(reasons)) - 1} other reasons)"
            total = ok[name] + len(reasons)
            note(f"{name}: {len(reasons)} of {total} searches n/a: {reasons[0]}{more}")
    for entry in record.integrity.invalid:
        note(f"integrity: {entry.variant}, case {entry.case_id}: {entry.reason}")
    if not record.integrity.ok:
        return 1
    evaluated = [count > 0 for count in ok.values()]
    return 0 if (any(evaluated) if any_variant else all(evaluated)) else 3
