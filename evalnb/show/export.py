"""Export a finished notebook as one page with the same head, style and script as a report."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from evalnb.errors import BadInputError
from evalnb.show.display import EMPTY
from evalnb.show.html import first_line, foot_html, head_html, write_page
from evalnb.show.parameters import PARAMETERS_TAG
from evalnb.show.text import plural

HIDE_INPUT_TAG = "hide-input"
VERDICT_CELL = "verdicts"  # the id of the cell that says it
OUTPUT_SHOWN = 20_000  # characters of one printed output; the notebook beside the page has all
_HEAD, _TAIL = 12_000, 6_000
# What a page without foreign scripts cannot show; each has a plainer form beside it.
_SCRIPTED = (
    "application/javascript",
    "application/vnd.jupyter.widget-view+json",
    "text/vnd.mermaid",
)


def export_html(ipynb: str | Path, html: str | Path, *, inputs: str = "") -> Path:
    """Write a notebook as one page that loads nothing and runs nothing but the filter.

    The parameters cell is left out and cells tagged ``hide-input`` show their output alone; the
    injected parameters stay, as provenance. A long printed output keeps its head and tail. The page
    carries ``inputs``, a digest of what it was made from.

    Raises
    ------
    BadInputError
        If the file is no notebook.
    NotebookError
        If an output would load or run something; nothing is written.
    """
    from nbconvert.exporters import HTMLExporter, TemplateExporter
    from nbconvert.filters import Highlight2HTML
    from traitlets.config import Config

    source = Path(ipynb)
    notebook = _read(source)
    title = str(notebook.metadata.get("title") or _heading(notebook) or source.stem)
    exporter = HTMLExporter(  # type: ignore[no-untyped-call]
        template_name="evalnb",
        extra_template_basedirs=[str(Path(__file__).parent / "templates")],
        exclude_input_prompt=True,
        exclude_output_prompt=True,
        exclude_anchor_links=True,
        filters={"highlight_code": Highlight2HTML(pygments_lexer="python")},  # type: ignore[no-untyped-call]
        config=Config(
            TagRemovePreprocessor={
                "enabled": True,
                "remove_cell_tags": {PARAMETERS_TAG},
                "remove_input_tags": {HIDE_INPUT_TAG},
            }
        ),
    )
    head = head_html(title, description=_said(notebook), inputs=inputs)
    ours = {"head": head, "foot": foot_html()}
    resources = {"language_code": "en", "evalnb": ours}
    # The HTML exporter's own last step parses the whole page into a tree and writes it out again,
    # only to add descriptions to images; ours have them, and a page of some MB takes ten seconds.
    page, _ = TemplateExporter.from_notebook_node(exporter, notebook, resources=resources)
    return write_page(Path(html), page)


def _read(path: Path) -> Any:
    import nbformat

    try:
        notebook: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    except Exception as error:  # nbformat raises what its parser and schema happen to raise
        raise BadInputError(f"this is no notebook: {error}", where=str(path)) from error
    notebook.metadata.pop("widgets", None)
    notebook.cells = list(_speaking(notebook.cells))
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [_plain(output) for output in _merged(cell.outputs)]
    return notebook


def _speaking(cells: list[Any]) -> Iterator[Any]:
    """Leave out each section that has nothing to show, and the heading above it."""
    silent = [
        any(EMPTY in str(output.get("data", {}).get("text/html", ""))[:40] for output in outputs)
        for cell in cells
        for outputs in [cell.get("outputs", [])]
    ]
    for cell, is_silent, next_is in zip(cells, silent, [*silent[1:], False], strict=True):
        if not is_silent and not (cell.cell_type == "markdown" and next_is):
            yield cell


def _heading(notebook: Any) -> str | None:
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and cell.source.startswith("# "):
            return str(cell.source.partition("\n")[0][2:].strip())
    return None


def _said(notebook: Any) -> str:
    """Return what the notebook says in a sentence: the first line of its verdict."""
    cells = {cell.get("id"): cell for cell in notebook.cells if cell.cell_type == "code"}
    for output in (cells.get(VERDICT_CELL) or {}).get("outputs", []):
        if text := output.get("data", {}).get("text/plain"):
            return first_line(str(text))
    return ""


def _merged(outputs: list[Any]) -> list[Any]:
    """Join neighbouring pieces of one stream; a busy cell leaves thousands."""
    merged = []
    for stream, pieces in groupby(outputs, _stream):
        output, *more = pieces
        if isinstance(stream, str):
            text = "".join(piece.text for piece in (output, *more))
            output.text = shorten_output(overwritten(text))
            if not output.text.strip():
                continue
        merged.append(output)
    return merged


def _stream(output: Any) -> str | int:
    """Name the stream that an output is a piece of; any other output stands for itself."""
    return str(output.name) if output.output_type == "stream" else id(output)


def _plain(output: Any) -> Any:
    data = output.get("data", {})
    for mimetype in _SCRIPTED:
        data.pop(mimetype, None)
    if isinstance(data.get("text/plain"), str):
        data["text/plain"] = shorten_output(data["text/plain"])
    return output


def overwritten(text: str) -> str:
    r"""Keep of each line what a terminal would show last, which is nothing of a progress bar.

    >>> overwritten("10%\r90%\rdone\n| 5/9\r      \r")
    'done\n      '
    """
    if "\r" not in text:
        return text
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))


def shorten_output(text: str) -> str:
    """Keep the head and tail of a long printed output, and count what is left out."""
    if len(text) <= OUTPUT_SHOWN:
        return text
    head = text[:_HEAD].rpartition("\n")[0] or text[:_HEAD]
    tail = text[-_TAIL:].partition("\n")[2] or text[-_TAIL:]
    middle = text[len(head) : len(text) - len(tail)]
    left_out = f"{plural(len(middle), 'character')}, {plural(middle.count(chr(10)), 'line')}"
    return f"{head}\n[{left_out} left out; the notebook beside this page has them]\n{tail}"
