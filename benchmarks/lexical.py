"""Lexical search beside bare tantivy, on the same 100,000 units, in one run.

Usage: python benchmarks/lexical.py [--units N] [--queries N]

Prints one ratio of CPU times a line (other work on the machine does not change them) and leaves
with status 1 if a ratio is past its bound:

candidates   100 unit ids with scores, against tantivy's own 100 document addresses
hydrated     10 whole hits (ids, text, digest, locator) with 100 candidates, against tantivy's 10
             stored documents
indexing     an index over units that are in the store, against tantivy over texts in memory
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import tantivy

from evalnb.search.request import Controls, Hints, QueryRequest
from evalnb.search.system import SearchContext
from evalnb.workspace.analysis import analysis_of
from evalnb.workspace.channels import lexical_ranking
from evalnb.workspace.eligibility import Eligibility
from evalnb.workspace.indexes import build_index, index_inputs
from evalnb.workspace.store import Store, write_lock
from evalnb.workspace.system import Workspace, open_workspace

INDEX = "lexical:stem-en"
BOUNDS = {"candidates": 1.5, "hydrated": 3.0, "indexing": 1.5}
POOL, LIMIT = 100, 10


def make_texts(n: int) -> tuple[list[str], np.random.Generator, np.ndarray, np.ndarray]:
    """Draw texts of 40 to 160 words from a Zipf distribution over made-up words."""
    rng = np.random.default_rng(0)
    syllables = [a + b for a in "bcdfghklmnprstvz" for b in "aeiou"]
    words = np.array(
        ["".join(rng.choice(syllables, size=rng.integers(1, 5))) for _ in range(60_000)]
    )
    weights = 1 / np.arange(1, len(words) + 1) ** 1.05
    weights /= weights.sum()
    lengths = rng.integers(40, 160, n)
    drawn = words[rng.choice(len(words), size=int(lengths.sum()), p=weights)]
    ends = np.cumsum(lengths)
    texts = [" ".join(drawn[end - length : end]) for end, length in zip(ends, lengths, strict=True)]
    return texts, rng, words, weights


def fill_workspace(folder: Path, texts: list[str]) -> Workspace:
    """Ingest the texts, one unit a document, without building an index."""
    documents = [
        {"path": f"{at:06d}.txt", "title": f"Document {at}", "text": text}
        for at, text in enumerate(texts)
    ]
    workspace = open_workspace(folder, create=True)
    workspace.ingest_corpus(
        {"sources": [{"key": "bench", "documents": documents}]},
        settings={"language": "en", "chunk_size": 2_000, "chunk_overlap": 0},
        build=False,
    )
    return workspace


def build_bare(folder: Path, units: list[tuple[str, str, str]]) -> None:
    """Build tantivy's index over (id, heading, text), as its own examples do."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
    for field in ("body", "heading"):
        builder.add_text_field(field, stored=True, tokenizer_name="en")
    index = tantivy.Index(builder.build(), path=str(folder))
    index.register_tokenizer("en", analysis_of(INDEX).analyzer())
    writer = index.writer(heap_size=1_000_000_000, num_threads=1)
    for unit_id, heading, text in units:
        document = tantivy.Document()
        document.add_text("id", unit_id)
        document.add_text("heading", heading.lower())
        document.add_text("body", text.lower())
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()


def bare_query(index: tantivy.Index, analyzer: tantivy.TextAnalyzer, text: str) -> tantivy.Query:
    """Build the query that asks the same: any word, in the text or the heading."""
    return tantivy.Query.boolean_query(
        [
            (tantivy.Occur.Should, tantivy.Query.term_query(index.schema, field, token))
            for token in analyzer.analyze(text.lower())
            for field in ("body", "heading")
        ]
    )


def cpu_ms(call: Callable[[str], object], queries: list[str]) -> list[float]:
    """Return the CPU milliseconds of each query, the least of three runs."""
    return [min(cpu_s(lambda q=query: call(q)) for _ in range(3)) * 1e3 for query in queries]


def cpu_s(call: Callable[[], object]) -> float:
    """Return the CPU seconds of one call, all threads together."""
    start = time.process_time()
    call()
    return time.process_time() - start


def compare(name: str, ours: float, bare: float, unit: str = "CPU ms") -> bool:
    """Print one line and say whether the ratio is within its bound."""
    ratio = ours / bare
    print(
        f"{name:<11} {ratio:5.2f}x of bare tantivy ({ours:.3f} and {bare:.3f} {unit}; "
        f"bound {BOUNDS[name]}x)",
        flush=True,
    )
    return ratio <= BOUNDS[name]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--units", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=300)
    options = parser.parse_args()
    texts, rng, words, weights = make_texts(options.units)
    queries = [
        " ".join(words[rng.choice(len(words), size=rng.integers(4, 8), p=weights)])
        for _ in range(options.queries)
    ]
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        start = time.perf_counter()
        workspace = fill_workspace(root / "ws", texts)
        print(f"ingested {options.units:,} texts in {time.perf_counter() - start:.1f} s")
        return 0 if measure(workspace, root, queries) else 1


def measure(workspace: Workspace, root: Path, queries: list[str]) -> bool:
    """Print the three lines; other work on the machine only adds, so the least cost counts."""
    snapshot = workspace.snapshot()
    session = workspace.open(SearchContext())
    units = [
        (unit.unit_id, f"Document {int(unit.document_name[:6])}", unit.text)
        for unit in session.units()
    ]
    print(f"{len(units):,} units", flush=True)
    inputs = index_inputs(INDEX, snapshot)
    ours, bare = [], []
    for attempt in range(3):
        folder = root / f"bare{attempt}"
        folder.mkdir()
        bare.append(cpu_s(lambda folder=folder: build_bare(folder, units)))
        shutil.rmtree(inputs.folder(workspace.folder), ignore_errors=True)
        with write_lock(workspace.folder), Store(workspace.folder, write=True) as store:
            ours.append(cpu_s(lambda store=store: build_index(workspace.folder, store, inputs)))
    within = [compare("indexing", min(ours), min(bare), "CPU s")]

    index = tantivy.Index.open(str(folder))
    analyzer = analysis_of(INDEX).analyzer()
    searcher = index.searcher()
    mine = workspace._read_index(inputs)
    everything = Eligibility()
    controls = Controls(channels=("lexical",), limit=LIMIT, hints=Hints(language="en"))

    def bare_candidates(query: str) -> object:
        return searcher.search(bare_query(index, analyzer, query), POOL, count=False).hits

    def bare_hydrated(query: str) -> object:
        hits = searcher.search(bare_query(index, analyzer, query), LIMIT, count=False).hits
        return [(score, searcher.doc(address).to_dict()) for score, address in hits]

    def candidates(query: str) -> object:
        return lexical_ranking(mine, query, hints=Hints(), eligible=everything, pool=POOL)

    def hydrated(query: str) -> object:
        return session.search(QueryRequest(query=query), controls)

    for name, own, theirs in (
        ("candidates", candidates, bare_candidates),
        ("hydrated", hydrated, bare_hydrated),
    ):
        own_ms, their_ms = cpu_ms(own, queries), cpu_ms(theirs, queries)
        within.append(compare(name, statistics.median(own_ms), statistics.median(their_ms)))
    session.close()
    return all(within)


if __name__ == "__main__":
    sys.exit(main())
