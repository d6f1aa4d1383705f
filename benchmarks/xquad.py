"""Keyword search on XQuAD in English and Turkish: what the language of the analyzer is worth.

Run: python benchmarks/xquad.py
1,190 questions over 240 paragraphs a language; each paragraph's questions are one family.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from collections_data import data_folder, xquad

import evalnb as ev
from evalnb.workspace.system import open_workspace

# Turkish text under its own analysis, under the English one, and as it is written.
ANALYSES = {"en": ("en", "plain"), "tr": ("tr", "en", "plain")}


def main() -> None:
    """Ingest both languages and compare analyses within each."""
    for language, analyses in ANALYSES.items():
        path = data_folder() / "rag" / "xquad" / f"xquad.{language}.json"
        corpus, gold = xquad(path, language)
        with tempfile.TemporaryDirectory() as folder:
            workspace = open_workspace(Path(folder) / "ws", create=True)
            workspace.ingest_corpus(corpus, settings={"language": language, "chunk_size": 100_000})
            variants = {}
            for analysis in analyses:
                index = "lexical:plain" if analysis == "plain" else f"lexical:stem-{analysis}"
                workspace.index(index)
                variants[analysis] = (workspace, {"hints": {"lexical_index": index}})
            report = ev.evaluate(
                gold,
                variants,
                measures=["RR@10", "R@10"],
                limits=ev.Limits(searches=4_000, artifact_bytes=2**28),
            )
        print(f"\nXQuAD {language}, {len(gold)} questions")
        print(ev.compare(report, baseline=analyses[0]))


if __name__ == "__main__":
    main()
