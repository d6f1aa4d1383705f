"""cases.jsonl: one strict pass that hashes, parses and checks what holds between cases."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import jiter
from pydantic import ValidationError

from evalnb.errors import GoldError
from evalnb.files import open_bounded, refuse_lfs_pointer
from evalnb.gold.cases import CaseRules, GoldCase
from evalnb.limits import CASES_BYTES, CASES_LINES, check_limit
from evalnb.search.request import QueryRequest
from evalnb.strict_json import describe_validation_error, parse_strict

PIN_AGAIN = "correct the line, then run `evalnb gold pin` on the folder"
KNOWN_KEYS = frozenset(GoldCase.model_fields) | frozenset(QueryRequest.model_fields)

_BLOCK = 256 * 1024  # bytes of lines that are hashed and cleared of doubt together
_VALIDATE: Callable[[object], GoldCase] = GoldCase.__pydantic_validator__.validate_python
_PARSE = partial(jiter.from_json, allow_inf_nan=False, catch_duplicate_keys=True, cache_mode="none")

# With every digit as 0, and a colon for whatever a number may follow, one substring search tells
# whether an integer may be past 64 bits, which the fast parsers would take.
_SHAPE = bytes.maketrans(b"123456789,[ \t\n\r", b"000000000::::::")
_LONG_NUMBER = b":" + b"0" * 19


def read_cases(path: Path, keep: Callable[[GoldCase], object]) -> str:
    """Stream a cases.jsonl and hand each case to ``keep``; nothing else is retained.

    Returns
    -------
    str
        SHA-256 of the exact bytes, in hex.

    Raises
    ------
    GoldError
        For a line, or two lines together, that the format refuses, naming line and remedy.
    LimitExceededError
        Past 64 MiB or 100,000 lines.
    NotFoundError, BadInputError
        If there is no such regular file.
    """
    digest, rules = hashlib.sha256(), CaseRules(where=str(path), unit="line")
    size = number = 0
    with open_bounded(path, bound=CASES_BYTES, what="cases.jsonl") as file, collector_off():
        refuse_lfs_pointer(file.peek(1024), where=str(path))
        while lines := file.readlines(_BLOCK):
            block = b"".join(lines)
            digest.update(block)
            size += len(block)
            _check_bounds(path, size, number + len(lines))
            clear = not _is_doubtful(block)
            for number, line in enumerate(lines, number + 1):  # noqa: B020
                case = _parse_line(line, path, number, clear=clear or not _is_doubtful(line))
                rules.add(case, number)
                keep(case)
    if not number:
        raise GoldError("the file is empty", where=str(path), remedy="write at least one case")
    return digest.hexdigest()


def _check_bounds(path: Path, size: int, lines: int) -> None:
    for what, amount, bound in (("bytes", size, CASES_BYTES), ("lines", lines, CASES_LINES)):
        check_limit(f"{what} of cases.jsonl", amount, bound, argument="", where=str(path))


@contextmanager
def collector_off() -> Iterator[None]:
    """Pause the cyclic garbage collector: records form no cycles, and walking them costs most."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _parse_line(line: bytes, path: Path, number: int, *, clear: bool) -> GoldCase:
    """Parse one line; whatever is doubtful is read again slowly, to be explained or cleared."""
    try:
        if clear:
            # Validating the parsed values leaves one JSON parse, and costs less than another. A
            # date, which JSON can only spell as text, fails here and passes the slow way.
            case = _VALIDATE(_PARSE(line))
            hints = case.request.hints
            if hints is None or hints.system_options is None:  # its scalars may be infinite
                return case
    except ValueError:
        pass
    return _parse_slowly(line, path, number)


def _is_doubtful(data: bytes) -> bool:
    """Whether the fast parsers might take something here that strict JSON refuses."""
    return (
        b"\\u0000" in data or b"\r" in data or _LONG_NUMBER in data.translate(_SHAPE, delete=b"-")
    )


def _parse_slowly(line: bytes, path: Path, number: int) -> GoldCase:
    place = f"{path}:{number}"
    if line.startswith(b"\xef\xbb\xbf"):
        raise GoldError("a byte order mark", where=place, remedy=PIN_AGAIN)
    if b"\r" in line:
        raise GoldError("a carriage return: lines end in LF alone", where=place, remedy=PIN_AGAIN)
    if not line.strip():
        raise GoldError("a blank line", where=place, remedy=PIN_AGAIN)
    parse_strict(line, where=str(path), line=number)
    try:
        return GoldCase.model_validate_json(line)
    except ValidationError as error:
        finding = describe_validation_error(error, known=KNOWN_KEYS)
        raise GoldError(finding, where=place, remedy=PIN_AGAIN) from error
