"""Plain text and source code: the text is the file's own, codepoint by codepoint."""

from __future__ import annotations

import codecs
import hashlib
from pathlib import PurePosixPath

from evalnb.errors import GoldError
from evalnb.files import decode_text
from evalnb.workspace.documents import Extracted
from evalnb.workspace.ingest.reading import UnreadableError

EXTRACTOR = "plain@1"
# fmt: off
CODE_SUFFIXES = frozenset({
    ".bash", ".c", ".cc", ".cpp", ".cs", ".css", ".go", ".h", ".hpp", ".java",
    ".js", ".jsx", ".kt", ".lua", ".m", ".php", ".pl", ".ps1", ".py", ".pyi",
    ".r", ".rb", ".rs", ".scala", ".sh", ".sql", ".swift", ".ts", ".tsx", ".zig",
})
# fmt: on


def read_plain(name: str, data: bytes) -> Extracted:
    """Read a text file.

    Raises
    ------
    UnreadableError
        If it is not text.
    """
    suffix = PurePosixPath(name).suffix.casefold()
    return Extracted(
        path=name,
        text=decode(data),
        bytes_sha256=hashlib.sha256(data).hexdigest(),
        extractor=EXTRACTOR,
        modality="code" if suffix in CODE_SUFFIXES else "text",
    )


def decode(data: bytes) -> str:
    """Decode UTF-8, or UTF-16 that says so with its byte order mark.

    Raises
    ------
    UnreadableError
        Naming the byte and its line.
    """
    utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return decode_text(data, where="", encoding="utf-16" if utf16 else "utf-8")[0]
    except GoldError as error:
        if b"\x00" in data[:8192]:
            raise UnreadableError("binary, not text") from error
        line = (error.where or "").rpartition(":")[2]
        raise UnreadableError(f"line {line}: {error.message}; save it as UTF-8") from error
