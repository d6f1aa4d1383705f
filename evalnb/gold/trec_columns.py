"""The columns of one chunk of a run, straight from its bytes: fields, hashes, numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from evalnb.gold.trec_rows import DECIMAL

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

PAD = 8  # words of eight bytes are loaded at any offset, so also past both ends
N_COLUMNS = 6
QUERY, DOCUMENT, RANK, SCORE = 0, 2, 3, 4

_NEWLINE, _BLANK, _PLUS, _MINUS, _POINT, _DIGIT_0 = b"\n +-.0"
_MANY = 99  # more digits than are read at once


def _u64(value: int) -> np.uint64:
    return np.uint64(value)


_LOW = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)  # the first n bytes of a word
_HIGH = ~_LOW[::-1]  # the last n
_POWERS = np.array([10**n for n in range(20)], np.uint64)
_FLOAT_POWERS = _POWERS.astype(np.float64)  # exact: 10**22 still is


class Unusual(Exception):  # noqa: N818  # a turn in the way, not an error
    """The bytes are not those of the plainest run."""


def mix(hashes: Words) -> Words:
    """Spread a query's hash over its rows, so that (query, document) pairs have their own."""
    return (hashes + _u64(0x9E3779B97F4A7C15)) * _u64(0xBF58476D1CE4E5B9)


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
        ends += PAD
        self._ends = np.ascontiguousarray(ends.reshape(-1, N_COLUMNS).T)
        self._data = data
        self._words = _words(data)
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

    def whole_numbers(self, column: int) -> Ints:
        """Read a column of whole numbers without sign, of up to eight digits."""
        begins, ends = self._column(column)
        n_digits = ends - begins
        if n_digits.max() > 8:
            raise Unusual
        values, invalid = self._digits(ends, n_digits)
        if invalid.any():
            raise Unusual
        return values.view(np.int64)

    def decimals(self, column: int) -> Floats:
        """Read a column of finite decimals, as ``float`` reads them."""
        begins, ends = self._column(column)
        first = self._data[begins]
        negative = first == _MINUS
        if (first < _DIGIT_0).any():
            begins += negative | (first == _PLUS)
        points, n_fraction = self._points(begins, ends)
        n_whole = points - begins
        odd = (n_whole < 0) | (n_whole > 8) | (n_whole + n_fraction < 1)
        if odd.any() or np.max(n_fraction) > 8:
            odd |= (n_fraction > 16) | (n_whole + n_fraction > 19)  # what 64 bits hold
            n_whole = np.where(odd, 0, n_whole)
            n_fraction = np.where(odd, 0, n_fraction)
        values, invalid = self._digits(points, n_whole)
        values *= _POWERS[n_fraction]
        if np.max(n_fraction) > 8:
            upper, wrong = self._digits(ends - 8, np.maximum(n_fraction - 8, 0))
            values += upper * _POWERS[8]
            invalid |= wrong
        lower, wrong = self._digits(ends, np.minimum(n_fraction, 8))
        values += lower
        invalid |= wrong
        found = _divide(values, n_fraction)
        np.negative(found, out=found, where=negative)
        rows = np.flatnonzero(odd | (invalid != 0))
        found[rows] = [_any_decimal(text) for text in self.texts(column, rows)]
        return found

    def steps(self, column: int) -> tuple[Flags, Flags] | None:
        """Say where a column of decimals rises from row to row, and where it stays, by its text.

        Read from its end, a text compares as its number if every one has as many digits behind
        the point, and no sign; up to 15 digits, different texts are different numbers. Most files
        are so, and then half the work is saved. None for others.
        """
        begins, ends = self._column(column)
        lengths = ends - begins
        shared = int(ends[0]) - 1 - int(self._find_points(begins[:1], ends[:1])[0])
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

    def _points(self, begins: Ints, ends: Ints) -> tuple[Ints, Ints | np.int64]:
        """Return where each decimal point stands, and how many digits follow it.

        Most files have as many digits behind every point: then that number stands for all.
        """
        shared = ends[0] - 1 - self._find_points(begins[:1], ends[:1])[0]
        if shared > 0 and (self._data[ends - (shared + 1)] == _POINT).all():
            return ends - (shared + 1), shared
        points = self._find_points(begins, ends)
        n_fraction = np.maximum(ends - points - 1, 0)
        n_fraction[(points < ends) & (self._data[points] != _POINT)] = _MANY
        return points, n_fraction

    def _find_points(self, begins: Ints, ends: Ints) -> Ints:
        """Return the place of the first point among eight bytes, at most the end."""
        others = self._words[begins]
        others ^= _u64(0x2E2E2E2E2E2E2E2E)
        zeros = others - _u64(0x0101010101010101)
        zeros &= ~others
        zeros &= _u64(0x8080808080808080)
        # The bits below the lowest one set, eight for each byte before the point.
        zeros = ~zeros & (zeros - _u64(1))
        found: Ints = np.minimum(begins + (np.bitwise_count(zeros) >> 3), ends)
        return found

    def _digits(self, ends: Ints, n_digits: Ints | np.int64) -> tuple[Words, Words]:
        """Read the up to eight digits before each end; also non-zero where one is no digit."""
        word = self._words[ends - 8]
        word ^= _u64(0x3030303030303030)
        word &= _HIGH[n_digits]
        invalid = word + _u64(0x7676767676767676)
        invalid |= word
        invalid &= _u64(0x8080808080808080)
        # Eight digits at once: pairs, fours, eights.
        word *= _u64(2561)
        word >>= _u64(8)
        word &= _u64(0x00FF00FF00FF00FF)
        word *= _u64(6553601)
        word >>= _u64(16)
        word &= _u64(0x0000FFFF0000FFFF)
        word *= _u64(42949672960001)
        word >>= _u64(32)
        return word, invalid


def _any_decimal(text: bytes) -> float:
    value = float(text) if DECIMAL.fullmatch(text) else np.inf
    if not np.isfinite(value):
        raise Unusual
    return value


def hash_texts(texts: list[bytes]) -> Words:
    """Hash texts as :meth:`Columns.hashes` hashes fields."""
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    data = np.frombuffer(b"".join(texts) + bytes(PAD), np.uint8)
    begins = np.concatenate(([0], ends[:-1])).astype(np.int64)
    return _hash(_words(data), begins, ends, bound=len(data))


def _words(data: npt.NDArray[np.uint8]) -> Words:
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


def _divide(values: Words, n_fraction: Ints | np.int64) -> Floats:
    """Divide whole numbers by powers of ten, rounding once.

    Below 2**53 both are exact and the division rounds. Above, the remainder that the division
    leaves (by Dekker's exact product) and what the number lost when it became a float are divided
    once more and added.
    """
    powers = _FLOAT_POWERS[n_fraction]
    high = values.astype(np.float64)
    quotient = high / powers
    if values.max() >= 1 << 53:
        long = np.flatnonzero(values >= _u64(1 << 53))
        h, q, p = high[long], quotient[long], np.broadcast_to(powers, high.shape)[long]
        lost = (values[long] - h.astype(np.uint64)).astype(np.int64).astype(np.float64)
        q_high, q_low = _split(q)
        p_high, p_low = _split(p)
        product = q * p
        error = ((q_high * p_high - product) + q_high * p_low + q_low * p_high) + q_low * p_low
        quotient[long] = q + ((h - product) - error + lost) / p
    return quotient


def _split(values: Floats) -> tuple[Floats, Floats]:
    """Split floats into halves of 26 bits, whose products are exact (Veltkamp)."""
    scaled = values * 134217729.0
    high = scaled - (scaled - values)
    return high, values - high
