"""BEIR folders in and out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evalnb.errors import BadInputError, GoldError, NotFoundError
from evalnb.gold.beir import parse_beir_qrels, parse_beir_queries
from evalnb.gold.exporting import export_gold
from evalnb.gold.loading import load_gold

HEADER = "query-id\tcorpus-id\tscore\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "my set"
    (made / "qrels").mkdir(parents=True)
    (made / "corpus.jsonl").write_text('{"_id": "d1", "title": "", "text": "x"}\n')
    (made / "queries.jsonl").write_text(
        '{"_id": "1", "text": "one?", "metadata": {}}\n\n{"_id": "2", "text": "two?"}\n'
        '{"_id": "3", "text": "three?"}\n'
    )
    (made / "qrels" / "test.tsv").write_text(HEADER + "1\td1\t2\n1\tghost\t0\n")
    (made / "qrels" / "dev.tsv").write_text(HEADER + "2\td1\t1\r\n")
    return made


def test_a_folder_is_read_with_its_splits(folder: Path) -> None:
    gold = load_gold(folder)
    assert gold.dataset_id == "my-set"
    found = {
        case.case_id: (case.split, case.request.query, case.document_relevance) for case in gold
    }
    assert found == {
        "1": ("test", "one?", {"d1": 2, "ghost": 0}),
        "2": ("development", "two?", {"d1": 1}),
    }
    assert gold.notes == (
        "queries without judgements, left out: 1 (3)",
        "judged but not in the corpus: 1 (ghost)",
    )


def test_a_lone_file_of_judgements(folder: Path) -> None:
    (folder / "qrels.tsv").write_text("\ufeff" + HEADER + "1\td1\t1\n")
    assert load_gold(folder).cases[0].split == "development"
    assert load_gold(folder, split="test").cases[0].split == "test"
    gold = load_gold(folder / "qrels.tsv", topics=folder / "queries.jsonl", grades={1: 3})
    assert gold.cases[0].request.query == "one?"
    assert gold.cases[0].document_relevance == {"d1": 3}


def test_a_split_that_the_files_name_already_is_refused(folder: Path) -> None:
    with pytest.raises(BadInputError, match="whose files name their splits"):
        load_gold(folder, split="test")


@pytest.mark.parametrize(
    ("rows", "finding"),
    [
        (HEADER + "1\td1\t1\n1\td1\t2\n", "q.tsv:3: query '1', document 'd1' is graded 2 here"),
        (HEADER + "1\td1\t0.5\n", "q.tsv:2"),
        (HEADER + "1 d1 1\n", "q.tsv:2: found '1 d1 1', expected a query id"),
        (HEADER + "#1\td1\t1\n", "expected a query id without #"),
        (HEADER, "no rows"),
    ],
)
def test_judgements_are_refused_with_their_line(tmp_path: Path, rows: str, finding: str) -> None:
    (tmp_path / "q.tsv").write_text(rows)
    with pytest.raises(GoldError) as caught:
        parse_beir_qrels(tmp_path / "q.tsv")
    assert finding in str(caught.value)


@pytest.mark.parametrize(
    ("line", "finding"),
    [
        ('{"_id": 1, "text": "x"}', "q.jsonl:2: expected texts under _id and text"),
        ('{"_id": "1"}', "expected texts under _id and text"),
        ('{"_id": "0", "text": "x"}', "query '0' stands twice"),
        ("[]", "expected an object, found []"),
        ('{"_id": "1", "_id": "2", "text": "x"}', 'q.jsonl:2: the key "_id" stands twice'),
        ('{"_id": "1", "text": "x", "doi": NaN}', "q.jsonl:2: doi: nan is not a finite number"),
    ],
)
def test_queries_are_refused_with_their_line(tmp_path: Path, line: str, finding: str) -> None:
    (tmp_path / "q.jsonl").write_text('{"_id": "0", "text": "zero"}\n' + line)
    with pytest.raises(GoldError) as caught:
        parse_beir_queries(tmp_path / "q.jsonl")
    assert finding in str(caught.value)


def test_a_query_judged_in_two_files_is_refused(folder: Path) -> None:
    (folder / "qrels" / "train.tsv").write_text(HEADER + "1\td1\t1\n")
    with pytest.raises(GoldError, match=r"query '1' is judged here and in test.tsv"):
        load_gold(folder)


def test_no_judgements(folder: Path) -> None:
    for file in (folder / "qrels").iterdir():
        file.unlink()
    with pytest.raises(NotFoundError, match="no judgements: neither qrels"):
        load_gold(folder)


def test_what_is_written_reads_back(folder: Path, tmp_path: Path) -> None:
    before = load_gold(folder)
    notes = export_gold(before, tmp_path / "out")
    assert "corpus.jsonl was not written: gold has no texts of documents" in notes
    assert sorted(os.listdir(tmp_path / "out")) == ["qrels", "queries.jsonl"]
    after = load_gold(tmp_path / "out")
    key = lambda case: case.case_id  # noqa: E731
    for old, new in zip(sorted(before, key=key), sorted(after, key=key), strict=True):
        assert (old.case_id, old.split, old.request) == (new.case_id, new.split, new.request)
        assert old.document_grades() == new.document_grades()
    with pytest.raises(BadInputError, match="something else stands here"):
        export_gold(before, tmp_path / "out")


def test_a_real_folder(data_dir: Path) -> None:
    gold = load_gold(data_dir / "collections" / "payflow_beir_layout")
    assert (len(gold), gold.notes) == (30, ())
    assert gold.cases[0].request.query == "How do I take a single card payment from a buyer?"
    assert gold.cases[0].expected.document_ids == ("d01",)
