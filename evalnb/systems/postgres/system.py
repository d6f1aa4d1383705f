"""Chunks in a Postgres database with pgvector: full text, cosine, and the two fused."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from evalnb.errors import BadInputError, CapabilityError, SearchFailedError, SearchTimeoutError
from evalnb.search.request import Controls, Mode
from evalnb.search.system import Capabilities, SearchContext
from evalnb.systems.composed import ComposedSystem
from evalnb.systems.function import callable_name
from evalnb.systems.postgres.server import CONNECT_S, Encoder, Leg, PostgresSession, remote_host
from evalnb.systems.postgres.sql import Documents, PostgresSettings, Scoped
from evalnb.systems.providers import Embeddings, ListwiseReranker
from evalnb.systems.settings import parse_settings

GRACE_S = 1.0  # the server ends a statement itself; this guards what it cannot


def postgres_system(
    table: Mapping[str, Any],
    *,
    encoder: Encoder | None = None,
    rerank: Callable[..., Any] | None = None,
    mode: Mode | None = None,
    where: str = "postgres",
) -> ComposedSystem:
    """Make a system with the channels lexical and text, fused by rank.

    The modes keyword, semantic, hybrid and (with a reranker) hybrid_rerank choose among them.

    Parameters
    ----------
    table
        The keys of :class:`~evalnb.systems.postgres.sql.PostgresSettings`.
    encoder
        A function from texts to vectors; the settings' ``embeddings`` unless given.
    rerank
        See :class:`~evalnb.systems.reranking.Reranker`; the settings' ``rerank`` unless given.
    mode
        What a search without a mode runs; as in :class:`ComposedSystem` unless given.

    Raises
    ------
    BadInputError
        Naming the key that is wrong.
    """
    settings = postgres_settings(table, where=where)
    if encoder is None and settings.embeddings is not None:
        encoder = Embeddings(settings.embeddings)
    if rerank is None and settings.rerank is not None:
        rerank = ListwiseReranker(settings.rerank)
    return ComposedSystem(
        {
            "lexical": PostgresLeg(settings, "lexical"),
            "text": PostgresLeg(settings, "text", encoder=encoder),
        },
        rerank=rerank,
        mode=mode,
    )


def postgres_settings(table: Mapping[str, Any], *, where: str = "postgres") -> PostgresSettings:
    """Read the settings of a database; a preset fills in what is not given.

    Raises
    ------
    BadInputError
        Naming the key that is wrong.
    """
    settings = parse_settings(PostgresSettings, table, where=where)
    if settings.preset and settings.documents is None:
        settings = settings.model_copy(update={"documents": Documents()})
    if settings.documents is None and settings.scope != Scoped():
        raise BadInputError(
            "a scope needs the table of documents",
            where=f"{where}.scope",
            remedy='add preset = "documents-chunks", or the table documents',
        )
    return settings


class PostgresLeg:
    """One way to search the chunks: ``lexical`` by full text, ``text`` by cosine."""

    def __init__(
        self, settings: PostgresSettings, leg: Leg, *, encoder: Encoder | None = None
    ) -> None:
        self.settings = settings
        self.leg = leg
        self.encoder = encoder

    def capabilities(self) -> Capabilities:
        """Say what the leg honours and what makes its answers; the connection is no part of it."""
        settings = self.settings
        shown = settings.model_dump_json(exclude={"version", "embeddings", "rerank"})
        identity = {
            "settings": hashlib.sha256(shown.encode()).hexdigest(),
            "version": settings.version or "unversioned",
        }
        versioned = settings.version is not None
        if self.encoder is not None:
            made = {
                "callable": callable_name(self.encoder),
                **getattr(self.encoder, "identity", {}),
            }
            identity |= {f"encoder.{name}": value for name, value in made.items()}
            versioned = versioned and getattr(self.encoder, "version", None) is not None
        return Capabilities(
            kinds=("document", "unit"),
            texts=True,
            restrictions=frozenset(
                {"document_ids", "source_ids"} if settings.documents else {"document_ids"}
            ),
            identity=identity,
            versioned=versioned,
            timeout_s=settings.timeout_s + CONNECT_S + GRACE_S,
        )

    def check(self, controls: Controls) -> None:
        """Refuse hints that the leg cannot execute, and try the statement without any row.

        Raises
        ------
        CapabilityError
            If the server, the extension, a table, a column or the encoder is missing.
        """
        hints = controls.hints
        foreign = ["lexical_index", "heading_weight", "text_index", "image_index", "system_options"]
        foreign += ["graph_hops", "graph_decay"]
        unmet = [name for name in foreign if getattr(hints, name) is not None]
        if unmet:
            raise CapabilityError(f"a Postgres database cannot execute {', '.join(unmet)}")
        if self.leg == "text":
            if self.encoder is None:
                raise CapabilityError(
                    "nothing embeds the query",
                    remedy="add the table postgres.embeddings with url and model, or "
                    'postgres.encoder = "minilm-l6-v2-int8"',
                )
            if hasattr(self.encoder, "check"):
                self.encoder.check()
        try:
            session = self._session(SearchContext())
            try:
                session.probe(controls)
            finally:
                session.close()
        except (SearchFailedError, SearchTimeoutError) as error:
            raise CapabilityError(error.message, where=error.where, remedy=error.remedy) from error

    def check_offline(self, controls: Controls) -> None:
        """Refuse a server on another machine, and an encoder that is a service.

        Raises
        ------
        CapabilityError
            Naming which.
        """
        if host := remote_host(self.settings):
            raise CapabilityError(
                f"the server is on {host}, and the request is offline",
                remedy="a socket or this machine's own address needs no network",
            )
        if self.leg == "text" and getattr(self.encoder, "needs_network", False):
            raise CapabilityError("the encoder needs the network, and the request is offline")

    def open(self, context: SearchContext) -> PostgresSession:
        """Open a session; the server is connected to by the first search.

        Raises
        ------
        CapabilityError
            If the context is offline, as :meth:`check_offline`.
        """
        if context.offline:
            self.check_offline(Controls())
        return self._session(context)

    def _session(self, context: SearchContext) -> PostgresSession:
        return PostgresSession(self.settings, self.leg, context, encoder=self.encoder)
