"""What other JSON readers take, or take differently, is refused with its place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import isinf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evalnb.errors import GoldError
from evalnb.gold.cases import GoldCase
from evalnb.search.request import Hints
from evalnb.strict_json import (
    check_values,
    describe_validation_error,
    format_path,
    load_strict,
    parse_strict,
)

REFUSED = {
    "repeated key": (b'{"q1": 1, "q2": 2, "q1": 3}', 'd.json:1: the key "q1" stands twice'),
    "repeated in depth": (b'[{"a": {"b":\n 1, "b": 2}}]', 'd.json:2: the key "b" stands twice'),
    "repeated by escape": (b'{"a": 1, "\\u0061": 2}', 'the key "a" stands twice'),
    "NaN": (b'{"id": "1", "doi": NaN}', "d.json: doi: nan is not a finite number"),
    "Infinity": (b'{"a": [1, -Infinity]}', "a[1]: -inf is not a finite number"),
    "past a float": (b'{"a": 1e999}', "a: inf is not a finite number"),
    "past 64 bits": (b'{"a": 9223372036854775808}', "a: an integer past 64 bits"),
    "below 64 bits": (b"[-9223372036854775809]", "[0]: an integer past 64 bits"),
    "5,000 digits": (b"1" * 5000, "an integer past 64 bits"),
    "not UTF-8": (b'{"a":\n"\xff"}', "d.json:2: byte 0xff (byte 2 of the line) is not valid UTF-8"),
    "surrogate in bytes": (b'"\xed\xa0\x80"', "d.json:1: byte 0xed"),
    "lone surrogate": (b'"\\ud800"', "a lone surrogate"),
    "lone low surrogate": (b'"\\udc00x"', "surrogate"),
    "NUL in a text": (b'{"a": "\\u0000"}', "a: the text holds a NUL"),
    "NUL in a key": (b'{"\\u0000": 1}', "NUL"),
    "raw NUL": (b'"\x00"', "d.json:1: the text holds a NUL"),
    "101 levels": (b"[" * 101 + b"]" * 101, "nested past 100 levels"),
    "100,000 levels": (b"[" * 100_000, "nested past 100 levels"),
    "trailing comma": (b"[1,]", "trailing comma at column 4"),
    "two documents": (b"{} {}", "trailing characters"),
    "nothing": (b" ", "EOF"),
    "single quotes": (b"{'a': 1}", "d.json:1: not strict JSON"),
}


@pytest.mark.parametrize(("data", "finding"), REFUSED.values(), ids=REFUSED)
def test_refused(data: bytes, finding: str) -> None:
    with pytest.raises(GoldError) as caught:
        parse_strict(data, where="d.json")
    assert finding in str(caught.value)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'\xef\xbb\xbf{"a": 1}\r\n', {"a": 1}),
        (b"[" * 100 + b"]" * 100, None),
        (b"[9223372036854775807, -9223372036854775808, 1.7976931348623157e308]", None),
        ('"\\ud83d\\ude00 \ufeff Efﬁcient"'.encode(), "😀 \ufeff Efﬁcient"),
    ],
)
def test_taken(data: bytes, value: object) -> None:
    assert parse_strict(data, where="d.json") == (json.loads(data) if value is None else value)


def test_a_line_keeps_its_number() -> None:
    with pytest.raises(GoldError, match=r"cases.jsonl:7: the key") as caught:
        parse_strict(b'{"a": 1, "a": 2}', where="cases.jsonl", line=7)
    assert caught.value.remedy


@pytest.mark.soak
@given(st.binary(max_size=60))
def test_any_bytes_are_read_as_the_standard_library_does_or_refused(data: bytes) -> None:
    try:
        value = parse_strict(data, where="d.json")
    except GoldError:
        return
    assert value == json.loads(data.removeprefix(b"\xef\xbb\xbf"))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, float):
        yield value
    elif isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _numbers(part)


@pytest.mark.soak
@given(JSON)
def test_what_is_clean_passes_and_what_is_not_is_refused(value: Any) -> None:
    text = json.dumps(value)
    dirty = "\\u0000" in text.replace("\\\\", "") or any(map(isinf, _numbers(value)))
    if dirty:
        with pytest.raises(GoldError):
            parse_strict(text.encode(), where="d.json")
        with pytest.raises(GoldError):
            check_values(value, where="d")
    else:
        assert parse_strict(text.encode(), where="d.json") == value
        check_values(value, where="d")


def test_values_of_python_are_held_to_the_same() -> None:
    loop: list[Any] = []
    loop.append(loop)
    for value in ({1: "a"}, {"a": "\ud800"}, ["\x00"], (float("nan"),), 2**64, loop):
        with pytest.raises(GoldError, match=r"^here: "):
            check_values(value, where="here")


CASE = {"case_id": "a", "split": "test", "request": {"query": "q"}}
SENTENCES = [
    ({**CASE, "split": "dev"}, "split: expected 'development' or 'test', found 'dev'"),
    ({**CASE, "familly_key": "f"}, "familly_key: unknown key; did you mean 'family_key'?"),
    ({"case_id": "a", "request": {"query": "q"}}, "split is missing"),
    ({"splitt": "test"}, "splitt: unknown key; did you mean 'split'? (3 more of its fields are"),
    ({**CASE, "request": {"query": " "}}, "request.query: the query is empty"),
    ({**CASE, "request": {"query": "q", "as_of": 3}}, "request.as_of: expected a date such as"),
    ({**CASE, "document_relevance": {"a b": 1.5}}, "document_relevance['a b']: expected a whole"),
    ({**CASE, "document_relevance": {"a": True}}, "document_relevance.a: expected a whole number"),
    ({**CASE, "document_relevance": {"a": 101}}, "expected less than or equal to 100, found 101"),
    ({**CASE, "expected": {"document_ids": ["a", 3]}}, "expected.document_ids[1]: expected a text"),
    ({**CASE, "spans": [{"revision_id": "r", "start": 3, "end": 2}]}, "runs backwards"),
    ({**CASE, "request": {"query": "q", "hints": {"weights": {"a": -1}}}}, "hints.weights.a: exp"),
    ([1], "expected an object, found [1]"),
]


@pytest.mark.parametrize(("value", "sentence"), SENTENCES)
def test_findings_are_sentences(value: Any, sentence: str) -> None:
    with pytest.raises(ValidationError) as caught:
        GoldCase.model_validate(value)
    described = describe_validation_error(caught.value, known=GoldCase.model_fields)
    assert sentence in described
    assert "pydantic" not in described


def test_a_long_value_is_shortened() -> None:
    with pytest.raises(ValidationError) as caught:
        GoldCase.model_validate({**CASE, "split": "x" * 10_000})
    assert len(describe_validation_error(caught.value)) < 200


def test_a_member_of_a_union_is_not_part_of_the_place() -> None:
    with pytest.raises(ValidationError) as caught:
        Hints.model_validate({"system_options": {"nprobe": []}})
    assert describe_validation_error(caught.value).startswith("system_options.nprobe: expected")


def test_paths_are_spelled() -> None:
    assert format_path(()) == ""
    assert format_path(("a", 0, "b c", "d")) == "a[0]['b c'].d"


def test_a_record_is_loaded_or_explained() -> None:
    assert load_strict(Hints, b'{"rrf_k": 9}', where="h.json") == Hints(rrf_k=9)
    with pytest.raises(GoldError, match=r"h.json: rrf_kk: unknown key; did you mean 'rrf_k'"):
        load_strict(Hints, b'{"rrf_kk": 9}', where="h.json")
