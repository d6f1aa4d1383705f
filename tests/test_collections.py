"""Figures on real collections, against figures that others published or recorded."""

from __future__ import annotations

import pytest
from collections_data import cranfield

from evalnb.api import evaluate
from evalnb.workspace.system import open_workspace


@pytest.mark.slow
def test_keyword_search_on_cranfield_is_at_least_the_recorded_bm25(data_dir, tmp_path):
    corpus, gold = cranfield(data_dir / "collections" / "cranfield")
    workspace = open_workspace(tmp_path / "ws", create=True)
    workspace.ingest_corpus(corpus, settings={"language": "en", "chunk_size": 100_000})
    report = evaluate(gold, {"keyword": workspace}, measures=["nDCG@10"])
    [mean] = [
        row for row in report.record.aggregates if (row.measure, row.slice) == ("nDCG@10", "all")
    ]
    assert (mean.n, mean.n_undefined) == (225, 0)
    assert mean.mean >= 0.3369  # a recorded BM25 run under the same gain map
    assert report.record.integrity.ok
