"""PDF: the text of each page, in the order in which the page draws it."""

from __future__ import annotations

import hashlib
import io
import logging
import re

from evalnb.workspace.documents import Extracted
from evalnb.workspace.ingest.reading import UnreadableError

EXTRACTOR = "pdf@1"
PAGE_END = "\n\f\n"  # a form feed, as every text extractor writes it
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")  # NUL and halves of characters


def read_pdf(name: str, data: bytes) -> Extracted:
    """Read a PDF file; scanned pages hold no text and give none.

    Raises
    ------
    UnreadableError
        If it is encrypted or damaged.
    """
    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it reports every mended flaw
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadableError("it is encrypted with a password")
        pages = [_cleaned(page.extract_text()) for page in reader.pages]
        title = _cleaned(str((reader.metadata and reader.metadata.title) or ""))
    except UnreadableError:
        raise
    except Exception as error:  # a damaged file makes it raise anything
        raise UnreadableError(f"damaged PDF: {type(error).__name__}: {error}") from error
    starts, length = [], 0
    for page in pages:
        starts.append(length)
        length += len(page) + len(PAGE_END)
    return Extracted(
        path=name,
        text=PAGE_END.join(pages),
        bytes_sha256=hashlib.sha256(data).hexdigest(),
        extractor=EXTRACTOR,
        title=" ".join(title.split()) or None,
        pages=tuple(starts),
    )


def _cleaned(text: str) -> str:
    return _NO_TEXT.sub("", text).replace("\f", " ")
