"""``evalnb demo``: the whole path once, on the language reference that every Python carries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from evalnb.cli.output import note

CHUNKS = {"workspace": 1_200, "small": 400}
LSA = "text:lsa-256"
# name, what it is, system, overrides
VARIANTS: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("keyword", "any word, English stems", "workspace", {"mode": "keyword"}),
    ("semantic", "vectors of meaning alone", "workspace", {"mode": "semantic"}),
    ("hybrid", "both, fused by rank", "workspace", {"mode": "hybrid"}),
    (
        "hybrid_rerank",
        "hybrid, its first 10 ordered anew",
        "workspace",
        {"mode": "hybrid_rerank", "hints": {"rerank_depth": 10}},
    ),
    (
        "unstemmed",
        "keyword, words as they are written",
        "workspace",
        {"mode": "keyword", "hints": {"lexical_index": "lexical:plain"}},
    ),
    ("small chunks", "keyword, chunks of 400 characters", "small", {"mode": "keyword"}),
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
    from evalnb.cli.report_folder import sole_writer
    from evalnb.gold.bundled import bundled_gold, python_reference
    from evalnb.workspace.system import open_workspace

    gold, text_index = load_gold(bundled_gold("python_reference")), _text_index()
    request = _request(gold.dataset_id, split, rerank=text_index != LSA)
    gold.split(split)  # a wrong one is refused before anything is ingested
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
    note(f"embedding the topics: {text_index}")
    systems["workspace"].index(text_index)
    with sole_writer(out):
        report = run(gold, systems, request, out=out, max_searches=None)
        finish(report, out=out, notebooks=notebooks, as_json=False)


def _text_index() -> str:
    """Choose the transformer where its extra is installed, else the index that needs none."""
    from evalnb.errors import MissingExtraError
    from evalnb.workspace.models import MINILM, find_model

    try:
        find_model(MINILM)
    except MissingExtraError as error:
        note(f"{error}; {LSA} stands in, and nothing is reranked")
        return LSA
    return f"text:{MINILM}"


def _request(dataset_id: str, split: str, *, rerank: bool) -> Any:
    from evalnb.cli.systems import parse_record
    from evalnb.evaluation.request import EvaluationRequest

    variants = [
        {"name": name, "label": label, "system": system, "overrides": overrides}
        for name, label, system, overrides in VARIANTS
        if rerank or overrides["mode"] != "hybrid_rerank"
    ]
    return parse_record(
        EvaluationRequest,
        {
            "dataset_id": dataset_id,
            "split": split,
            "variants": variants,
            "baseline": "hybrid",
            "measures": list(MEASURES),
        },
        where="demo",
    )
