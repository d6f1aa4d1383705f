"""Tuning over replay, and what it owes to having looked."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

import evalnb as ev
from evalnb.comparison.replay import Replay
from evalnb.comparison.tuning import attribute, grid, sample, tune
from evalnb.errors import BadInputError, CapabilityError, NotEvaluatedError
from evalnb.gold.cases import GoldCase, dataset_from_cases


def channel(seed: int, *, quality: float) -> Callable[[str, int], list[tuple[str, float]]]:
    """Return a channel whose right document is first in this share of the questions."""

    def search(query: str, limit: int) -> list[tuple[str, float]]:
        chance = random.Random(f"{seed} {query}")
        found = [f"x{n}" for n in chance.sample(range(500), 30)]
        right = 0 if chance.random() < quality else chance.randrange(5, 30)
        found.insert(right, f"d{query}")
        return [(key, 1 / rank) for rank, key in enumerate(found[:limit], 1)]

    return search


def report(
    *, split: str = "development", n: int = 40, noise: bool = False, rerank: bool = False
) -> ev.Report:
    cases = (
        GoldCase.model_validate(
            {
                "case_id": f"c{k}",
                "family_key": f"f{k // 2}",
                "split": split,
                "request": {"query": str(k)},
                "document_relevance": {f"d{k}": 1},
            }
        )
        for k in range(n)
    )
    quality = (0.3, 0.3) if noise else (0.9, 0.05)
    channels = {
        name: channel(s, quality=q) for s, (name, q) in enumerate(zip("ab", quality, strict=True))
    }
    system = ev.fused(channels, rerank=(lambda query, hits: [1.0] * len(hits)) if rerank else None)
    return ev.evaluate(
        dataset_from_cases(tuple(cases), dataset_id="forty"),
        {"both": system},
        split=split,
        measures=["RR@10"],
    )


def test_the_better_channel_gets_the_weight() -> None:
    replay = Replay(report().record, "both")
    found = tune(replay, grid(["a", "b"]))
    assert found.best["hints"]["weights"]["b"] < found.best["hints"]["weights"]["a"]
    assert found.mean > found.recorded
    assert found.held_out > found.recorded
    assert (found.n_cases, found.n_families, found.n_left_out) == (40, 20, 0)
    assert list(found.frame()["mean"]) == sorted(found.frame()["mean"], reverse=True)


def test_what_noise_chose_is_worth_less_elsewhere() -> None:
    replay = Replay(report(noise=True).record, "both")
    found = tune(replay, sample(["a", "b"], n=200, seed=1))
    assert found.held_out < found.mean
    assert found.optimism == pytest.approx(found.mean - found.held_out)


def test_the_same_seed_tunes_the_same() -> None:
    replay = Replay(report().record, "both")
    assert sample(["a", "b"], n=3, seed=5) == sample(["a", "b"], n=3, seed=5)
    settings = sample(["a", "b"], n=20, seed=5)
    assert tune(replay, settings, seed=2) == tune(replay, settings, seed=2)


def test_the_test_split_is_not_tuned_on() -> None:
    replay = Replay(report(split="test").record, "both")
    with pytest.raises(BadInputError, match="not tuned on the test split"):
        tune(replay, grid(["a", "b"]))


def test_too_little_is_refused() -> None:
    with pytest.raises(NotEvaluatedError, match="in 1 families"):
        tune(Replay(report(n=2).record, "both"), grid(["a", "b"]))
    replay = Replay(report().record, "both")
    with pytest.raises(BadInputError, match="0 settings"):
        tune(replay, [])
    with pytest.raises(BadInputError, match="the seed must lie between"):
        tune(replay, grid(["a", "b"]), seed=-1)
    with pytest.raises(BadInputError, match="does not score AP"):
        tune(replay, grid(["a", "b"]), measure="AP")


def test_channels_without_scores_are_tuned_by_rank() -> None:
    search = channel(0, quality=0.9)
    kept = ev.evaluate(
        dataset_from_cases(report().record.cases, dataset_id="forty"),
        {
            "both": ev.fused(
                {
                    "a": lambda query, limit: [key for key, _ in search(query, limit)],
                    "b": channel(1, quality=0.05),
                }
            )
        },
        measures=["RR@10"],
    )
    replay = Replay(kept.record, "both")
    with pytest.raises(CapabilityError, match=r"channel 'a' .*grid\(.*, normalisations=\(\)\)"):
        tune(replay, grid(["a", "b"]))
    assert tune(replay, grid(["a", "b"], normalisations=())).best["hints"]["weights"]["a"] > 0


def test_shares_sum_to_the_whole() -> None:
    replay = Replay(report().record, "both")
    a, b = attribute(replay)
    whole = replay.run({}).means()["RR@10"]
    assert a.shapley + b.shapley == pytest.approx(whole)
    assert a.shapley > b.shapley
    assert a.lost_without == pytest.approx(whole - b.alone)
    assert b.gain_over_alone == pytest.approx(whole - b.alone)


def test_reranking_takes_no_part_in_the_shares() -> None:
    plain = attribute(Replay(report().record, "both"))
    assert attribute(Replay(report(rerank=True).record, "both")) == plain


def test_what_only_ties_with_the_recorded_does_not_win() -> None:
    replay = Replay(report(n=12).record, "both")
    found = tune(replay, [{"limit": 9}, {"limit": 10}], measure="RR@10")
    assert found.best == {}
    assert found.mean == found.recorded
    assert len(found.tried) == 3
