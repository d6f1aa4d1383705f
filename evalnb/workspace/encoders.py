"""Encoders: a text becomes one vector, or one vector a token."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from evalnb.errors import CapabilityError, MissingExtraError, SearchFailedError
from evalnb.workspace.models import EXTRA, OnnxModel

Floats = npt.NDArray[np.float32]
Role = Literal["query", "passage"]
Given = TypeVar("Given")
Made = TypeVar("Made")

_TOKENIZER_INPUTS = {
    "input_ids": "ids",
    "attention_mask": "attention_mask",
    "token_type_ids": "type_ids",
}
_POOLED, _BY_TOKEN = "sentence_embedding", ("token_embeddings", "last_hidden_state")


class Encoder(Protocol):
    """What a text index asks for vectors of length 1."""

    @property
    def dimensions(self) -> int:
        """The length of a vector."""

    def encode(self, texts: Sequence[str], role: Role) -> Iterator[Floats]:
        """Yield the vector of each text, in order."""


class Embedder(Protocol):
    """A model behind the network: one vector of any length a text."""

    @property
    def identity(self) -> dict[str, str]:
        """What makes its vectors; nothing secret."""

    @property
    def version(self) -> str | None:
        """What pins the model behind the name; None for nothing."""

    def check(self) -> None:
        """Refuse, without a call, what cannot be called."""

    def __call__(self, texts: Sequence[str], role: Role) -> Floats:
        """Return the vectors, shape (texts, dimensions), finite and not zero."""


class OnnxGraph:
    """A loaded model with its tokenizer.

    Every text runs by itself: in a batch, padding would change the last bits of a vector, and
    measured per core a batch is slower. So a vector depends on its text alone, and can be used
    again. Several texts run on several threads.

    Raises
    ------
    MissingExtraError
        If onnxruntime or tokenizers is not installed.
    CapabilityError
        If a file cannot be loaded, or the graph takes inputs that a tokenizer does not give.
    """

    def __init__(self, model: OnnxModel, *, workers: int | None = None) -> None:
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtraError(
                f"{error.name} is not installed", remedy=f"pip install 'evalnb[{EXTRA}]'"
            ) from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4  # below, it tells stderr how it optimises
        self.model = model
        self._workers = workers or os.cpu_count() or 1
        what, file = "model", str(model.model)
        try:
            self._session = onnxruntime.InferenceSession(
                file, options, providers=["CPUExecutionProvider"]
            )
            what, file = "tokenizer", str(model.tokenizer)
            self._tokenizer = Tokenizer.from_file(file)
        except Exception as error:  # onnxruntime's errors share no base of their own
            raise CapabilityError(
                f"the {what} cannot be loaded: {_head(error)}", where=file
            ) from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(model.max_tokens)
        self._inputs = [taken.name for taken in self._session.get_inputs()]
        self.outputs = [given.name for given in self._session.get_outputs()]
        unknown = sorted(set(self._inputs) - set(_TOKENIZER_INPUTS))
        if unknown:
            raise CapabilityError(
                f"the model takes {', '.join(unknown)}, which a tokenizer does not give",
                where=str(model.model),
            )

    def tokens(self, text: str, second: str | None = None) -> Any:
        """Cut a text, or a pair of texts, into the tokens that the model reads."""
        if self.model.lowercase:
            text, second = text.lower(), second and second.lower()
        return self._tokenizer.encode(text, second)

    def run(self, tokens: Any, output: str) -> Floats:
        """Return one of the graph's outputs for one text.

        Raises
        ------
        SearchFailedError
            If the model fails, or gives something that is not finite.
        """
        feed = {
            name: np.array([getattr(tokens, _TOKENIZER_INPUTS[name])], dtype=np.int64)
            for name in self._inputs
        }
        try:
            found = self._session.run([output], feed)[0][0]
        except Exception as error:
            raise SearchFailedError(
                f"the model failed: {_head(error)}", where=str(self.model.model)
            ) from error
        if not np.isfinite(found).all():
            raise SearchFailedError(
                f"the model gave NaN or infinity in {output}", where=str(self.model.model)
            )
        made: Floats = found.astype(np.float32, copy=False)
        return made

    def map(self, work: Callable[[Given], Made], items: Sequence[Given]) -> Iterator[Made]:
        """Apply work to items on several threads; the results come in order."""
        if len(items) < 2 or self._workers < 2:
            yield from map(work, items)
            return
        with ThreadPoolExecutor(self._workers) as pool:
            yield from pool.map(work, items)


class OnnxEncoder:
    """A sentence encoder: token vectors are pooled and brought to length 1.

    Raises
    ------
    CapabilityError
        If the graph gives no vectors of tokens or sentences.
    """

    def __init__(self, model: OnnxModel, *, workers: int | None = None) -> None:
        self.graph = OnnxGraph(model, workers=workers)
        self._prompts: dict[Role, str] = {
            "query": model.query_prompt,
            "passage": model.passage_prompt,
        }
        outputs = self.graph.outputs
        self._by_token = next((name for name in _BY_TOKEN if name in outputs), None)
        self._pooled = _POOLED if _POOLED in outputs else None
        if self._by_token is None and self._pooled is None:
            raise CapabilityError(
                f"the model gives {', '.join(outputs)}, and no vectors of tokens or sentences",
                where=str(model.model),
                remedy="export it for feature extraction",
            )
        (probe,) = self.encode(["a"], "passage")
        self.dimensions = len(probe)

    @property
    def model(self) -> OnnxModel:
        """The model's files and settings."""
        return self.graph.model

    def encode(self, texts: Sequence[str], role: Role) -> Iterator[Floats]:
        """Yield the vector of each text, in order.

        Raises
        ------
        SearchFailedError
            If the model fails.
        """

        def encoded(text: str) -> Floats:
            tokens = self.graph.tokens(self._prompts[role] + text)
            if self._pooled is not None:
                return unit_length(self.graph.run(tokens, self._pooled))
            assert self._by_token is not None
            return unit_length(_pool(self.graph.run(tokens, self._by_token), self.model.pooling))

        return self.graph.map(encoded, texts)

    def token_vectors(self, text: str, role: Role) -> Floats:
        """Return the vectors of a text's tokens, each of length 1, shape (tokens, dimensions).

        Tokens that only frame a text, such as its begin and end, are left out.

        Raises
        ------
        CapabilityError
            If the model gives no vectors of tokens.
        """
        if self._by_token is None:
            raise CapabilityError(
                "the model gives no vectors of tokens", where=str(self.model.model)
            )
        tokens = self.graph.tokens(self._prompts[role] + text)
        kept = np.array(tokens.special_tokens_mask) == 0
        return unit_length(self.graph.run(tokens, self._by_token)[kept])

    def n_truncated(self, texts: Iterable[str]) -> int:
        """Count the passages of which the model reads only the beginning."""
        prompt = self._prompts["passage"]
        return sum(bool(self.graph.tokens(prompt + text).overflowing) for text in texts)


@lru_cache(maxsize=4)
def load_encoder(model: OnnxModel) -> OnnxEncoder:
    """Load an encoder; the ones used last stay loaded."""
    return OnnxEncoder(model)


def unit_length(vectors: Floats) -> Floats:
    """Bring vectors, the rows, to length 1; one without any length stays as it is."""
    lengths = np.sqrt(np.square(vectors).sum(axis=-1, keepdims=True))
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def _pool(by_token: Floats, pooling: str) -> Floats:
    ways: dict[str, Callable[[], Floats]] = {  # nothing is padding, so every token counts
        "mean": lambda: by_token.mean(axis=0),
        "max": lambda: by_token.max(axis=0),
        "cls": lambda: by_token[0],
        "last": lambda: by_token[-1],
    }
    return ways[pooling]()


def _head(error: Exception) -> str:
    """Return the first line of a message that may quote a whole graph."""
    return str(error).strip().partition("\n")[0][:200]
