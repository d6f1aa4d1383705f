"""What travels with evalnb: gold sets, notebooks, and a corpus that every Python carries.

The corpus is made at run time from :mod:`pydoc_data.topics`, the language reference behind
``help("for")``: one source and one document for each topic. Nothing of it is copied. Ids are
digests of names, so labels on sources and documents hold on every machine and Python version;
revisions and units follow the text, which differs between Python versions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evalnb.errors import NotFoundError

PACKAGE = Path(__file__).resolve().parents[1]


def bundled_path(folder: str, name: str) -> Path:
    """Locate something that travels with the package, in a wheel or in a working tree.

    Parameters
    ----------
    folder
        ``gold`` or ``notebooks``.
    name
        A file or folder in it.

    Raises
    ------
    NotFoundError
        If there is none of this name, naming those that there are.
    """
    homes = [home / folder for home in (PACKAGE / "_bundled", PACKAGE.parent)]
    for home in homes:
        if name and (home / name).exists():
            return home / name
    there = sorted({entry.name for home in homes if home.is_dir() for entry in home.iterdir()})
    raise NotFoundError(
        f"nothing named {name!r} travels with evalnb in {folder}",
        remedy=f"there are: {', '.join(there) or 'none; install evalnb again'}",
    )


def bundled_gold(name: str) -> Path:
    """Locate a bundled gold directory, such as ``python_reference`` or ``smoke``."""
    return bundled_path("gold", name)


REPORT_NOTEBOOKS = ("variant_report", "case_drilldown")
"""Those that are run over a report."""


def bundled_notebook(name: str) -> Path:
    """Locate a bundled notebook by its name without ``.ipynb``."""
    return bundled_path("notebooks", f"{name}.ipynb")


def python_reference() -> dict[str, Any]:
    """Build the corpus that the ``python_reference`` gold asks about, as records.

    Returns
    -------
    dict
        ``{"sources": [{"key", "documents": [{"path", "title", "text", "identifiers",
        "language"}]}]}``, the shape of a corpus file, in the order of topic names. A document's
        title is its first heading and its one declared identifier the name of its topic.

    Raises
    ------
    NotFoundError
        If this Python was installed without its topics.
    """
    try:
        from pydoc_data.topics import topics
    except ImportError as error:
        raise NotFoundError(
            "this Python has no pydoc_data.topics, the text that help() shows",
            remedy="install the full standard library (Debian: apt install libpython3-stdlib)",
        ) from error
    return {"sources": [_source(topic, topics[topic]) for topic in sorted(topics)]}


def _source(topic: str, text: str) -> dict[str, Any]:
    document = {
        "path": f"{topic}.txt",
        "title": text.lstrip().partition("\n")[0],
        "text": text,
        "identifiers": [topic],
        "language": "en",
    }
    return {"key": topic, "documents": [document]}
