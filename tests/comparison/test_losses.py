"""Each way to lose a case, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evalnb as ev
from evalnb.comparison.losses import Lost, lost_cases, lost_frame
from evalnb.errors import BadInputError
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.show import sections
from evalnb.show.reading import reading_of
from evalnb.workspace.system import open_workspace


def gold(**labels: Any) -> ev.GoldDataset:
    case = GoldCase.model_validate(
        {
            "case_id": "c",
            "split": "development",
            "request": {"query": "q"},
            **(labels or {"document_relevance": {"right": 1}}),
        }
    )
    return dataset_from_cases((case,), dataset_id="one")


def at(rank: int | None, name: str) -> Callable[[str, int], list[str]]:
    """Return a channel with the right document at a rank, or without it."""

    def search(query: str, limit: int) -> list[str]:
        found = [f"{name}{n}" for n in range(60)]
        if rank is not None:
            found.insert(rank - 1, "right")
        return found[:limit]

    return search


def best_last(query: str, hits: list[Any]) -> list[float]:
    return [float(hit.ids.document_id != "right") for hit in hits]


def lost(system: Any, **labels: Any) -> Lost | None:
    report = ev.evaluate(gold(**labels), {"mine": system}, limit=3)
    found = lost_cases(report.record)
    assert lost_frame(report.record).to_numpy().sum() == len(found)
    return found[0] if found else None


def fails(query: str) -> list[str]:
    raise RuntimeError("down")


LOST = [
    (fails, "search failed", "SEARCH_FAILED: RuntimeError: down"),
    (at(9, "a"), "not returned", ""),
    (
        ev.fused({"a": at(None, "a"), "b": at(None, "b")}),
        "in no channel's candidates",
        "a has 60 of 100 candidates, b has 60 of 100 candidates",
    ),
    (ev.fused({"a": at(3, "a"), "b": at(None, "b")}), "cut by fusion", "a 3, fused 6"),
    (ev.fused({"a": at(7, "a"), "b": at(None, "b")}), "below the limit", "a 7, fused 14, limit 3"),
    (
        ev.fused({"a": at(1, "a"), "b": at(1, "b")}, rerank=best_last),
        "demoted by the reranker",
        "a 1, b 1, fused 1",
    ),
]


@pytest.mark.parametrize(("system", "reason", "detail"), LOST, ids=[each[1] for each in LOST])
def test_reasons(system: Any, reason: str, detail: str) -> None:
    found = lost(system)
    assert found is not None
    assert (found.reason, found.detail) == (reason, detail)
    assert found.remedy
    assert found.n_unjudged == (0 if reason == "search failed" else 3)


def test_what_was_found_is_not_lost() -> None:
    assert lost(at(3, "a")) is None
    assert lost(at(1, "a"), document_relevance={"right": 0}) is None  # nothing to find


def test_a_phrase_that_no_unit_holds(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path / "ws", create=True)
    documents = [{"path": f"d{n}", "text": f"q word{n}"} for n in range(9)]
    workspace.ingest_corpus({"sources": [{"key": "s", "documents": documents}]})
    found = lost(workspace, content=[{"content_contains": "nowhere at all"}])
    assert found is not None
    assert found.reason == "not in the corpus"
    deep = lost(workspace, document_relevance={"d8": 1})
    assert deep is None or deep.reason == "below the limit"


def test_the_table_stands_in_a_report() -> None:
    report = ev.evaluate(gold(), {"all": at(1, "a"), "none": at(None, "b")})
    shown = sections.lost(reading_of(report.record))
    assert shown.frame().to_dict("records") == [{"reason": "not returned", "all": 0, "none": 1}]
    assert "not returned" in str(shown)
    nothing = ev.evaluate(gold(), {"all": at(1, "a")})
    assert "Every case with targets found one" in str(sections.lost(reading_of(nothing.record)))


def test_a_report_and_its_record_are_taken_alike() -> None:
    report = ev.evaluate(gold(), {"none": at(None, "b")})
    assert lost_cases(report) == lost_cases(report.record)
    with pytest.raises(BadInputError, match="expected a report, found str"):
        lost_cases("report.json")  # type: ignore[arg-type]
