"""The declared smoke corpus in a real workspace, and its cases with the ids that this one gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalnb.gold.cases import GoldCase, GoldDataset, dataset_from_cases
from evalnb.gold.dataset import load_gold_dir, write_gold_dir
from evalnb.search.system import SearchContext
from evalnb.workspace.system import Workspace, open_workspace

CORPUS = Path(__file__).resolve().parents[1] / "fixtures" / "evaluation" / "corpus.json"


@pytest.fixture(scope="session")
def numbered() -> GoldDataset:
    """Return thirty questions, "question 0" and on; the nth expects the document d(n mod 7)."""
    cases = (
        GoldCase(
            case_id=f"c{n}",
            split="development",
            request={"query": f"question {n}"},
            expected={"document_ids": [f"d{n % 7}"]},
        )
        for n in range(30)
    )
    return dataset_from_cases(tuple(cases), dataset_id="numbered")


@pytest.fixture(scope="session")
def declared_corpus() -> dict[str, Any]:
    """Return the corpus as declared: sources with their documents, cases in keys and paths."""
    return json.loads(CORPUS.read_bytes())


@pytest.fixture(scope="session")
def smoke_workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return a workspace that holds the declared sources and nothing else."""
    workspace = open_workspace(tmp_path_factory.mktemp("smoke") / "workspace", create=True)
    workspace.ingest([CORPUS])
    return workspace


@pytest.fixture(scope="session")
def smoke_gold_dir(
    declared_corpus: dict[str, Any],
    smoke_workspace: Workspace,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Return a gold directory of the declared cases, pinned by the digest of what was written."""
    ids = canonical_ids(smoke_workspace, declared_corpus)
    cases = tuple(materialised(case, ids) for case in declared_corpus["cases"])
    folder = tmp_path_factory.mktemp("gold") / "smoke"
    name = "Smoke cases of a small harbour"
    write_gold_dir(dataset_from_cases(cases, dataset_id="smoke", name=name), folder)
    return folder


@pytest.fixture(scope="session")
def smoke_gold(smoke_gold_dir: Path) -> GoldDataset:
    """Return the declared cases as they are read back, every promise of the manifest checked."""
    return load_gold_dir(smoke_gold_dir)


def canonical_ids(workspace: Workspace, corpus: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Map what cases are declared with, keys and key/path, to the workspace's ids, by kind."""
    session = workspace.open(SearchContext())
    owners = session.bindings([unit.unit_id for unit in session.units()]).values()
    found = [session.extraction(owner.extraction_id) for owner in owners]
    session.close()
    by_text = {(extraction.path, extraction.text): extraction for extraction in found}
    ids: dict[str, dict[str, str]] = {"source_id": {}, "document_id": {}, "revision_id": {}}
    for source in corpus["sources"]:
        for document in source["documents"]:
            extraction = by_text[document["path"], document["text"]]
            place = f"{source['key']}/{document['path']}"
            ids["source_id"][source["key"]] = extraction.source_id
            ids["document_id"][place] = extraction.document_id
            ids["revision_id"][place] = extraction.revision_id
    return ids


def materialised(declared: Any, ids: dict[str, dict[str, str]]) -> GoldCase:
    """Put the workspace's ids where a declared case has keys and paths."""

    def replaced(value: Any) -> Any:
        if isinstance(value, list):
            return [replaced(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {key: resolved(key, item) for key, item in value.items()}

    def resolved(key: str, value: Any) -> Any:
        if key in ids:
            return ids[key][value]
        if key.removesuffix("s") in ids:
            return [ids[key.removesuffix("s")][item] for item in value]
        return replaced(value)

    return GoldCase.model_validate(replaced(declared))
