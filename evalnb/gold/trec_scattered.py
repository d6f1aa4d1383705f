"""The rows of a run whose queries stand apart, brought together as streams of bytes.

Rows are dealt out by their query into buckets that the processor's cache holds, and each bucket is
put in order when it is read: to fetch every row from its own place in the file would wait for the
memory most of the time.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from evalnb.gold.trec_columns import PAD, Ints, Unusual, Words, keep_memory, mix, words_of
from evalnb.limits import ID_BYTES, MIB

Bytes = npt.NDArray[np.uint8]

_CHUNK = MIB
_BUCKET, _MOST_BUCKETS = _CHUNK // 2, 1024
MOST_BYTES = 1024 * MIB  # all of the rows are held in memory
_GZIP, _BOM = b"\x1f\x8b", b"\xef\xbb\xbf"
_ONES, _HIGHS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)

Bucket = list[bytes]


class GroupedRows:
    """The rows of some buckets, those of a query together; reads like a file."""

    def __init__(self, buckets: Sequence[Bucket]) -> None:
        self._blocks = self._read_blocks(buckets)
        self._left = memoryview(b"")

    def _read_blocks(self, buckets: Sequence[Bucket]) -> Iterator[memoryview]:
        for bucket in buckets:
            rows = _Rows(b"".join(bucket))
            bucket.clear()
            order = rows.order(rows.keys)
            order = order[rows.order(rows.keys[order] >> np.uint64(16))]
            yield memoryview(rows.ordered(order).data)

    def readinto(self, view: memoryview) -> int:
        """Fill a view as far as there are bytes."""
        while not self._left:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._left = block
        n = min(len(view), len(self._left))
        view[:n] = self._left[:n]
        self._left = self._left[n:]
        return n


def group_rows(path: str | Path, n_parts: int) -> list[GroupedRows]:
    """Bring the rows of each query together, in parts to be read side by side.

    Raises
    ------
    Unusual
        If the file has other line ends, a byte order mark, an id that is too long, or more bytes
        than are held in memory.
    """
    keep_memory(16 * _CHUNK)
    with open(path, "rb") as file:
        n_buckets = min(max(1, os.fstat(file.fileno()).st_size // _BUCKET), _MOST_BUCKETS)
        if file.peek(len(_GZIP)).startswith(_GZIP):
            with gzip.open(file) as unpacked:
                buckets = _dealt_out(unpacked, _MOST_BUCKETS)
        else:
            buckets = _dealt_out(file, n_buckets)
    return [GroupedRows(buckets[part::n_parts]) for part in range(n_parts)]


def _dealt_out(stream: Any, n_buckets: int) -> list[Bucket]:
    buckets: list[Bucket] = [[] for _ in range(n_buckets)]
    rest, n_bytes = b"", 0
    while block := stream.read(_CHUNK):
        n_bytes += len(block)
        if b"\r" in block or n_bytes > MOST_BYTES or (not rest and block.startswith(_BOM)):
            raise Unusual
        rows, line_end, rest = (rest + block).rpartition(b"\n")
        if line_end:
            _deal_out(_Rows(rows + line_end), buckets)
    if rest:
        _deal_out(_Rows(rest + b"\n"), buckets)
    return [bucket for bucket in buckets if bucket]


def _deal_out(rows: _Rows, buckets: list[Bucket]) -> None:
    """Add each row to the bucket of its query."""
    numbers = (rows.keys >> np.uint64(32)) % np.uint64(len(buckets))
    sizes = np.bincount(numbers.astype(np.int64), np.diff(rows.borders), minlength=len(buckets))
    ends = np.cumsum(sizes.astype(np.int64))
    ordered = rows.ordered(rows.order(numbers)).tobytes()
    for number in np.flatnonzero(sizes).tolist():
        buckets[number].append(ordered[int(ends[number] - sizes[number]) : int(ends[number])])


class _Rows:
    """Whole lines of bytes, each with a hash of its first field."""

    def __init__(self, lines: bytes) -> None:
        data = np.frombuffer(lines + bytes(PAD), np.uint8)
        self._words = words_of(data)
        self.borders: Ints = np.append(0, np.flatnonzero(data == ord("\n")) + 1)
        self.keys = self._query_keys()

    def _query_keys(self) -> Words:
        """Hash by eight bytes at a time, up to the first separator."""
        keys: Words = np.zeros(len(self.borders) - 1, np.uint64)
        going = np.ones(len(keys), np.bool_)
        for offset in range(0, ID_BYTES + 8, 8):
            places = np.minimum(self.borders[:-1] + offset, len(self._words) - 1)
            word = self._words[places]
            ends = np.zeros_like(word)
            for separator in b" \t\n":
                other = word ^ np.uint64(separator * int(_ONES))
                ends |= (other - _ONES) & ~other & _HIGHS  # the lowest bit marks the first one
            first = ends & (~ends + np.uint64(1))
            word &= first - np.uint64(1)  # all of it if there is none
            keys = np.where(going, mix(keys ^ word), keys)
            going &= first == 0
            if not going.any():
                return keys ^ keys >> np.uint64(29)
        raise Unusual

    @staticmethod
    def order(keys: Words) -> Ints:
        """Sort by the lowest 16 bits, which takes no comparisons; others keep their order."""
        return np.argsort(keys.astype(np.uint16), kind="stable")

    def ordered(self, order: Ints) -> Bytes:
        """Return the bytes of the rows in another order."""
        begins = self.borders[order]
        lengths = self.borders[order + 1] - begins
        n_words = -(-int(lengths.max()) // 8)
        places = begins[:, None] + np.arange(0, 8 * n_words, 8)
        last = len(self._words) - 1  # only what is past a row's end is read past the last
        table = self._words[np.minimum(places, last)].view(np.uint8)
        found: Bytes = table[np.arange(8 * n_words) < lengths[:, None]]
        return found
