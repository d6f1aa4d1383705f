"""Canonical ids: the same corpus gives the same ids on every machine."""

from __future__ import annotations

import hashlib
from json.encoder import encode_basestring
from typing import Literal

IdKind = Literal[
    "source",
    "document",
    "revision",
    "extraction",
    "unit",
    "file",
    "asset",
    "definition",
    "snapshot",
]

PREFIXES: dict[IdKind, str] = {
    "source": "src_",
    "document": "doc_",
    "revision": "rev_",
    "extraction": "ext_",
    "unit": "unit_",
    "file": "file_",
    "asset": "ast_",
    "definition": "def_",
    "snapshot": "snap_",
}


def canonical_id(kind: IdKind, *parts: str | int) -> str:
    """Digest a thing's identity: SHA-256 of the compact JSON array [kind, part, ...].

    >>> canonical_id("source", "default")
    'src_0970081a3383753b5a75fde85fccc404'
    """
    # What json.dumps([kind, *parts]) gives, in a third of its time: ingest makes many ids.
    items = (encode_basestring(p) if isinstance(p, str) else str(p) for p in (kind, *parts))
    payload = f"[{','.join(items)}]"
    return PREFIXES[kind] + hashlib.sha256(payload.encode()).hexdigest()[:32]
