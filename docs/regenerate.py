"""Bring what is pasted or generated in the documentation up to date.

Run ``make docs``. A pasted help is a console block whose first line is the command::

    ```console
    $ evalnb score --help
    ...
    ```

``docs/measures`` has a page a measure, made of the docstring of the function that computes it.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import re
from pathlib import Path
from types import FunctionType

PROJECT = Path(__file__).resolve().parent.parent
HELP_BLOCK = re.compile(r"(```console\n\$ evalnb(?P<words>(?: [a-z-]+)*) --help\n).*?(```)", re.S)
MEASURED = re.compile(r"[^\n]*: (\w+)\b")


def documents() -> list[Path]:
    """List the documents that may carry a pasted help."""
    return [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]


def current_help(words: list[str]) -> str:
    """Return what ``evalnb WORDS --help`` prints on a terminal of 80 columns."""
    from evalnb.cli.main import main

    os.environ["COLUMNS"] = "80"
    with contextlib.redirect_stdout(io.StringIO()) as out:
        status = main([*words, "--help"])
    if status != 0:
        raise SystemExit(f"evalnb {' '.join(words)} --help ended with status {status}")
    return out.getvalue()


def regenerated(text: str) -> str:
    """Return a document with every pasted help replaced by the current one."""
    return HELP_BLOCK.sub(
        lambda found: found[1] + current_help(found["words"].split()) + found[3], text
    )


def pasted_commands(text: str) -> list[str]:
    """List the commands whose help a document shows, as they are typed after ``evalnb``."""
    return [found["words"].strip() for found in HELP_BLOCK.finditer(text)]


def measure_pages() -> dict[Path, str]:
    """Return the text of every measure's page, by its path."""
    from evalnb.measures import evidence, locators, ranking
    from evalnb.measures.names import FAMILIES

    functions = {}
    for module in (ranking, evidence, locators):
        for function in vars(module).values():
            text = inspect.getdoc(function) if inspect.isfunction(function) else None
            if text and (found := MEASURED.match(text)) and found[1] in FAMILIES:
                functions[found[1]] = function
    folder = PROJECT / "docs" / "measures"
    return {folder / f"{name}.md": _measure_page(name, functions[name]) for name in FAMILIES}


def _measure_page(name: str, function: FunctionType) -> str:
    from evalnb.measures.names import FAMILIES

    text, _, example = (inspect.getdoc(function) or "").partition("\n>>> ")
    text = text.partition("\nParameters\n---")[0].strip().replace("``", "`")
    text = re.sub(r":func:`(\w+)`", lambda found: found[1].title().replace("_", ""), text)
    needed = ">>> from evalnb.measures.judgements import Judgements\n"
    needed += f">>> from {function.__module__} import {function.__name__}, place\n"
    family = FAMILIES[name]
    forms = [name] + [f"{name}@10"] * family.cutoff + [f"{name}@tokens=2000"] * family.tokens
    forms += [f"{name}(rel=2)" + "@10" * family.cutoff] * family.rel
    forms += [f"{name}(dcg='exp-log2')@10"] * family.dcg
    better = "higher" if family.higher_is_better else "lower"
    values = "0 or 1" if family.binary else "0 to 1"
    lines = [
        f"# {name}\n",
        text + "\n",
        *([f"```python\n{needed}>>> {example}\n\n```\n"] if example else ()),
        f"- Asked as {', '.join(f'`{form}`' for form in forms)}.",
        f"- {values}; {better} is better.",
        *(["- Never compared, never gated."] if family.informational else ()),
        "\nWhat all measures share: [What every number means](../measures.md).",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for page, content in measure_pages().items():
        page.parent.mkdir(exist_ok=True)
        page.write_text(content)
    for path in documents():
        path.write_text(regenerated(path.read_text()))
