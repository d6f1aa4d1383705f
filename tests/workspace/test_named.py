"""Models by name: loaded when used, told when absent, sent to other processes without weights."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from evalnb.errors import BadInputError, CapabilityError
from evalnb.workspace.named import NamedEncoder, NamedReranker

TEXTS = ["Red boots for the mountains.", "The law of the sea."]


def test_a_model_embeds_reranks_and_travels_after_it_was_used() -> None:
    encoder, rerank = NamedEncoder("minilm-l6-v2-int8"), NamedReranker("maxsim")
    for model in (encoder, rerank):
        model.check()
        assert model.identity["model_sha256"].startswith("8199be6f")
    (vector,) = encoder(["warm boots"])
    assert np.linalg.norm(vector) == pytest.approx(1.0)
    (again,) = pickle.loads(pickle.dumps(encoder))(["warm boots"])
    assert again.tolist() == vector.tolist()
    first, second = pickle.loads(pickle.dumps(rerank))("boots", TEXTS)
    assert first > second


def test_a_model_that_is_not_there_is_told_when_it_is_used(tmp_path: Path) -> None:
    for model in (NamedEncoder(f"onnx:{tmp_path}/no"), NamedReranker(f"onnx:{tmp_path}/no")):
        assert model.identity == {"model": f"onnx:{tmp_path}/no"}
        with pytest.raises(CapabilityError, match="no model folder"):
            model.check()
    with pytest.raises(BadInputError, match="no model is called 'minilm'"):
        NamedEncoder("minilm").check()
    with pytest.raises(CapabilityError, match="there is no reranker 'maxsm'"):
        NamedReranker("maxsm").check()
