"""Commands are loaded one by one, and the table that lists them does not drift."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
import typer

import evalnb.cli
from evalnb.cli.commands import COMMANDS, new_app
from evalnb.cli.main import build_app, main

MODULES = sorted({module for module, _ in COMMANDS.values()})
ROOT = typer.main.get_command(build_app())


@pytest.mark.parametrize("name", COMMANDS)
def test_the_listed_line_is_the_first_of_the_help(name: str) -> None:
    command = ROOT.get_command(typer.Context(ROOT), name)
    assert command.help.partition("\n")[0] == COMMANDS[name][1]


@pytest.mark.parametrize("module", MODULES)
def test_a_module_registers_what_is_listed_for_it(module: str) -> None:
    app = new_app()
    app.callback()(lambda: None)
    importlib.import_module(f"evalnb.cli.{module}").register(app)
    listed = {name for name, (home, _) in COMMANDS.items() if home == module}
    assert set(typer.main.get_command(app).commands) == listed


def test_every_module_with_commands_is_listed() -> None:
    folder = Path(evalnb.cli.__file__).parent
    written = {p.stem for p in folder.glob("*.py") if "\ndef register(" in p.read_text()}
    assert written == set(MODULES)


def test_help_lists_the_commands_without_loading_them(capsys: pytest.CaptureFixture[str]) -> None:
    loaded = set(sys.modules)
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert [name for name in COMMANDS if f"\n  {name} " not in out] == []
    assert {m for m in set(sys.modules) - loaded if m.startswith("evalnb.")} == set()


def test_a_near_miss_is_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evalute"]) == 2
    assert "Did you mean 'evaluate'" in capsys.readouterr().err
