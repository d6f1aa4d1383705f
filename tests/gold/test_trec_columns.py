"""Columns of bytes: the same fields and numbers as reading them one by one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.gold.trec_columns import (
    DOCUMENT,
    PAD,
    QUERY,
    RANK,
    SCORE,
    Columns,
    Unusual,
    hash_texts,
)


def _columns(lines: bytes, separator: str = " ") -> Columns:
    padded = bytes(PAD) + lines + bytes(PAD)
    return Columns(np.frombuffer(padded, np.uint8), ord(separator))


def _scores(*texts: str) -> list[float]:
    lines = "".join(f"q Q0 d.{n} {n} {text} t.5\n" for n, text in enumerate(texts))
    return _columns(lines.encode()).decimals(SCORE).tolist()


def test_fields() -> None:
    rows = _columns(b"q1 Q0 a 1 2.5 t\nq22 Q0 long_document_id 20 1 t\n")
    both = np.array([0, 1])
    assert len(rows) == 2
    assert rows.texts(QUERY, both) == [b"q1", b"q22"]
    assert rows.texts(DOCUMENT, both[::-1]) == [b"long_document_id", b"a"]
    first, second = rows.whole_numbers(RANK).tolist()
    assert first < second
    assert rows.decimals(SCORE).tolist() == [2.5, 1.0]
    rows.cut(1)
    assert (len(rows), rows.n_bytes) == (1, 16)


@pytest.mark.parametrize(
    "lines",
    [
        b"q Q0 a 1 2.5\n",
        b"q Q0 a 1 2.5 t u\n",
        b"q Q0 a 1 2.5 t\n\n",
        b"\nq Q0 a 1 2.5 t\n",
        b"q  Q0 a 1 2.5 t\n",
        b" q Q0 a 1 2.5\n",
        b"q Q0 a 1 2.5 \n",
        b"q Q0\ta 1 2.5 t\n",
        b"q Q0 a 1 2.5 t\nq Q0 a 1 2.5\n",
        b"q Q0 a 1 2.5\nq Q0 a 1 2.5 t u\n",
        b"q Q0 a\x01 1 2.5 t\n",
        b"q\tQ0\ta\t1\t2.5\tt\n",
    ],
)
def test_anything_but_six_fields_between_single_separators(lines: bytes) -> None:
    with pytest.raises(Unusual):
        _columns(lines)


@pytest.mark.parametrize(
    "text",
    [
        "0", "1", "12.5", "-12.5", "+12.5", ".5", "5.", "-.5", "-0.0", "00012.50", "1e5", "-1.5E-3",
        "15.780599594116211", "0.1234567890123456", "0.12345678901234567", "123456789.5",
        "12345678", "1234567890123456789", "99999999.9999999999999999", "9007199254740993",
        "9007199254740992.5", "0.30000000000000004", "1e-320", "0.000000000000000000000001",
        "16777217", "4503599627370497.5",
    ],
)  # fmt: skip
def test_decimals_by_hand(text: str) -> None:
    assert _scores(text) == [float(text)]
    assert _scores("1.5", text, "2.5") == [1.5, float(text), 2.5]


@pytest.mark.parametrize(
    "text",
    ["nan", "inf", "-inf", "1e999", "x", "-", ".", "1.2.3", "1,5", "1_0", "0x1", "--1", "1e"],
)
def test_what_is_no_finite_decimal(text: str) -> None:
    with pytest.raises(Unusual):
        _scores("1.5", text)


_NUMBERS = st.floats(-1e18, 1e18, allow_nan=False) | st.floats(-1000, 1000)
_DECIMALS = st.one_of(
    _NUMBERS.map(repr),
    _NUMBERS.map("{:.6f}".format),
    st.floats(-1000, 1000, width=32).map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.from_regex(r"[+-]?[0-9]{1,9}\.[0-9]{0,18}", fullmatch=True).filter(str.isascii),
)


@given(st.lists(_DECIMALS, min_size=1, max_size=6))
def test_decimals_are_those_of_float(texts: list[str]) -> None:
    assert _scores(*texts) == [float(text) for text in texts]


def test_many_long_decimals_are_those_of_float() -> None:
    rng = np.random.default_rng(7)
    values = rng.gamma(3, 5, 200_000) * 10.0 ** rng.integers(-4, 6, 200_000)
    texts = [repr(value) for value in values.tolist()]
    assert _scores(*texts) == values.tolist()


def _steps(texts: list[str]) -> list[list[bool]] | None:
    lines = "".join(f"q Q0 d.{n} {n} {text} t.5\n" for n, text in enumerate(texts))
    found = _columns(lines.encode()).steps(SCORE)
    return None if found is None else [flags.tolist() for flags in found]


def _known_steps(texts: list[str]) -> list[list[bool]]:
    numbers = [float(text) for text in texts]
    pairs = list(pairwise(numbers))
    return [[b > a for a, b in pairs], [b == a for a, b in pairs]]


@given(
    st.integers(1, 8),
    st.lists(st.integers(0, 50) | st.integers(0, 10**7 - 1), min_size=1),
    st.data(),
)
def test_texts_of_as_many_digits_compare_like_their_numbers(
    digits: int, whole: list[int], data: st.DataObject
) -> None:
    part = st.integers(0, 10**digits - 1)
    texts = [f"{n}.{data.draw(part):0{digits}}" for n in whole]
    assert _steps(texts) == _known_steps(texts)


@given(st.lists(_DECIMALS, min_size=1, max_size=6))
def test_other_texts_are_compared_rightly_or_not_at_all(texts: list[str]) -> None:
    assert _steps(texts) in (None, _known_steps(texts))


@pytest.mark.parametrize(
    "texts",
    [["1", "2"], ["1.0", "-1.0"], ["1.0", "1.00"], ["1.0", "x.0"], ["1.0", ".0"], ["1.5", "105"]],
)
def test_texts_that_do_not_compare(texts: list[str]) -> None:
    assert _steps(texts) is None


_RANK = st.integers(0, 10**8 - 1) | st.integers(0, 30)


@given(st.lists(st.tuples(_RANK, st.integers(1, 8)), min_size=1, max_size=6))
def test_ranks_compare_as_numbers(ranks: list[tuple[int, int]]) -> None:
    lines = "".join(f"q Q d {number:0{width}} 1 t\n" for number, width in ranks)
    found = _columns(lines.encode()).whole_numbers(RANK).tolist()
    numbers = [number for number, _ in ranks]
    assert [[a < b for a in found] for b in found] == [[a < b for a in numbers] for b in numbers]


@pytest.mark.parametrize("text", ["-1", "+1", "1.0", "x", "123456789", "1e3", "Q0"])
def test_what_is_no_plain_rank(text: str) -> None:
    with pytest.raises(Unusual):
        _columns(f"q Q d {text} 1 t\n".encode()).whole_numbers(RANK)


_FIELD = st.text("ab019#é", min_size=1, max_size=20)


@given(st.lists(st.tuples(_FIELD, _FIELD), min_size=1, max_size=8))
def test_equal_fields_hash_alike_wherever_they_stand(pairs: list[tuple[str, str]]) -> None:
    rows = _columns("".join(f"{q} Q0 {d} 1 1 t\n" for q, d in pairs).encode())
    for column, position in ((QUERY, 0), (DOCUMENT, 1)):
        texts = [pair[position].encode() for pair in pairs]
        hashes = rows.hashes(column, bound=64).tolist()
        assert hashes == [hash_texts([text])[0] for text in texts]
        assert len(set(hashes)) == len(set(texts))


def test_a_field_past_its_bound() -> None:
    with pytest.raises(Unusual):
        _columns(b"q Q0 abcdef 1 1 t\n").hashes(DOCUMENT, bound=5)
