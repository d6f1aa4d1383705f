"""Keyword search on Cranfield, against the figure of a recorded BM25 run.

Run: python benchmarks/cranfield.py
Prints the gain map and nDCG@10 per variant; the recorded run has .3369 with the same map.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from collections_data import CRANFIELD_GRADES, cranfield, data_folder

import evalnb as ev
from evalnb.workspace.system import open_workspace

VARIANTS = {
    "stemmed": {},
    "title counts double": {"heading_weight": 2.0},
    "plain": {"lexical_index": "lexical:plain"},
}


def main() -> None:
    """Ingest, index, evaluate, print."""
    corpus, gold = cranfield(data_folder() / "collections" / "cranfield")
    print("gain map:", ", ".join(f"{code}={gain}" for code, gain in CRANFIELD_GRADES.items()))
    with tempfile.TemporaryDirectory() as folder:
        workspace = open_workspace(Path(folder) / "ws", create=True)
        workspace.ingest_corpus(corpus, settings={"language": "en", "chunk_size": 100_000})
        workspace.index("lexical:plain")
        report = ev.evaluate(
            gold,
            {name: (workspace, {"hints": hints}) for name, hints in VARIANTS.items()},
            measures=["nDCG@10", "AP", "RR@10"],
        )
    print(report)
    print(ev.compare(report, baseline="stemmed"))


if __name__ == "__main__":
    main()
