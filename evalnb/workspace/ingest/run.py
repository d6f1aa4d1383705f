"""Reading what was named into the store: in batches, each written whole or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from evalnb.errors import BadInputError
from evalnb.search.request import check_id
from evalnb.workspace.admission import Outcome, absent_documents, admit, document_id, withdraw
from evalnb.workspace.documents import Extracted
from evalnb.workspace.ingest.html import read_html
from evalnb.workspace.ingest.markdown import read_markdown
from evalnb.workspace.ingest.pdf import read_pdf
from evalnb.workspace.ingest.plain import read_plain
from evalnb.workspace.ingest.reading import (
    UNREADABLE_FOLDER,
    FoundFile,
    Skipped,
    UnreadableError,
    find_files,
    read_file,
)
from evalnb.workspace.ingest.records import read_records_file
from evalnb.workspace.store import Progress, Store, batches

READERS: dict[str, Callable[[str, bytes], Extracted]] = {
    ".htm": read_html,
    ".html": read_html,
    ".xhtml": read_html,
    ".pdf": read_pdf,
    ".md": read_markdown,
    ".markdown": read_markdown,
}
RECORD_SUFFIXES = frozenset({".json", ".jsonl", ".ndjson"})
CORPUS_NAMES = frozenset({"corpus.json", "corpus.jsonl"})  # a folder's own corpus, as in BEIR

Found = tuple[str, Extracted] | Skipped


@dataclass(frozen=True, slots=True)
class Ingested:
    """What came in, and what did not."""

    new: int
    updated: int
    unchanged: int
    skipped: tuple[Skipped, ...]
    absent: int
    withdrawn: int


def ingest(
    store: Store,
    found: Iterable[Found],
    *,
    prune: Collection[str] = (),
    progress: Progress | None = None,
) -> Ingested:
    """Write documents that were read, batch by batch; the caller holds the lock.

    Documents of the same sources that did not come are counted as absent; with sources to prune,
    they and those of these sources are withdrawn. What came but was skipped stays as it was.
    """
    counts: Counter[Outcome] = Counter()
    skipped: list[Skipped] = []
    sources = set(prune)
    seen: set[str] = set()
    for batch in batches(_kept(found, skipped), lambda item: len(item[1].text)):
        counts += admit(store, batch)
        sources |= {key for key, _ in batch}
        seen |= {document_id(key, document.path) for key, document in batch}
        if progress is not None:
            progress(len(batch))
    seen |= {document_id(key, item.name) for key in sources for item in skipped}
    absent = absent_documents(store, sources, seen)
    if prune:
        if hidden := [s.name for s in skipped if s.reason.startswith(UNREADABLE_FOLDER)]:
            raise BadInputError(
                "a folder cannot be read, so nobody knows what is gone from it",
                where=hidden[0],
                remedy="make it readable, or ingest without pruning",
            )
        withdraw(store, absent)
    return Ingested(
        counts["new"],
        counts["updated"],
        counts["unchanged"],
        skipped=tuple(skipped),
        absent=0 if prune else len(absent),
        withdrawn=len(absent) if prune else 0,
    )


def _kept(found: Iterable[Found], skipped: list[Skipped]) -> Iterator[tuple[str, Extracted]]:
    for item in found:
        if isinstance(item, Skipped):
            skipped.append(item)
        elif not item[1].text.strip():
            skipped.append(Skipped(item[1].path, "it holds no text"))
        else:
            yield item


def read_paths(paths: Iterable[Path], *, source_key: str) -> Iterator[Found]:
    """Read files, folders and files of records, with what cannot be read named.

    Raises
    ------
    NotFoundError
        If a path is not there.
    BadInputError
        If a file of records is wrong, with its line.
    """
    try:
        check_id(source_key)
    except ValueError as error:
        raise BadInputError(f"the source key cannot be used: {error}") from error
    names: dict[str, Path] = {}
    for path in paths:
        if path.is_file() and path.suffix.casefold() in RECORD_SUFFIXES:
            yield from read_records_file(path, source_key=source_key)
        else:
            yield from _read_files(path, source_key, names)


def _read_files(root: Path, source_key: str, names: dict[str, Path]) -> Iterator[Found]:
    """Read a folder or a file; ``names`` says which files their names stand for already."""
    for item in find_files(root):
        if isinstance(item, Skipped):
            yield item
        elif item.path.name in CORPUS_NAMES:
            yield from read_records_file(item.path, source_key=source_key)
        elif item.path.resolve() != names.setdefault(item.name, item.path.resolve()):
            other = names[item.name]
            yield Skipped(item.name, f"{other} has this name already; use another --source")
        else:
            yield _read_found(item, source_key)


def _read_found(found: FoundFile, source_key: str) -> Found:
    suffix = PurePosixPath(found.name).suffix.casefold()
    if suffix in RECORD_SUFFIXES:
        return Skipped(found.name, "data, not a document; name it to ingest records")
    reader = READERS.get(suffix, read_plain)
    try:
        return source_key, reader(found.name, read_file(found.path))
    except UnreadableError as error:
        return Skipped(found.name, str(error))
