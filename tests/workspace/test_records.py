"""Records: corpus.json, one record a line, BEIR; wrong ones are refused with their place."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest

from evalnb.errors import BadInputError, NotFoundError
from evalnb.workspace.ingest.records import read_corpus, read_records_file


def lines(*records: object) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def read(path: Path) -> list[tuple[str, str, str | None, str]]:
    found = read_records_file(path, source_key="default")
    return [(key, d.path, d.title, d.text) for key, d in found]


def test_a_corpus(tmp_path: Path) -> None:
    path = tmp_path / "corpus.json"
    corpus = {
        "sources": [
            {"key": "a", "documents": [{"path": "x", "title": "X", "text": "one"}]},
            {"key": "b", "documents": [{"path": "x", "text": "two"}]},
        ],
        "cases": [{"anything": "is gold, and not read here"}],
    }
    path.write_text(json.dumps(corpus))
    assert read(path) == [("a", "x", "X", "one"), ("b", "x", None, "two")]


def test_one_record_a_line(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + lines({"path": "x", "text": "one"}) + b"\n")
    assert read(path) == [("default", "x", None, "one")]


def test_beir(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(
        lines(
            {"_id": "d1", "title": "T", "text": "one", "metadata": {"url": "x"}},
            {"_id": "d2", "title": "", "text": "two"},
            {"_id": "d3", "title": "only a title", "text": ""},
        )
    )
    assert read(path) == [
        ("default", "d1", "T", "one"),
        ("default", "d2", None, "two"),
        ("default", "d3", "only a title", "only a title"),
    ]


def test_everything_a_record_can_say() -> None:
    corpus = {
        "sources": [
            {
                "key": "laws",
                "documents": [
                    {
                        "path": "aml.md",
                        "text": "text",
                        "identifiers": ["AML-17"],
                        "language": "tr",
                        "effective_from": "2020-01-01",
                        "effective_to": "2020-12-31",
                    }
                ],
            }
        ]
    }
    ((_, document),) = read_corpus(corpus, where="corpus")
    assert document.identifiers == ("AML-17",)
    assert document.language == "tr"
    assert document.effective_from == dt.date(2020, 1, 1)
    assert document.effective_to == dt.date(2020, 12, 31)


def test_what_makes_another_revision() -> None:
    def digest(**changes: object) -> str:
        record = {"path": "p", "text": "t", "title": "T", "identifiers": ["i"]} | changes
        ((_, document),) = read_corpus(
            {"sources": [{"key": "k", "documents": [record]}]}, where="corpus"
        )
        return document.bytes_sha256

    same = {"effective_from": "2020-01-01"}, {"language": "tr"}
    other = {"text": "u"}, {"title": "U"}, {"identifiers": []}
    assert {digest(**change) for change in same} == {digest()}
    assert len({digest(**change) for change in other} | {digest()}) == 4


WRONG = [
    (b'{"path": "x", "text": "a"}\n{"path": "x"', r":2: not strict JSON"),
    (b'{"path": "x", "text": "a", "text": "b"}\n', r":1: the key \"text\" stands twice"),
    (lines({"text": "a"}), r":1: path is missing"),
    (lines({"path": "", "text": "a"}), r":1: path: an id must not be empty"),
    (lines({"path": "x" * 513, "text": "a"}), r":1: path: an id of 513 bytes"),
    (lines({"path": "x", "text": 1}), r":1: text: expected a text, found 1"),
    (lines({"path": "x", "text": "a", "txt": ""}), r":1: txt: unknown key; did you mean 'text'"),
    (lines({"path": "x", "text": "a\u0000"}), r":1: text: the text holds a NUL character"),
    (lines({"path": "x", "text": "a", "effective_from": "2020-13-01"}), r":1: effective_from: "),
    (
        lines(
            {"path": "x", "text": "", "effective_from": "2021-01-01", "effective_to": "2020-01-01"}
        ),
        r":1: effective_to 2020-01-01 is before effective_from 2021-01-01",
    ),
    (b"", "the file is empty"),
    (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 25\n", "a Git LFS pointer"),
    (b'["x"]\n', r":1: expected"),
    (b'{"path": "x", "text": "\xff"}\n', r":1: byte 0xff"),
    (b'{"path": "x", "text": "\\ud800"}\n', r":1: not strict JSON: a lone surrogate"),
]


@pytest.mark.parametrize(("data", "message"), WRONG)
def test_wrong_lines(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_bytes(data)
    with pytest.raises(BadInputError, match=message):
        read(path)


WRONG_CORPORA = [
    ({}, "sources is missing"),
    ({"sources": []}, "sources: expected"),
    ({"sources": [{"documents": []}]}, r"sources\[0\].key is missing"),
    ({"sources": [{"key": "k", "documents": [{"path": 1}]}]}, r"sources\[0\].documents\[0\].path"),
    ({"sources": [], "documents": []}, "documents: unknown key"),
]


@pytest.mark.parametrize(("corpus", "message"), WRONG_CORPORA)
def test_wrong_corpora(corpus: dict[str, object], message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        list(read_corpus(corpus, where="corpus"))


def test_a_missing_file(tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").touch()
    with pytest.raises(NotFoundError, match=r"near it: docs.jsonl"):
        read(tmp_path / "doc.jsonl")


def test_one_path_with_two_texts_is_refused_unless_dates_tell_them_apart(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    again = {"path": "x", "text": "one"}
    path.write_bytes(lines(again, again, {"path": "x", "text": "two"}))
    with pytest.raises(BadInputError, match=r"docs.jsonl:3.*'x' holds another text than at .*:1"):
        read(path)
    dated = [
        {"path": "x", "text": text, "effective_from": f"{text}-01-01"} for text in ("2024", "2025")
    ]
    path.write_bytes(lines(*dated))
    assert [text for *_, text in read(path)] == ["2024", "2025"]
    corpus = {"sources": [{"key": "a", "documents": [again, {"path": "x", "text": "two"}]}]}
    with pytest.raises(BadInputError, match="a, document 2"):
        list(read_corpus(corpus, where="corpus.json"))
