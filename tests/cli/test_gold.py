"""``evalnb gold``: the result on stdout, notes on stderr, refusals with their status."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from evalnb.cli.main import main
from evalnb.gold.loading import load_gold

CSV = 'query,expected,grade\n"=wine, red",d1,3\nx,d2,0\n'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(CSV)
    return tmp_path


def run(*arguments: str) -> int:
    return main(["gold", *arguments])


def test_import_verify_stats_pin(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("import", "a.csv", "gold", "--id", "wines", "--name", "Wines") == 0
    out = capsys.readouterr().out
    version = load_gold("gold").version_sha
    assert f"version_sha  {version}" in out
    assert run("verify", "gold") == 0
    assert capsys.readouterr().out.splitlines() == [
        "dataset_id   wines",
        "name         Wines",
        f"version_sha  {version}",
        "cases        2",
        "development  2",
        "families     2",
    ]
    assert run("stats", "gold") == 0
    assert "all are treated as independent" in capsys.readouterr().out
    lines = Path("gold/cases.jsonl").read_text().splitlines(keepends=True)
    Path("gold/cases.jsonl").write_text(lines[0])
    assert run("verify", "gold") == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert "GOLD_INVALID: gold/manifest.json: cases.jsonl has SHA-256" in found.err
    assert run("pin", "gold") == 0
    assert run("verify", "gold") == 0


def test_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    documents = []
    for command in (
        ("import", "a.csv", "gold", "--json"),
        ("verify", "gold", "--json"),
        ("pin", "gold", "--json"),
        ("stats", "gold", "--json"),
    ):
        assert run(*command) == 0
        documents.append(json.loads(capsys.readouterr().out))
    assert {document["cases"] for document in documents} == {2}
    assert len({document["version_sha"] for document in documents}) == 1


def test_everything_an_import_takes(capsys: pytest.CaptureFixture[str]) -> None:
    Path("b.txt").write_bytes("soru;belge;puan\nçok güzel;d1;1\n".encode("cp1254"))
    options = ["--format", "csv", "--map", "query=soru, expected=belge,grade=puan"]
    options += ["--grades", "1=4,2=3", "--encoding", "cp1254", "--split", "test"]
    assert run("import", "b.txt", "gold", *options) == 0
    (case,) = load_gold("gold").cases
    assert (case.request.query, case.split) == ("çok güzel", "test")
    assert case.document_relevance == {"d1": 4}
    assert capsys.readouterr().err == "grades mapped: 1=4, 2=3\n"


def test_qrels_with_topics(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.qrels").write_text("1 0 d 1\n")
    Path("t.tsv").write_text("1\twhat?\n")
    assert run("import", "a.qrels", "gold", "--topics", "t.tsv") == 0
    assert load_gold("gold").cases[0].request.query == "what?"


def test_a_sheet_of_a_workbook() -> None:
    assert run("import", "a.csv", "gold") == 0
    assert run("export", "gold", "a.xlsx") == 0
    assert run("import", "a.xlsx", "again", "--sheet", "gold", "--id", "a") == 0
    assert Path("again/cases.jsonl").read_bytes() == Path("gold/cases.jsonl").read_bytes()


@pytest.mark.parametrize("ending", ["csv", "xlsx", "qrels"])
def test_export_names_what_is_lost_on_stderr(
    ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("import", "a.csv", "gold") == 0
    capsys.readouterr()
    assert run("export", "gold", f"out.{ending}") == 0
    found = capsys.readouterr()
    assert found.out == f"out.{ending}\n"
    assert ("not carried: case_id (2 of 2 cases)" in found.err) is (ending != "qrels")


@pytest.mark.parametrize(
    ("arguments", "finding"),
    [
        (("import", "a.cvs", "gold"), "NOT_FOUND: a.cvs: no such file or folder (near it: a.csv)"),
        (("import", "a.csv", "gold", "--id", "a/b"), "'a/b' is not a dataset_id"),
        (("import", "a.csv", "gold", "--map", "query"), "--map found 'query'"),
        (("import", "a.csv", "gold", "--map", "query=a,query=b"), "--map found 'query=b'"),
        (("import", "a.csv", "gold", "--grades", "1=high"), "--grades turns a grade into"),
        (("import", "a.csv", "gold", "--split", "dev"), "no split is called 'dev'"),
        (("import", "a.csv", "gold", "--format", "csw"), "did you mean 'csv'?"),
        (("import", "a.csv", "."), "something else stands here already"),
        (("verify", "a.csv"), "found a file, expected a gold directory"),
        (("pin", "."), "no such file or folder"),
    ],
)
def test_bad_input_is_status_2(
    arguments: tuple[str, ...], finding: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert finding in found.err
    assert os.listdir() == ["a.csv"]


def test_a_document_that_labels_name_is_pooled_once(capsys: pytest.CaptureFixture[str]) -> None:
    import evalnb as ev

    Path("named.csv").write_text("query,expected\nwhere,faq.md\n")
    hits = [{"id": "k7", "text": "here", "metadata": {"source": "kb/faq.md"}}]
    ev.evaluate("named.csv", {"one": lambda query: hits}).save("named.json")
    assert run("pool", "named.json", "-o", "named_sheet.csv") == 0
    assert "1 rows of 1 cases, 0 to judge" in capsys.readouterr().out


def test_pool_and_merge(capsys: pytest.CaptureFixture[str]) -> None:
    import evalnb as ev

    assert run("import", "a.csv", "gold") == 0
    report = ev.evaluate(
        ev.load_gold("gold"),
        {"one": lambda query: ["d1", ("d7", "a text")], "two": lambda query: ["d8", "d9"]},
    )
    report.save("report.json")
    capsys.readouterr()
    assert run("pool", "report.json", "-o", "sheet.csv", "--depth", "1") == 0
    assert capsys.readouterr().out == "sheet.csv: 4 rows of 2 cases, 3 to judge\n"
    assert run("pool", "report.json", "-o", "sheet.csv") == 2
    assert "maybe with judgements" in capsys.readouterr().err
    assert run("pool", "report.json", "-o", "other.csv", "--kind", "file") == 2
    assert "no system returned the id of a file" in capsys.readouterr().err
    rows = Path("sheet.csv").read_text().replace("d8,,,,", "d8,,2,,")
    Path("sheet.csv").write_text(rows)
    before = Path("gold/cases.jsonl").read_bytes()
    assert run("merge", "gold", "sheet.csv", "-o", "judged", "--id", "a2") == 0
    out = capsys.readouterr().out
    assert out.count("d8: not judged -> grade 2") == 2
    assert "changes      2" in out
    assert run("verify", "judged") == 0
    assert Path("gold/cases.jsonl").read_bytes() == before
    assert load_gold("judged").cases[0].expected.document_ids == ("d1", "d8")


def test_two_versions_differ_in_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    run("import", "a.csv", "gold")
    Path("a.csv").write_text(CSV.replace("d1,3", "d1,1"))
    run("import", "a.csv", "new")
    capsys.readouterr()
    assert run("diff", "gold", "new") == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.endswith(": d1: grade 3 -> grade 1")
    assert run("diff", "gold", "new", "--json") == 0
    (change,) = json.loads(capsys.readouterr().out)["changes"]
    assert change["id"] == "d1"
    assert change["change"] == "grade 3 -> grade 1"
    assert run("diff", "gold", "nowhere") == 2
