"""The pages of docs/systems run: files are written, Python executed, commands compared."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path

import psycopg
import pytest

import evalnb as ev
from evalnb.workspace.system import open_workspace

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "systems"
PAGES = sorted(FOLDER.glob("*.md"))
BLOCKS = re.compile(r"^```(\w+)\n(.*?)^```", re.S | re.M)

HANDBOOK = {
    "passwords": "Open the sign-in page and choose reset my password. A link is sent by mail.",
    "invoices": "Invoices are sent on the first day of each month.",
    "refunds": "A refund reaches the card within ten days.",
}
QUESTIONS = (
    "query,expected\nwhere do I reset my password,passwords\nhow long do refunds take,refunds\n"
)
PHRASES = "query,content\nreset my password,choose reset\nwhen does a refund reach me,ten days\n"
# What the pages call by its real name stands on this machine.
SERVICES = ("https://search.example/api", "https://api.openai.com/v1")


def service(handler, asked):
    """Answer as a search service, an embedder or a chat model, by what was asked."""
    sent = asked.json
    if "messages" in sent:
        usage = {"prompt_tokens": 60, "completion_tokens": 4, "total_tokens": 64}
        return {"choices": [{"message": {"content": "[1, 2]"}}], "usage": usage}
    if "input" in sent:
        words = ("password", "invoice", "refund")
        rows = [[0.1, *(float(word in text.lower()) for word in words)] for text in sent["input"]]
        return {"data": [{"embedding": row} for row in rows], "usage": {"prompt_tokens": 9}}
    found = {"key": "passwords", "body": HANDBOOK["passwords"], "similarity": 0.5}
    return {"answer": {"items": [found][: sent["top"]]}, "usage": {"tokens": 12}}


@pytest.fixture
def office(tmp_path, monkeypatch):
    """Put the files that the pages speak of into the working folder."""
    (tmp_path / "questions.csv").write_text(QUESTIONS)
    (tmp_path / "phrases.csv").write_text(PHRASES)
    (tmp_path / "handbook").mkdir()
    for name, text in HANDBOOK.items():
        (tmp_path / "handbook" / f"{name}.md").write_text(text)
    first, second = [case.case_id for case in ev.load_gold(tmp_path / "questions.csv").cases]
    rows = (f"{case} Q0 passwords 1 1.0 old\n" for case in (first, second))
    (tmp_path / "old.run").write_text("".join(rows))
    for module in ("mine", "search"):
        content = "def search(query):\n    return ['passwords']\nbm25 = dense = search\n"
        (tmp_path / f"{module}.py").write_text(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for module in ("mine", "search"):
        sys.modules.pop(module, None)


@pytest.fixture
def providers(serve, postgres, monkeypatch):
    """Run every service that the pages name; return its address by the one on the page."""
    url = serve(service).url
    monkeypatch.setenv("SEARCH_TOKEN", "a-long-token")
    monkeypatch.setenv("OPENAI_API_KEY", "a-long-key")
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS pages")
        connection.execute("CREATE DATABASE pages")
    monkeypatch.setenv("DATABASE_URL", postgres.replace("/postgres?", "/pages?"))
    return dict.fromkeys(SERVICES, url)


def workspace_of(office):
    workspace = open_workspace(office / "kb", create=True)
    workspace.ingest([office / "handbook"], settings={"language": "en"})
    workspace.index("text:minilm-l6-v2-int8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs_from_top_to_bottom(page, office, providers, play_session):
    text = page.read_text()
    for named, here in providers.items():
        text = text.replace(named, here)
    if page.stem in ("postgres", "variants"):
        workspace_of(office)
    if page.stem == "variants":
        other = (FOLDER / "http.md").read_text().replace(SERVICES[0], providers[SERVICES[0]])
        (office / "service.toml").write_text(
            next(b for k, b in BLOCKS.findall(other) if k == "toml")
        )
    names = {}
    kinds = set()
    for number, (kind, block) in enumerate(BLOCKS.findall(text)):
        kinds.add(kind)
        if kind == "toml":
            first, _, rest = block.partition("\n")
            (office / first.removeprefix("# ")).write_text(rest)
        elif kind == "console":
            play_session(block, office)
        else:
            assert kind == "python"
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(block, f"{page.name}, block {number}", "exec"), names)
            assert out.getvalue().strip(), block
    assert "python" in kinds
    report = names["report"].record
    failed = {r.result.reason for r in report.results if r.result.status != "ok"}
    assert not failed


def test_the_file_of_a_hybrid_is_one(office):
    (block,) = (b for k, b in BLOCKS.findall((FOLDER / "composed.md").read_text()) if k == "toml")
    (office / "hybrid.toml").write_text(block)
    report = ev.evaluate("questions.csv", {"hybrid": "hybrid.toml"}).record
    assert [list(r.candidates) for r in report.results] == [["keyword", "semantic"]] * 2


def test_there_is_a_page_for_every_system():
    assert [page.stem for page in PAGES] == [
        "composed", "endpoints", "function", "http", "postgres", "runs", "variants", "workspace",
    ]  # fmt: skip
