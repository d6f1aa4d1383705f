"""cases.jsonl: every refusal names its line and the remedy; nothing is repaired in silence."""

from __future__ import annotations

import gc
import hashlib
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.errors import EvalnbError, GoldError, LimitExceededError, NotFoundError
from evalnb.gold import cases_file
from evalnb.gold.cases import GoldCase, canonical_line
from evalnb.gold.cases_file import read_cases


def line(case_id: str = "a", **fields: Any) -> bytes:
    case = {"case_id": case_id, "split": "development", "request": {"query": "what?"}, **fields}
    return json.dumps(case, ensure_ascii=False).encode() + b"\n"


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def read_bytes(data: bytes) -> list[GoldCase]:
        path, cases = tmp_path / "cases.jsonl", list[GoldCase]()
        path.write_bytes(data)
        assert read_cases(path, cases.append) == hashlib.sha256(data).hexdigest()
        return cases

    return read_bytes


def test_cases_are_read_in_order(read: Any) -> None:
    cases = read(line("ü") + line("b", tags={"a": "\\u0000"}, description="İ"))
    assert [case.case_id for case in cases] == ["ü", "b"]
    assert cases[1].tags == {"a": "\\u0000"}


def test_the_last_line_may_lack_its_end(read: Any) -> None:
    assert len(read(line("a") + line("b").rstrip())) == 2


@pytest.mark.parametrize(
    "fields",
    [
        {"request": {"query": "q", "as_of": "2024-02-29"}},
        {"request": {"query": "q", "hints": {"system_options": {"a": 1.5}}}},
        {"expected": {"document_ids": ["1234567890123456789012"]}},
        {"spans": [{"revision_id": "r", "start": 0, "end": 2**63 - 1}]},
        {"weight": 1e300},
        {"description": ": 1234567890123456789012 \\u0000"},
    ],
)
def test_what_the_fast_reader_doubts_is_cleared(read: Any, fields: dict[str, Any]) -> None:
    (case,) = read(line(**fields))
    assert case == GoldCase.model_validate_json(line(**fields))


def raw(text: str) -> bytes:
    return line().replace(b'"split"', text.encode() + b', "split"')


REFUSED = {
    "repeated key": (raw('"split": "test"'), 'the key "split" stands twice'),
    "repeated in depth": (
        line().replace(b'"what?"', b'"a", "query": "b"'),
        'the key "query" stands twice',
    ),
    "NaN": (raw('"weight": NaN'), "weight: nan is not a finite number"),
    "Infinity": (raw('"weight": -Infinity'), "weight: -inf is not a finite number"),
    "1e999": (raw('"weight": 1e999'), "weight: inf is not a finite number"),
    "1e999 in options": (
        line().replace(b'"what?"', b'"q", "hints": {"system_options": {"a": 1e999}}'),
        "request.hints.system_options.a: inf is not a finite number",
    ),
    "past 64 bits": (
        raw('"spans": [{"revision_id": "r", "start": 0, "end": 9223372036854775808}]'),
        "spans[0].end: an integer past 64 bits",
    ),
    "5,000 digits": (raw('"weight": ' + "9" * 5000), "an integer past 64 bits"),
    "not UTF-8": (line(description="é").decode().encode("latin-1"), "byte 0xe9"),
    "surrogate": (raw('"description": "\\ud800"'), "surrogate"),
    "NUL": (raw('"description": "a\\u0000"'), "description: the text holds a NUL"),
    "NUL in a tag": (raw('"tags": {"a\\u0000": "b"}'), "NUL"),
    "depth": (raw('"tags": ' + "[" * 200 + "]" * 200), "nested past 100 levels"),
    "blank line": (b"\n", "a blank line"),
    "blanks": (b"  \n", "a blank line"),
    "CRLF": (line().replace(b"\n", b"\r\n"), "a carriage return"),
    "not JSON": (b"case a\n", "not strict JSON"),
    "no object": (b"[]\n", "expected an object, found []"),
    "unknown key": (line(familly_key="f"), "familly_key: unknown key; did you mean 'family_key'?"),
    "unknown in request": (
        line(request={"query": "q", "lmit": 3}),
        "request.lmit: unknown key; did you mean 'limit'",
    ),
    "no split": (b'{"case_id": "a", "request": {"query": "q"}}\n', "split is missing"),
    "both": (
        line(expected={"unit_ids": ["u"]}, forbidden={"unit_ids": ["u"]}),
        "unit 'u' is both expected and forbidden",
    ),
    "expected at 0": (
        line(expected={"file_ids": ["f"]}, file_relevance={"f": 0}),
        "file 'f' is expected but graded 0",
    ),
    "forbidden at 1": (
        line(forbidden={"document_ids": ["d"]}, document_relevance={"d": 1}),
        "document 'd' is forbidden but graded 1",
    ),
    "flat expected at 0": (
        line(expected={"asset_ids": ["x"]}, graded_relevance={"x": 0}),
        "asset 'x' is expected but graded 0",
    ),
    "fraction": (line(document_relevance={"d": 0.5}), "document_relevance.d: expected a whole"),
    "whole float": (line(document_relevance={"d": 1.0}), "document_relevance.d: expected a whole"),
    "boolean": (line(document_relevance={"d": True}), "document_relevance.d: expected a whole"),
    "grade 101": (line(document_relevance={"d": 101}), "less than or equal to 100"),
    "flat in none": (line(graded_relevance={"x": 1}), "'x' stands in none of the expected file"),
    "flat in both": (
        line(expected={"asset_ids": ["x"], "file_ids": ["x"]}, graded_relevance={"x": 1}),
        "'x' stands in several of the expected file",
    ),
    "flat and typed apart": (
        line(expected={"file_ids": ["f"]}, file_relevance={"f": 2}, graded_relevance={"f": 1}),
        "file 'f' is graded 2 in file_relevance and 1 in graded_relevance",
    ),
    "edge judged both ways": (
        line(
            edges=[
                {"source": "a", "target": "b", "kind": "cites", "relevant": relevant}
                for relevant in (True, False)
            ]
        ),
        "the edge from 'a' to 'b' (cites) is judged both relevant and not relevant",
    ),
    "backwards": (
        line(spans=[{"revision_id": "r", "start": 5, "end": 5}]),
        "the span [5, 5) is empty or runs backwards",
    ),
    "empty phrase": (line(content=[{"content_contains": [" "]}]), "empty phrase"),
    "phrase of nothing seen": (
        line(content=[{"content_contains": "\u200b \u00ad"}]),
        "empty phrase",
    ),
    "empty document": (line(content=[{"document": "", "content_contains": "x"}]), "empty phrase"),
    "empty content": (line(content=[{}]), "give document, content_contains, or both"),
    "empty path": (line(paths=[[]]), "paths[0]"),
    "zero weight": (line(weight=0), "weight: expected greater than 0"),
    "long id": (line("x" * 513), "513 bytes is past the limit of 512"),
    "long query": (line(request={"query": "x" * 8193}), "8,193 bytes is past the limit of 8,192"),
    "exact without identifiers": (line(request={"query": "q", "exact_only": True}), "exact_only"),
}


@pytest.mark.parametrize(("data", "finding"), REFUSED.values(), ids=REFUSED)
def test_a_line_is_refused(read: Any, tmp_path: Path, data: bytes, finding: str) -> None:
    with pytest.raises(GoldError) as caught:
        read(line("first") + data + line("last"))
    assert finding in caught.value.message
    assert caught.value.where == f"{tmp_path / 'cases.jsonl'}:2"


def test_a_byte_order_mark_is_refused(read: Any) -> None:
    with pytest.raises(GoldError, match=r"cases.jsonl:1: a byte order mark \(.*`evalnb gold pin`"):
        read(b"\xef\xbb\xbf" + line())


def test_an_empty_file_is_refused(read: Any) -> None:
    with pytest.raises(GoldError, match="the file is empty"):
        read(b"")


def test_a_pointer_is_named(read: Any) -> None:
    with pytest.raises(GoldError, match="Git LFS pointer to 250287 bytes"):
        read(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 250287\n")


SEMANTIC = {"method": "human", "annotators": 1, "independent": True, "note": "two readers"}


@pytest.mark.parametrize("labels", [{"intent": "paraphrase"}, {"intent": "figure"}, {"mode": 1}])
@pytest.mark.parametrize(
    "change", [{"method": "synthetic"}, {"annotators": 0}, {"independent": False}, {"note": " "}]
)
def test_a_semantic_case_needs_independent_labels(
    read: Any, labels: dict[str, Any], change: dict[str, Any]
) -> None:
    if "mode" in labels:
        labels = {"request": {"query": "q", "mode": "hybrid"}}
    read(line(**labels, label_provenance=SEMANTIC))
    for provenance in ({"label_provenance": {**SEMANTIC, **change}}, {}):
        with pytest.raises(GoldError, match="needs label_provenance with independent = true"):
            read(line(**labels, **provenance))


def test_keyword_cases_need_none(read: Any) -> None:
    read(line(request={"query": "q", "mode": "keyword"}, intent="exact_phrase"))


def test_a_repeated_case_id_names_both_lines(read: Any) -> None:
    with pytest.raises(GoldError, match="case_id 'a' stands twice: lines 1 and 3"):
        read(line("a") + line("b") + line("a"))


def test_a_family_on_both_splits_names_both_lines(read: Any) -> None:
    with pytest.raises(GoldError, match=r"development \(line 1\) and test \(line 2\)"):
        read(line("a", family_key="f") + line("b", family_key="f", split="test"))
    with pytest.raises(GoldError, match="family 'a' is on both splits"):
        read(line("a") + line("b", family_key="a", split="test"))


def test_doubt_about_a_block_is_settled_line_by_line(read: Any) -> None:
    lines = [line(str(number), description="x" * 3000) for number in range(300)]
    assert len(read(b"".join(lines))) == 300
    lines[200] = line("200", description="\u0000")
    with pytest.raises(GoldError, match=r"cases.jsonl:201: description: the text holds a NUL"):
        read(b"".join(lines))


def test_bounds(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = line("a") + line("b")
    monkeypatch.setattr(cases_file, "CASES_LINES", 2)
    monkeypatch.setattr(cases_file, "CASES_BYTES", len(data))
    assert len(read(data)) == 2
    with pytest.raises(LimitExceededError, match=r"bytes of cases.jsonl: 1\d\d is past"):
        read(data + b" ")
    monkeypatch.setattr(cases_file, "CASES_BYTES", 10_000)
    with pytest.raises(LimitExceededError, match=r"lines of cases.jsonl: 3 is past the limit of 2"):
        read(data + line("c"))


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    (tmp_path / "case.jsonl").touch()
    with pytest.raises(NotFoundError, match=r"near it: case.jsonl"):
        read_cases(tmp_path / "cases.jsonl", print)
    with pytest.raises(EvalnbError, match="found a folder"):
        read_cases(tmp_path, print)


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_left_as_it_was(read: Any, enabled: bool) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        read(line())
        with pytest.raises(GoldError):
            read(b"{}\n")
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: Any) -> Path:
    folder: Path = tmp_path_factory.mktemp("scratch")
    return folder / "cases.jsonl"


@pytest.mark.soak
@given(data=st.binary(max_size=80))
def test_any_bytes_give_a_typed_error(scratch: Path, data: bytes) -> None:
    path = scratch
    path.write_bytes(data)
    with pytest.raises((GoldError, LimitExceededError)):
        read_cases(path, print)


CASES = st.builds(
    lambda **fields: {key: value for key, value in fields.items() if value is not None},
    description=st.none() | st.text(max_size=5),
    weight=st.none() | st.floats(min_value=1e-300, allow_infinity=False),
    tags=st.none() | st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
    document_relevance=st.none() | st.dictionaries(st.text("ab/é ", max_size=3), st.integers()),
)


@pytest.mark.soak
@given(fields=CASES, mutation=st.none() | st.tuples(st.integers(0, 400), st.binary(max_size=3)))
def test_the_fast_reader_takes_what_the_slow_one_takes(
    fields: dict[str, Any], mutation: tuple[int, bytes] | None
) -> None:
    data = line(**fields)
    if mutation:
        at, inserted = mutation
        data = data[: at % len(data)] + inserted + data[at % len(data) :]
    path, clear = Path("cases.jsonl"), not cases_file._is_doubtful(data)
    answers = []
    for parse in (partial(cases_file._parse_line, clear=clear), cases_file._parse_slowly):
        try:
            answers.append(canonical_line(parse(data, path, 3)))
        except GoldError as error:
            answers.append(str(error).encode())
    assert answers[0] == answers[1]
