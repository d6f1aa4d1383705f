"""One pass over a large run for all that scoring reads: where the judged documents stand.

A run holds thousands of rows for each judged document, so no row becomes an object here: fields,
ids, ranks and scores are columns over the bytes of the file, one chunk of whole queries at a time.
Only the plainest layout is read (six columns, one kind of single separator, each query's rows
together); anything else, right or wrong, is left to :func:`evalnb.gold.trec.parse_run`, which also
words the errors.
"""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from evalnb.gold.trec_columns import (
    PAD,
    QUERY,
    Columns,
    Ints,
    Scattered,
    Unusual,
    Words,
    hash_texts,
    keep_memory,
    mix,
)
from evalnb.gold.trec_queries import Queries
from evalnb.gold.trec_scattered import GroupedRows, group_rows
from evalnb.limits import ID_BYTES

_CHUNK = 1024 * 1024  # the columns of one chunk stay in the processor's cache
_PART = 16 * _CHUNK  # what pays for a thread of its own
MOST_PARTS = 4  # more threads wait for the memory, or for each other
_NEWLINE, _DELETE = b"\n\x7f"
_GZIP, _BOM = b"\x1f\x8b", b"\xef\xbb\xbf"
_ALLOWED = frozenset("\u200c\u200d\t\n ")  # beside printable text; see search.request.check_id

Judged = Mapping[str, Mapping[str, int]]


@dataclass(slots=True)
class Scan:
    """What a run says about judged documents.

    Attributes
    ----------
    n_ranked
        Every query of the run and how many documents it has; in the order of the file, or by id
        where the rows of a query stand apart.
    found
        For each judged query the judged documents that it has: (rank, id), ascending.
    self_ranks
        For judged queries, the rank of the document that has the query's own id.
    n_tied
        Positions of judged queries that share their score with another.
    ties
        For judged queries each of ``found`` that does: how many rank above all that share the
        score, and how many share it.
    n_rank_contradictions
        As :class:`~evalnb.gold.trec.Run` counts them.
    notes
        What was dropped while the file was read.
    """

    name: str
    n_ranked: dict[str, int] = field(default_factory=dict)
    found: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    self_ranks: dict[str, int] = field(default_factory=dict)
    n_tied: int = 0
    ties: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)
    n_rank_contradictions: int = 0
    notes: tuple[str, ...] = ()


def scan_run(path: str | Path, judged: Judged, *, with_selves: bool = False) -> Scan | None:
    """Find the judged documents of a run, and on request those with their query's id.

    Returns
    -------
    Scan or None
        None if the file is anything but plain; read it strictly then.
    """
    pairs = _JudgedPairs(judged, with_selves=with_selves)
    try:
        try:
            return _scan(str(path), pairs, _Scanner.read_part, _parts(path), path)
        except Scattered:
            parts = group_rows(path, min(os.cpu_count() or 1, MOST_PARTS))
            scan = _scan(str(path), pairs, _Scanner.read_rows, parts)
            scan.n_ranked = dict(sorted(scan.n_ranked.items()))
            return scan
    except (Unusual, OSError, EOFError):
        return None


def _scan(
    name: str, pairs: _JudgedPairs, read: Callable[..., None], parts: Sequence[Any], *more: Any
) -> Scan:
    """Read parts of a file side by side; numpy works outside the interpreter's lock."""
    scanners = [_Scanner(Scan(name), pairs) for _ in parts]
    with ThreadPoolExecutor(len(parts)) as pool:
        done = [pool.submit(read, *each, *more) for each in zip(scanners, parts, strict=True)]
        for each in done:
            each.result()
    return _joined([scanner.scan for scanner in scanners])


def _parts(path: str | Path) -> list[tuple[int, int]]:
    """Divide a large file where a query begins; a packed one is one part."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        packed = file.read(len(_GZIP)) == _GZIP
        n = 1 if packed else min(os.cpu_count() or 1, MOST_PARTS, size // _PART)
        borders = (_query_near(file, size * part // n) for part in range(1, n))
        ends = sorted({0, size, *(border for border in borders if border)})
    return list(pairwise(ends)) or [(0, 0)]


def _query_near(file: BinaryIO, offset: int) -> int | None:
    """Find where the first query after an offset begins; None if it is far."""
    file.seek(offset)
    lines = file.read(_CHUNK).splitlines(keepends=True)[:-1]
    at = offset + len(lines[0]) if lines else offset  # the first line lacks its beginning
    for before, line in pairwise(lines[1:]):
        at += len(before)
        if before.split(None, 1)[:1] != line.split(None, 1)[:1]:
            return at
    return None


def _joined(scans: list[Scan]) -> Scan:
    """Put the parts of a file together.

    Raises
    ------
    Scattered
        If a query has rows in several parts.
    """
    joined, *others = scans
    for scan in others:
        if joined.n_ranked.keys() & scan.n_ranked.keys():
            raise Scattered
        joined.n_ranked |= scan.n_ranked
        joined.found |= scan.found
        joined.self_ranks |= scan.self_ranks
        joined.n_tied += scan.n_tied
        joined.ties |= scan.ties
        joined.n_rank_contradictions += scan.n_rank_contradictions
    for places in joined.found.values():
        places.sort()
    return joined


class _JudgedPairs:
    """Which (query, document) pairs are judged or, on request, alike, by their hashes."""

    def __init__(self, judged: Judged, *, with_selves: bool) -> None:
        self.judged = judged
        pairs = [(q.encode(), d.encode()) for q, grades in judged.items() for d in grades]
        pairs += ((q.encode(), q.encode()) for q in judged if with_selves)
        hashes = hash_texts([d for _, d in pairs]) ^ mix(hash_texts([q for q, _ in pairs]))
        self._hashes = np.sort(hashes)
        bits = min(max((32 * len(pairs)).bit_length(), 16), 24)
        self._shift = np.uint64(64 - bits)
        self._maybe = np.zeros(1 << bits, np.bool_)  # most rows are settled by one look
        self._maybe[hashes >> self._shift] = True

    def rows(self, pairs: Words) -> Ints:
        """Return the rows whose pair is judged."""
        rows = np.flatnonzero(self._maybe[pairs >> self._shift])
        places = np.searchsorted(self._hashes, pairs[rows])
        known: Ints = rows[np.take(self._hashes, places, mode="clip") == pairs[rows]]
        return known


class _Scanner:
    """Reads one part of a file, chunk after chunk."""

    def __init__(self, scan: Scan, pairs: _JudgedPairs) -> None:
        self.scan = scan
        self.pairs = pairs

    def read_rows(self, rows: GroupedRows) -> None:
        """Read rows that were brought together."""
        self._read(rows, sys.maxsize, first=False)

    def read_part(self, part: tuple[int, int], path: str | Path) -> None:
        """Read the bytes from one offset up to another."""
        begin, end = part
        with open(path, "rb") as file:
            if begin == 0 and file.peek(len(_GZIP)).startswith(_GZIP):
                with gzip.open(file) as unpacked:
                    self._read(unpacked, sys.maxsize, first=True)
            else:
                file.seek(begin)
                self._read(file, end - begin, first=begin == 0)

    def _read(self, stream: Any, left: int, *, first: bool) -> None:
        """Read whole rows; those of the last query wait, since it may go on."""
        keep_memory(16 * _CHUNK)
        buffer = bytearray(PAD + _CHUNK + PAD)
        end, left = _fill(stream, buffer, PAD, left)
        if first and buffer.startswith(_BOM, PAD):
            self.scan.notes = ("a leading byte order mark was dropped",)
            del buffer[PAD : PAD + len(_BOM)]
            end -= len(_BOM)
        line = buffer[PAD : max(buffer.find(b"\n", PAD, end), PAD)]
        separator = ord("\t") if b"\t" in line else ord(" ")
        final = False
        while end > PAD:
            if final and buffer[end - 1] != _NEWLINE:
                buffer[end] = _NEWLINE
                end += 1
            whole = max(buffer.rfind(b"\n", PAD, end) + 1, PAD)
            n_read = self._read_rows(buffer, whole, separator, final=final) if whole > PAD else 0
            if final:
                return
            rest = end - PAD - n_read
            if n_read:
                buffer[PAD : PAD + rest] = buffer[PAD + n_read : end]
            elif 2 * rest > len(buffer):  # one query fills it
                buffer += bytes(len(buffer))
            end, left = _fill(stream, buffer, PAD + rest, left)
            final = end == PAD + rest

    def _read_rows(self, buffer: bytearray, end: int, separator: int, *, final: bool) -> int:
        """Read the queries that are complete, and return how many bytes they take."""
        data = np.frombuffer(buffer, np.uint8, end + PAD)
        if data[PAD:end].max() >= _DELETE:
            _check_printable(buffer[PAD:end])
        rows = Columns(data, separator)
        borders = rows.borders(QUERY, bound=ID_BYTES)
        if not final:
            if not len(borders):
                return 0
            rows.cut(int(borders[-1]))
            borders = borders[:-1]
        queries = Queries(rows, np.append(0, borders), self.scan, self.pairs.judged)
        queries.read_rows()
        queries.find(self.pairs.rows(queries.pairs))
        return rows.n_bytes


def _fill(stream: Any, buffer: bytearray, begin: int, left: int) -> tuple[int, int]:
    """Read as much as there is room for and may be read, with plain line ends.

    Returns
    -------
    tuple of int
        The end of what was read, and how many bytes may be read after it.
    """
    with memoryview(buffer) as view:
        n_read: int = stream.readinto(view[begin:-PAD][:left])
    end = begin + n_read
    if buffer.find(b"\r", begin, end) < 0:
        return end, left - n_read
    new = bytes(buffer[begin:end])
    new += stream.read(new.endswith(b"\r"))  # a part ends with a line, so this one is its own
    plain = new.replace(b"\r\n", b"\n")
    buffer[begin : begin + len(plain)] = plain
    return begin + len(plain), left - len(new)


def _check_printable(chunk: bytearray) -> None:
    try:
        plain = all(map(str.isprintable, set(chunk.decode()) - _ALLOWED))
    except UnicodeDecodeError:
        plain = False
    if not plain:
        raise Unusual
