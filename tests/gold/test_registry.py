"""A registered id stands for the same bytes for ever."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from evalnb.cli.main import main
from evalnb.errors import BadInputError, EvalnbError, GoldError, NotFoundError
from evalnb.gold.dataset import load_gold_dir, pin_gold_dir
from evalnb.gold.registry import default_registry, load_registered, register_gold

LINE = b'{"case_id": "%s", "request": {"query": "what?"}, "split": "test"}\n'


def make(folder: Path, case_id: bytes = b"a", dataset_id: str = "demo") -> Path:
    folder.mkdir()
    (folder / "cases.jsonl").write_bytes(LINE % case_id)
    pin_gold_dir(folder, dataset_id)
    return folder


def test_the_bytes_are_kept(tmp_path: Path) -> None:
    source, registry = make(tmp_path / "gold"), tmp_path / "registry"
    place = register_gold(source, registry)
    gold = load_gold_dir(source)
    assert place == registry / "demo" / gold.version_sha
    assert (place / "cases.jsonl").read_bytes() == LINE % b"a"
    assert load_registered("demo", registry) == load_gold_dir(place) == gold
    assert {file.stat().st_mode & 0o777 for file in place.iterdir()} == {0o444}
    assert register_gold(place, registry) == place


def test_an_id_never_stands_for_other_bytes(tmp_path: Path) -> None:
    registry = tmp_path / "registry"
    first = register_gold(make(tmp_path / "gold"), registry)
    for other in (make(tmp_path / "other", b"b"), make(tmp_path / "renamed")):
        pin_gold_dir(other, "demo", "Another name")
        with pytest.raises(
            BadInputError, match=r"the id 'demo' is registered for version [0-9a-f]"
        ):
            register_gold(other, registry)
    assert os.listdir(registry / "demo") == [first.name]
    register_gold(make(tmp_path / "third", b"b", "demo-2"), registry)
    assert sorted(os.listdir(registry)) == ["demo", "demo-2"]


def test_of_two_that_register_at_once_one_is_refused(tmp_path: Path) -> None:
    folders = [make(tmp_path / name, name.encode()) for name in "abcdefgh"]

    def attempt(folder: Path) -> str:
        try:
            return register_gold(folder, tmp_path / "registry").name
        except BadInputError:
            return ""

    with ThreadPoolExecutor() as threads:
        registered = [name for name in threads.map(attempt, folders) if name]
    assert os.listdir(tmp_path / "registry") == ["demo"]
    assert os.listdir(tmp_path / "registry" / "demo") == registered


def test_what_is_wrong_is_not_registered(tmp_path: Path) -> None:
    source = make(tmp_path / "gold")
    (source / "cases.jsonl").write_bytes(LINE % b"b")
    with pytest.raises(GoldError, match="the manifest pins"):
        register_gold(source, tmp_path / "registry")
    assert not (tmp_path / "registry").exists()


def test_what_a_file_manager_leaves_is_no_version(tmp_path: Path) -> None:
    source = make(tmp_path / "gold")
    place = register_gold(source, tmp_path / "registry")
    (place.parent / ".DS_Store").touch()
    assert register_gold(source, tmp_path / "registry") == place
    assert load_registered("demo", tmp_path / "registry") == load_gold_dir(place)
    shutil.rmtree(place)
    with pytest.raises(GoldError, match="expected one registered version, found 0"):
        load_registered("demo", tmp_path / "registry")


def test_damage_is_seen_when_it_is_loaded(tmp_path: Path) -> None:
    place = register_gold(make(tmp_path / "gold"), tmp_path)
    (place / "cases.jsonl").chmod(0o644)
    (place / "cases.jsonl").write_bytes(LINE % b"b")
    with pytest.raises(GoldError, match="the manifest pins"):
        load_registered("demo", tmp_path)


def test_unknown_and_impossible_ids(tmp_path: Path) -> None:
    register_gold(make(tmp_path / "gold"), tmp_path / "registry")
    with pytest.raises(
        NotFoundError, match=r"no gold is registered as 'demi'; did you mean 'demo'"
    ):
        load_registered("demi", tmp_path / "registry")
    with pytest.raises(NotFoundError, match="no gold is registered as 'demo'"):
        load_registered("demo", tmp_path / "nowhere")
    with pytest.raises(EvalnbError, match=r"'\.\./demo' is not a dataset_id"):
        load_registered("../demo", tmp_path / "registry")


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert main(["gold", "register", str(make(tmp_path / "gold"))]) == 0
    place = Path(capsys.readouterr().out.strip())
    assert place.parent == default_registry() / "demo"
    assert default_registry() == tmp_path / "data" / "evalnb" / "gold"
    assert main(["gold", "verify", str(place)]) == 0
