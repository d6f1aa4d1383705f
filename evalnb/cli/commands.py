"""The commands, and the group that loads a command's module only when it is asked for.

Building every command costs more than typer itself, and ``evalnb --help`` needs only their names
and one line each. So these stand here, and a test compares them with the commands.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

# name: (module of evalnb.cli, first line of its help), in the order of the help
COMMANDS = {
    "demo": (
        "demo",
        "Ingest the Python language reference, compare ways to search it, write the report.",
    ),
    "lab": ("lab", "Open JupyterLab on a copy of the notebooks."),
    "gold": ("gold", "Questions with known answers."),
    "ingest": (
        "workspace",
        "Read documents into a workspace, made if it is not there, and index them.",
    ),
    "index": ("workspace", "Build an index over the active snapshot, or mend a damaged one."),
    "snapshot": ("workspace", "Pin what a search sees: create, list, activate."),
    "search": (
        "workspace",
        "Search a workspace once: rank, score, document and the text around the match.",
    ),
    "copy": (
        "copy",
        "Copy a workspace into the tables of a Postgres database, to search the same there.",
    ),
    "config": ("workspace", "Show or change a workspace's defaults."),
    "evaluate": ("evaluate", "Evaluate variants over one split of a gold set."),
    "eval-retrieval": (
        "evaluate",
        "Measure where the first correct chunk lands, for each retrieval leg.",
    ),
    "score": ("score", "Score run files against judgements, as trec_eval -c does."),
    "compare": (
        "compare",
        "Say which differences are real, which cases changed, and whether the gates hold.",
    ),
    "explain": (
        "explain",
        "Say what a figure of one case is made of, and which rule would change it.",
    ),
    "power": ("planning", "Say what a gold set can show, before anything is run on it."),
    "audit": (
        "planning",
        "Say what a published pair of means can mean when its cases are not at hand.",
    ),
    "history": (
        "history",
        "Say what changed since the last run: flipped cases first, then values and settings.",
    ),
    "report": ("report", "Run the report notebooks over saved reports and export them to HTML."),
}


class LazyGroup(TyperGroup):
    """The root command; it imports one module per command line."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # The names alone, since suggestions for a mistyped one are made from them.
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override]
        """Build one command out of its module; None if there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"evalnb.cli.{COMMANDS[cmd_name][0]}")
        app = new_app()
        app.callback()(lambda: None)  # keeps a module with one command a group
        module.register(app)
        return typer.main.get_command(app).commands[cmd_name]  # type: ignore[attr-defined]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands from the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


def new_app(**settings: Any) -> typer.Typer:
    """Make an application with plain output and no completion commands."""
    return typer.Typer(
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        **settings,
    )
