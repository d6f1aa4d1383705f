"""The two protocols: something that searches, and a corpus that can prove what it returned."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from evalnb.search.request import Configuration, Controls, QueryRequest, Record, Scope
from evalnb.search.result import Kind, QueryResult


class Capabilities(Record):
    """What a system can do; a case that needs more is unavailable, with the field's name.

    Attributes
    ----------
    channels
        Channels that a variant may choose. Empty for an opaque system, whose controls are its own.
    kinds
        Kinds of id that its hits carry. Empty means: known only from what it returns.
    texts
        Whether hits carry text; null means known only from what it returns.
    references
        Whether it extracts references.
    restrictions
        Fields of a request that it honours besides the query and the limit.
    identity
        What makes its answers: versions and digests, by name. It enters the config_id.
    configuration
        Its own defaults for what a request leaves open.
    versioned
        Whether ``identity`` pins the behaviour, so that stored results may be used again.
    timeout_s
        How long one search may take, in seconds; null means no limit of its own.
    pinned
        Whether its sessions are a :class:`PinnedCorpus`.
    """

    channels: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()
    texts: bool | None = None
    references: bool = False
    restrictions: frozenset[str] = frozenset()
    identity: dict[str, str] = {}
    configuration: Configuration = Configuration()
    versioned: bool = True
    timeout_s: float | None = None
    pinned: bool = False


class Cut(Record):
    """A pinned state: the snapshot, the identity of every index, and the epochs later checked."""

    snapshot_id: str
    indexes: dict[str, str] = {}
    epochs: dict[str, int] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchContext:
    """What one session is opened for. ``deadline`` is a ``time.monotonic()`` value."""

    snapshot_id: str | None = None
    scope: Scope = Scope()
    seed: int = 0
    repetition: int = 0
    offline: bool = False
    deadline: float | None = None


class SearchSession(Protocol):
    """One open session; closing it releases what it holds."""

    def search(self, request: QueryRequest, controls: Controls) -> QueryResult:
        """Run one search."""

    def close(self) -> None:
        """Release what the session holds; calling it again does nothing."""


@runtime_checkable
class RecordedSession(Protocol):
    """A session that was searched before: it keeps one answer for each case, as a run file does."""

    def expect(self, case_ids: Collection[str]) -> None:
        """Refuse cases of which none has an answer.

        Raises
        ------
        NotEvaluatedError
            Naming both sides.
        """

    def answer(self, case_id: str, controls: Controls) -> QueryResult:
        """Return a case's answer; a case without one has an empty result."""


class SearchSystem(Protocol):
    """Anything that searches."""

    def capabilities(self) -> Capabilities:
        """Say what it can do, without searching."""

    def check(self, controls: Controls) -> None:
        """Refuse controls that it cannot execute.

        Raises
        ------
        CapabilityError
            With what is missing and the command that builds it.
        """

    def open(self, context: SearchContext) -> SearchSession:
        """Open a session on one pinned state."""


@runtime_checkable
class NetworkedSystem(Protocol):
    """A system of which a part may be behind the network."""

    def check_offline(self, controls: Controls) -> None:
        """Refuse controls that need the network.

        Raises
        ------
        CapabilityError
            Naming what would be called.
        """


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit (chunk) of a pinned corpus, as content gold sees it."""

    unit_id: str
    document_id: str
    document_name: str
    text: str
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """The text of one revision and everything that proves a locator into it.

    ``units`` maps a unit id to its half-open codepoint span; ``file_id`` and ``path`` are the
    native locator; ``text`` is indexed by codepoint; ``assets`` maps an asset id to the SHA-256 of
    its bytes.
    """

    extraction_id: str
    revision_id: str
    document_id: str
    source_id: str
    path: str
    file_id: str | None
    text: str
    units: Mapping[str, tuple[int, int]]
    assets: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Binding:
    """An extraction that owns some of the ids asked for, measured before it is read."""

    extraction_id: str
    payload_bytes: int
    rows: int


@runtime_checkable
class PinnedCorpus(Protocol):
    """A session whose corpus can be enumerated and whose locators can be verified."""

    def cut(self) -> Cut:
        """Return the pinned state."""

    def units(self) -> Iterator[Unit]:
        """Enumerate the units of the cut, in id order."""

    def bindings(self, ids: Collection[str]) -> dict[str, Binding]:
        """Map each unit, asset or revision id of the cut to the extraction that owns it."""

    def extraction(self, extraction_id: str) -> Extraction:
        """Read one extraction."""
