"""Exported notebooks: whatever a cell left behind, the page stays one safe file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalnb.errors import BadInputError, NotebookError
from evalnb.show.export import OUTPUT_SHOWN, export_html, shorten_output
from evalnb.show.html import content_security_policy, script


def saved(tmp_path: Path, *cells: dict[str, Any], **metadata: Any) -> Path:
    """Save an executed notebook."""
    numbered = [
        {"id": f"c{at}", "metadata": {}, **cell}
        | ({"execution_count": at, "outputs": cell.get("outputs", [])} if "outputs" in cell else {})
        for at, cell in enumerate(cells)
    ]
    notebook = {"cells": numbered, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    path = tmp_path / "x.ipynb"
    path.write_text(json.dumps(notebook))
    return path


def code(source: str, *outputs: dict[str, Any], tags: tuple[str, ...] = ()) -> dict[str, Any]:
    metadata = {"tags": list(tags)}
    return {"cell_type": "code", "source": source, "outputs": list(outputs), "metadata": metadata}


def shown(**data: Any) -> dict[str, Any]:
    return {"output_type": "display_data", "data": data, "metadata": {}}


def html(text: str) -> dict[str, Any]:
    return shown(**{"text/html": text, "text/plain": "plain"})


def stream(text: str, name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text}


def exported(tmp_path: Path, *cells: dict[str, Any], **metadata: Any) -> str:
    return export_html(saved(tmp_path, *cells, **metadata), tmp_path / "x.html").read_text()


def test_a_page_has_the_head_the_style_and_the_script_of_a_report(tmp_path: Path) -> None:
    page = exported(
        tmp_path,
        {"cell_type": "markdown", "source": "# Findings\n\nWhat was *found*?"},
        code('report_path: str = ""', tags=("parameters",)),
        code('report_path = "r.json"', tags=("injected-parameters",)),
        code("secret_call()", html('<div class="evalnb"><b>seen</b></div>'), tags=("hide-input",)),
        code("open_call()", stream("printed <b>")),
    )
    assert content_security_policy() in page
    assert "<title>Findings</title>" in page
    assert f"<script>{script()}</script>" in page
    assert page.count("<script") == 1
    assert "<em>found</em>" in page
    assert "<b>seen</b>" in page
    assert "printed &lt;b&gt;" in page
    assert "r.json" in page  # what was injected stays, as provenance
    assert "open_call" in page
    assert "secret_call" not in page
    assert "report_path:" not in page.replace(" ", "")
    assert "cdn" not in page.lower()


@pytest.mark.parametrize(
    "output",
    [
        html('<script src="https://example.org/x.js"></script>'),
        html("<script>fetch('https://example.org')</script>"),
        html('<img src="https://example.org/x.png">'),
        html('<iframe src="https://example.org"></iframe>'),
        shown(**{"text/markdown": "![x](https://example.org/x.png)"}),
    ],
)
def test_an_output_that_reaches_out_fails_the_export(
    output: dict[str, Any], tmp_path: Path
) -> None:
    path = saved(tmp_path, code("x", output))
    with pytest.raises(NotebookError, match="reach out"):
        export_html(path, tmp_path / "x.html")
    assert not (tmp_path / "x.html").exists()


def test_a_picture_in_markdown_fails_too(tmp_path: Path) -> None:
    cell = {"cell_type": "markdown", "source": '<img src="../secret.png">'}
    with pytest.raises(NotebookError, match="reach out"):
        exported(tmp_path, cell)


def test_a_widget_shows_its_plain_text_and_a_broken_state_stops_nothing(tmp_path: Path) -> None:
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "abc"}}
    page = exported(
        tmp_path,
        code("x", shown(**view, **{"text/plain": "IntSlider(value=42)"})),
        widgets={"application/vnd.jupyter.widget-state+json": {"version_major": 2}},
    )
    assert "IntSlider(value=42)" in page
    assert "widget-state" not in page


def test_javascript_output_is_left_out(tmp_path: Path) -> None:
    page = exported(
        tmp_path, code("x", shown(**{"application/javascript": "alert(1)", "text/plain": "<JS>"}))
    )
    assert "alert(1)" not in page
    assert "&lt;JS&gt;" in page


def test_an_output_that_names_a_file_writes_none(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    output = shown(**{"image/png": "AAAA"}) | {"metadata": {"filename": "../../escape.png"}}
    exported(tmp_path / "in", code("x", output))
    assert {p.name for p in tmp_path.rglob("*") if p.is_file()} == {"x.ipynb", "x.html"}


def test_very_long_output_keeps_head_tail_and_a_count(tmp_path: Path) -> None:
    lines = [f"query {i} ok" for i in range(20_000)]
    pieces = [stream(line + "\n") for line in lines]
    page = exported(tmp_path, code("x", *pieces))
    assert len(page) < 100_000
    assert "query 0 ok\n" in page
    assert "query 19999 ok\n" in page
    assert "left out; the notebook beside this page has them]" in page


def test_a_progress_bar_leaves_nothing(tmp_path: Path) -> None:
    bar = stream("\r 25%|##5  | 34/135\r                  \r", "stderr")
    page = exported(tmp_path, code("x", bar, stream("10 %\rall of it\n")))
    assert "34/135" not in page
    assert "10 %" not in page
    assert "<pre>all of it" in page
    assert page.count("<pre>") == 2  # the source and what was printed


def test_shortening_counts_what_it_leaves_out() -> None:
    text = "x" * OUTPUT_SHOWN
    assert shorten_output(text) == text
    cut = shorten_output(text * 5)
    head, _, rest = cut.partition("\n[")
    note, _, tail = rest.partition("]\n")
    assert note.startswith(f"{5 * OUTPUT_SHOWN - len(head) - len(tail):,} characters, 0 lines")


def test_streams_are_joined_only_with_their_own_kind(tmp_path: Path) -> None:
    page = exported(
        tmp_path, code("x", stream("a"), stream("b"), stream("c", "stderr"), stream("d"))
    )
    assert "<pre>ab" in page
    assert "<pre>c" in page
    assert "<pre>d" in page


@pytest.mark.parametrize("content", ["", "[]", '{"cells": 3}', '{"nbformat": 4}'])
def test_what_is_no_notebook_is_said(content: str, tmp_path: Path) -> None:
    path = tmp_path / "x.ipynb"
    path.write_text(content)
    with pytest.raises(BadInputError, match=r"x\.ipynb: this is no notebook"):
        export_html(path, tmp_path / "x.html")
