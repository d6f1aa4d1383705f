"""``evalnb lab``: the notebooks in JupyterLab."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalnb.cli.output import note


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("lab", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(
        lab
    )


def lab(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="Folder for your copy of the notebooks.")] = Path(
        "evalnb-notebooks"
    ),
) -> None:
    """Open JupyterLab on a copy of the notebooks.

    A notebook that is there already is yours and stays as it is. Further arguments, such as
    --no-browser, go to JupyterLab.
    """
    import json
    import os
    import subprocess
    import sys
    import tempfile

    from evalnb.files import explained, write_file
    from evalnb.gold.bundled import bundled_path

    source = bundled_path("notebooks", "variant_report.ipynb").parent
    remedy = "name a folder of your own: evalnb lab DIR"
    with explained("cannot be written to", folder, remedy=remedy):
        for notebook in sorted(source.glob("*.ipynb")):
            copy = folder / notebook.name
            if not copy.exists():
                write_file(copy, notebook.read_bytes())
        with tempfile.TemporaryFile(dir=folder):
            pass  # what notebooks write has room too
    note(f"notebooks: {folder.resolve()}")
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        f"--ServerApp.root_dir={folder.resolve()}",
        # Nothing is called outside: no extension index, no news, no update check.
        "--LabApp.extension_manager=readonly",
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        *context.args,
    ]
    environment = {key: value for key, value in os.environ.items() if key != "JUPYTER_PATH"}
    # Another installation's kernels must not stand in for this one.
    environment["JUPYTER_PREFER_ENV_PATH"] = "1"
    with tempfile.TemporaryDirectory() as config:
        page = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
        write_file(Path(config, "labconfig", "page_config.json"), json.dumps(page).encode())
        known = environment.get("JUPYTER_CONFIG_PATH")
        environment["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, (config, known)))
        done = subprocess.run(command, env=environment, check=False)  # noqa: S603  # own interpreter
    raise typer.Exit(done.returncode)
