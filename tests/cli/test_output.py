"""What reaches the terminal: the text, never an instruction to the terminal."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.cli.output import note, print_json, printable, show

ESCAPES = [
    ("plain\ttext\n", "plain\ttext\n"),
    ("ğüşiöçİı 日本 🙂", "ğüşiöçİı 日本 🙂"),
    ("\x1b[31m", "\\u001b[31m"),
    ("a\rb\x00\x7f", "a\\u000db\\u0000\\u007f"),
    ("\x9b2J", "\\u009b2J"),
    ("abc\u202edcb\u2066", "abc\\u202edcb\\u2066"),
    ("soft\u00adhyphen", "soft\u00adhyphen"),
]


@pytest.mark.parametrize(("text", "escaped"), ESCAPES)
def test_printable(text: str, escaped: str) -> None:
    assert printable(text) == escaped


@given(st.text())
def test_nothing_printed_is_a_control_character(text: str) -> None:
    assert all(c in "\n\t" or not (ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0) for c in printable(text))


def test_result_and_remark_go_apart(capsys: pytest.CaptureFixture[str]) -> None:
    show("result\x07")
    note("remark\x07")
    assert capsys.readouterr() == ("result\\u0007\n", "remark\\u0007\n")


@given(st.dictionaries(st.text(), st.none() | st.integers() | st.text()))
def test_json_reads_back(document: object) -> None:
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()) as out:
        print_json(document)
    assert json.loads(out.getvalue()) == document


def test_json_has_no_number_that_is_not_finite() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        print_json({"value": float("nan")})
