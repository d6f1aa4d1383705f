"""Run notebooks so that only a finished one ever carries the final name.

papermill's exit code and the record it saves are both known to call unfinished runs complete, so
neither is believed alone. A notebook is published if every code cell ran, none failed, the record
is closed and the process ended well; anything else is kept under ``failed/`` and raised.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalnb.errors import BadInputError, NotebookError, NotFoundError
from evalnb.files import write_file
from evalnb.gold.bundled import bundled_notebook
from evalnb.show.parameters import check_parameters, declared_parameters
from evalnb.show.runner import NotebookRunner
from evalnb.show.text import one_line

TIMEOUT_S = 600.0
_ERROR_TAG = "papermill-error-cell-tag"

Cells = Sequence[tuple[str, dict[str, Any]]]
"""Code cells with the words that name each in a message."""


def run_notebook(
    name_or_path: str | Path,
    out_dir: str | Path,
    parameters: Mapping[str, Any] | None = None,
    *,
    timeout_s: float = TIMEOUT_S,
    runner: NotebookRunner | None = None,
) -> Path:
    """Run a notebook in a fresh kernel, and publish it only if it finished.

    Parameters
    ----------
    name_or_path
        The name of a notebook that travels with evalnb, or the path of an ``.ipynb`` file.
    out_dir
        The folder that gets ``NAME.ipynb``; it is the notebook's working directory.
    parameters
        Values for parameters that the notebook declares, of the declared types.
    timeout_s
        Seconds for the whole run, counted from its first cell.
    runner
        What runs it, to run several with; one of its own by default.

    Returns
    -------
    Path
        The published notebook.

    Raises
    ------
    BadInputError
        If a parameter is unknown or does not fit; no kernel was started.
    NotebookError
        If it did not finish; the message names the cell, and the partial notebook lies in
        ``failed/``.
    """
    path = _locate(name_or_path)
    notebook = _read(path)
    checked = check_parameters(
        declared_parameters(notebook, where=str(path)), parameters or {}, where=str(path)
    )
    folder = Path(out_dir)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{path.stem}.ipynb"
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".running-", suffix=".ipynb")
    os.close(handle)
    job = {
        "notebook": str(path.resolve()),
        "output": str(Path(temporary).resolve()),
        "parameters": checked,
        "kernel": notebook.get("metadata", {}).get("kernelspec", {}).get("name") or "python3",
        "folder": str(folder.resolve()),
    }
    try:
        with contextlib.nullcontext(runner) if runner else NotebookRunner() as running:
            status, complaint = running.run(job, timeout_s)
        partial = _saved(Path(temporary))
        fault = _fault(partial, status, complaint, timeout_s)
        kept = target if fault is None else folder / "failed" / target.name
        if partial is not None:
            # Names stay in the record, not the paths of this machine.
            _record(partial).update(input_path=path.name, output_path=target.name)
            text = json.dumps(partial, ensure_ascii=False, indent=1)
            write_file(kept, f"{text}\n".encode())
        if fault is None:
            return target
        raise NotebookError(
            f"{path.name} did not finish: {fault}",
            where=None if partial is None else str(kept),
            remedy=None if partial is None else "the notebook as far as it ran is kept there",
        )
    finally:
        Path(temporary).unlink(missing_ok=True)


def _locate(name_or_path: str | Path) -> Path:
    path = Path(name_or_path)
    if path.suffix != ".ipynb":
        return bundled_notebook(str(name_or_path))
    if not path.is_file():
        raise NotFoundError("there is no such notebook", where=str(path))
    return path


def _read(path: Path) -> dict[str, Any]:
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadInputError(f"this is no notebook: {error}", where=str(path)) from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise BadInputError("this is no notebook: it has no list of cells", where=str(path))
    return notebook


def _saved(path: Path) -> dict[str, Any] | None:
    """Read what the child saved; None if it did not come so far."""
    with contextlib.suppress(BadInputError):
        return _read(path)
    return None


def _fault(
    notebook: dict[str, Any] | None, status: int | None, complaint: str, timeout_s: float
) -> str | None:
    """Say why a run does not count as finished; None if it does."""
    cells = [] if notebook is None else list(_code_cells(notebook))
    if raised := _raised(cells):
        return raised
    if status is None:
        running = [place for place, cell in cells if _record(cell).get("status") == "running"]
        who = running[0] if running else "the start of the kernel"
        return f"{who} was not done when the {timeout_s:g} s of the run were over"
    if status != 0:
        return f"exit status {status}{': ' + complaint if complaint else ''}"
    return "nothing was saved" if notebook is None else _unfinished(notebook, cells)


def _raised(cells: Cells) -> str | None:
    for place, cell in cells:
        for output in cell.get("outputs", []):
            if output.get("output_type") == "error":
                what = one_line(f"{output.get('ename')}: {output.get('evalue')}", 300)
                return f"{place} raised {what}"
    return None


def _unfinished(notebook: dict[str, Any], cells: Cells) -> str | None:
    for place, cell in cells:
        if "".join(cell.get("source", "")).strip() and cell.get("execution_count") is None:
            return f"{place} did not run"
    record = _record(notebook)
    marked = any(_ERROR_TAG in c.get("metadata", {}).get("tags", []) for c in notebook["cells"])
    if marked or record.get("exception") or not record.get("end_time"):
        return "its record is not that of a finished run"
    return None


def _record(node: dict[str, Any]) -> dict[str, Any]:
    """Return papermill's record of a notebook or a cell."""
    record: dict[str, Any] = node.get("metadata", {}).get("papermill", {})
    return record


def _code_cells(notebook: dict[str, Any]) -> Iterable[tuple[str, dict[str, Any]]]:
    code = [cell for cell in notebook["cells"] if cell.get("cell_type") == "code"]
    for number, cell in enumerate(code, start=1):
        first = "".join(cell.get("source", "")).strip().partition("\n")[0]
        yield f"code cell {number} ({one_line(first, 60)})", cell
