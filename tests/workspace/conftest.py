"""A small corpus in a real workspace, and a way to ask it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, checker, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

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


@pytest.fixture
def make_model() -> Callable[..., Path]:
    """Return a function that writes a tiny model: ``make_model(folder, {"word": (1.0, 0.0)})``.

    Its output for a token is the vector given for the word, and nothing but that.
    """
    return write_encoder


@pytest.fixture
def make_cross_encoder() -> Callable[..., Path]:
    """Return a function that writes a tiny cross-encoder, which counts equal tokens of a pair."""
    return write_cross_encoder


def write_encoder(
    folder: Path,
    words: dict[str, tuple[float, ...]],
    *,
    output: str = "last_hidden_state",
    **settings: Any,
) -> Path:
    """Write a model whose token vectors are looked up; begin and end of a text have none."""
    size = len(next(iter(words.values())))
    table = np.array([(0.0,) * size] * 3 + list(words.values()), dtype=np.float32)
    pooled = output == "sentence_embedding"
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["tokens" if pooled else output])]
    if pooled:
        nodes.append(helper.make_node("ReduceMean", ["tokens"], [output], axes=[1], keepdims=0))
    shape = ["batch", size] if pooled else ["batch", "tokens", size]
    _write_model(folder, nodes, {"table": table}, {output: shape})
    _write_tokenizer(folder, list(words))
    (folder / "sentence_bert_config.json").write_text(
        json.dumps({"max_seq_length": 16, **settings})
    )
    return folder


def write_cross_encoder(folder: Path, words: list[str], *, n_scores: int = 1) -> Path:
    """Write a model whose score is the number of pairs of equal tokens across both texts."""
    nodes = [
        helper.make_node("Unsqueeze", ["input_ids", "two"], ["column"]),
        helper.make_node("Unsqueeze", ["input_ids", "one"], ["row"]),
        helper.make_node("Equal", ["column", "row"], ["equal"]),
        helper.make_node("Cast", ["equal"], ["equal_f"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["token_type_ids"], ["second"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["attention_mask"], ["every"], to=TensorProto.FLOAT),
        helper.make_node("Sub", ["every", "second"], ["first"]),
        helper.make_node("Unsqueeze", ["first", "two"], ["first_column"]),
        helper.make_node("Unsqueeze", ["second", "one"], ["second_row"]),
        helper.make_node("Mul", ["first_column", "second_row"], ["across"]),
        helper.make_node("Mul", ["equal_f", "across"], ["shared"]),
        helper.make_node("Greater", ["input_ids", "specials"], ["is_word"]),
        helper.make_node("Cast", ["is_word"], ["word"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["word", "one"], ["word_row"]),
        helper.make_node("Mul", ["shared", "word_row"], ["counted"]),
        helper.make_node("ReduceSum", ["counted", "last_axes"], ["sum"], keepdims=0),
        helper.make_node("Unsqueeze", ["sum", "one"], ["one_score"]),
        helper.make_node("Tile", ["one_score", "repeats"], ["logits"]),
    ]
    constants = {
        "one": np.array([1]),
        "two": np.array([2]),
        "last_axes": np.array([1, 2]),
        "specials": np.array(2),
        "repeats": np.array([1, n_scores]),
    }
    _write_model(folder, nodes, constants, {"logits": ["batch", n_scores]})
    _write_tokenizer(folder, words)
    return folder


def _write_model(
    folder: Path, nodes: list[Any], constants: dict[str, Any], outputs: dict[str, list[Any]]
) -> None:
    taken = {name for node in nodes for name in node.input}
    names = ("input_ids", "attention_mask", "token_type_ids")
    graph = helper.make_graph(
        nodes,
        "tiny",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
            for name in names
            if name in taken
        ],
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in outputs.items()
        ],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(model)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())


def _write_tokenizer(folder: Path, words: list[str]) -> None:
    vocabulary = {word: at for at, word in enumerate(["[UNK]", "[CLS]", "[SEP]", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
