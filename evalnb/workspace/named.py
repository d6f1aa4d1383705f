"""Models of this machine under their names, for systems other than a workspace.

Each is loaded when it is first used; until then its absence harms nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from evalnb.errors import EvalnbError
from evalnb.workspace.encoders import Floats, OnnxEncoder, load_encoder
from evalnb.workspace.models import canonical_model_name, find_model, required
from evalnb.workspace.rerank import (
    Reranker,
    canonical_reranker,
    find_reranker,
    reranker_identity,
)


class _NamedModel:
    version = "pinned"  # by the digests of its identity
    _model: Any

    def __init__(self, name: str) -> None:
        self.name = name

    def check(self) -> None:
        """Load the model.

        Raises
        ------
        CapabilityError
            If it is not there.
        """
        _ = self._model

    def __getstate__(self) -> dict[str, Any]:
        """Leave the model behind: a copy in another process loads its own."""
        return {"name": self.name}


class NamedEncoder(_NamedModel):
    """Embeds queries with ``minilm-l6-v2-int8``, or with the model in a folder, ``onnx:DIR``."""

    def __init__(self, name: str) -> None:
        super().__init__(canonical_model_name(name))

    @property
    def identity(self) -> dict[str, str]:
        """The digests of the model; its name alone where it is not there."""
        try:
            return {"model": self.name, **find_model(self.name).identity}
        except EvalnbError:  # whoever uses it is told
            return {"model": self.name}

    def __call__(self, texts: Sequence[str]) -> list[Floats]:
        """Return the vector of each query."""
        return list(self._model.encode(texts, "query"))

    @cached_property
    def _model(self) -> OnnxEncoder:
        with required():
            return load_encoder(find_model(self.name))


class NamedReranker(_NamedModel):
    """Reranks with ``maxsim``, ``maxsim:onnx:DIR`` or a cross-encoder, ``onnx:DIR``."""

    def __init__(self, name: str) -> None:
        super().__init__(canonical_reranker(name))

    @property
    def identity(self) -> dict[str, str]:
        """The digests of the model; its name alone where it is not there."""
        return {"model": self.name, **reranker_identity(self.name, {})}

    def __call__(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one score a text."""
        return self._model.scores(query, texts)

    @cached_property
    def _model(self) -> Reranker:
        with required():
            return find_reranker(self.name, {})
