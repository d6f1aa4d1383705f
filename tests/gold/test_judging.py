"""What systems returned goes to judges, and their judgements come back as a new version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalnb.errors import BadInputError, GoldError
from evalnb.gold.cases import GoldDataset, dataset_from_cases
from evalnb.gold.judging import (
    collect_returned,
    merge_judgements,
    pool_rows,
    read_rows,
    version_changes,
    write_rows,
)
from evalnb.gold.loading import load_gold
from evalnb.search.result import Hit, Identities

HEADER = "case_id,query,id,text,grade,forbidden,note\n"


@pytest.fixture
def gold() -> GoldDataset:
    return load_gold(
        [
            {
                "case_id": "c1",
                "split": "test",
                "request": {"query": "=what, then?"},
                "expected": {"document_ids": ["a", "b"]},
                "forbidden": {"document_ids": ["f"]},
                "document_relevance": {"a": 2, "z": 0},
            },
            {"case_id": "c2", "split": "test", "request": {"query": "why?"}},
        ]
    )


def hits(*named: tuple[str | None, str | None]) -> list[Hit]:
    return [
        Hit(rank=rank, ids=Identities(document_id=key), text=text)
        for rank, (key, text) in enumerate(named, 1)
    ]


def test_ranks_are_counted_as_measures_count_them() -> None:
    results = [
        ("c1", hits(("a", None), (None, "x"), ("a", "again"), ("b", "text b"), ("c", "c"))),
        ("c1", hits(("a", "text a"), ("d", None), ("e", "e"))),
        ("c2", []),
    ]
    assert collect_returned(results, depth=2) == {
        "c1": {"a": "text a", "b": "text b", "d": None},
        "c2": {},
    }


def test_a_sheet_shows_neither_system_nor_rank(gold: GoldDataset) -> None:
    found = {key: f"text of {key}\x1f" for key in "fabqz"}
    rows = pool_rows(gold.cases, {"c1": found, "c2": {}})
    assert rows[0] == ["case_id", "query", "id", "text", "grade", "forbidden", "note"]
    shuffled = pool_rows(gold.cases, {"c1": dict(reversed(found.items()))})
    assert rows == shuffled
    assert sorted(rows[1:], key=lambda row: row[2]) == [
        ["c1", "=what, then?", "a", "text of a ", "2", "", ""],
        ["c1", "=what, then?", "b", "text of b ", "1", "", ""],
        ["c1", "=what, then?", "f", "text of f ", "", "yes", ""],
        ["c1", "=what, then?", "q", "text of q ", "", "", ""],
        ["c1", "=what, then?", "z", "text of z ", "0", "", ""],
    ]


@pytest.mark.parametrize("name", ["s.csv", "s.xlsx"])
def test_an_untouched_sheet_changes_nothing(gold: GoldDataset, tmp_path: Path, name: str) -> None:
    rows = pool_rows(gold.cases, {"c1": dict.fromkeys("fabqz", "x" * 40_000)})
    write_rows(rows, tmp_path / name)
    merged = merge_judgements(gold, read_rows(tmp_path / name))
    assert merged.changes == ()
    assert merged.dataset.version_sha == gold.version_sha
    with pytest.raises(BadInputError, match="maybe with judgements"):
        write_rows(rows, tmp_path / name)


def test_a_sheet_is_csv_or_xlsx(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"ends in .csv or .xlsx"):
        write_rows([], tmp_path / "s.txt")


def merge(gold: GoldDataset, tmp_path: Path, rows: str, **options: Any) -> Any:
    path = tmp_path / "s.csv"
    path.write_text(HEADER + rows)
    return merge_judgements(gold, read_rows(path), **options)


def test_judgements_come_back(gold: GoldDataset, tmp_path: Path) -> None:
    merged = merge(
        gold,
        tmp_path,
        'c1,"\'=what, then?",q,,3,,new\n'
        "c1,,b,,0,,not any more\n"
        "c1,,z,,2,no,better\n"
        "c1,,f,,,no,allowed\n"
        "c1,,a,,,YES,must not show\n"
        "c1,,untouched,,,,\n"
        "c2,why?,n,,-1,,\n",
    )
    assert merged.changes == (
        "c1: a: grade 2 -> forbidden",
        "c1: b: grade 1 -> grade 0",
        "c1: z: grade 0 -> grade 2",
        "c1: f: forbidden -> not judged",
        "c1: q: not judged -> grade 3",
        "c2: n: not judged -> grade -1",
    )
    first, second = merged.dataset
    assert first.document_relevance == {"z": 2, "q": 3, "b": 0}
    assert (first.expected.document_ids, first.forbidden.document_ids) == (("q", "z"), ("a",))
    assert second.document_relevance == {"n": -1}
    assert second.expected.document_ids == ()
    assert merged.dataset.version_sha != gold.version_sha
    assert gold.cases[0].document_relevance == {"a": 2, "z": 0}


def test_other_kinds(gold: GoldDataset, tmp_path: Path) -> None:
    merged = merge(gold, tmp_path, "c1,,u,,1,,\n", kind="unit")
    assert merged.dataset.cases[0].unit_relevance == {"u": 1}
    assert merged.dataset.cases[0].document_relevance == {"a": 2, "z": 0}
    with pytest.raises(BadInputError, match="revision ids cannot be graded"):
        merge(gold, tmp_path, "", kind="revision")


def test_legacy_grades_become_explicit(tmp_path: Path) -> None:
    case = {
        "case_id": "c1",
        "split": "test",
        "request": {"query": "q"},
        "expected": {"file_ids": ["a", "b"]},
        "graded_relevance": {"a": 2, "b": 1},
    }
    merged = merge(load_gold([case]), tmp_path, "c1,,a,,0,,\n", kind="file")
    (after,) = merged.dataset
    assert (after.file_relevance, after.graded_relevance) == ({"a": 0, "b": 1}, {})
    assert after.expected.file_ids == ("b",)


@pytest.mark.parametrize(
    ("rows", "finding"),
    [
        ("cc1,,a,,1,,\n", "'cc1'; did you mean 'c1'?"),
        ("c9,,a,,1,,\n", "s.csv:2: no case is called 'c9'"),
        ("c1,other?,a,,1,,\n", "case 'c1' asks '=what, then?', not 'other?'"),
        ("c1,,,,1,,\n", "no id is named"),
        ("c1,,a,,high,,\n", "a grade is a whole number, found 'high'"),
        ("c1,,a,,1.5,,\n", "found '1.5'"),
        ("c1,,a,,101,,\n", "less than or equal to 100"),
        ("c1,,a,,1,maybe,\n", "expected yes or no, found 'maybe'"),
        ("c1,,a,,1,yes,\n", "forbidden but graded 1"),
        ("c1,,a,,1,,\n\nc1,,a,,2,,\n", "s.csv:4: 'a' is judged otherwise in row 2"),
    ],
)
def test_a_row_is_refused(gold: GoldDataset, tmp_path: Path, rows: str, finding: str) -> None:
    with pytest.raises(GoldError) as caught:
        merge(gold, tmp_path, rows)
    assert finding in str(caught.value)


def test_columns_of_a_sheet(gold: GoldDataset, tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("case_id,id,grade,judge\nc1,q,1,ana\n")
    assert merge_judgements(gold, read_rows(path)).changes == ("c1: q: not judged -> grade 1",)
    path.write_text("case,id,grade\nc1,q,1\n")
    with pytest.raises(GoldError, match="no column 'case_id'; unknown column 'case'"):
        merge_judgements(gold, read_rows(path))


def test_versions_differ_in_cases_grades_and_fields(gold: GoldDataset) -> None:
    c1, c2 = gold.cases
    assert version_changes(gold, gold) == ()
    graded = c1.model_copy(update={"document_relevance": {"a": 3, "z": 0}, "language": "en"})
    later = dataset_from_cases((graded, c2.model_copy(update={"case_id": "c3"})), dataset_id="g")
    assert list(map(str, version_changes(gold, later))) == [
        "c2: removed",
        "c1: a: grade 2 -> grade 3",
        "c1: language changed",
        "c3: added: 'why?'",
    ]
    first = dataset_from_cases((c1,), dataset_id="g")
    assert list(map(str, version_changes(None, first))) == [
        "c1: added: '=what, then?'",
        "c1: a: not judged -> grade 2",
        "c1: b: not judged -> grade 1",
        "c1: z: not judged -> grade 0",
        "c1: f: not judged -> forbidden",
    ]
