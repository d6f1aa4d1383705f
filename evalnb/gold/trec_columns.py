"""The columns of one chunk of a run, straight from its bytes: fields, hashes, numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

PAD = 8  # words of eight bytes are loaded at any offset, so also past both ends
N_COLUMNS = 6
QUERY, DOCUMENT, RANK, SCORE = 0, 2, 3, 4

_NEWLINE, _BLANK = b"\n "


def _u64(value: int) -> np.uint64:
    return np.uint64(value)


_LOW = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)  # the first n bytes of a word
_HIGH = ~_LOW[::-1]  # the last n


def keep_memory(n_bytes: int) -> None:
    """Keep blocks of up to so many bytes when they are freed.

    Freeing a large block once makes glibc keep the memory of columns instead of returning it to
    the system, and having it cleared, for every chunk.
    """
    large = bytearray(n_bytes)
    del large


class Unusual(Exception):  # noqa: N818  # a turn in the way, not an error
    """The bytes are not those of the plainest run."""


def mix(hashes: Words) -> Words:
    """Spread a query's hash over its rows, so that (query, document) pairs have their own."""
    return (hashes + _u64(0x9E3779B97F4A7C15)) * _u64(0xBF58476D1CE4E5B9)


class Scattered(Unusual):
    """The rows of a query do not stand together."""


class Columns:
    """Six columns over whole lines of bytes, with ``PAD`` bytes before and after them.

    Raises
    ------
    Unusual
        If not every line is six fields, none of them empty, between single separators.
    """

    def __init__(self, data: npt.NDArray[np.uint8], separator: int) -> None:
        inner = data[PAD:-PAD]
        breaks = inner <= _BLANK
        if breaks[0] or (breaks[1:] & breaks[:-1]).any():
            raise Unusual
        ends = np.flatnonzero(breaks)
        n_rows, rest = divmod(len(ends), N_COLUMNS)
        if rest or np.count_nonzero(inner == separator) != (N_COLUMNS - 1) * n_rows:
            raise Unusual
        self._ends = np.add(ends.reshape(-1, N_COLUMNS).T, PAD, order="C")
        self._data = data
        self._words = words_of(data)
        if (data[self._ends[-1]] != _NEWLINE).any():
            raise Unusual

    def __len__(self) -> int:
        """Count the rows."""
        return int(self._ends.shape[1])

    @property
    def n_bytes(self) -> int:
        """How many bytes the rows take."""
        return int(self._ends[-1, -1]) + 1 - PAD

    def cut(self, n_rows: int) -> None:
        """Keep the first rows."""
        self._ends = self._ends[:, :n_rows]

    def _column(self, column: int) -> tuple[Ints, Ints]:
        """Return the first byte of each field of a column, and the one after its last."""
        if column:
            return self._ends[column - 1] + 1, self._ends[column]
        return np.append(PAD, self._ends[-1, :-1] + 1), self._ends[0]

    def texts(self, column: int, rows: Ints) -> list[bytes]:
        """Return the fields of some rows."""
        if column:
            begins = self._ends[column - 1, rows] + 1
        else:
            begins = np.where(rows > 0, self._ends[-1, rows - 1] + 1, PAD)
        fields = zip(begins.tolist(), self._ends[column, rows].tolist(), strict=True)
        return [self._data[begin:end].tobytes() for begin, end in fields]

    def hashes(self, column: int, *, bound: int) -> Words:
        """Hash every field of a column, of up to ``bound`` bytes; equal ones hash alike."""
        begins, ends = self._column(column)
        return _hash(self._words, begins, ends, bound)

    def borders(self, column: int, *, bound: int) -> Ints:
        """Return the rows where a column changes, its fields being of up to ``bound`` bytes."""
        begins, ends = self._column(column)
        lengths = ends - begins
        if lengths.max() > 8:
            keys = _hash(self._words, begins, ends, bound)
        else:
            keys = self._words[begins] & _LOW[lengths]
        return np.flatnonzero(keys[1:] != keys[:-1]) + 1

    def whole_numbers(self, column: int) -> Words:
        """Return what compares like a column of whole numbers, of up to eight digits, no sign."""
        begins, ends = self._column(column)
        lengths = ends - begins
        found = self._comparable(ends, lengths, point=-1) if lengths.max() <= 8 else None
        if found is None:
            raise Unusual
        return found

    def decimals(self, column: int) -> Floats:
        """Read a column of finite decimals, as ``float`` reads them."""
        import pyarrow

        begins, ends = self._column(column)
        lengths = ends - begins
        # The layout of Arrow's views: length and twelve bytes, or length, four bytes and a place.
        low, high = self._words[begins], self._words[np.minimum(begins + 8, len(self._words) - 1)]
        low &= _LOW[np.minimum(lengths, 8)]
        high &= _LOW[np.clip(lengths - 8, 0, 4)]
        views = np.empty((len(begins), 2), np.uint64)
        views[:, 0] = lengths.view(np.uint64) | low << _u64(32)
        views[:, 1] = np.where(
            lengths > 12, begins.view(np.uint64) << _u64(32), low >> _u64(32) | high << _u64(32)
        )
        buffers = [None, pyarrow.py_buffer(views), pyarrow.py_buffer(self._data)]
        texts = pyarrow.Array.from_buffers(pyarrow.string_view(), len(begins), buffers)
        try:
            found: Floats = texts.cast(pyarrow.float64()).to_numpy()
        except pyarrow.ArrowInvalid:
            raise Unusual from None
        if not np.isfinite(found).all():
            raise Unusual
        return found

    def steps(self, column: int) -> tuple[Flags, Flags] | None:
        """Say where a column of decimals rises from row to row, and where it stays, by its text.

        Read from its end, a text compares as its number if every one has as many digits behind
        the point, and no sign; up to 15 digits, different texts are different numbers. Most files
        are so, and then half the work is saved. None for others.
        """
        begins, ends = self._column(column)
        lengths = ends - begins
        shared = len(self.texts(column, np.zeros(1, np.int64))[0].partition(b".")[2])
        longest = int(lengths.max())
        if shared < 1 or longest > 16 or lengths.min() < shared + 2:
            return None
        low = self._comparable(ends, lengths, point=shared)
        if low is None:
            return None
        rises, stays = low[1:] > low[:-1], low[1:] == low[:-1]
        if longest > 8:
            high = self._comparable(ends - 8, np.maximum(lengths - 8, 0), point=shared - 8)
            if high is None:
                return None
            same = high[1:] == high[:-1]
            rises = (high[1:] > high[:-1]) | (same & rises)
            stays &= same
        return rises, stays

    def _comparable(self, ends: Ints, lengths: Ints, *, point: int) -> Words | None:
        """Return up to eight bytes before each end as numbers that compare like their text.

        None if any byte is something else than a digit, or a point in the one place for it.
        """
        pattern, room = bytearray(b"0" * 8), bytearray(b"\x76" * 8)
        if 0 <= point < 8:
            pattern[7 - point], room[7 - point] = ord("."), 0x7F
        word = self._words[ends - 8]
        word ^= np.frombuffer(pattern, "<u8")[0]
        if lengths.min() < 8:
            word &= _HIGH[np.minimum(lengths, 8)]
        wrong = word + np.frombuffer(room, "<u8")[0]  # passes 0x7f but for a digit, or the point
        wrong |= word
        if (wrong & _u64(0x8080808080808080)).any():
            return None
        return word.byteswap()


def hash_texts(texts: list[bytes]) -> Words:
    """Hash texts as :meth:`Columns.hashes` hashes fields."""
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    data = np.frombuffer(b"".join(texts) + bytes(PAD), np.uint8)
    begins = np.concatenate(([0], ends[:-1])).astype(np.int64)
    return _hash(words_of(data), begins, ends, bound=len(data))


def words_of(data: npt.NDArray[np.uint8]) -> Words:
    """View the eight bytes from every offset as a number, the first byte the lowest."""
    shape: Any = (len(data) - 7,)
    return np.ndarray(shape, np.dtype("<u8"), data, 0, (1,))


def _hash(words: Words, begins: Ints, ends: Ints, bound: int) -> Words:
    lengths = ends - begins
    longest = int(lengths.max(initial=0))
    if longest > bound:
        raise Unusual
    hashes = lengths.astype(np.uint64)
    last = len(words) - 1
    for offset in range(0, longest, 8):
        if offset:
            begins = np.minimum(begins + 8, last)
        left = np.clip(lengths - offset, 0, 8) if longest > 8 else lengths
        mixed = words[begins]
        mixed &= _LOW[left]
        mixed ^= hashes
        mixed *= _u64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> _u64(32)
        if offset:  # a field's hash is its own, however long the others are
            mixed = np.where(lengths > offset, mixed, hashes)
        hashes = mixed
    return hashes
