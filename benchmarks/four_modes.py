"""The four modes of a workspace on two real collections, with intervals against hybrid.

Run: python benchmarks/four_modes.py [xquad|cranfield]
XQuAD English: 1,190 questions over 240 paragraphs, a family for each paragraph. Cranfield: 225
questions over 1,400 abstracts. Embedding and reranking take some core-minutes.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from collections_data import cranfield, data_folder, xquad

import evalnb as ev
from evalnb.comparison.advice import advise
from evalnb.show.decisions import decisions_text
from evalnb.workspace.system import open_workspace

MODES = ("keyword", "semantic", "hybrid", "hybrid_rerank")
MEASURES = {"xquad": ["RR@10", "R@10"], "cranfield": ["nDCG@10", "RR@10", "R@10"]}


def main() -> None:
    """Ingest a collection, embed it, evaluate the four modes, print the whole comparison."""
    for name in sys.argv[1:] or MEASURES:
        if name == "xquad":
            corpus, gold = xquad(data_folder() / "rag" / "xquad" / "xquad.en.json", "en")
        else:
            corpus, gold = cranfield(data_folder() / "collections" / "cranfield")
        with tempfile.TemporaryDirectory() as folder:
            workspace = open_workspace(Path(folder) / "ws", create=True)
            workspace.ingest_corpus(corpus, settings={"language": "en", "chunk_size": 100_000})
            workspace.index("text:minilm-l6-v2-int8")
            report = ev.evaluate(
                gold,
                {mode: (workspace, {"mode": mode}) for mode in MODES},
                measures=MEASURES[name],
                limits=ev.Limits(searches=6_000, artifact_bytes=2**29, report_bytes=2**29),
            )
        print(f"\n{name}, {len(gold)} questions")
        print(ev.compare(report, baseline="hybrid"))
        print(decisions_text(advise(report.record)))


if __name__ == "__main__":
    main()
