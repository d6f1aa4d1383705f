"""csv and DataFrames: one judgement a row, every cell text, nothing guessed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.errors import BadInputError, EvalnbError, GoldError
from evalnb.gold.cases import GoldCase, Parsed
from evalnb.gold.tabular.delimited import format_delimited, read_delimited
from evalnb.gold.tabular.frames import read_frame, read_records
from evalnb.gold.tabular.rows import parse_table


def csv(text: str | bytes, *, encoding: str = "utf-8", **options: Any) -> Parsed:
    data = text if isinstance(text, bytes) else text.encode()
    mapping = options.get("mapping")
    return parse_table(
        read_delimited(data, name="q.csv", encoding=encoding, mapping=mapping), **options
    )


def labels(parsed: Parsed) -> dict[str, Any]:
    """Query to what is expected of it, in the shortest form."""
    return {
        case.request.query: case.model_dump(
            exclude_defaults=True,
            exclude={"case_id", "split", "request", "label_provenance"},
        )
        for case in parsed.cases
    }


def test_two_columns_are_the_usual_first_file() -> None:
    parsed = csv("query,expected\nhow do I pay?,billing.md\nwho runs it?,about.md\n")
    assert labels(parsed) == {
        "how do I pay?": {"expected": {"document_ids": ("billing.md",)}},
        "who runs it?": {"expected": {"document_ids": ("about.md",)}},
    }
    assert [case.case_id[:5] for case in parsed.cases] == ["0001-", "0002-"]
    assert parsed.notes == ()


MAPPING = {"expected": "docid", "grade": "rating"}


def test_r26_commas_quotes_and_a_question_without_judgements() -> None:
    text = 'query,docid,rating\n"wine, red",d1,3\n"12"" vinyl",d2,1\nplain,d3,0\nno rating,,\n'
    parsed = csv(text, mapping=MAPPING)
    assert labels(parsed) == {
        "wine, red": {"expected": {"document_ids": ("d1",)}, "document_relevance": {"d1": 3}},
        '12" vinyl': {"expected": {"document_ids": ("d2",)}, "document_relevance": {"d2": 1}},
        "plain": {"document_relevance": {"d3": 0}},
        "no rating": {},
    }
    assert parsed.notes == ("questions without judgements: 1",)


def test_r27_bytes_that_are_not_utf8_name_line_and_byte() -> None:
    data = bytes.fromhex("736f7267752c62656c67652c7075616e0d0a67fc6dfcfe2079fc7afc6b2c64312c330d0a")
    with pytest.raises(GoldError) as caught:
        csv(data)
    assert caught.value.where == "q.csv:2"
    assert "byte 0xfc (byte 2 of the line) is not valid UTF-8" in caught.value.message
    assert "encoding='cp1254'" in str(caught.value)
    mapping = {"query": "sorgu", "expected": "belge", "grade": "puan"}
    parsed = csv(data, encoding="cp1254", mapping=mapping)
    assert list(labels(parsed)) == ["gümüş yüzük"]


def test_r28_a_byte_order_mark_is_dropped_and_noted() -> None:
    data = bytes.fromhex("efbbbf71756572792c646f6369642c726174696e670d0a71312c64312c310d0a")
    parsed = csv(data, mapping=MAPPING)
    assert list(labels(parsed)) == ["q1"]
    assert parsed.notes == ("a leading byte order mark was dropped",)


def test_r33_ids_stay_text() -> None:
    ids = ["2301.12900", "0710", "1e5", "NA", "007", "nan", "null", "TRUE", "-1"]
    parsed = csv("query,expected\n" + "".join(f"q,{key}\n" for key in ids))
    assert parsed.cases[0].expected.document_ids == tuple(ids)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_header_tells_the_delimiter(delimiter: str) -> None:
    text = f'Query{delimiter} EXPECTED \n"a,b;c\td"{delimiter}x\n'
    assert labels(csv(text)) == {"a,b;c\td": {"expected": {"document_ids": ("x",)}}}


def test_several_ids_stand_apart_by_line_breaks() -> None:
    parsed = csv('query,expected,grade\nq,"a\nb\r\n\n c ",2\n')
    assert parsed.cases[0].document_relevance == {"a": 2, "b": 2, "c": 2}


def test_ids_that_look_like_several_are_noted() -> None:
    rows = 'query,expected,forbidden\nq,"d1, d2","d3,d4"\nr,"Smith, J. 2020.pdf",d5\n'
    parsed = csv(rows)
    assert parsed.cases[0].expected.document_ids == ("d1, d2",)
    assert parsed.notes == (
        "read as one id each, though they hold a comma: 2 ('d1, d2', 'd3,d4'); several ids stand "
        "apart by line breaks",
    )


def test_a_tag_may_hold_a_comma() -> None:
    (case,) = csv('query,tags\nq,"city=Ankara, Turkey;x=1"\n').cases
    assert case.tags == {"city": "Ankara, Turkey", "x": "1"}


def test_rows_of_one_query_are_one_case() -> None:
    parsed = csv(
        "query,expected,grade,forbidden,split,family,tags,language,intent,description\n"
        "q,a,2,,test,f,x=1;y=2,tr,lookup,note\n"
        "q,b,0,,,,,,,\n"
        "q,c,,yes,,,,,,\n"
        'q,,,"d\ne",,,,,,\n'
        "q,a,2,no,test,f,,,,\n"
    )
    (case,) = parsed.cases
    assert labels(parsed)["q"] == {
        "family_key": "f",
        "tags": {"x": "1", "y": "2"},
        "language": "tr",
        "intent": "lookup",
        "description": "note",
        "expected": {"document_ids": ("a",)},
        "forbidden": {"document_ids": ("c", "d", "e")},
        "document_relevance": {"a": 2, "b": 0},
    }
    assert case.split == "test"
    assert parsed.notes == ("repeated judgements merged: 1",)


def test_phrases_of_one_document_are_alternatives() -> None:
    parsed = csv(
        "query,document,content,grade\n"
        "q,r.pdf,grew,1\nq,r.pdf,gelirleri,\nq,,anywhere,\nq,s.pdf,,\nq,r.pdf,,\n"
    )
    assert labels(parsed)["q"]["content"] == (
        {"document": "r.pdf", "content_contains": ("grew", "gelirleri")},
        {"content_contains": ("anywhere",)},
        {"document": "s.pdf"},
        {"document": "r.pdf"},
    )


def test_documents_beside_grades_alone_are_ids() -> None:
    parsed = csv("query,document,grade\nq,d1,3\n")
    assert labels(parsed)["q"]["document_relevance"] == {"d1": 3}
    assert parsed.notes == ("the graded column 'document' was read as document ids",)


@pytest.mark.parametrize(
    ("row", "forbidden"),
    [
        ("q,a,1", ("a",)),
        ("q,a,X", ("a",)),
        ("q,a,TRUE", ("a",)),
        ("q,a,0", ()),
        ("q,a,b", ("b",)),
        ("q,,1", ("1",)),
        ("q,,yes", ("yes",)),
    ],
)
def test_forbidden_is_a_flag_of_its_row_or_ids(row: str, forbidden: tuple[str, ...]) -> None:
    (case,) = csv(f"query,expected,forbidden\n{row}\n").cases
    assert case.forbidden.document_ids == forbidden


def test_a_grade_map_is_explicit() -> None:
    text = "query,expected,grade\nq,a,Perfect\nq,b,0.5\n"
    parsed = csv(text, grades={"Perfect": 3, "0.5": 1})
    assert parsed.cases[0].document_relevance == {"a": 3, "b": 1}
    with pytest.raises(
        GoldError, match=r"q.csv:3: grade '0.5' is not in the grade map \(it maps P"
    ):
        csv(text, grades={"Perfect": 3})


def test_a_split_is_the_one_named_or_the_default() -> None:
    cases = csv("query,expected,split\na,x,\nb,y,test\n", split="development").cases
    assert [case.split for case in cases] == ["development", "test"]


HEADERS = {
    "query,docid,rating\n": "'docid' (did you mean 'expected'?), 'rating' (did you mean 'grade'?)",
    "query,docid\n": "--map expected=docid",
    "qurey,expected\n": "no column 'query'; unknown column 'qurey' (did you mean 'query'?)",
    "Question,Answer\n": "--map query=Question, or mapping={'query': 'Question'} in Python; what",
    "question,cevap\n": "An answer in words of its own is no phrase to be found: quote a document",
    "soru,expected\n": "'soru' (did you mean 'query'?)",
    "how do I pay?,billing.md\n": "the first row names the columns, and found there: how do I pay?",
    "query,expected,colour\n": "unknown column 'colour'; the first row",
    "query,expected,query\n": "column 'query' stands twice",
    "query,a,b,a\n": "column 'a' stands twice",
    "expected,grade\n": "no column 'query'",
}


@pytest.mark.parametrize("header", HEADERS, ids=lambda h: h.strip())
def test_a_header_is_refused_kindly(header: str) -> None:
    with pytest.raises(GoldError) as caught:
        csv(header + "a,b,c,d\n")
    assert HEADERS[header] in str(caught.value)
    assert caught.value.where == "q.csv:1"


def test_a_mapping_says_what_is_read() -> None:
    parsed = csv("Question,url,author\nq,x,me\n", mapping={"query": "question", "expected": "url"})
    assert labels(parsed) == {"q": {"expected": {"document_ids": ("x",)}}}
    assert parsed.notes == ("columns not read: author",)
    with pytest.raises(GoldError, match=r"no column 'expected' \(mapped to 'link'\)"):
        csv("q,url\nq,x\n", mapping={"query": "q", "expected": "link"})
    with pytest.raises(BadInputError, match="the mapping names 'docid'"):
        csv("q,url\nq,x\n", mapping={"docid": "url"})


def test_columns_that_begin_with_an_underscore_are_comments() -> None:
    parsed = csv("query,expected,_todo\nq,x,ask\n")
    assert parsed.notes == ()


ROWS = {
    "query,expected,grade\nq,a,1.5\n": ("q.csv:2", "a grade is a whole number, found '1.5'"),
    "query,expected,grade\nq,a,1.0\n": ("q.csv:2", "a grade is a whole number, found '1.0'"),
    "query,expected,grade\nq,a,high\n": ("q.csv:2", "found 'high'"),
    "query,expected,grade\nq,a,101\n": ("q.csv:2", "document_relevance.a: expected less than"),
    "query,expected,grade\nq,,2\n": ("q.csv:2", "grade 2 without an id in the column 'expected'"),
    "query,expected,grade\n\nq,a,1\nq,a,2\n": ("q.csv:4", "graded 2 here and 1 in row 3"),
    "query,expected\n,a\n": ("q.csv:2", "a row with expected but without a query"),
    "query,expected,split\nq,a,dev\n": ("q.csv:2", "split: expected 'development' or 'test'"),
    "query,expected,family\nq,a,f\nq,b,g\n": ("q.csv:3", "family is 'g' here and 'f' in row 2"),
    "query,expected,tags\nq,a,x=1;x=2\n": ("q.csv:2", "tag 'x' stands twice"),
    'query,expected,tags\nq,a,"x=1, y=2"\n': ("q.csv:2", "found 'x=1, y=2'; tags are written key="),
    "query,expected,tags\nq,a,red\n": ("q.csv:2", "found 'red'; tags are written key=value"),
    "query,expected,grade,forbidden\nq,a,2,yes\n": ("q.csv:2", "forbidden but graded 2"),
    "query,expected,forbidden\nq,a,\nq,,a\n": ("q.csv:2", "'a' is both expected and forbidden"),
    "query,content,forbidden\nq,a,yes\n": ("q.csv:2", "cannot be forbidden"),
    "query,expected\nwine, red,d1\n": ("q.csv:2", "3 cells under 2 column names"),
    'query,expected\n"a\nb","c"d\n': ("q.csv:2", "not csv: ',' expected after '\"'"),
    'query,expected\nx,y\n"never closed,d1\nz,w\n': ("q.csv:3", "not csv: unexpected end of data"),
    "query,expected\n": ("q.csv", "there are no rows under the header"),
    f"query,expected\n{'x' * 8193},d\n": ("q.csv:2", "request.query: a query of 8,193 bytes"),
    "query,expected\nq,a\x07b\n": ("q.csv:2", "an id must be printable text"),
    "query,expected\nq,a\x00b\n": ("q.csv:2", "a NUL character"),
}


@pytest.mark.parametrize("text", ROWS, ids=range(len(ROWS)))
def test_a_row_is_refused(text: str) -> None:
    where, finding = ROWS[text]
    with pytest.raises(GoldError) as caught:
        csv(text)
    assert finding in caught.value.message
    assert caught.value.where == where


def test_utf16_is_recognised_but_not_guessed() -> None:
    data = "query\texpected\nçok\td1\n".encode("utf-16")
    with pytest.raises(GoldError, match="the file begins like UTF-16"):
        csv(data)
    assert list(labels(csv(data, encoding="utf-16"))) == ["çok"]
    with pytest.raises(GoldError, match="NUL"):
        csv("query,expected\n".encode("utf-16-le"))
    with pytest.raises(BadInputError, match="no text encoding is called 'klingon'"):
        csv(data, encoding="klingon")
    with pytest.raises(BadInputError, match="no text encoding is called 'hex'"):
        csv(data, encoding="hex")


FORMULAS = ["=1+1", "+1", "-1", "@x", "'=x", "''=x", "'quoted'", "a=b", "plain", 'a"b\nc,d']


@pytest.mark.parametrize("sign", "=+-@＝＋－＠")
def test_what_a_spreadsheet_would_run_gets_an_apostrophe(sign: str) -> None:
    assert format_delimited([[f"{sign}1"]]) == f"'{sign}1\r\n"
    assert list(labels(csv(format_delimited([["query"], [f"{sign}1"]])))) == [f"{sign}1"]


def test_formulas_are_protected_and_read_back() -> None:
    text = format_delimited([["query", "expected"], *([cell, "d"] for cell in FORMULAS)])
    cells = [row.partition(",")[0] for row in text.split("\r\n")[1:8]]
    assert cells == ["'=1+1", "'+1", "'-1", "'@x", "''=x", "'''=x", "'quoted'"]
    parsed = csv(text)
    assert list(labels(parsed)) == FORMULAS
    assert parsed.notes == ("apostrophes taken off that kept cells from being run: 6",)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), max_size=4))
def test_every_text_survives_csv(texts: list[str]) -> None:
    texts = [text.strip() or "x" for text in texts if "\x00" not in text]
    table = read_delimited(
        format_delimited([["query", "content"], *([text, "x"] for text in texts)]).encode(),
        name="q.csv",
    )
    read = [table.text(cells[0], "query") for _, cells in table.rows]
    assert read == texts


@pytest.mark.soak
@given(st.binary(max_size=60) | st.text("query,expd\"\n;\t='", max_size=40).map(str.encode))
def test_any_bytes_give_cases_or_a_typed_error(data: bytes) -> None:
    try:
        parsed = csv(b"query,expected,grade\n" + data)
    except EvalnbError:
        return
    assert all(isinstance(case, GoldCase) for case in parsed.cases)


def frame(**columns: Any) -> Parsed:
    return parse_table(read_frame(pd.DataFrame(columns)))


def test_a_data_frame_has_the_columns_of_the_csv() -> None:
    parsed = frame(
        query=["a", "a", "b", "c"],
        expected=["x", ["y", "z"], None, pd.NA],
        grade=[1.0, 2.0, np.nan, np.nan],
        forbidden=[False, False, False, False],
    )
    assert labels(parsed) == {
        "a": {
            "expected": {"document_ids": ("x", "y", "z")},
            "document_relevance": {"x": 1, "y": 2, "z": 2},
        },
        "b": {},
        "c": {},
    }


@pytest.mark.parametrize("ids", ["d", ["d"], np.array("d"), np.array(["d"]), [np.array("d")]])
def test_a_cell_of_an_array_is_what_it_holds(ids: Any) -> None:
    parsed = parse_table(read_records([{"query": "q", "expected": ids}], name="list"))
    assert labels(parsed) == {"q": {"expected": {"document_ids": ("d",)}}}


@pytest.mark.parametrize("ids", [[7, 8], np.array([7, 8]), pd.Series([7, 8], dtype="Int64")])
def test_whole_numbers_are_ids(ids: Any) -> None:
    parsed = frame(query=["a", "b"], expected=ids)
    assert [case.expected.document_ids for case in parsed.cases] == [("7",), ("8",)]


@pytest.mark.parametrize(
    ("column", "cell", "finding"),
    [
        ("expected", 7.0, "row 1, column 'expected': found the number 7.0"),
        ("expected", True, "row 1, column 'expected': found True, expected a text"),
        ("expected", pd.Timestamp("2024-01-02"), "found the date or time 2024-01-02"),
        ("expected", {"a": 1}, "found {'a': 1}, expected a text"),
        ("expected", b"d", "found b'd', expected a text; decode it first"),
        ("expected", bytearray(b"d"), "expected a text; decode it first"),
        ("content", ["a", "b"], "expected one text; give one a row"),
        ("grade", 0.5, "a grade is a whole number, found '0.5'"),
    ],
)
def test_a_cell_of_a_frame_is_refused(column: str, cell: Any, finding: str) -> None:
    others = {"expected": ["x"]} if column == "grade" else {}
    with pytest.raises(GoldError) as caught:
        frame(query=["q"], **{column: [cell]}, **others)
    assert finding in str(caught.value)


def test_a_frame_is_told_what_python_has() -> None:
    for columns, remedy in (
        ({"question": ["a"]}, "mapping={'query': 'question'}"),
        ({"query": ["a"], "expected": ["x"], "grade": ["high"]}, "grades={'0.5': 1, '1': 2}"),
    ):
        with pytest.raises(GoldError) as caught:
            frame(**columns)
        assert remedy in str(caught.value)
        assert "--" not in str(caught.value)


def test_a_frame_without_our_columns_says_so() -> None:
    with pytest.raises(GoldError, match="DataFrame columns: no column 'query'; unknown column '0'"):
        parse_table(read_frame(pd.DataFrame([["a", "b"]])))


def test_records_are_rows() -> None:
    parsed = parse_table(read_records([{"query": "a", "expected": "x"}, {"query": "b"}], name="l"))
    assert labels(parsed) == {"a": {"expected": {"document_ids": ("x",)}}, "b": {}}
