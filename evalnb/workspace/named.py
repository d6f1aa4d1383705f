"""Models of this machine under their names, for systems other than a workspace.

Each is loaded when it is first used; until then its absence harms nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TypeVar

from evalnb.errors import CapabilityError, EvalnbError, MissingExtraError, NotFoundError
from evalnb.workspace.encoders import Floats, OnnxEncoder, load_encoder
from evalnb.workspace.models import canonical_model_name, find_model
from evalnb.workspace.rerank import Reranker, canonical_reranker, find_reranker, reranker_identity

Model = TypeVar("Model")


class NamedEncoder:
    """Embeds queries with ``minilm-l6-v2-int8``, or with the model in a folder, ``onnx:DIR``."""

    version = "pinned"  # by the digests of its identity

    def __init__(self, name: str) -> None:
        self.name = canonical_model_name(name)

    @property
    def identity(self) -> dict[str, str]:
        """The digests of the model; its name alone where it is not there."""
        try:
            return {"model": self.name, **find_model(self.name).identity}
        except EvalnbError:  # whoever uses it is told
            return {"model": self.name}

    def check(self) -> None:
        """Load the model.

        Raises
        ------
        CapabilityError
            If it is not there.
        """
        assert self._encoder

    def __call__(self, texts: Sequence[str]) -> list[Floats]:
        """Return the vector of each query."""
        return list(self._encoder.encode(texts, "query"))

    @cached_property
    def _encoder(self) -> OnnxEncoder:
        return _available(lambda: load_encoder(find_model(self.name)))


class NamedReranker:
    """Reranks with ``maxsim``, ``maxsim:onnx:DIR`` or a cross-encoder, ``onnx:DIR``."""

    version = "pinned"  # by the digests of its identity

    def __init__(self, name: str) -> None:
        self.name = canonical_reranker(name)

    @property
    def identity(self) -> dict[str, str]:
        """The digests of the model; its name alone where it is not there."""
        return {"model": self.name, **reranker_identity(self.name, {})}

    def check(self) -> None:
        """Load the model.

        Raises
        ------
        CapabilityError
            If it is not there.
        """
        assert self._reranker

    def __call__(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one score a text."""
        return self._reranker.scores(query, texts)

    @cached_property
    def _reranker(self) -> Reranker:
        return _available(lambda: find_reranker(self.name, {}))


def _available(load: Callable[[], Model]) -> Model:
    try:
        return load()
    except (MissingExtraError, NotFoundError) as error:
        raise CapabilityError(error.message, where=error.where, remedy=error.remedy) from error
