"""The workspace's own defaults: config.json, which only the person who owns it changes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, Field, ValidationError, model_validator

from evalnb.errors import BadInputError
from evalnb.files import write_file
from evalnb.search.request import Configuration, Hints, Limit, Mode, Record, Text
from evalnb.search.secrets import SECRET_NAME
from evalnb.strict_json import describe_validation_error
from evalnb.wording import shown
from evalnb.workspace.analysis import analysis_of, lexical_index_name
from evalnb.workspace.chunking import Chunking
from evalnb.workspace.rerank import canonical_reranker
from evalnb.workspace.text_index import canonical_text_index

FILE_NAME = "config.json"


def _check_code(language: str) -> str:
    if not re.fullmatch(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]+)*", language):
        raise ValueError(f"expected a code such as en or pt-BR, found {shown(language)}")
    return language


class Settings(Record):
    """What a request that says nothing gets, and how documents are cut into units.

    Attributes
    ----------
    language
        Chooses the lexical index and the case rule; a record's own language wins for its text.
    mode, limit, hints
        Defaults of every search.
    chunker, chunk_size, chunk_overlap
        How the next snapshot cuts documents, in characters.
    offline
        Whether an evaluation of this workspace may call network providers.
    rerankers
        Chat models that ``hints.reranker`` may name: their url, model, headers and the like.
    encoders
        Embedding models behind an endpoint, for the text index ``text:openai:NAME``; ``model`` is
        the name unless given.
    """

    format: Literal["evalnb-workspace@1"] = "evalnb-workspace@1"
    language: Annotated[Text, AfterValidator(_check_code)] | None = None
    mode: Mode = "keyword"
    limit: Limit = 10
    hints: Hints = Hints()
    chunker: Literal["headings", "size"] = "headings"
    chunk_size: Annotated[int, Field(ge=1, le=1_000_000)] = 1_200
    chunk_overlap: Annotated[int, Field(ge=0)] = 150
    offline: bool = False
    rerankers: dict[str, dict[str, Any]] = {}
    encoders: dict[str, dict[str, Any]] = {}

    @model_validator(mode="after")
    def _overlap_leaves_progress(self) -> Self:
        if self.chunk_overlap * 2 > self.chunk_size:
            raise ValueError(
                f"chunk_overlap {self.chunk_overlap} is more than half of chunk_size "
                f"{self.chunk_size}"
            )
        return self

    @model_validator(mode="after")
    def _endpoints_are_whole_and_hold_no_key(self) -> Self:
        for kind in ("rerankers", "encoders"):
            for name, table in getattr(self, kind).items():
                _check_endpoint(f"{kind}.{name}", table)
        return self

    @property
    def chunking(self) -> Chunking:
        """The chunker with its sizes."""
        return Chunking(chunker=self.chunker, size=self.chunk_size, overlap=self.chunk_overlap)

    @property
    def configuration(self) -> Configuration:
        """The defaults of a search, as every system states them."""
        hints = Hints(language=self.language).merged(self.hints)
        return Configuration(mode=self.mode, limit=self.limit, hints=hints)

    @property
    def lexical_index(self) -> str:
        """The name of the lexical index that a search without hints reads."""
        return chosen_lexical_index(self.configuration.hints)


def _check_endpoint(key: str, table: dict[str, Any]) -> None:
    """Refuse what would lie open in a file; whoever opens the workspace reads the rest."""
    url = table.get("url")
    if not isinstance(url, str):
        raise ValueError(f"{key} has no url; NAME is without dots, and model says the rest")
    parts = urlsplit(url)
    if parts.password or any(SECRET_NAME.search(name) for name, _ in parse_qsl(parts.query)):
        raise ValueError(f"{key}.url holds a key; send it as a header, from the environment")
    for part in ("headers", "parameters"):
        values = table.get(part)
        for name, value in values.items() if isinstance(values, dict) else ():
            if isinstance(value, str) and SECRET_NAME.search(name) and "${" not in value:
                raise ValueError(
                    f"{key}.{part}.{name} holds a key; write ${{VARIABLE}} for what the "
                    "environment has"
                )


def chosen_lexical_index(hints: Hints) -> str:
    """Name the lexical index that hints ask for: an index by name, else by language.

    Raises
    ------
    BadInputError
        If the name is no lexical index's.
    """
    if hints.lexical_index is None:
        return lexical_index_name(hints.language)
    analysis_of(hints.lexical_index)
    return hints.lexical_index


def load_settings(folder: Path) -> Settings:
    """Read a workspace's config.json; without one, the defaults hold.

    Raises
    ------
    BadInputError
        If it is not valid, naming the field.
    """
    path = folder / FILE_NAME
    try:
        document = path.read_bytes()
    except FileNotFoundError:
        return Settings()
    return _validated(document, where=str(path))


def save_settings(settings: Settings, folder: Path) -> None:
    """Write config.json whole or not at all."""
    text = json.dumps(settings.model_dump(mode="json", exclude_none=True), indent=2)
    write_file(folder / FILE_NAME, f"{text}\n".encode())


def changed_settings(settings: Settings, changes: dict[str, Any]) -> Settings:
    """Return settings with some values replaced; ``hints.rrf_k`` reaches into the hints.

    Raises
    ------
    BadInputError
        If a key is unknown or its value does not fit.
    """
    document = settings.model_dump(mode="json", exclude_none=True)
    for key, value in changes.items():
        *parents, last = key.split(".")
        place = document
        for parent in parents:
            place = place.setdefault(parent, {})
            if not isinstance(place, dict):
                raise BadInputError(f"{parent!r} in {key!r} has no keys of its own")
        if value is None:
            place.pop(last, None)
        else:
            place[last] = _whole(key, value)
    return _validated(json.dumps(document))


def _whole(key: str, value: Any) -> Any:
    """Write out the place of a model's folder: what is kept holds in every working directory."""
    wholes = {"hints.text_index": canonical_text_index, "hints.reranker": canonical_reranker}
    return wholes[key](value) if key in wholes and isinstance(value, str) else value


def _validated(document: bytes | str, *, where: str | None = None) -> Settings:
    try:
        return Settings.model_validate_json(document)
    except ValidationError as error:
        known = [name for name in Settings.model_fields if name != "format"]
        raise BadInputError(
            describe_validation_error(error, known=known),
            where=where,
            remedy=f"settings: {', '.join(known)}; hints.NAME sets one hint",
        ) from error
