"""``evalnb gold``: bring gold in, check it, pin it, count it and hand it on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from evalnb.cli.output import note, print_json, show
from evalnb.errors import BadInputError

GoldDir = Annotated[Path, typer.Argument(metavar="DIR", help="A gold directory.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
DatasetId = Annotated[
    str | None, typer.Option("--id", help="The dataset_id: A-Z a-z 0-9 . _ - alone.")
]
Kind = Annotated[
    Literal["document", "unit", "asset", "definition", "file"],
    typer.Option("--kind", help="What the ids of the sheet name."),
]
Name = Annotated[str | None, typer.Option("--name", help="A name for readers.")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(
        no_args_is_help=True,
        help="Questions with known answers.",
    )
    group.command("import")(import_)
    group.command("export")(export)
    group.command("verify")(verify)
    group.command("pin")(pin)
    group.command("stats")(stats)
    group.command("pool")(pool)
    group.command("merge")(merge)
    group.command("diff")(diff)
    group.command("register")(register_set)
    app.add_typer(group, name="gold")


def import_(
    source: Annotated[
        Path,
        typer.Argument(metavar="SRC", help="A file or folder of gold, in one of the formats."),
    ],
    target: Annotated[Path, typer.Argument(metavar="DIR", help="The gold directory to write.")],
    *,
    kind: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="directory, golden, csv, xlsx, qrels, beir, quepid, ltr, squad, llamaindex, "
            "ragas or autorag; else found.",
        ),
    ] = None,
    topics: Annotated[
        Path | None, typer.Option("--topics", help="The query texts of qrels.")
    ] = None,
    mapping: Annotated[
        str | None,
        typer.Option("--map", help="Our names to those of the file: query=q,expected=docid."),
    ] = None,
    grades: Annotated[
        str | None,
        typer.Option("--grades", help="Grades of the file to what they stand for: 1=4,2=3."),
    ] = None,
    sheet: Annotated[str | None, typer.Option("--sheet", help="The sheet of a workbook.")] = None,
    encoding: Annotated[
        str, typer.Option("--encoding", help="Of a text file; never guessed.")
    ] = "utf-8",
    split: Annotated[
        str | None,
        typer.Option("--split", help="development or test, for cases that name none."),
    ] = None,
    dataset_id: DatasetId = None,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Read gold in any form and write it as a pinned gold directory."""
    from evalnb.gold.dataset import write_gold_dir
    from evalnb.gold.loading import load_gold_file
    from evalnb.gold.options import Options

    options = Options(
        topics=topics,
        split=split,
        mapping=_pairs(mapping, "--map"),
        grades=_grade_pairs(grades),
        encoding=encoding,
        sheet=sheet,
    )
    gold = load_gold_file(source, options, kind=kind)
    for line in gold.notes:
        note(line)
    renamed = {"dataset_id": dataset_id or gold.dataset_id, "name": name or gold.name}
    written = write_gold_dir(gold.model_copy(update=renamed), target)
    _tell(
        {
            "dataset_id": written.dataset_id,
            "version_sha": written.version_sha,
            "cases": len(written),
            "path": str(target),
            "notes": list(gold.notes),
        },
        as_json,
    )


def export(
    folder: GoldDir,
    target: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A new .json, .csv, .xlsx or .qrels file, or a BEIR folder."
        ),
    ],
) -> None:
    """Write a gold directory as a file for people or other tools, naming what it cannot carry.

    Beside NAME.qrels, the queries go into NAME.topics.tsv.
    """
    from evalnb.gold.dataset import load_gold_dir
    from evalnb.gold.exporting import export_gold

    for line in export_gold(load_gold_dir(folder), target):
        note(line)
    show(str(target))


def verify(
    folder: GoldDir,
    *,
    workspace: Annotated[
        Path | None,
        typer.Option("--workspace", help="Check labels against what stands in it, too."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check everything that a gold directory promises, and print what it pins.

    Doubts, such as questions that are nearly the same on both splits, go to stderr.
    """
    from evalnb.gold.dataset import verify_gold_dir
    from evalnb.gold.doubts import TwinFinder, format_twins

    twins = TwinFinder()
    manifest, counts = verify_gold_dir(folder, keep=twins.add)
    doubts = [*format_twins(twins.find()), *_corpus_doubts(folder, workspace)]
    for line in doubts:
        note(f"doubt: {line}")
    facts: dict[str, object] = {
        "dataset_id": manifest.dataset_id,
        "name": manifest.name,
        "version_sha": manifest.version_sha,
        "cases": counts.cases,
        **dict(counts.splits),
        "families": len(counts.families),
    }
    _tell({**facts, "doubts": doubts} if as_json else facts, as_json)


def _corpus_doubts(folder: Path, workspace: Path | None) -> tuple[str, ...]:
    if workspace is None:
        return ()
    from evalnb.api import open_workspace
    from evalnb.evaluation.corpus_doubts import corpus_doubts
    from evalnb.gold.dataset import load_gold_dir
    from evalnb.search.system import SearchContext

    session = open_workspace(workspace).open(SearchContext())
    try:
        return corpus_doubts(session, load_gold_dir(folder).cases)
    finally:
        session.close()


def pin(
    folder: GoldDir, *, dataset_id: DatasetId = None, name: Name = None, as_json: AsJson = False
) -> None:
    """Write the manifest for an edited cases.jsonl, after checking every line."""
    from evalnb.gold.dataset import pin_gold_dir

    manifest = pin_gold_dir(folder, dataset_id, name)
    _tell(
        {
            "dataset_id": manifest.dataset_id,
            "version_sha": manifest.version_sha,
            "cases": manifest.case_count,
        },
        as_json,
    )


def stats(folder: GoldDir, *, as_json: AsJson = False) -> None:
    """Count splits, intents, languages, families and labels; any gold that can be read will do."""
    from evalnb.gold.loading import load_gold
    from evalnb.gold.stats import format_stats, gold_stats

    counted = gold_stats(load_gold(folder))
    if as_json:
        print_json(counted.model_dump(mode="json"))
    else:
        show(format_stats(counted))


def register_set(
    folder: GoldDir,
    *,
    registry: Annotated[
        Path | None, typer.Option("--registry", help="Its folder; the user's own by default.")
    ] = None,
) -> None:
    """Copy a gold directory into a registry, where its id stands for these bytes for ever."""
    from evalnb.gold.registry import register_gold

    show(str(register_gold(folder, registry)))


def pool(
    reports: Annotated[
        list[Path], typer.Argument(metavar="REPORT...", help="Reports over one gold set.")
    ],
    *,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="A new .csv or .xlsx file.")
    ],
    depth: Annotated[
        int, typer.Option(min=1, max=1000, help="How far down each ranking is read.")
    ] = 10,
    kind: Kind = "document",
) -> None:
    """Collect what the systems returned into a sheet for judges: no system, no rank.

    Grades that the gold has already stand in it; fill the others in and merge the sheet.
    """
    from evalnb.evaluation.report import load_report_record
    from evalnb.gold.judging import collect_returned, pool_rows, write_rows
    from evalnb.measures.judgements import result_by_label

    loaded = [load_report_record(path) for path in reports]
    versions = {report.dataset.version_sha for report in loaded}
    if len(versions) > 1:
        raise BadInputError(
            "the reports were measured against different gold", remedy="pool reports over one set"
        )
    cases = {case.case_id: case for report in loaded for case in report.cases}
    # Called as the labels call them, so that nothing is judged twice.
    named = (
        (result.case_id, result_by_label(cases[result.case_id], result.result).hits)
        for report in loaded
        for result in report.results
    )
    returned = collect_returned(named, kind=kind, depth=depth)
    rows = pool_rows(cases.values(), returned, kind=kind)
    if len(rows) == 1:
        raise BadInputError(
            f"no system returned the id of a {kind}", remedy="--kind names another kind"
        )
    write_rows(rows, output)
    ungraded = sum(not row[4] and not row[5] for row in rows)
    show(f"{output}: {len(rows) - 1} rows of {len(cases)} cases, {ungraded} to judge")


def merge(
    folder: GoldDir,
    sheet: Annotated[Path, typer.Argument(metavar="FILE", help="A judging sheet, csv or xlsx.")],
    *,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="NEWDIR", help="The new gold directory.")
    ],
    kind: Kind = "document",
    encoding: Annotated[
        str, typer.Option("--encoding", help="Of a csv file; never guessed.")
    ] = "utf-8",
    dataset_id: DatasetId = None,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Take judgements into a new version of a gold set, and print what they change.

    A grade of 1 or above makes an id expected, a lower one makes it not expected.
    """
    from evalnb.gold.dataset import load_gold_dir, write_gold_dir
    from evalnb.gold.judging import merge_judgements, read_rows

    gold = load_gold_dir(folder)
    merged = merge_judgements(gold, read_rows(sheet, encoding=encoding), kind=kind)
    renamed = {"dataset_id": dataset_id or gold.dataset_id, "name": name or gold.name}
    written = write_gold_dir(merged.dataset.model_copy(update=renamed), output)
    if not as_json:
        for line in merged.changes:
            show(line)
    _tell(
        {
            "dataset_id": written.dataset_id,
            "version_sha": written.version_sha,
            "cases": len(written),
            "changes": list(merged.changes) if as_json else len(merged.changes),
            "path": str(output),
        },
        as_json,
    )


def diff(
    before: GoldDir,
    after: Annotated[Path, typer.Argument(metavar="NEWDIR", help="A later version of it.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Print what a version changes: cases added or removed, grades and fields that differ."""
    from dataclasses import asdict

    from evalnb.gold.judging import version_changes
    from evalnb.gold.loading import load_gold

    changes = version_changes(load_gold(before), load_gold(after))
    if as_json:
        print_json({"changes": [asdict(each) for each in changes]})
        return
    for each in changes:
        show(str(each))


def _tell(facts: dict[str, object], as_json: bool) -> None:
    if as_json:
        print_json(facts)
        return
    for key, value in facts.items():
        if key != "notes":
            show(f"{key:<12} {value}")


def _pairs(text: str | None, option: str) -> dict[str, str] | None:
    """Read ``a=b,c=d``."""
    if text is None:
        return None
    pairs: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not key or not value or key in pairs:
            raise BadInputError(
                f"{option} found {part.strip()!r}",
                remedy=f"pairs stand apart by commas: {option} a=b,c=d",
            )
        pairs[key] = value
    return pairs


def _grade_pairs(text: str | None) -> dict[str, int] | None:
    pairs = _pairs(text, "--grades")
    try:
        return None if pairs is None else {raw: int(grade) for raw, grade in pairs.items()}
    except ValueError as error:
        raise BadInputError(
            "--grades turns a grade into what is no whole number", remedy="write --grades 1=4,2=3"
        ) from error
