"""Rerankers: read the best of a pool against the query, and put them in a better order."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from numbers import Real
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from evalnb.errors import CapabilityError, EvalnbError, SearchFailedError
from evalnb.limits import MIB
from evalnb.search.result import Candidates
from evalnb.workspace.encoders import OnnxEncoder, OnnxGraph, load_encoder
from evalnb.workspace.models import (
    FOLDER,
    MINILM,
    OnnxModel,
    canonical_model_name,
    find_model,
    is_folder,
)

MAXSIM = "maxsim"
DEFAULT_RERANKER = MAXSIM
RERANKER_NAMES = f"{MAXSIM}, {MAXSIM}:onnx:DIR, onnx:DIR"
_KEPT_BYTES = 256 * MIB  # of passages that were read lately: every query of a set meets them again

RerankFunction = Callable[[str, Sequence[str]], Sequence[float]]


class Reranker(Protocol):
    """Scores texts by how well they answer a query; higher is better."""

    name: str
    needs_network: bool

    @property
    def identity(self) -> dict[str, str]:
        """What makes its scores: digests, or what its author says."""

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one score a text."""


class MaxSim:
    """Late interaction: each query token takes its nearest passage token, and the cosines add up.

    It needs no model but a sentence encoder's.

    References
    ----------
    Khattab, Zaharia (2020): ColBERT: Efficient and Effective Passage Search via Contextualized Late
    Interaction over BERT. SIGIR.
    """

    needs_network = False

    def __init__(self, name: str, encoder: OnnxEncoder) -> None:
        self.name = name
        self._encoder = encoder
        # Half precision: cosines keep three digits, and twice as many passages stay in memory.
        largest = 2 * encoder.model.max_tokens * encoder.dimensions
        self._passage = lru_cache(maxsize=max(1, _KEPT_BYTES // largest))(self._read)

    @property
    def identity(self) -> dict[str, str]:
        """The digests of the encoder."""
        return self._encoder.model.identity

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the sum over query tokens of their largest cosine with a passage token."""
        asked = self._encoder.token_vectors(query, "query")
        found = self._encoder.graph.map(self._passage, texts)
        return [
            float((asked @ passage.astype(np.float32).T).max(axis=1, initial=-1).sum())
            for passage in found
        ]

    def _read(self, text: str) -> npt.NDArray[np.float16]:
        return self._encoder.token_vectors(text, "passage").astype(np.float16)


class CrossEncoder:
    """A model that reads query and passage together and gives one number.

    Raises
    ------
    CapabilityError
        If the model gives anything else.
    """

    needs_network = False

    def __init__(self, name: str, graph: OnnxGraph) -> None:
        self.name = name
        self._graph = graph
        self._output = "logits" if "logits" in graph.outputs else graph.outputs[0]
        shape = graph.run(graph.tokens("a", "a"), self._output).shape
        if math.prod(shape) != 1:
            raise CapabilityError(
                f"the model gives {self._output} of shape {shape}, not one score a pair",
                where=str(graph.model.model),
                remedy=f"a cross-encoder is expected; an encoder reranks as {MAXSIM}:{FOLDER}DIR",
            )

    @property
    def identity(self) -> dict[str, str]:
        """The digests of the model."""
        return self._graph.model.identity

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the model's number for each pair, before any sigmoid."""
        return list(self._graph.map(lambda text: self._score(query, text), texts))

    def _score(self, query: str, text: str) -> float:
        return self._graph.run(self._graph.tokens(query, text), self._output).item()


class FunctionReranker:
    """A function of the user's: ``rerank(query, texts)`` returns one number a text.

    Of its attributes, ``version`` pins what it does, ``identity`` says what makes its scores,
    ``needs_network`` keeps it out of an offline request, and ``check()`` refuses before any search.
    """

    def __init__(self, name: str, function: RerankFunction) -> None:
        self.name = name
        self._function = function
        self.needs_network = bool(getattr(function, "needs_network", False))

    @property
    def version(self) -> str | None:
        """The function's own version key."""
        version = getattr(self._function, "version", None)
        return None if version is None else str(version)

    @property
    def identity(self) -> dict[str, str]:
        """What the function says of itself."""
        return {**getattr(self._function, "identity", {}), "version": self.version or "unversioned"}

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Call the function.

        Raises
        ------
        SearchFailedError
            If it raises, or returns anything but one finite number a text.
        """
        try:
            returned = list(self._function(query, list(texts)))
        except EvalnbError:
            raise
        except Exception as error:  # a user's function may raise anything
            raise SearchFailedError(f"{self.name}: {type(error).__name__}: {error}") from error
        if len(returned) != len(texts):
            raise SearchFailedError(f"{self.name}: {len(returned)} scores for {len(texts)} texts")
        return [self._number(value) for value in returned]

    def _number(self, value: Any) -> float:
        is_number = isinstance(value, Real | np.number) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value):
            raise SearchFailedError(f"{self.name}: {value!r} is no score, but a number has to be")
        return float(value)


def find_reranker(name: str, given: Mapping[str, RerankFunction]) -> Reranker:
    """Return a reranker by name: one that was given, ``maxsim``, or a model's folder.

    Raises
    ------
    CapabilityError
        If there is none of this name, or a model cannot be loaded.
    MissingExtraError, NotFoundError, BadInputError
        If a model is not there, or its settings are not supported.
    """
    if name in given:
        function = given[name]
        if hasattr(function, "check"):
            function.check()
        return FunctionReranker(name, function)
    model = _model(name)
    if model is None:
        raise CapabilityError(
            f"there is no reranker {name!r}",
            remedy=f"one of {', '.join([*given, RERANKER_NAMES])}; a chat model is set with: "
            f'evalnb config set rerankers.{name} \'{{"url": ..., "model": ...}}\'',
        )
    if name.startswith(FOLDER):
        return CrossEncoder(name, OnnxGraph(model))
    return MaxSim(name, load_encoder(model))


def canonical_reranker(name: str) -> str:
    """Return a reranker's name with a model's folder as a whole path."""
    encoder = name.removeprefix(f"{MAXSIM}:")
    return name.removesuffix(encoder) + canonical_model_name(encoder)


def reranker_identity(name: str, given: Mapping[str, RerankFunction]) -> dict[str, str]:
    """Return what makes a reranker's scores without loading it; nothing if it is not there."""
    if name in given:
        return FunctionReranker(name, given[name]).identity
    try:
        model = _model(name)
    except EvalnbError:  # whoever asks for it is told
        return {}
    return {} if model is None else model.identity


def _model(name: str) -> OnnxModel | None:
    """Locate the model of a reranker: the packaged one's, or a folder's."""
    if name == MAXSIM:
        return find_model(MINILM)
    model = name.removeprefix(f"{MAXSIM}:")
    return find_model(canonical_model_name(model)) if is_folder(model) else None


def reranker_digest(reranker: Reranker) -> str:
    """Digest what makes a reranker's scores."""
    return hashlib.sha256(json.dumps(reranker.identity, sort_keys=True).encode()).hexdigest()[:32]


def rerank(reranker: Reranker, query: str, ids: Sequence[str], texts: Sequence[str]) -> Candidates:
    """Order a pool by a reranker's scores, ties by id.

    Raises
    ------
    SearchFailedError
        If the reranker fails.
    """
    scores = dict(zip(ids, reranker.scores(query, texts), strict=True))
    order = sorted(scores, key=lambda key: (-scores[key], key))
    return Candidates.model_construct(ids=tuple(order), scores=tuple(scores[key] for key in order))
