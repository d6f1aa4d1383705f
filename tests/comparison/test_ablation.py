"""Variants that differ in one control are paired, and the table names it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import evalnb as ev
from evalnb.comparison.ablation import ABLATION_COLUMNS, ablation_frame, ablations
from evalnb.gold.cases import GoldCase, GoldDataset, dataset_from_cases

N = 12


def channel(seed: int, *, right: bool) -> Callable[[str], list[str]]:
    """Return a channel that has the right document first, or not at all."""

    def search(query: str) -> list[str]:
        found = random.Random(f"{seed} {query}").sample([f"x{n}" for n in range(99)], 9)
        return [f"d{query}", *found] if right else found

    return search


@pytest.fixture(scope="module")
def gold() -> GoldDataset:
    cases = (
        GoldCase(
            case_id=f"c{n}",
            split="development",
            request={"query": str(n)},
            document_relevance={f"d{n}": 1},
        )
        for n in range(N)
    )
    return dataset_from_cases(tuple(cases), dataset_id="twelve")


def report(gold: GoldDataset, **variants: dict[str, Any]) -> ev.Report:
    channels = {
        "a": channel(1, right=True),
        "b": channel(2, right=False),
        "c": channel(3, right=False),
    }
    system = ev.fused(channels, rerank=lambda query, hits: [-h.rank for h in hits])
    systems = {name: (system, {"rerank": False} | o) for name, o in variants.items()}
    return ev.evaluate(gold, systems, measures=["RR@10"])


def test_pairs_and_their_directions(gold: GoldDataset) -> None:
    found = ablations(
        report(
            gold,
            reranked={"rerank": True},
            all={},
            deeper={"hints": {"rrf_k": 5}},
            without_a={"channels": ["b", "c"]},
            both={"hints": {"rrf_k": 5}, "channels": ["b", "c"]},
            again={"hints": {"rrf_k": 5}},
        ).record
    )
    told = {(p.baseline, p.candidate): (p.control, p.before, p.after) for p in found}
    assert told == {
        ("all", "reranked"): ("rerank", False, (None, None)),
        ("all", "deeper"): ("rrf_k", 60, 5),
        ("all", "again"): ("rrf_k", 60, 5),
        ("without_a", "all"): ("channels", ("b", "c"), ("a", "b", "c")),
        ("without_a", "both"): ("rrf_k", 60, 5),
        ("both", "deeper"): ("channels", ("b", "c"), ("a", "b", "c")),
        ("both", "again"): ("channels", ("b", "c"), ("a", "b", "c")),
    }


def test_leaving_one_channel_out(gold: GoldDataset) -> None:
    found = ablation_frame(
        report(
            gold,
            all={},
            no_a={"channels": ["b", "c"]},
            no_b={"channels": ["a", "c"]},
            no_c={"channels": ["a", "b"]},
        ).record
    )
    assert tuple(found.columns) == ABLATION_COLUMNS
    out = found[found["after"] == '["a", "b", "c"]']  # the other rows swap one for another
    assert list(out["baseline"]) == ["no_a", "no_b", "no_c"]
    assert list(out["before"]) == ['["b", "c"]', '["a", "c"]', '["a", "b"]']
    assert out["verdict"].iloc[0] == "better"
    assert (found["p_adjusted"] >= found["p_value"]).all()
    assert set(found["adjustment"]) == {"holm"}


def test_functions_have_no_controls_to_pair_by(gold: GoldDataset) -> None:
    plain = ev.evaluate(
        gold, {"a": channel(1, right=True), "b": channel(2, right=False)}, measures=["RR@10"]
    )
    assert ablations(plain.record) == ()
    assert ablation_frame(plain.record).empty
