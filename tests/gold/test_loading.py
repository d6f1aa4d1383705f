"""One door: whatever a person has is found, read, or refused with what to do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evalnb.errors import BadInputError, GoldError, NotFoundError
from evalnb.gold import loading
from evalnb.gold.cases import GoldCase, GoldDataset
from evalnb.gold.dataset import write_gold_dir
from evalnb.gold.formats import NO_TOPICS
from evalnb.gold.loading import load_gold, load_gold_file
from evalnb.gold.options import Options
from evalnb.gold.tabular.sheets import write_sheet

ROWS = [["query", "expected"], ["what?", "a.md"]]


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.fixture
def golds(tmp_path: Path) -> dict[str, Any]:
    """Return one question in every form."""
    golden = {"cases": [{"query": "what?", "expect": {"document": "a.md"}}]}
    directory = tmp_path / "directory"
    gold = load_gold([{"query": "what?", "expected": "a.md"}])
    write_gold_dir(gold, directory)
    return {
        "csv": write(tmp_path / "a.csv", "query,expected\nwhat?,a.md\n"),
        "tsv": write(tmp_path / "a.tsv", "query\texpected\nwhat?\ta.md\n"),
        "xlsx": write(tmp_path / "a.XLSX", write_sheet(ROWS, title="x")),
        "json": write(tmp_path / "a.json", json.dumps(golden)),
        "qrels": write(tmp_path / "a.qrels", "what? 0 a.md 1\n"),
        "no ending": str(write(tmp_path / "qrels", "what? 0 a.md 1\n")),
        "directory": directory,
        "frame": pd.DataFrame(ROWS[1:], columns=ROWS[0]),
        "rows": [{"query": "what?", "expected": ["a.md"]}],
        "list": golden["cases"],
        "dict": golden,
        "cases": list(gold),
        "case dicts": [case.model_dump(mode="json") for case in gold],
        "dataset": gold,
    }


def test_every_form_gives_the_question(golds: dict[str, Any]) -> None:
    for name, source in golds.items():
        gold = load_gold(source)
        assert isinstance(gold, GoldDataset), name
        (case,) = gold
        assert case.request.query == "what?", name
        named = [entry.document for entry in case.content] or [*case.expected.document_ids]
        assert named == ["a.md"], name


def test_the_same_questions_have_one_version(golds: dict[str, Any]) -> None:
    forms = ("csv", "tsv", "xlsx", "frame", "rows", "cases", "directory")
    versions = {load_gold(golds[name]).version_sha for name in forms}
    assert len(versions) == 1


def test_a_set_is_named_after_its_file(tmp_path: Path) -> None:
    path = write(tmp_path / "my sorular (v1.2) ğ.csv", "query,expected\nq,a\n")
    gold = load_gold(path)
    assert (gold.dataset_id, gold.name) == ("my-sorular-v1-2", "my sorular (v1.2) ğ")
    assert load_gold(write(tmp_path / "ğ.csv", "query\nq\n")).dataset_id == "gold"
    write_gold_dir(gold, tmp_path / "out")


def test_a_missing_file_names_those_near_it(golds: dict[str, Any]) -> None:
    with pytest.raises(NotFoundError, match=r"a.csvv: no such file or folder \(near it: a.csv"):
        load_gold(golds["csv"].with_suffix(".csvv"))
    with pytest.raises(NotFoundError, match="no such folder"):
        load_gold("nowhere/a.csv")
    with pytest.raises(NotFoundError, match="no such file or folder"):
        load_gold("\x00")


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("a.xls", "save it as .xlsx or .csv"),
        ("a.jsonl", "give the folder that holds it"),
        ("a.yaml", "write it as golden.json"),
        ("a.parquet", "pass the DataFrame itself"),
    ],
)
def test_other_kinds_of_file_name_the_way_out(tmp_path: Path, name: str, remedy: str) -> None:
    with pytest.raises(BadInputError, match=remedy):
        load_gold(write(tmp_path / name, "x"))


def test_a_folder_without_gold(tmp_path: Path) -> None:
    with pytest.raises(GoldError, match="the folder holds no gold"):
        load_gold(tmp_path)


@pytest.mark.parametrize("source", [3, None, b"a.csv", object(), {1, 2}])
def test_what_gold_is_not(source: object) -> None:
    with pytest.raises(BadInputError, match="gold cannot be read from"):
        load_gold(source)


@pytest.mark.parametrize(
    ("source", "finding"),
    [
        ([], "the list is empty"),
        ([1], "expected a list of dicts, found 1"),
        ([{"q": "a", "paths": ["b"]}], "no query: found q, paths"),
        ([{"question": "a"}], "'question' (did you mean 'query'?)"),
        ([{"case_id": "a", "request": {"query": "q"}}], "list[0]: split is missing"),
        ([{"case_id": "a", "request": {"query": "\ud800"}}], "lone surrogate"),
        ({"sources": []}, "found an object with sources"),
    ],
)
def test_lists_and_dicts_are_refused(source: Any, finding: str) -> None:
    with pytest.raises(GoldError) as caught:
        load_gold(source)
    assert finding in str(caught.value)


def test_a_split_for_cases_that_name_none(golds: dict[str, Any]) -> None:
    for name in ("csv", "xlsx", "json", "qrels", "frame", "rows", "list", "dict"):
        assert load_gold(golds[name], split="test").cases[0].split == "test", name
    with pytest.raises(BadInputError, match=r"no split is called 'dev' \(splits: development, t"):
        load_gold(golds["csv"], split="dev")


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("directory", {"split": "test"}),
        ("directory", {"mapping": {"query": "q"}}),
        ("csv", {"topics": "t.tsv"}),
        ("csv", {"sheet": "x"}),
        ("json", {"grades": {1: 2}}),
        ("qrels", {"mapping": {"query": "q"}}),
        ("cases", {"split": "test"}),
        ("list", {"grades": {1: 2}}),
        ("dict", {"grades": {1: 2}}),
        ("frame", {"topics": "t.tsv"}),
    ],
)
def test_an_option_without_effect_is_refused(
    golds: dict[str, Any], name: str, option: dict[str, Any]
) -> None:
    with pytest.raises(BadInputError, match=f"{next(iter(option))} has no effect on"):
        load_gold(golds[name], **option)


@pytest.mark.parametrize(
    "option",
    [
        {"mapping": "query=q"},
        {"mapping": ["query"]},
        {"mapping": {"query": 1}},
        {"grades": "1=4"},
        {"grades": [1]},
        {"encoding": None},
    ],
)
def test_an_option_of_another_type_is_refused(
    golds: dict[str, Any], option: dict[str, Any]
) -> None:
    with pytest.raises(BadInputError):
        load_gold(golds["csv"], **option)


def test_a_path_that_cannot_be_looked_up() -> None:
    with pytest.raises(BadInputError, match="cannot be looked up: File name too long"):
        load_gold('{"cases": [' + "1, " * 5_000 + "]}")


def test_a_family_on_both_splits_names_the_file(tmp_path: Path) -> None:
    rows = "query,expected,split,family\nq,d,test,f\nr,e,development,f\n"
    with pytest.raises(GoldError, match=r"test \(case 1\) and development \(case 2\)") as caught:
        load_gold(write(tmp_path / "a.csv", rows))
    assert caught.value.where == str(tmp_path / "a.csv")


def test_a_sheet_is_chosen_by_its_name(golds: dict[str, Any]) -> None:
    assert load_gold(golds["xlsx"], sheet="x").cases[0].request.query == "what?"
    with pytest.raises(NotFoundError, match="no sheet 'y'"):
        load_gold(golds["xlsx"], sheet="y")


def test_f52_a_grade_map_is_applied_and_noted(golds: dict[str, Any], tmp_path: Path) -> None:
    qrels = write(tmp_path / "b.qrels", "1 0 a 1\n1 0 b 4\n1 0 c -1\n")
    gold = load_gold(qrels, grades={1: 4, 4: 1, "-1": 0})
    assert gold.cases[0].document_relevance == {"a": 4, "b": 1, "c": 0}
    assert gold.notes == (NO_TOPICS, "grades mapped: 1=4, 4=1, -1=0")
    with pytest.raises(GoldError, match=r"grade -1 is not in the grade map \(it maps 1, 4\)"):
        load_gold(qrels, grades={1: 4, 4: 1})
    for bad in ({1: True}, {1: 0.5}, {1: 101}, {1: "2"}):
        with pytest.raises(BadInputError, match="the grade map turns 1 into"):
            load_gold(qrels, grades=bad)
    rows = write(tmp_path / "b.csv", "query,expected,grade\nq,a,1\n")
    assert load_gold(rows, grades={1: 3}).notes == ("grades mapped: 1=3",)


def test_qrels_take_their_queries_from_topics(tmp_path: Path) -> None:
    qrels = write(tmp_path / "a.qrels", "1 0 d 1\n")
    topics = write(tmp_path / "topics.tsv", "1\tçok güzel\n2\tunused\n")
    gold = load_gold(qrels, topics=topics)
    assert [(case.case_id, case.request.query) for case in gold] == [("1", "çok güzel")]
    assert gold.notes == ("1 of 2 topics have no judgements and are left out: 2",)


def test_a_byte_order_mark_in_golden_json_is_noted(tmp_path: Path) -> None:
    text = '\ufeff[{"query": "q", "expect": {"document": "a"}}]\r\n'
    gold = load_gold(write(tmp_path / "a.json", text))
    assert gold.notes == ("a leading byte order mark was dropped",)
    turkish = text[1:].replace("q", "ş").encode("cp1254")
    path = write(tmp_path / "b.json", turkish.replace("ş".encode("cp1254") + b"uery", b"query"))
    with pytest.raises(GoldError, match=r"b.json:1: byte 0xfe"):
        load_gold(path)
    assert load_gold(path, encoding="cp1254").cases[0].request.query == "ş"


@pytest.mark.parametrize("name", ["a.json", "a.csv", "a.qrels", "a.xlsx"])
def test_f50_a_pointer_and_an_empty_file_are_named(tmp_path: Path, name: str) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 250287\n"
    with pytest.raises(GoldError, match="a Git LFS pointer to 250287 bytes"):
        load_gold(write(tmp_path / name, pointer))
    with pytest.raises(GoldError, match="the file is empty"):
        load_gold(write(tmp_path / name, " \n"))


def test_a_kind_may_be_named(golds: dict[str, Any], tmp_path: Path) -> None:
    path = write(tmp_path / "questions.txt", "query,expected\nwhat?,a.md\n")
    assert load_gold_file(path, Options(), kind="csv").cases[0].request.query == "what?"
    with pytest.raises(BadInputError, match=r"no kind of gold is called 'csw'; did you mean 'csv'"):
        load_gold_file(path, Options(), kind="csw")


def test_too_many_cases(golds: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "CASES_LINES", 1)
    with pytest.raises(BadInputError, match="cases: 2 is past the limit of 1"):
        load_gold([{"query": "a", "expected": "x"}, {"query": "b", "expected": "x"}])


def test_dates_of_dicts_are_read(golds: dict[str, Any]) -> None:
    case = {"case_id": "a", "split": "test", "request": {"query": "q", "as_of": "2024-02-29"}}
    (read,) = load_gold([case])
    assert read == GoldCase.model_validate_json(json.dumps(case))


def test_loading_a_file_loads_no_pandas(golds: dict[str, Any]) -> None:
    program = (
        "import sys; from evalnb.gold.loading import load_gold\n"
        "for path in sys.argv[1:]: load_gold(path)\n"
        "assert 'pandas' not in sys.modules"
    )
    paths = [str(golds[name]) for name in ("csv", "xlsx", "json", "qrels", "directory")]
    subprocess.run([sys.executable, "-c", program, *paths], check=True)
