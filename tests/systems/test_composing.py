"""Hybrids over real workspaces: their cut is shown, their locators verified, and offline holds."""

from __future__ import annotations

import pytest

import evalnb as ev
from evalnb.errors import CapabilityError
from evalnb.evaluation.request import EvaluationRequest, Variant
from evalnb.evaluation.runner import run_evaluation
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.search.request import Controls, Overrides
from evalnb.search.system import PinnedCorpus, SearchContext
from evalnb.systems.composed import ComposedSystem
from evalnb.systems.function import FunctionSystem
from evalnb.systems.http import http_system
from evalnb.workspace.system import open_workspace

TEXTS = {
    "boots.md": "Red boots for the mountains. They are warm.",
    "hats.md": "Red hats against the sun.",
    "laws.md": "The law of boots and hats.",
}


def filled(folder, texts=TEXTS):
    documents = [{"path": path, "title": path, "text": text} for path, text in texts.items()]
    workspace = open_workspace(folder, create=True)
    workspace.ingest_corpus({"sources": [{"key": "shop", "documents": documents}]})
    return workspace


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    workspace = filled(tmp_path_factory.mktemp("kb"))
    workspace.index("text:lsa-256")
    return workspace


def gold(*queries):
    cases = (
        GoldCase(
            case_id=f"c{at}",
            split="development",
            request={"query": query},
            content=[{"content_contains": "boots"}],
        )
        for at, query in enumerate(queries)
    )
    return dataset_from_cases(tuple(cases), dataset_id="d")


def legs(workspace):
    return {"keyword": (workspace, {"mode": "keyword"}), "text": (workspace, {"mode": "semantic"})}


def test_channels_of_one_workspace_are_pinned_by_its_cut_and_verified(kb):
    report = ev.evaluate(
        gold("red boots", "hats"), {"own": ev.fused(legs(kb)), "kb": (kb, {"mode": "hybrid"})}
    ).record
    assert report.cuts["own"] == report.cuts["kb"]
    assert report.cuts["own"].indexes.keys() >= {"lexical:plain", "text:lsa-256"}
    assert report.integrity.ok
    validity = [
        score.value
        for result in report.results
        for score in result.scores
        if score.measure == "LocatorValidity"
    ]
    assert validity == [1.0] * 4
    # Content gold is enumerated, so that R and nDCG have a denominator; and the fusions agree.
    found = {
        variant: [
            [hit.ids.unit_id for hit in result.result.hits]
            for result in report.results
            if result.variant == variant
        ]
        for variant in ("own", "kb")
    }
    assert found["own"] == found["kb"]
    row = next(r for r in report.aggregates if (r.variant, r.measure) == ("own", "R@10"))
    assert (row.n, row.mean) == (2, 1.0)


def test_several_workspaces_are_one_corpus_whose_cuts_are_named(tmp_path):
    old, new = filled(tmp_path / "old"), filled(tmp_path / "new", {"new.md": "New boots."})
    system = ComposedSystem({"old": old, "new": new, "again": (old, {"limit": 5})})
    session = system.open(SearchContext())
    cut = session.cut()
    ids = [old.active_snapshot_id(), new.active_snapshot_id()]
    assert cut.snapshot_id == f"old: {ids[0]}, new: {ids[1]}"
    assert {key.partition(":")[0] for key in cut.indexes} == {"old", "new"}
    units = list(session.units())
    assert len(units) == 4
    assert [u.unit_id for u in units] == sorted({u.unit_id for u in units})
    owners = session.bindings([u.unit_id for u in units])
    texts = {session.extraction(b.extraction_id).text for b in owners.values()}
    assert texts == {*TEXTS.values(), "New boots."}
    session.close()
    report = ev.evaluate(gold("boots"), {"both": system}).record
    assert (report.cuts["both"], report.integrity.ok) == (cut, True)


def test_a_channel_that_shows_no_state_leaves_the_whole_unpinned(kb):
    system = ComposedSystem({"kb": kb, "mine": lambda query: ["x"]})
    assert not system.capabilities().pinned
    session = system.open(SearchContext())
    assert not isinstance(session, PinnedCorpus)
    session.close()


def test_a_pinned_whole_is_versioned_by_its_cut(kb):
    assert ComposedSystem(legs(kb)).capabilities().versioned
    assert not ComposedSystem(legs(kb), rerank=lambda q, hits: []).capabilities().versioned


def networked(query, hits):
    raise AssertionError("called")


networked.needs_network = True


def online(query):
    raise AssertionError("called")


online.needs_network = True


def evaluate_offline(systems, *, mode=None, allow_unavailable):
    request = EvaluationRequest(
        variants=tuple(
            Variant(name=name, system=name, overrides=Overrides(mode=mode)) for name in systems
        ),
        offline=True,
        allow_unavailable=allow_unavailable,
    )
    return run_evaluation(gold("red boots", "hats"), systems, request)


OFFLINE = [
    # what needs the network, in which mode, what is said
    (lambda kb: FunctionSystem(online), None, "the function needs the network"),
    (
        lambda kb: http_system({"url": "http://127.0.0.1:9/", "body": {"q": "{query}"}}),
        None,
        "the service needs the network",
    ),
    (
        lambda kb: ComposedSystem({"kb": kb, "online": online}),
        "hybrid",
        "channel 'online': the function needs the network",
    ),
    (lambda kb: ComposedSystem({"kb": kb}, rerank=networked), "hybrid_rerank", "the reranker"),
    (
        lambda kb: ComposedSystem(
            {"kb": kb}, rerank={"url": "http://127.0.0.1:9/v1", "model": "small"}
        ),
        "hybrid_rerank",
        "the reranker needs the network",
    ),
]


@pytest.mark.parametrize(("make", "mode", "says"), OFFLINE)
def test_offline_refuses_what_needs_the_network_and_leaves_the_others(kb, make, mode, says):
    systems = {"online": make(kb), "kb": kb}
    systems["kb"] = ComposedSystem({"kb": kb}, rerank=lambda query, hits: [1.0] * len(hits))
    with pytest.raises(CapabilityError, match=f"variant 'online': {says}.*allow_unavailable"):
        evaluate_offline(systems, mode=mode, allow_unavailable=False)
    report = evaluate_offline(systems, mode=mode, allow_unavailable=True)
    statuses = {(r.variant, r.result.status) for r in report.results}
    assert statuses == {("online", "unavailable"), ("kb", "ok")}
    reasons = {r.result.reason for r in report.results if r.variant == "online"}
    assert all(says in reason and "offline" in reason for reason in reasons)


def test_a_leg_without_the_network_is_searched_offline(kb):
    system = ComposedSystem({"keyword": kb, "semantic": online}, rerank=networked)
    system.check_offline(Controls(channels=("keyword",)))
    report = evaluate_offline({"own": system}, mode="keyword", allow_unavailable=False)
    assert {r.result.status for r in report.results} == {"ok"}


def test_a_key_that_is_missing_is_told_before_any_search(kb, monkeypatch):
    monkeypatch.delenv("LAB_KEY", raising=False)
    rerank = {"url": "http://x/v1", "model": "m", "headers": {"Authorization": "${LAB_KEY}"}}
    with pytest.raises(CapabilityError, match="LAB_KEY is not set"):
        ev.evaluate(gold("red boots"), {"own": ev.fused({"kb": kb}, rerank=rerank)})
