"""The rows of a TREC file, with everything that is checked while they pass."""

from __future__ import annotations

import gzip
import io
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from evalnb.errors import GoldError
from evalnb.files import decode_text, open_bounded, refuse_lfs_pointer
from evalnb.limits import GRADE_RANGE, MIB, check_limit
from evalnb.search.kinds import check_id

Source = bytes | str | Path

QRELS_COLUMNS = ("query", "iteration", "document", "grade")
RUN_COLUMNS = ("query", "Q0", "document", "rank", "score", "tag")
_WHOLE = re.compile(rb"[+-]?[0-9]{1,9}")
DECIMAL = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_GZIP = b"\x1f\x8b"
UNPACKED_BYTES = 1024 * MIB  # of a gzip file; one that is larger is read when it is unpacked


def read_source(source: Source, name: str | None = None) -> tuple[bytes, str]:
    """Return the bytes of a file, unpacked if it is gzip, and what errors call it.

    Raises
    ------
    GoldError
        If it is empty, a Git LFS pointer, or a damaged gzip file.
    """
    if isinstance(source, bytes):
        data, name = source, name or "<bytes>"
    else:
        path = Path(source)
        name = name or str(path)
        with open_bounded(path, bound=sys.maxsize, what="a TREC file") as file:
            data = file.read()
    if data.startswith(_GZIP):
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
                data = packed.read(UNPACKED_BYTES + 1)
        except (OSError, EOFError, ValueError) as error:
            raise GoldError(f"the gzip file is damaged: {error}", where=name) from error
        check_limit("unpacked bytes", len(data), UNPACKED_BYTES, argument="", where=name)
    if not data.strip():
        raise GoldError("the file is empty", where=name)
    refuse_lfs_pointer(data, where=name)
    return data, name


class Rows:
    """The rows of one file; what it refuses, it refuses with file and line."""

    def __init__(
        self, source: Source, name: str | None, encoding: str, columns: tuple[str, ...]
    ) -> None:
        data, self.name = read_source(source, name)
        text, notes = decode_text(data, where=self.name, encoding=encoding)
        # Fields are split as bytes: text would also split at blanks that an id may hold.
        self._lines = text.encode().split(b"\n")
        self._columns = columns
        self._ids: dict[bytes, str] = {}
        self._number = 0
        self.notes = list(notes)

    def __iter__(self) -> Iterator[list[bytes]]:
        """Yield the fields of each row; blank lines and comments are no rows."""
        n = len(self._columns)
        empty = True
        for line in self._lines:
            self._number += 1
            if b"\r" in line.rstrip(b"\r"):  # a file of old line ends would be one row
                self.refuse("a carriage return stands inside the line")
            fields = self._split(line)
            if not fields or fields[0].startswith(b"#"):
                continue
            if len(fields) != n and not (n == len(RUN_COLUMNS) and len(fields) > n):
                self._refuse_columns(fields)
            empty = False
            yield fields
        if empty:
            raise GoldError("the file holds no rows", where=self.name)

    def _split(self, line: bytes) -> list[bytes]:
        n = len(self._columns)
        if line.count(b"\t") == n - 1:
            fields = [field.strip() for field in line.split(b"\t")]
            if all(fields):
                return fields
        return line.split()

    def _refuse_columns(self, fields: list[bytes]) -> NoReturn:
        remedy = f"columns: {', '.join(self._columns)}"
        if len(fields) == 3 and self._columns == QRELS_COLUMNS:
            remedy += "; three columns are BEIR's layout, which its header tells"
        if len(fields) > len(self._columns):
            remedy += "; ids that hold blanks need single tabs between the columns"
        self.refuse(f"found {len(fields)} columns, expected {len(self._columns)}", remedy=remedy)

    def refuse(self, message: str, *, remedy: str | None = None) -> NoReturn:
        """Raise an error that names the line of the row."""
        raise GoldError(message, where=f"{self.name}:{self._number}", remedy=remedy)

    def id(self, field: bytes) -> str:
        """Read an id."""
        found = self._ids.get(field)
        if found is None:
            try:
                found = check_id(field.decode())
            except ValueError as error:
                self.refuse(str(error))
            self._ids[field] = found
        return found

    def grade(self, field: bytes) -> int:
        """Read a whole grade."""
        if not _WHOLE.fullmatch(field):
            self.refuse(
                f"grade {field.decode()!r} is not a whole number",
                remedy="map the grades to whole numbers first; cutting the fraction off would "
                "change every figure",
            )
        grade = int(field)
        if abs(grade) > GRADE_RANGE:
            self.refuse(f"grade {grade} is outside -{GRADE_RANGE}..{GRADE_RANGE}")
        return grade

    def score(self, field: bytes, query: str, document: str) -> float:
        """Read a finite score, in 64 bits."""
        score = float(field) if DECIMAL.fullmatch(field) else math.nan
        if not math.isfinite(score):
            self.refuse(
                f"score {field.decode()!r} of query {query!r}, document {document!r} is not a "
                "finite number",
            )
        return score

    def rank(self, fields: list[bytes]) -> int | None:
        """Read a rank, which is only compared with the scores; None if it is no number."""
        if _WHOLE.fullmatch(fields[3]):
            return int(fields[3])
        if len(fields) > len(RUN_COLUMNS):
            self._refuse_columns(fields)  # an id with a blank in it would shift every column
        return None

    def first_line(self, query: str, document: str) -> int:
        """Find the first row of a query and document."""
        wanted = (query.encode(), document.encode())
        for number, line in enumerate(self._lines, start=1):
            fields = self._split(line)
            if len(fields) > 2 and (fields[0], fields[2]) == wanted:
                return number
        raise AssertionError("a row that was read has a line")
