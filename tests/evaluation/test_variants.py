"""The variants file: extended whole, by several at once, and never at the cost of what is there."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import pytest

from evalnb.errors import BadInputError
from evalnb.evaluation.looks import looks, looks_path, mark_look
from evalnb.evaluation.report import DatasetRecord
from evalnb.evaluation.request import Variant
from evalnb.evaluation.variants import keep_variant, load_variants
from evalnb.search.request import Hints, Overrides


def variant(name: str, k: int) -> Variant:
    return Variant(name=name, system="kb", overrides=Overrides(hints=Hints(rrf_k=k)))


def test_what_is_there_stays_in_its_order(tmp_path: Path) -> None:
    path = tmp_path / "new" / "variants.json"
    written = {
        "format": "evalnb-variants@1",
        "systems": {"kb": {"workspace": "kb"}},
        "variants": [{"name": "ü", "label": "the <old>", "system": "kb"}],
    }
    path.parent.mkdir()
    path.write_text(json.dumps(written))
    assert keep_variant(path, variant("new", 5)) == "new"
    added = {"name": "new", "system": "kb", "overrides": {"hints": {"rrf_k": 5}}}
    now = json.loads(path.read_text())
    assert now == written | {"variants": [*written["variants"], added]}
    assert "ü" in path.read_text()
    assert [each.name for each in load_variants(path).variants] == ["ü", "new"]
    assert [entry.name for entry in path.parent.iterdir()] == ["variants.json"]


def test_a_name_is_numbered_until_it_is_free(tmp_path: Path) -> None:
    path = tmp_path / "variants.json"
    kept = [keep_variant(path, variant("v", k)) for k in (1, 2, 3, 2, 1)]
    assert kept == ["v", "v (2)", "v (3)", "v (2)", "v"]
    assert len(load_variants(path).variants) == 3


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "not strict JSON"),
        ("[]", "its format is None"),
        ('{"format": "evalnb-variants@2", "variants": []}', "its format is 'evalnb-variants@2'"),
        ('{"format": "evalnb-variants@1", "variants": [{"nam": "x"}]}', "nam"),
        ('{"format": "evalnb-variants@1", "format": 1}', "format"),
        ("", "the file is empty"),
    ],
)
def test_a_file_of_something_else_is_left_alone(tmp_path: Path, content: str, told: str) -> None:
    path = tmp_path / "variants.json"
    path.write_text(content)
    with pytest.raises(BadInputError, match=told):
        keep_variant(path, variant("v", 1))
    assert path.read_text() == content


def test_what_cannot_be_written_is_named() -> None:
    with pytest.raises(BadInputError, match=r"/proc/kept/variants\.json: cannot be written"):
        keep_variant(Path("/proc/kept/variants.json"), variant("v", 1))


def _keep_many(path: str, first: int) -> None:
    for k in range(first, first + 10):
        keep_variant(Path(path), variant("v", k))


def test_two_who_keep_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "variants.json"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_keep_many, args=(str(path), 10 * n + 1)) for n in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    ks = [
        each.overrides.hints.rrf_k for each in load_variants(path).variants if each.overrides.hints
    ]
    assert sorted(ks) == list(range(1, 21))


def test_looks_are_those_of_a_version_of_the_gold(tmp_path: Path) -> None:
    path = looks_path(tmp_path / "kept" / "variants.json")
    assert path.name == "variants.test-looks.jsonl"
    mine = DatasetRecord(id="d", name="D", version_sha="a" * 64, split="test")
    newer = mine.model_copy(update={"version_sha": "b" * 64})
    assert looks(path, mine) == []
    assert len(mark_look(path, mine)) == 1
    assert len(mark_look(path, newer)) == 1
    assert len(mark_look(path, mine)) == 2
    with path.open("a") as file:
        file.write('{"looked_at": "20')  # what a killed writer left was never acknowledged
    assert len(mark_look(path, mine)) == 3
    path.write_text('{"split": "test"}\n')
    with pytest.raises(BadInputError, match=r"looks\.jsonl:1: not a look"):
        looks(path, mine)
