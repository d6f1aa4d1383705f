"""What the channels of a workspace find on the bundled Python questions, per mode and kind.

Run: python benchmarks/semantic.py [--workspace DIR]
Prints the mean reciprocal rank of the first right chunk for each split. Embedding takes one to two
core-minutes, reranking another one; with --workspace the indexes are kept.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import evalnb as ev
from evalnb.gold.bundled import bundled_gold, python_reference
from evalnb.workspace.system import Workspace, open_workspace

MINILM, LSA = "text:minilm-l6-v2-int8", "text:lsa-256"
VARIANTS = {
    "keyword": {"mode": "keyword"},
    "semantic, lsa": {"mode": "semantic", "hints": {"text_index": LSA}},
    "semantic, minilm": {"mode": "semantic", "hints": {"text_index": MINILM}},
    "hybrid, lsa": {"mode": "hybrid", "hints": {"text_index": LSA}},
    "hybrid, minilm": {"mode": "hybrid", "hints": {"text_index": MINILM}},
    "hybrid_rerank, minilm": {"mode": "hybrid_rerank", "hints": {"text_index": MINILM}},
    "keyword, reranked": {"channels": ["lexical"], "rerank": True},
}


def prepared(folder: Path) -> Workspace:
    """Ingest the language reference and build what the variants read."""
    workspace = open_workspace(folder, create=True)
    workspace.ingest_corpus(python_reference(), settings={"language": "en"})
    for name in (LSA, MINILM):
        workspace.index(name)
    return workspace


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workspace", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        workspace = prepared(options.workspace or Path(temporary) / "ws")
        gold = ev.load_gold(bundled_gold("python_reference"))
        for split in ("development", "test"):
            systems = {name: (workspace, overrides) for name, overrides in VARIANTS.items()}
            report = ev.evaluate(gold, systems, split=split, measures=["RR@10"])
            rows = report.frame().query("measure == 'RR@10'")
            table = rows.groupby(["variant", "intent"], sort=False)["value"].mean().unstack()
            table["all"] = rows.groupby("variant")["value"].mean()
            print(f"{split}\n{table.round(3).to_string()}\n")


if __name__ == "__main__":
    main()
