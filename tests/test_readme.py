"""The README runs: its Python from top to bottom, its console sessions line by line."""

from __future__ import annotations

import doctest
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evalnb as ev

README = (Path(__file__).resolve().parent.parent / "README.md").read_text()
ALIKE = doctest.OutputChecker().check_output
LAYOUT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PYTHON = re.findall(r"```python\n(.*?)```", README, re.S)
(SHOWN,) = re.findall(r"```text\n(.*?)```", README, re.S)
SESSIONS = re.findall(r"```console\n(.*?)```", README, re.S)

PAGES = {
    "passwords": "Resetting a forgotten password: open the sign-in page and choose reset.",
    "invoices": "Invoices are sent by mail on the first day of each month.",
    "refunds": "A refund reaches the card within ten days of the request.",
    "export": "Exporting data: every table can be exported as a spreadsheet.",
    "roles": "Roles decide who may invite people, and who may only read.",
    "keys": "Keys for the interface are made on the settings page and can be revoked.",
    "limits": "Requests are limited to a thousand per hour for each key.",
    "closing": "Closing an account removes all data after thirty days.",
}
QUESTIONS = {
    "where are passwords reset": "passwords",
    "when is my invoice mailed": "invoices",
    "how long do refunds take": "refunds",
    "is there an export of tables": "export",
    "which role may add others by invitation": "roles",
    "how is one key revoked again": "keys",
    "what limit of requests is there": "limits",
    "how do I close accounts": "closing",
    "are invoice copies available": "invoices",
    "who can revoke my keys": "keys",
    "can a refunded order be seen": "refunds",
    "inviting someone new": "roles",
}


def _ranking(length: int) -> Callable[[str], list[str]]:
    """Make a search: pages by shared word beginnings of this length."""

    def search(query: str) -> list[str]:
        wanted = {word[:length] for word in query.lower().split() if len(word) > 3}
        shared = {
            name: len(wanted & {word.strip(".,:")[:length] for word in text.lower().split()})
            for name, text in PAGES.items()
        }
        return [name for name in sorted(PAGES, key=lambda n: (-shared[n], n)) if shared[name]]

    return search


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a spreadsheet of questions into the working folder."""
    from openpyxl import Workbook

    book = Workbook()
    book.active.append(["query", "expected"])
    for query, page in QUESTIONS.items():
        book.active.append([query, page])
    book.save(tmp_path / "questions.xlsx")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_python_of_the_readme(office: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"search": _ranking(12), "search_v2": _ranking(4)}
    printed = []
    for number, block in enumerate(PYTHON):
        exec(compile(block, f"README.md, Python block {number}", "exec"), names)
        printed.append(capsys.readouterr().out)
    assert ALIKE(SHOWN, printed[0], LAYOUT), printed[0]
    assert "hybrid" in printed[1]
    page = (office / "report.html").read_text()
    assert all(query in page for query in QUESTIONS)


def test_a_search_compared_with_itself(office: Path) -> None:
    search = _ranking(4)
    report = ev.evaluate("questions.xlsx", {"one": search, "the same": search})
    assert "identical on all 12 pairs" in str(ev.compare(report, baseline="one"))


def test_the_console_of_the_readme(office: Path, play_session: Callable[[str, Path], None]) -> None:
    for session in SESSIONS:
        play_session(session, office)
