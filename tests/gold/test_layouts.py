"""Rows of other layouts: every one counts, and says where it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalnb.errors import GoldError
from evalnb.gold.layouts import parse_ltr
from evalnb.gold.loading import load_gold

R29 = "# qid:1: mountain boots\n#\n4 qid:1 # 7501\n3 qid:1 # 7502\n"


def test_r29_the_row_after_the_header_counts() -> None:
    qrels, topics = parse_ltr(R29.encode(), name="x")
    assert qrels.grades == {"1": {"7501": 4, "7502": 3}}
    assert topics.texts == {"1": "mountain boots"}


@pytest.mark.parametrize(
    ("row", "grades"),
    [
        ("4\tqid:1 #\t7555\tRambo", {"1": {"7555": 4}}),
        ("0 qid:q-2 1:9.83 2:-1e3 # doc#1 a title", {"q-2": {"doc#1": 0}}),
        ("2 qid:1 #7501\r", {"1": {"7501": 2}}),
        ("1 qid:1 # a\n1 qid:1 # a", {"1": {"a": 1}}),
    ],
)
def test_rows(row: str, grades: dict[str, dict[str, int]]) -> None:
    assert parse_ltr(row.encode())[0].grades == grades


REFUSED = {
    "4 qid:1\n": "x:1: found '4 qid:1', expected a grade, qid:ID, # and a document",
    "4 qid:1 #\n": "x:1: found '4 qid:1 #'",
    "# c\n\n4 1 # 7501\n": "x:3: found '4 1 # 7501'",
    "# c\n4.5 qid:1 # 7501\n": "x:2: grade '4.5' is not a whole number",
    "4 qid:1 # a\n# c\n3 qid:1 # a\n": "x:3: query '1', document 'a' is graded 3 here and 4 on",
    "# qid:1: a\n# qid:1: b\n1 qid:1 # a\n": "x:2: query '1' has another text above",
    "# qid:1: a\n": "x: the file holds no rows",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_a_row_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(GoldError) as caught:
        parse_ltr(text.encode(), name="x")
    assert REFUSED[text] in str(caught.value)


def test_queries_come_from_the_header_or_from_topics(tmp_path: Path) -> None:
    path = tmp_path / "judgements.txt"
    path.write_text(R29 + "1 qid:2 # 7\n")
    gold = load_gold(path, grades={4: 2, 3: 1, 1: 0})
    assert [(c.case_id, c.request.query, c.document_relevance) for c in gold] == [
        ("1", "mountain boots", {"7501": 2, "7502": 1})
    ]
    assert gold.notes[0] == "1 of 2 judged queries have no topic and are left out: 2"
    (tmp_path / "topics.tsv").write_text("1\tboots\n2\tropes\n")
    asked = [case.request.query for case in load_gold(path, topics=tmp_path / "topics.tsv")]
    assert asked == ["boots", "ropes"]
