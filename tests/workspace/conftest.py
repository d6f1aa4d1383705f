"""A small corpus in a real workspace, and a way to ask it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evalnb.search.request import Overrides, QueryRequest, Scope, resolve_controls
from evalnb.search.result import QueryResult
from evalnb.search.system import SearchContext
from evalnb.workspace.system import Workspace, open_workspace

Ask = Callable[..., QueryResult]

CORPUS = {
    "sources": [
        {
            "key": "handbook",
            "documents": [
                {
                    "path": "refunds.md",
                    "title": "Refunding a payment",
                    "text": "A refund reverses a payment. See rule AML-17 and `refund_api`.",
                    "identifiers": ["AML-17"],
                },
                {"path": "charges.md", "title": "Charging", "text": "A charge takes a payment."},
            ],
        },
        {
            "key": "archive",
            "documents": [
                {"path": "old/charges.md", "text": "Charges were paid by cheque, not by payment."},
                {
                    "path": "fees.md",
                    "text": "The fee is two percent.",
                    "effective_from": "2020-01-01",
                    "effective_to": "2020-12-31",
                },
                {
                    "path": "fees.md",
                    "text": "The fee is three percent.",
                    "effective_from": "2021-01-01",
                },
            ],
        },
    ]
}


@pytest.fixture(scope="module")
def handbook(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return a workspace with two sources; one document has two dated revisions."""
    made = open_workspace(tmp_path_factory.mktemp("handbook") / "ws", create=True)
    made.ingest_corpus(CORPUS)
    return made


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Return an empty workspace."""
    return open_workspace(tmp_path / "ws", create=True)


@pytest.fixture
def ask() -> Iterator[Ask]:
    """Return a function that searches a workspace once: ``ask(workspace, "query", limit=3)``."""
    sessions = []

    def search(
        workspace: Workspace,
        query: str,
        *,
        scope: Scope | None = None,
        snapshot_id: str | None = None,
        overrides: dict[str, Any] | None = None,
        **request: Any,
    ) -> QueryResult:
        session = workspace.open(
            SearchContext(snapshot_id=snapshot_id, scope=scope or Scope(), offline=True)
        )
        sessions.append(session)
        asked = QueryRequest(query=query, **request)
        controls = resolve_controls(
            asked, Overrides(**(overrides or {})), workspace.capabilities().configuration
        )
        result = session.search(asked, controls)
        # A session builds its records without validating them again; here they have to be valid.
        assert QueryResult.model_validate_json(result.model_dump_json()) == result
        return result

    yield search
    for session in sessions:
        session.close()
