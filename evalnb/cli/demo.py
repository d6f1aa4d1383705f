"""``evalnb demo``: the whole path once, on the language reference that every Python carries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from evalnb.cli.output import note

CHUNKS = {"workspace": 1_200, "small": 400}
# name, what it is, system, hints
VARIANTS: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    (
        "plain",
        "any word, words as they are written",
        "workspace",
        {"lexical_index": "lexical:plain"},
    ),
    ("stemmed", "any word, English stems", "workspace", {}),
    ("all words", "every word has to stand in the chunk", "workspace", {"lexical_operator": "all"}),
    ("phrase", "the question as one phrase", "workspace", {"lexical_operator": "phrase"}),
    (
        "headings",
        "stems, a match in a heading counts three times",
        "workspace",
        {"heading_weight": 3.0},
    ),
    ("small chunks", "stems, chunks of 400 characters", "small", {}),
)
# Across two chunk sizes only what a reader would see is compared: the first right chunk, the right
# document, and a context of equal size in tokens.
MEASURES = ("RR@10", "document:RR@10", "Success@tokens=1000")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo)


def demo(
    *,
    out: Annotated[Path, typer.Option(help="Folder for workspaces and the report.")] = Path(
        "evalnb-demo"
    ),
    split: Annotated[str, typer.Option(help="development or test.")] = "development",
    notebooks: Annotated[bool, typer.Option(help="Run both notebooks and export them.")] = True,
) -> None:
    """Ingest the Python language reference, compare ways to search it, write the report."""
    from evalnb.api import load_gold
    from evalnb.cli.evaluate import finish, run
    from evalnb.gold.bundled import bundled_gold, python_reference
    from evalnb.workspace.system import open_workspace

    corpus = python_reference()
    systems = {}
    for name, size in CHUNKS.items():
        workspace = open_workspace(out / "workspaces" / f"chunks-{size}", create=True)
        note(f"ingesting {len(corpus['sources'])} topics in chunks of {size} characters")
        workspace.ingest_corpus(
            corpus,
            settings={"language": "en", "chunk_size": size, "chunk_overlap": size // 8},
        )
        systems[name] = workspace
    systems["workspace"].index("lexical:plain")
    gold = load_gold(bundled_gold("python_reference"))
    report = run(gold, systems, _request(gold.dataset_id, split), out=out, max_searches=None)
    finish(report, out=out, notebooks=notebooks, as_json=False)


def _request(dataset_id: str, split: str) -> Any:
    from evalnb.cli.systems import parse_record
    from evalnb.evaluation.request import EvaluationRequest

    variants = []
    for name, label, system, hints in VARIANTS:
        overrides = {"hints": hints} if hints else {}
        variants.append({"name": name, "label": label, "system": system, "overrides": overrides})
    return parse_record(
        EvaluationRequest,
        {
            "dataset_id": dataset_id,
            "split": split,
            "variants": variants,
            "baseline": "plain",
            "measures": list(MEASURES),
        },
        where="demo",
    )
