"""Every format is recognised by what the file holds, listed in one place and documented."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

from evalnb.cli.gold import import_
from evalnb.errors import BadInputError, GoldError
from evalnb.gold.formats import FORMATS, NO_TOPICS, find_format
from evalnb.gold.loading import load_gold
from evalnb.gold.options import Options

QUEPID = 'query,docid,rating\n"wine, red",d1,3\n"12"" vinyl",d2,1\nplain,d3,0\nno rating,,\n'
FILES: list[tuple[str, Any, str]] = [
    ("a.json", [{"query": "q", "expect": {"document": "d"}}], "golden"),
    ("a.json", {"cases": []}, "golden"),
    ("a.json", {}, "golden"),
    ("a.json", "{", "golden"),
    ("a.json", {"data": []}, "squad"),
    ("a.json", {"examples": []}, "llamaindex"),
    ("a.json", {"q1": {"d1": 1}}, "qrels"),
    ("a.csv", "query,expected\nq,d\n", "csv"),
    ("a.csv", QUEPID, "quepid"),
    ("a.csv", '\ufeff"Query";"DocID";"Rating"\r\n', "quepid"),
    ("a.csv", "query,docid\nq,d\n", "csv"),
    ("a.tsv", "query-id\tcorpus-id\tscore\n", "qrels"),
    ("a.txt", "1 0 d 1\n", "qrels"),
    ("a.txt", "# qid:1: boots\n#\n4 qid:1 # 7501\n", "ltr"),
    ("a.qrels", "4\tqid:1 1:0.5 # 7501", "ltr"),
    ("a.txt", "\ufeff\r\n #\r\n\n  4 qid:1 # 7501\r\n", "ltr"),
    ("a.txt", "# qid:1: boots\n1 0 d 1\n2 qid:1 # 1\n", "qrels"),
]


@pytest.mark.parametrize(("name", "content", "kind"), FILES)
def test_a_format_is_found(tmp_path: Path, name: str, content: Any, kind: str) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    (tmp_path / name).write_text(text)
    assert find_format(tmp_path / name, Options()) == kind


def test_what_may_be_two_formats_is_refused_until_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"data": [], "examples": [{"query": "q"}]}))
    with pytest.raises(GoldError, match=r"may be squad or llamaindex \(say which: --format squad"):
        load_gold(path)
    assert load_gold(path, format="llamaindex").cases[0].request.query == "q"
    with pytest.raises(GoldError, match="there are no cases"):
        load_gold(path, format="squad")


def test_r26_a_file_of_quepid_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "case.csv"
    path.write_text(QUEPID)
    gold = load_gold(path)
    assert {case.request.query: case.document_relevance for case in gold} == {
        "wine, red": {"d1": 3},
        '12" vinyl': {"d2": 1},
        "plain": {"d3": 0},
        "no rating": {},
    }
    assert gold.notes == (
        "read as judgements of Quepid: docid is expected, rating its grade",
        "questions without judgements: 1",
    )
    mapped = load_gold(path, mapping={"query": "query", "expected": "docid", "grade": "rating"})
    assert mapped.version_sha == gold.version_sha
    with pytest.raises(BadInputError, match="mapping has no effect on a file of Quepid"):
        load_gold(path, mapping={"expected": "docid"}, format="quepid")


def test_a_document_that_quepid_shows_without_a_rating_is_not_judged(tmp_path: Path) -> None:
    path = tmp_path / "case.csv"
    path.write_text("rating;docid;query\n;d1;wine\n2;d2;wine\n0;d1;beer\n ;d3;tea\n1;d4\n")
    with pytest.raises(GoldError, match=r"case.csv:6: a row with expected, grade but without a qu"):
        load_gold(path)
    path.write_text("rating;docid;query\n;d1;wine\n2;d2;wine\n0;d1;beer\n ;d3;tea\n")
    gold = load_gold(path)
    assert [case.document_relevance for case in gold] == [{"d2": 2}, {"d1": 0}, {}]
    assert [case.expected.document_ids for case in gold] == [("d2",), (), ()]
    assert gold.notes[1:] == (
        "documents without a rating, not judged: 2",
        "questions without judgements: 1",
    )
    path.write_text("query,expected\nq,d\n")
    with pytest.raises(GoldError, match="no column 'expected' \\(mapped to 'docid'\\)"):
        load_gold(path, format="quepid")


def test_judgements_of_ranx_are_qrels(tmp_path: Path) -> None:
    path = tmp_path / "qrels.json"
    path.write_text('{"q1": {"d1": 2, "d2": 0}}')
    (tmp_path / "topics.tsv").write_text("q1\twhat?\n")
    (case,) = load_gold(path, topics=tmp_path / "topics.tsv", grades={2: 1, 0: 0})
    assert (case.request.query, case.document_relevance) == ("what?", {"d1": 1, "d2": 0})
    assert load_gold(path).notes == (NO_TOPICS,)


def test_a_format_is_named_for_files_alone(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="format has no effect on what is no file"):
        load_gold([{"query": "q"}], format="csv")
    with pytest.raises(BadInputError, match=r"no kind of gold is called 'squat'.*'squad'"):
        load_gold(tmp_path, format="squat")


GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "gold.md").read_text()


@pytest.mark.parametrize("kind", FORMATS)
def test_formats_are_documented(kind: str) -> None:
    assert f"`{kind}`" in GUIDE
    assert kind in inspect.getsource(import_)


def test_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (snippet,) = re.findall(r"```python\n(import json.*?)```", GUIDE, re.S)
    monkeypatch.chdir(tmp_path)
    exec(snippet, {})
