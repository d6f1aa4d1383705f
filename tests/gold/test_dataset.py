"""A gold directory is what its manifest pins, or it is refused; it is written whole or not."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from evalnb.errors import BadInputError, EvalnbError, GoldError, LimitExceededError, NotFoundError
from evalnb.gold.cases import GoldCase, GoldDataset, canonical_line, dataset_from_cases
from evalnb.gold.dataset import (
    check_dataset_id,
    load_gold_dir,
    pin_gold_dir,
    verify_gold_dir,
    write_gold_dir,
)

LINE = b'{"case_id": "a", "request": {"query": "what?"}, "split": "test"}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "gold"
    made.mkdir()
    (made / "cases.jsonl").write_bytes(LINE)
    pin_gold_dir(made, "demo", "Demo")
    return made


def change_manifest(folder: Path, **fields: Any) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def test_a_pinned_folder_loads_and_verifies(folder: Path) -> None:
    gold = load_gold_dir(folder)
    assert (gold.dataset_id, gold.name, len(gold)) == ("demo", "Demo", 1)
    assert gold.version_sha == hashlib.sha256(LINE).hexdigest()
    assert gold == GoldDataset.model_validate(gold.model_dump())
    manifest, counts = verify_gold_dir(str(folder))
    assert (manifest.version_sha, counts.cases, dict(counts.splits)) == (
        gold.version_sha,
        1,
        {"test": 1},
    )


def test_a_set_shows_what_it_is_and_not_every_case(folder: Path) -> None:
    gold = load_gold_dir(folder)
    assert repr(gold) == (
        f"GoldDataset(dataset_id='demo', name='Demo', version_sha={gold.version_sha!r}, "
        "notes=(), n_cases=1)"
    )
    assert str(gold) == repr(gold)[len("GoldDataset(") : -1].replace(", ", " ")


def test_the_digest_is_of_the_exact_bytes(folder: Path) -> None:
    (folder / "cases.jsonl").write_bytes(LINE.replace(b": ", b":"))
    with pytest.raises(GoldError, match=r"has SHA-256 [0-9a-f]{64}, the manifest pins") as caught:
        load_gold_dir(folder)
    assert "evalnb gold pin" in str(caught.value)
    assert caught.value.where == str(folder / "manifest.json")
    with pytest.raises(GoldError, match="the manifest pins"):
        verify_gold_dir(folder)


@pytest.mark.parametrize(
    ("fields", "finding"),
    [
        ({"case_count": 2}, "holds 1 cases, the manifest says 2"),
        ({"format": "tychora-gold@2"}, "format: expected 'tychora-gold@1', found 'tychora-gold@2'"),
        ({"dataset_id": "a/b"}, "dataset_id: 'a/b' is not a dataset_id"),
        ({"dataset_id": "demo\n"}, "dataset_id: 'demo\\n' is not a dataset_id"),
        ({"version_sha": "ABC"}, "version_sha"),
        ({"case_count": "1"}, "case_count: expected a whole number, found '1'"),
        ({"nme": "x"}, "nme: unknown key; did you mean 'name'?"),
    ],
)
def test_a_manifest_is_refused(folder: Path, fields: dict[str, Any], finding: str) -> None:
    change_manifest(folder, **fields)
    for check in (load_gold_dir, verify_gold_dir):
        with pytest.raises(GoldError) as caught:
            check(folder)
        assert finding in str(caught.value)
        assert str(folder / "manifest.json") in str(caught.value)


def test_a_manifest_is_strict_json(folder: Path) -> None:
    text = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(text.replace("{", '{"name": "other",', 1))
    with pytest.raises(GoldError, match='the key "name" stands twice'):
        load_gold_dir(folder)


def test_a_manifest_of_a_mebibyte_passes_and_one_byte_more_does_not(folder: Path) -> None:
    path = folder / "manifest.json"
    text = path.read_bytes().rstrip()
    path.write_bytes(text + b" " * (1024 * 1024 - len(text)))
    assert load_gold_dir(folder).name == "Demo"
    path.write_bytes(text + b" " * (1024 * 1024 + 1 - len(text)))
    with pytest.raises(LimitExceededError, match="1,048,577 is past the limit of 1,048,576"):
        load_gold_dir(folder)


def test_what_is_missing_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFoundError, match="near it: gold"):
        load_gold_dir(folder.parent / "golf")
    monkeypatch.chdir(folder)
    with pytest.raises(BadInputError, match=r"found a file.*evalnb gold import cases\.jsonl DIR"):
        load_gold_dir("cases.jsonl")
    (folder / "manifest.json").unlink()
    with pytest.raises(NotFoundError, match=r"no manifest.json.*evalnb gold pin"):
        load_gold_dir(folder)
    (folder / "cases.jsonl").unlink()
    with pytest.raises(NotFoundError):
        load_gold_dir(folder)


@pytest.mark.parametrize("good", ["a", "A-1.b_c", "9", "a" * 128, "a.b"])
def test_dataset_ids(good: str) -> None:
    assert check_dataset_id(good) == good


@pytest.mark.parametrize(
    "bad", ["", ".a", "-a", "_a", "a..b", "a/b", "a\\b", "a b", "é", "a\n", "a" * 129, "a\x00"]
)
def test_no_dataset_ids(bad: str) -> None:
    with pytest.raises(ValueError, match="is not a dataset_id"):
        check_dataset_id(bad)


def test_an_edited_set_is_pinned_again(folder: Path) -> None:
    before = load_gold_dir(folder)
    (folder / "cases.jsonl").write_bytes(LINE + LINE.replace(b'"a"', b'"b"'))
    manifest = pin_gold_dir(folder)
    assert (manifest.dataset_id, manifest.name, manifest.case_count) == ("demo", "Demo", 2)
    assert load_gold_dir(folder).version_sha != before.version_sha


def test_pinning_checks_first_and_leaves_the_manifest(folder: Path) -> None:
    before = (folder / "manifest.json").read_bytes()
    (folder / "cases.jsonl").write_bytes(LINE + LINE)
    with pytest.raises(GoldError, match="case_id 'a' stands twice"):
        pin_gold_dir(folder)
    assert (folder / "manifest.json").read_bytes() == before
    assert sorted(os.listdir(folder)) == ["cases.jsonl", "manifest.json"]


def test_pinning_names_a_set_after_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "my questions"
    folder.mkdir()
    (folder / "cases.jsonl").write_bytes(LINE)
    with pytest.raises(BadInputError, match=r"'my questions' is not a dataset_id.*--id"):
        pin_gold_dir(folder)
    assert pin_gold_dir(folder, "mine").name == "mine"
    assert (folder / "manifest.json").stat().st_mode & 0o777 == 0o644


def make(*queries: str, dataset_id: str = "made") -> GoldDataset:
    cases = tuple(
        GoldCase.model_validate({"case_id": query, "split": "test", "request": {"query": query}})
        for query in queries
    )
    return dataset_from_cases(cases, dataset_id=dataset_id)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    gold = make("İ", "b")
    written = write_gold_dir(gold, tmp_path / "new" / "gold")
    assert written == gold == load_gold_dir(tmp_path / "new" / "gold")
    assert sorted(os.listdir(tmp_path / "new" / "gold")) == ["cases.jsonl", "manifest.json"]
    assert os.listdir(tmp_path / "new") == ["gold"]


def test_a_set_that_was_not_canonical_gets_the_version_of_what_is_written(
    folder: Path, tmp_path: Path
) -> None:
    gold = load_gold_dir(folder)
    written = write_gold_dir(gold, tmp_path / "copy")
    assert written.version_sha == hashlib.sha256(canonical_line(gold.cases[0])).hexdigest()
    assert written.version_sha != gold.version_sha
    assert load_gold_dir(tmp_path / "copy") == written


def test_writing_the_same_again_changes_nothing_and_another_is_refused(tmp_path: Path) -> None:
    (tmp_path / "gold").mkdir()
    write_gold_dir(make("a"), tmp_path / "gold")
    before = (tmp_path / "gold" / "cases.jsonl").stat()
    write_gold_dir(make("a"), tmp_path / "gold")
    assert (tmp_path / "gold" / "cases.jsonl").stat() == before
    for other in (make("b"), make("a", dataset_id="other")):
        with pytest.raises(BadInputError, match="something else stands here already"):
            write_gold_dir(other, tmp_path / "gold")
    (tmp_path / "gold" / "notes.txt").touch()
    with pytest.raises(BadInputError, match="something else"):
        write_gold_dir(make("a"), tmp_path / "gold")
    (tmp_path / "file").touch()
    with pytest.raises(BadInputError, match="something else"):
        write_gold_dir(make("a"), tmp_path / "file")


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*paths: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        write_gold_dir(make("a"), tmp_path / "gold")
    assert os.listdir(tmp_path) == []


def test_a_bad_id_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="is not a dataset_id"):
        write_gold_dir(make("a", dataset_id="a/b"), tmp_path / "gold")
    assert os.listdir(tmp_path) == []


def test_cases_of_one_set_must_agree() -> None:
    with pytest.raises(GoldError, match="case_id 'a' stands twice: cases 1 and 2"):
        make("a", "a")


def test_splits() -> None:
    gold = make("a", "b")
    assert gold.split("test") == gold.cases == tuple(gold)
    with pytest.raises(NotFoundError, match=r"no case in split 'development' \(splits.*: test\)"):
        gold.split("development")
    assert not gold.has_families


def test_a_folder_that_may_not_be_read_is_an_error_of_ours(folder: Path) -> None:
    (folder / "cases.jsonl").unlink()
    os.mkfifo(folder / "cases.jsonl")
    with pytest.raises(EvalnbError, match="not a regular file"):
        load_gold_dir(folder)
