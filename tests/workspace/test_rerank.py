"""Rerankers: what they score, and which are refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from evalnb.errors import CapabilityError, MissingExtraError, NotFoundError, SearchFailedError
from evalnb.workspace import models
from evalnb.workspace.encoders import OnnxEncoder
from evalnb.workspace.rerank import (
    CrossEncoder,
    FunctionReranker,
    MaxSim,
    find_reranker,
    rerank,
    reranker_digest,
    reranker_identity,
)

WORDS = {"north": (0.0, 2.0), "east": (3.0, 0.0), "northeast": (1.0, 1.0)}


class TestMaxSim:
    @pytest.fixture
    def maxsim(self, make_model, tmp_path: Path) -> MaxSim:
        found = find_reranker(f"maxsim:onnx:{make_model(tmp_path / 'model', WORDS)}", {})
        assert isinstance(found, MaxSim)
        return found

    SCORES = [
        # query, passage, sum over query tokens of the largest cosine
        ("north", "north", 1),
        ("north", "east", 0),
        ("north", "northeast", 0.5**0.5),
        ("north east", "northeast", 2 * 0.5**0.5),
        ("north east", "east north", 2),
        ("north north", "north", 2),
        ("north", "east north east", 1),
    ]

    @pytest.mark.parametrize(("query", "passage", "score"), SCORES)
    def test_scores(self, maxsim: MaxSim, query, passage, score) -> None:
        assert maxsim.scores(query, [passage]) == pytest.approx([score], abs=1e-3)

    def test_a_passage_without_tokens_is_the_last(self, maxsim: MaxSim) -> None:
        empty, far = maxsim.scores("north", ["", "east"])
        assert empty < far

    def test_a_passage_is_read_once(self, maxsim: MaxSim, monkeypatch) -> None:
        read = []
        token_vectors = OnnxEncoder.token_vectors

        def counting(self: OnnxEncoder, text: str, role: str) -> np.ndarray:
            read.append((role, text))
            return token_vectors(self, text, role)

        monkeypatch.setattr(OnnxEncoder, "token_vectors", counting)
        first = maxsim.scores("north", ["east", "northeast"])
        assert maxsim.scores("north", ["northeast", "east"]) == first[::-1]
        assert sorted(read) == [
            ("passage", "east"),
            ("passage", "northeast"),
            ("query", "north"),
            ("query", "north"),
        ]

    def test_the_packaged_model_is_the_default(self) -> None:
        maxsim = find_reranker("maxsim", {})
        money, moon = maxsim.scores("money back", ["Refunds for customers.", "The full moon."])
        assert money > moon
        assert maxsim.identity["model_sha256"] == models.MINILM_MODEL_SHA256


class TestCrossEncoder:
    def test_it_reads_both_texts(self, make_cross_encoder, tmp_path: Path) -> None:
        folder = make_cross_encoder(tmp_path / "model", ["refund", "fee", "moon"])
        found = find_reranker(f"onnx:{folder}", {})
        assert isinstance(found, CrossEncoder)
        passages = ["moon", "refund", "fee refund", "refund refund fee", ""]
        assert found.scores("refund fee", passages) == [0, 1, 2, 3, 0]

    def test_a_model_of_several_scores_is_refused(self, make_cross_encoder, tmp_path) -> None:
        folder = make_cross_encoder(tmp_path / "model", ["refund"], n_scores=3)
        with pytest.raises(CapabilityError, match=r"logits of shape \(3,\), not one score a pair"):
            find_reranker(f"onnx:{folder}", {})

    def test_an_encoder_is_refused(self, make_model, tmp_path: Path) -> None:
        folder = make_model(tmp_path / "model", WORDS)
        with pytest.raises(CapabilityError, match=r"not one score a pair.*maxsim:onnx:DIR"):
            find_reranker(f"onnx:{folder}", {})


def by_length(query: str, texts: Sequence[str]) -> list[float]:
    return [len(text) for text in texts]


def failing(query: str, texts: Sequence[str]) -> list[float]:
    raise RuntimeError("no answer")


WRONG = [
    (lambda query, texts: [1.0], "1 scores for 2 texts"),
    (lambda query, texts: [1.0, float("nan")], "nan is no score"),
    (lambda query, texts: [1.0, "2"], "'2' is no score"),
    (lambda query, texts: [1.0, True], "True is no score"),
    (lambda query, texts: [1.0, None], "None is no score"),
    (lambda query, texts: 7, "TypeError"),
    (failing, "llm: RuntimeError: no answer"),
]


class TestFunction:
    def test_its_scores_are_taken(self) -> None:
        assert FunctionReranker("llm", by_length).scores("q", ["abc", "a"]) == [3, 1]
        numbers = FunctionReranker("llm", lambda query, texts: np.array([0.5, 2], np.float32))
        assert numbers.scores("q", ["a", "b"]) == [0.5, 2.0]

    @pytest.mark.parametrize(("function", "message"), WRONG)
    def test_anything_else_is_refused(self, function, message) -> None:
        with pytest.raises(SearchFailedError, match=message):
            FunctionReranker("llm", function).scores("q", ["a", "b"])

    def test_it_says_what_it_is(self) -> None:
        def named(query: str, texts: Sequence[str]) -> list[float]:
            return [0.0] * len(texts)

        before = reranker_digest(FunctionReranker("llm", named))
        named.version = "2"
        named.identity = {"model": "m"}
        named.needs_network = True
        found = FunctionReranker("llm", named)
        assert found.identity == {"model": "m", "version": "2"}
        assert found.needs_network
        assert reranker_digest(found) != before


def test_a_pool_is_ordered_by_score_then_id() -> None:
    found = rerank(FunctionReranker("f", by_length), "q", ["c", "b", "a"], ["xx", "x", "xx"])
    assert (found.ids, found.scores) == (("a", "c", "b"), (2.0, 2.0, 1.0))


@pytest.mark.parametrize(
    "name", ["bge", "maxsim:", "maxsim:minilm-l12", "onnx:", "maxsim:onnx:", "llm", ""]
)
def test_an_unknown_reranker_is_unavailable(name) -> None:
    with pytest.raises(CapabilityError, match=r"there is no reranker.*house, maxsim"):
        find_reranker(name, {"house": by_length})
    assert reranker_identity(name, {}) == {}


def test_a_missing_model_is_said(tmp_path: Path, monkeypatch) -> None:
    with pytest.raises(NotFoundError, match="there is no model folder"):
        find_reranker(f"onnx:{tmp_path}/none", {})
    monkeypatch.setattr(models, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"evalnb\[minilm\]"):
        find_reranker("maxsim", {})
    assert reranker_identity("maxsim", {}) == {}
