"""The five declared cases through the real workspace and the real evaluation.

They show that search, exact lookup and eligibility are wired together, on invented text. They say
nothing about the quality of a semantic model or of any search on a real corpus.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalnb.api import Report, evaluate
from evalnb.gold.cases import GoldCase, GoldDataset, dataset_from_cases
from evalnb.workspace.system import Workspace, open_workspace

MEASURES = ("R@10", "RR@10", "nDCG@10", "P@10", "SpanCompleteness")
UNIQUE_WORDS = ("unique-word-bollard", "unique-word-lantern", "unique-word-neap")
RULE = "retained-rule"
SHARED_WORD = "shared-word-other-revision-excluded"


@pytest.fixture(scope="module")
def report(smoke_gold: GoldDataset, smoke_workspace: Workspace) -> Report:
    return evaluate(smoke_gold, {"keyword": smoke_workspace}, measures=MEASURES)


def row(report: Report, case_id: str) -> dict[str, Any]:
    (result,) = (r for r in report.record.results if r.case_id == case_id)
    assert result.result.status == "ok"
    return {score.measure: score for score in result.scores}


def documents(report: Report, case_id: str) -> list[str | None]:
    (result,) = (r for r in report.record.results if r.case_id == case_id)
    return [hit.ids.document_id for hit in result.result.hits]


def without(case: GoldCase, *fields: str) -> GoldDataset:
    """The same case with some fields of its request left out."""
    payload = case.model_dump(mode="json", exclude_defaults=True)
    for field in fields:
        del payload["request"][field]
    return dataset_from_cases((GoldCase.model_validate(payload),), dataset_id="unrestricted")


def the(gold: GoldDataset, case_id: str) -> GoldCase:
    (case,) = (case for case in gold if case.case_id == case_id)
    return case


def test_the_committed_gold_is_what_a_workspace_makes(smoke_gold_dir: Path, gold_dir: Path) -> None:
    committed = gold_dir / "smoke"
    for name in ("manifest.json", "cases.jsonl"):
        fresh = smoke_gold_dir / name
        assert (committed / name).read_bytes() == fresh.read_bytes(), (
            f"{committed / name} is out of date; if the change is meant, copy {fresh} over it"
        )


def test_five_cases_of_three_kinds(smoke_gold: GoldDataset) -> None:
    assert [case.case_id for case in smoke_gold] == [*UNIQUE_WORDS, RULE, SHARED_WORD]
    assert [case.intent for case in smoke_gold] == [
        *["lexical"] * 3,
        "exact_identifier",
        "revision_eligibility",
    ]


@pytest.mark.parametrize("case_id", [*UNIQUE_WORDS, RULE, SHARED_WORD])
def test_every_case_finds_its_document_alone(
    report: Report, smoke_gold: GoldDataset, case_id: str
) -> None:
    case = the(smoke_gold, case_id)
    assert documents(report, case_id) == list(case.expected.document_ids)
    scores = row(report, case_id)
    assert {name: scores[name].value for name in MEASURES} == {
        "R@10": 1,
        "RR@10": 1,
        "nDCG@10": 1,
        "P@10": 0.1,
        "SpanCompleteness": 1,
    }
    assert scores["R@10"].kind == "revision"
    assert scores["SpanCompleteness"].denominator == sum(s.end - s.start for s in case.spans)
    assert scores["LocatorValidity"].value == 1
    assert scores["LocatorValidity"].denominator >= 1
    leakage = scores["ForbiddenLeakage"]
    if case_id in UNIQUE_WORDS:
        assert (leakage.status, leakage.value) == ("undefined", None)
    else:
        assert (leakage.status, leakage.value, leakage.denominator) == ("ok", 0, 1)


def test_the_comparison_is_pinned_to_gold_snapshot_and_index(
    report: Report, smoke_gold: GoldDataset, smoke_workspace: Workspace
) -> None:
    record = report.record
    assert record.dataset.version_sha == smoke_gold.version_sha
    (cut,) = record.cuts.values()
    assert cut is not None
    assert cut.snapshot_id == smoke_workspace.snapshot().snapshot_id
    assert cut.indexes
    assert record.integrity.ok
    assert record.integrity.n_checked == len(smoke_gold)


def test_the_rule_is_kept_from_its_neighbour_by_exact_only_alone(
    smoke_gold: GoldDataset, smoke_workspace: Workspace
) -> None:
    case = the(smoke_gold, RULE)
    opened = evaluate(without(case, "exact_only"), {"keyword": smoke_workspace})
    found = documents(opened, RULE)
    assert found[0] == case.expected.document_ids[0]
    assert case.forbidden.document_ids[0] in found
    assert row(opened, RULE)["ForbiddenLeakage"].value == 1


def test_unrestricted_search_returns_both_sources_of_the_shared_word(
    smoke_gold: GoldDataset, smoke_workspace: Workspace
) -> None:
    case = the(smoke_gold, SHARED_WORD)
    unrestricted = evaluate(without(case, "revision_ids"), {"keyword": smoke_workspace})
    (result,) = unrestricted.record.results
    sources = {hit.ids.source_id for hit in result.result.hits}
    assert sources == {*case.expected.source_ids, *case.forbidden.source_ids}
    assert row(unrestricted, SHARED_WORD)["ForbiddenLeakage"].value == 1
    assert row(unrestricted, SHARED_WORD)["LocatorValidity"].value == 1


def test_the_same_corpus_gives_the_same_ids_in_any_order(
    declared_corpus: dict[str, Any], smoke_gold: GoldDataset, tmp_path: Path
) -> None:
    backwards = {"sources": declared_corpus["sources"][::-1]}
    other = open_workspace(tmp_path / "other", create=True)
    other.ingest_corpus(backwards)
    report = evaluate(smoke_gold, {"keyword": other}, measures=MEASURES)
    for case in smoke_gold:
        assert documents(report, case.case_id) == list(case.expected.document_ids)
