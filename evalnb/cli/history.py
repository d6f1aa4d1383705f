"""``evalnb history``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalnb.cli.output import print_json, show


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("history")(history)


def history(
    paths: Annotated[
        list[Path], typer.Argument(help="Report folders, folders of them, or report files.")
    ],
    *,
    last: Annotated[int, typer.Option(min=1, help="How many runs the means show.")] = 8,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Say what changed since the last run: flipped cases first, then values and settings.

    Compared are the last two runs of one gold set and split. `evalnb evaluate --out DIR` adds
    every run to DIR/history.jsonl.
    """
    from dataclasses import asdict

    from evalnb.evaluation.history import changes, load_past_runs, trends
    from evalnb.show.history import history_text

    found = load_past_runs(paths)
    runs = [run for run in found if run.about == found[-1].about]
    changed = changes(runs[-2], runs[-1]) if len(runs) > 1 else None
    shown = runs[-last:]
    trend = trends(shown)
    if not as_json:
        show(history_text(runs, changed, trend, n_left_out=len(found) - len(runs)))
        return
    kept = {"finished_at", "git_revision", "dataset", "settings", "variants", "cuts", "versions"}
    print_json(
        {
            "runs": [run.model_dump(mode="json", include=kept) for run in shown],
            "changes": changed and asdict(changed),
            "means": [asdict(row) for row in trend],
        }
    )
