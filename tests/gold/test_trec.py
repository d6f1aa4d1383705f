"""TREC files: what is read, what is refused and where, and that writing reads back."""

from __future__ import annotations

import gzip
from contextlib import suppress
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.errors import GoldError, LimitExceededError, NotFoundError
from evalnb.gold import trec_rows
from evalnb.gold.trec import (
    Qrels,
    Topics,
    count_rank_contradictions,
    format_qrels,
    format_run,
    format_topics,
    parse_qrels,
    parse_run,
    parse_topics,
    qrels_to_gold,
    rank_documents,
)


def _grades(text: str) -> dict[str, dict[str, int]]:
    return {q: dict(d) for q, d in parse_qrels(text.encode(), name="x.qrels").grades.items()}


def _scores(text: str) -> dict[str, dict[str, float]]:
    return {q: dict(d) for q, d in parse_run(text.encode(), name="x.run").scores.items()}


@pytest.mark.parametrize(
    ("text", "grades"),
    [
        ("q1 0 d1 1\nq2 0 d2 0\n", {"q1": {"d1": 1}, "q2": {"d2": 0}}),
        ("q1\t0\td1\t1", {"q1": {"d1": 1}}),
        ("  q1   0 \t d1  2  \n", {"q1": {"d1": 2}}),
        ("q1 0 d1 1\r\nq1 0 d2 0\r\n", {"q1": {"d1": 1, "d2": 0}}),
        ("\ufeffq1 0 d1 1\r\n", {"q1": {"d1": 1}}),
        ("q1\t0\tmy report.pdf\t1\n", {"q1": {"my report.pdf": 1}}),
        ("q1 0 d1 -2\nq1 0 d2 +3\n", {"q1": {"d1": -2, "d2": 3}}),
        ("q1 Q0 d1 1\n\n\n", {"q1": {"d1": 1}}),
        ("q1\u00a01 0 d\u00a01 1\n", {"q1\u00a01": {"d\u00a01": 1}}),
        ("q 0 0710 1\nq 0 1e5 1\nq 0 2.10 2", {"q": {"0710": 1, "1e5": 1, "2.10": 2}}),
    ],
)  # fmt: skip
def test_qrels(text: str, grades: dict[str, dict[str, int]]) -> None:
    assert _grades(text) == grades


def test_r01_a_sharp_sign_inside_an_id_is_part_of_it() -> None:
    text = "t1 0 web_07#2_55 1\n  # second assessor starts here\nt2 0 web_31#0_1 2\n#t3 0 x 1\n"
    assert _grades(text) == {"t1": {"web_07#2_55": 1}, "t2": {"web_31#0_1": 2}}


QRELS_REFUSED = [
    ("q1 0 d1 1\nq1 0 d2 0.5\n", "x.qrels:2: grade '0.5' is not a whole number"),
    ("q1 0 d1 1.0\n", "x.qrels:1: grade '1.0' is not a whole number"),
    ("q1 0 d1 x\n", "x.qrels:1: grade 'x' is not a whole number"),
    ("q1 0 d1 ١\n", "x.qrels:1: grade '١' is not a whole number"),
    ("q1 0 d1 1_0\n", "x.qrels:1: grade '1_0' is not a whole number"),
    ("q1 0 d1 101\n", "x.qrels:1: grade 101 is outside -100..100"),
    ("q1 0 d1 1\n\nq1 0 d1 0\n",
     "x.qrels:3: query 'q1', document 'd1' is graded 0 here and 1 on line 1"),
    ("# c\nq1 d1 1\n", "x.qrels:2: found 3 columns, expected 4"),
    ("query-id\tcorpus-id\tscore\n", "BEIR's layout"),
    ("q1 0 my report.pdf 1\n", "x.qrels:1: found 5 columns, expected 4"),
    ("q1 0 my report.pdf 1\n", "single tabs between the columns"),
    ("q1 0 d\x07 1\n", "x.qrels:1: an id must be printable"),
    ("q1 0 d1 1\rq1 0 d2 1\n", "x.qrels:1: a carriage return stands inside the line"),
    (f"q1 0 {'d' * 513} 1\n", "x.qrels:1: an id of 513 bytes"),
    ("", "x.qrels: the file is empty"),
    (" \r\n\n", "x.qrels: the file is empty"),
    ("# only a comment\n", "x.qrels: the file holds no rows"),
    ("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 250287\n",
     "x.qrels: this is a Git LFS pointer to 250287 bytes"),
    ("{\"q1\": {\"d1\": 1}}", "x.qrels:1: found 3 columns"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), QRELS_REFUSED)
def test_qrels_refused(text: str, message: str) -> None:
    with pytest.raises(GoldError) as caught:
        _grades(text)
    assert message in str(caught.value)


def test_equal_rows_are_merged_and_noted() -> None:
    qrels = parse_qrels(b"q1 0 a 1\nq1 0 a 1\nq1 0 b 0\n")
    assert (qrels.grades, qrels.notes) == ({"q1": {"a": 1, "b": 0}}, ("1 repeated row was merged",))


@pytest.mark.parametrize("rows", ["1 28 0 0\n1 35 0 0\n", "1 28 0 1\n2 35 0 1\n"])
def test_f54_documents_in_the_second_column_are_noted(rows: str) -> None:
    notes = parse_qrels(rows.encode()).notes
    assert "do the documents stand in the second column?" in notes[-1]
    assert parse_qrels(b"1 0 0 1\n2 0 7 1\n").notes == ()


def test_a_gzip_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trec_rows, "UNPACKED_BYTES", 9)
    assert parse_qrels(gzip.compress(b"q 0 d 1\n\n")).grades == {"q": {"d": 1}}
    with pytest.raises(LimitExceededError, match="unpacked bytes: 10 is past the limit of 9"):
        parse_qrels(gzip.compress(b"\n" * 5_000))


def test_a_dropped_byte_order_mark_is_noted() -> None:
    assert parse_qrels("\ufeffq1 0 a 1\n".encode()).notes == (
        "a leading byte order mark was dropped",
    )


def test_an_encoding_is_refused_with_a_hint_and_taken_when_named() -> None:
    data = "q1 0 a 1\nq1 0 gümüş 1\n".encode("cp1254")
    with pytest.raises(GoldError, match=r"x.qrels:2: byte 0xfc .*encoding='cp1254'"):
        parse_qrels(data, name="x.qrels")
    assert "gümüş" in parse_qrels(data, encoding="cp1254").grades["q1"]
    wide = "q1 0 gümüş 1\n".encode("utf-16")
    with pytest.raises(GoldError, match="begins like UTF-16"):
        parse_qrels(wide)
    assert "gümüş" in parse_qrels(wide, encoding="utf-16").grades["q1"]


@pytest.mark.parametrize(
    ("text", "scores"),
    [
        ("q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 1 t\n", {"q1": {"d1": 2.5, "d2": 1.0}}),
        ("301\tQ0\tFR9-1\t104\t  2.129133\tSTANDARD\n", {"301": {"FR9-1": 2.129133}}),
        ("301\tQ0\tFBIS3-2\t99\t  2.138276\tSTANDARD more junk at", {"301": {"FBIS3-2": 2.138276}}),
        ("q1\tQ0\tmy doc\t1\t2\ttag one\n", {"q1": {"my doc": 2.0}}),
        ("q Q0 a 1 -1e-3 t\nq Q0 b 0 +.5 t", {"q": {"a": -0.001, "b": 0.5}}),
        ("q1 Q0 d1 - 1 t\r\n", {"q1": {"d1": 1.0}}),
        ("q Q0 NA 1 1 t\nq Q0 1e5 2 5. t", {"q": {"NA": 1.0, "1e5": 5.0}}),
        ("q1 Q0 d#1 1 1 t\n# q1 Q0 d2 1 1 t\n", {"q1": {"d#1": 1.0}}),
        ("q Q0 a 1 16777217 t\nq Q0 b 2 16777216 t\n", {"q": {"a": 16777217.0, "b": 16777216.0}}),
    ],
)  # fmt: skip
def test_runs(text: str, scores: dict[str, dict[str, float]]) -> None:
    assert _scores(text) == scores


RUNS_REFUSED = [
    ("q1 Q0 a 1 9.0 s\nq1 Q0 b 2 8.0 s\nq1 Q0 a 3 7.0 s\n",
     "x.run:3: query 'q1' has document 'a' on line 1 and again here"),
    ("q1 Q0 a 1 nan s\n",
     "x.run:1: score 'nan' of query 'q1', document 'a' is not a finite number"),
    ("q1 Q0 a 1 2.0 s\rq1 Q0 b 2 1.0 s\r", "x.run:1: a carriage return stands inside the line"),
    ("q1 Q0 a 1 inf s\n", "score 'inf'"),
    ("q1 Q0 a 1 -Infinity s\n", "score '-Infinity'"),
    ("q1 Q0 a 1 1e999 s\n", "score '1e999'"),
    ("q1 Q0 a 1 1_0 s\n", "score '1_0'"),
    ("q1 Q0 a 1 0x10 s\n", "score '0x10'"),
    ("q1 Q0 a 1 high s\n", "score 'high'"),
    ("q1 Q0 a 1 1.0\n", "x.run:1: found 5 columns, expected 6"),
    ("q1 a 1.0\n", "x.run:1: found 3 columns, expected 6"),
    ("q1 Q0 my doc 1 1.0 s\n", "x.run:1: found 7 columns, expected 6"),
    ("q1 Q0 a\x00 1 1.0 s\n", "x.run:1: the text holds a NUL character"),
    ("", "x.run: the file is empty"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), RUNS_REFUSED)
def test_runs_refused(text: str, message: str) -> None:
    with pytest.raises(GoldError) as caught:
        _scores(text)
    assert message in str(caught.value)


def test_files_plain_and_packed(tmp_path: Path) -> None:
    text = b"q1 Q0 a 1 1.0 bm25\n"
    plain, packed, bad = tmp_path / "a.run", tmp_path / "a.run.gz", tmp_path / "bad.gz"
    plain.write_bytes(text)
    packed.write_bytes(gzip.compress(text))
    bad.write_bytes(gzip.compress(text)[:-9])
    assert parse_run(plain).scores == parse_run(str(packed)).scores == {"q1": {"a": 1.0}}
    assert (parse_run(plain).tag, parse_run(plain).name) == ("bm25", str(plain))
    with pytest.raises(GoldError, match=r"bad\.gz: the gzip file is damaged"):
        parse_run(bad)
    with pytest.raises(NotFoundError, match=r"near it: .*a\.run"):
        parse_run(tmp_path / "b.run")


@pytest.mark.parametrize(
    ("scores", "order"),
    [
        ({"d1": 1.0, "d2": 1.0, "d3": 1.0}, ["d3", "d2", "d1"]),
        ({"a": 0.2, "b": 0.9}, ["b", "a"]),
        ({"a": 16777216.0, "b": 16777217.0}, ["b", "a"]),
        ({"Z": 0.0, "a": 0.0, "é": 0.0, "￥": 0.0, "😀": 0.0}, ["😀", "￥", "é", "a", "Z"]),
        ({"d9": 1.0, "d10": 1.0}, ["d9", "d10"]),
        ({"a": -0.0, "b": 0.0}, ["b", "a"]),
    ],
)
def test_documents_rank_by_score_then_id_both_down(
    scores: dict[str, float], order: list[str]
) -> None:
    assert rank_documents(scores) == order


def test_r24_equal_scores_rank_alike_in_any_row_order() -> None:
    ids = [f"d{i:02}" for i in range(20)]
    orders = {
        tuple(rank_documents(dict.fromkeys(p, 1.0))[:5])
        for p in (ids, ids[::-1], sorted(ids, key=hash))
    }
    assert orders == {("d19", "d18", "d17", "d16", "d15")}
    few = {tuple(rank_documents(dict.fromkeys(p, 1.0))) for p in permutations("abcde")}
    assert few == {("e", "d", "c", "b", "a")}


@given(st.dictionaries(st.text(max_size=3), st.sampled_from([0.0, 1.0])))
def test_ties_compare_as_utf8_bytes(scores: dict[str, float]) -> None:
    known = sorted(scores, key=lambda key: (scores[key], key.encode("utf-8", "surrogatepass")))
    assert rank_documents(scores) == known[::-1]


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        ([(2.0, 1), (1.0, 2)], 0),
        ([(2.0, 0), (1.0, 1)], 0),
        ([(2.4, 1), (1.3, 3)], 0),
        ([(0.2, 0), (0.9, 0)], 1),
        ([(1.0, 2), (2.0, 1)], 0),
        ([(1.0, 1), (2.0, 2), (3.0, 3)], 2),
        ([(1.0, 1), (1.0, 2), (1.0, 1)], 0),
        ([(3.0, 1), (2.0, 9), (1.0, 3)], 1),
        ([(3.0, None), (2.0, 1), (1.0, 1)], 1),
        ([], 0),
    ],
)
def test_rank_contradictions(rows: list[tuple[float, int | None]], count: int) -> None:
    assert count_rank_contradictions([s for s, _ in rows], [r for _, r in rows]) == count


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("q1\tdo goldfish grow\nq2\twifi\r\n", {"q1": "do goldfish grow", "q2": "wifi"}),
        ("# head\n1 a b\n\n2  c\n", {"1": "a b", "2": "c"}),
        ("q1\ta\tb\n", {"q1": "a\tb"}),
        ("q1\twhat is <top> in html?\n", {"q1": "what is <top> in html?"}),
        (
            "<top>\n<num> Number: 301\n<title> International Organized\n  Crime\n<desc> x\n</top>\n"
            "<top><num>302</num><title>Topic: Poliomyelitis</title></top>",
            {"301": "International Organized Crime", "302": "Poliomyelitis"},
        ),
    ],
)  # fmt: skip
def test_topics(text: str, texts: dict[str, str]) -> None:
    assert parse_topics(text.encode()).texts == texts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1\ta\nq1\tb\n", "x:2: topic 'q1' stands on line 1 and again here"),
        ("q1\n", "x:1: topic 'q1' has no text"),
        ("q1\t\n", "x:1: topic 'q1' has no text"),
        ("q\x01\tb\n", "x:1: an id must be printable"),
        ('{"_id": "q1"}\n', "x:1: found"),
        ("<top><num>1</num></top>", "x:1: a topic needs <num> and <title>"),
        (
            "<top><num>1<title>a\n<top><num>2<title>b</top>",
            "x: 2 topics begin with <top> and 1 end",
        ),
        ("<top>\n<num>1\n<title>a\n", "x: 1 topics begin with <top> and 0 end"),
        ("#\n", "x: the file holds no topics"),
        ("\n", "x: the file is empty"),
    ],
)
def test_topics_refused(text: str, message: str) -> None:
    with pytest.raises(GoldError) as caught:
        parse_topics(text.encode(), name="x")
    assert message in str(caught.value)


def test_judgements_become_cases() -> None:
    qrels = Qrels("x.qrels", {"q1": {"a": 2, "b": 0}, "q2": {"c": 0}}, ("a note",))
    gold = qrels_to_gold(qrels, dataset_id="x", split="test")
    first, second = gold.cases
    assert (first.case_id, first.request.query, first.split) == ("q1", "q1", "test")
    assert (first.document_relevance, first.expected.document_ids) == ({"a": 2, "b": 0}, ("a",))
    assert (second.document_relevance, second.expected.document_ids) == ({"c": 0}, ())
    assert first.label_provenance is not None
    assert (first.label_provenance.method, gold.notes) == ("imported", ("a note",))


def test_topics_give_the_queries_and_what_does_not_match_is_noted() -> None:
    qrels = Qrels("x.qrels", {"q1": {"a": 1}, "q2": {"b": 1}})
    gold = qrels_to_gold(qrels, Topics("x.tsv", {"q1": "alpha", "q9": "omega"}))
    assert [(case.case_id, case.request.query) for case in gold] == [("q1", "alpha")]
    assert gold.notes == (
        "1 of 2 judged queries have no topic and are left out: q2",
        "1 of 2 topics have no judgements and are left out: q9",
    )


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"11": "a"}, "no judged query has a topic: q1 against 11"),
        ({"q1": "x" * 8193}, "topic 'q1': .* 8,193 bytes"),
    ],
)
def test_topics_that_cannot_be_asked(texts: dict[str, str], message: str) -> None:
    with pytest.raises(GoldError, match=message):
        qrels_to_gold(Qrels("x.qrels", {"q1": {"a": 1}}), Topics("x.tsv", texts))


_ID = st.sampled_from(["a", "a b", "007", "1e5", "NA", "d#1", "é", "日本", "d\u00a0x", "x.y/z?q=1"])
_NUMBER = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-5, 5).map(float)


def _nested(rows: list[tuple[str, str, Any]]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for query, document, number in rows:
        found.setdefault(query, {})[document] = number
    return found


@given(st.lists(st.tuples(_ID, _ID, st.integers(-100, 100)), min_size=1, max_size=8))
def test_written_judgements_read_back(rows: list[tuple[str, str, int]]) -> None:
    assert parse_qrels(format_qrels(_nested(rows)).encode()).grades == _nested(rows)


@given(st.lists(st.tuples(_ID, _ID, _NUMBER), min_size=1, max_size=8))
def test_written_runs_read_back(rows: list[tuple[str, str, float]]) -> None:
    run = parse_run(format_run(_nested(rows), tag="t").encode())
    assert (run.scores, run.tag, run.n_rank_contradictions) == (_nested(rows), "t", 0)


def test_written_topics_read_back() -> None:
    assert parse_topics(format_topics({"q1": "a\n b"}).encode()).texts == {"q1": "a b"}


@pytest.mark.parametrize("bad", ["", " a", "a\tb", "a\nb", "#a"])
def test_ids_that_would_not_read_back_are_refused(bad: str) -> None:
    with pytest.raises(GoldError, match="read back"):
        format_qrels({bad: {"d": 1}})


@pytest.mark.soak
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for parse in (parse_qrels, parse_run, parse_topics):
        with suppress(GoldError):
            parse(data)
