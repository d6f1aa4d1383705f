"""A workspace's corpus tells which labels do not hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalnb.cli.main import main
from evalnb.errors import GoldError
from evalnb.evaluation.corpus_doubts import corpus_doubts
from evalnb.gold.cases import GoldCase, GoldDataset
from evalnb.gold.loading import load_gold
from evalnb.search.system import SearchContext
from evalnb.workspace.system import Workspace, open_workspace

TEXT = "The ferry leaves at nine. Bring a ticket that is valid for the whole harbour."


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = open_workspace(tmp_path / "workspace", create=True)
    documents = [
        {"path": f"{n}.md", "title": f"Notice {n}", "text": f"{TEXT} Notice number {n}."}
        for n in range(12)
    ]
    made.ingest_corpus({"sources": [{"key": "harbour", "documents": documents}]})
    return made


def doubts(workspace: Workspace, **fields: Any) -> tuple[str, ...]:
    case = {"case_id": "c", "split": "test", "request": {"query": "when?"}, **fields}
    session = workspace.open(SearchContext())
    try:
        return corpus_doubts(session, [GoldCase.model_validate(case)])
    finally:
        session.close()


def test_the_declared_smoke_set_has_none(
    smoke_workspace: Workspace, smoke_gold: GoldDataset
) -> None:
    session = smoke_workspace.open(SearchContext())
    assert corpus_doubts(session, smoke_gold.cases) == ()
    session.close()


def test_ids_that_are_not_there(workspace: Workspace) -> None:
    session = workspace.open(SearchContext())
    unit = next(session.units())
    session.close()
    found = doubts(
        workspace,
        expected={"unit_ids": [unit.unit_id, "ghost"], "document_ids": [unit.document_id]},
        forbidden={"document_ids": ["nowhere"]},
        spans=[{"revision_id": "old", "start": 0, "end": 1}],
    )
    assert found == (
        "document ids judged but not in the corpus: 1 (nowhere)",
        "revision ids judged but not in the corpus: 1 (old)",
        "unit ids judged but not in the corpus: 1 (ghost)",
    )


def test_restrictions_to_what_is_not_there(workspace: Workspace) -> None:
    request = {"query": "when?", "document_ids": ["gone"], "revision_ids": ["old"]}
    assert doubts(workspace, request=request) == (
        "document ids asked for but not in the corpus: 1 (gone)",
        "revision ids asked for but not in the corpus: 1 (old)",
    )


def test_content_that_matches_nothing_or_too_much(workspace: Workspace) -> None:
    assert doubts(workspace, content=[{"content_contains": "NUMBER 7"}]) == ()
    assert doubts(workspace, content=[{"content_contains": "submarine"}]) == (
        "cases whose content matches nothing in the corpus: 1 (c)",
    )
    assert doubts(workspace, content=[{"content_contains": "the ferry"}]) == (
        "cases whose content matches more than 10 of 12 units: 1 (c)",
    )


def test_a_question_that_stands_in_the_corpus(workspace: Workspace) -> None:
    request = {"query": "the FERRY leaves  at nine"}
    (found,) = doubts(workspace, request=request)
    assert found.startswith("cases whose question stands in the corpus word for word")
    assert doubts(workspace, request=request, intent="exact_phrase") == ()
    assert doubts(workspace, request={"query": "leaves at nine"}) == ()


def test_a_quote_that_does_not_stand_at_its_span(workspace: Workspace) -> None:
    session = workspace.open(SearchContext())
    owner = next(iter(session.bindings([next(session.units()).unit_id]).values()))
    revision = session.extraction(owner.extraction_id).revision_id
    session.close()
    span = {"revision_id": revision, "start": 4, "end": 9, "quote": "ferry"}
    assert doubts(workspace, spans=[span]) == ()
    with pytest.raises(GoldError, match=r"the quote 'ferry' does not stand at \[5, 10\)"):
        doubts(workspace, spans=[{**span, "start": 5, "end": 10}])


def test_verify_prints_them(
    workspace: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"query": "when does the ferry leave", "content": "submarine"},
        {"query": "when does the ferry leave?", "content": "number 7", "split": "test"},
    ]
    from evalnb.gold.dataset import write_gold_dir

    write_gold_dir(load_gold(rows), tmp_path / "gold")
    arguments = ["gold", "verify", str(tmp_path / "gold")]
    assert main([*arguments, "--workspace", str(tmp_path / "workspace")]) == 0
    found = capsys.readouterr()
    assert "families     2" in found.out
    assert "doubt: 0001-" in found.err
    assert "stand on both splits" in found.err
    assert "doubt: cases whose content matches nothing in the corpus: 1 (0001-" in found.err
