"""config.json: defaults, changes that fit, changes that are refused, files that are damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalnb.errors import BadInputError
from evalnb.search.request import Hints
from evalnb.workspace.settings import (
    Settings,
    changed_settings,
    chosen_lexical_index,
    load_settings,
    save_settings,
)
from evalnb.workspace.system import Workspace


def test_defaults() -> None:
    settings = Settings()
    assert settings.configuration.mode == "keyword"
    assert settings.configuration.limit == 10
    assert settings.chunking.key == "headings@1:1200:150"
    assert settings.lexical_index == "lexical:plain"


def test_written_and_read_again(tmp_path: Path) -> None:
    settings = Settings(language="tr", limit=5, hints=Hints(rrf_k=10), chunker="size")
    save_settings(settings, tmp_path)
    assert load_settings(tmp_path) == settings
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]
    assert json.loads((tmp_path / "config.json").read_text())["hints"] == {"rrf_k": 10}


def test_the_language_is_a_hint_that_the_configuration_gives() -> None:
    assert Settings(language="tr").configuration.hints.language == "tr"
    changed = Settings(language="tr", hints=Hints(language="en"))
    assert changed.configuration.hints.language == "en"


CHANGES = [
    ({"limit": 5}, {"limit": 5}),
    ({"hints.rrf_k": 7}, {"hints": Hints(rrf_k=7)}),
    ({"language": "tr-TR", "chunk_size": 400}, {"language": "tr-TR", "chunk_size": 400}),
    ({"offline": True}, {"offline": True}),
]


@pytest.mark.parametrize(("changes", "expected"), CHANGES)
def test_changes(changes: dict, expected: dict) -> None:
    assert changed_settings(Settings(), changes) == Settings(**expected)


def test_null_puts_the_default_back() -> None:
    changed = changed_settings(Settings(limit=5, hints=Hints(rrf_k=7)), {"limit": None})
    assert changed == Settings(hints=Hints(rrf_k=7))
    assert changed_settings(changed, {"hints.rrf_k": None}) == Settings()


REFUSED = [
    ({"limits": 5}, "limits: unknown key"),
    ({"limit": 0}, "limit: expected"),
    ({"limit": "5"}, "limit: expected a whole number"),
    ({"mode": "magic"}, "mode: expected"),
    ({"language": "klingon"}, "language: expected a code such as en or pt-BR, found 'klingon'"),
    ({"chunk_size": 100, "chunk_overlap": 51}, "chunk_overlap 51 is more than half of chunk_size"),
    ({"hints.rrf": 5}, r"hints\.rrf: unknown key"),
    ({"limit.x": 5}, "'limit' in 'limit.x' has no keys"),
    ({"format": "evalnb-workspace@2"}, "format: expected"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_refused_changes(changes: dict, message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        changed_settings(Settings(), changes)


DAMAGED = [b"", b"{", b'{"format": "evalnb-workspace@1", "limt": 5}', b"\xff", b"[]"]


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_file_is_named(workspace: Workspace, content: bytes) -> None:
    path = workspace.folder / "config.json"
    path.write_bytes(content)
    with pytest.raises(BadInputError) as raised:
        _ = workspace.settings
    assert raised.value.where == str(path)


INDEXES = [
    (Hints(), "lexical:plain"),
    (Hints(language="en"), "lexical:stem-en"),
    (Hints(language="en", lexical_index="lexical:plain"), "lexical:plain"),
]


@pytest.mark.parametrize(("hints", "name"), INDEXES)
def test_the_index_that_hints_choose(hints: Hints, name: str) -> None:
    assert chosen_lexical_index(hints) == name


def test_an_index_that_nothing_can_build() -> None:
    with pytest.raises(BadInputError, match="no lexical index is called"):
        chosen_lexical_index(Hints(lexical_index="lexical:stem-xx"))
