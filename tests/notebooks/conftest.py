"""Tiny notebooks, each of one behaviour."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

WriteNotebook = Callable[..., Path]


def code_cell(source: str, *tags: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": f"cell-{abs(hash((source, tags))):x}"[:32],
        "metadata": {"tags": list(tags)},
        "outputs": [],
        "source": source,
    }


@pytest.fixture
def write_notebook(tmp_path: Path) -> WriteNotebook:
    """Return a writer of notebooks from their code cells; ``parameters`` becomes the tagged one."""

    def write(
        *sources: str, name: str = "sample", parameters: str = "", kernel: str = "python3"
    ) -> Path:
        cells = [code_cell(parameters, "parameters")] if parameters else []
        cells += [code_cell(source) for source in sources]
        notebook = {
            "cells": cells,
            "metadata": {"kernelspec": {"name": kernel, "display_name": kernel}},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        path = tmp_path / "in" / f"{name}.ipynb"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(notebook))
        return path

    return write
