"""``evalnb gold``: bring gold in, check it, pin it, count it and hand it on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalnb.cli.output import note, print_json, show
from evalnb.errors import BadInputError

GoldDir = Annotated[Path, typer.Argument(metavar="DIR", help="A gold directory.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
DatasetId = Annotated[
    str | None, typer.Option("--id", help="The dataset_id: A-Z a-z 0-9 . _ - alone.")
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
    app.add_typer(group, name="gold")


def import_(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SRC", help="golden.json, csv, tsv, xlsx, qrels, or a folder of gold."
        ),
    ],
    target: Annotated[Path, typer.Argument(metavar="DIR", help="The gold directory to write.")],
    *,
    kind: Annotated[
        str | None,
        typer.Option("--format", help="golden, csv, xlsx, qrels, beir or directory; else found."),
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

    options = Options.checked(
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


def verify(folder: GoldDir, *, as_json: AsJson = False) -> None:
    """Check everything that a gold directory promises, and print what it pins."""
    from evalnb.gold.dataset import verify_gold_dir

    manifest, counts = verify_gold_dir(folder)
    _tell(
        {
            "dataset_id": manifest.dataset_id,
            "name": manifest.name,
            "version_sha": manifest.version_sha,
            "cases": counts.cases,
            **dict(counts.splits),
            "families": len(counts.families),
        },
        as_json,
    )


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
