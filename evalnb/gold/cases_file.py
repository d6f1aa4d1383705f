"""cases.jsonl: one strict pass that hashes, parses and checks what holds between cases."""

from __future__ import annotations

import gc
import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import jiter
from pydantic import ValidationError

from evalnb.errors import GoldError
from evalnb.gold.cases import CaseRules, GoldCase
from evalnb.gold.files import open_bounded, refuse_lfs_pointer
from evalnb.gold.strict_json import describe_validation_error, parse_strict
from evalnb.limits import CASES_BYTES, CASES_LINES, check_limit
from evalnb.search.request import QueryRequest

PIN_AGAIN = "correct the line, then run `evalnb gold pin` on the folder"
KNOWN_KEYS = frozenset(GoldCase.model_fields) | frozenset(QueryRequest.model_fields)

# With every digit a zero, one substring search tells whether a line may hold an integer past 64
# bits, which the fast parsers would take.
_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_LONG_NUMBER = re.compile(rb"[:,\[\s]-?\d{19}")


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
    room, number = CASES_BYTES + 1, 0
    with open_bounded(path, bound=CASES_BYTES, what="cases.jsonl") as file, _collector_off():
        refuse_lfs_pointer(file.peek(1024), where=str(path))
        while line := file.readline(room):
            number += 1
            room -= len(line)
            if room <= 0 or number > CASES_LINES:
                size = CASES_BYTES + 1 - room
                check_limit("bytes of cases.jsonl", size, CASES_BYTES, argument="", where=str(path))
                check_limit(
                    "lines of cases.jsonl", number, CASES_LINES, argument="", where=str(path)
                )
            digest.update(line)
            case = _parse_line(line, path, number)
            rules.add(case, number)
            keep(case)
    if not number:
        raise GoldError("the file is empty", where=str(path), remedy="write at least one case")
    return digest.hexdigest()


@contextmanager
def _collector_off() -> Iterator[None]:
    """Pause the cyclic garbage collector: records form no cycles, and walking them costs most."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _parse_line(line: bytes, path: Path, number: int) -> GoldCase:
    """Parse one line; whatever is doubtful is read again slowly, to be explained or cleared."""
    try:
        if not _is_doubtful(line):
            # Validating the parsed values leaves one JSON parse, and costs less than another. A
            # date, which JSON can only spell as text, fails here and passes the slow way.
            fields = jiter.from_json(
                line, allow_inf_nan=False, catch_duplicate_keys=True, cache_mode="none"
            )
            case = GoldCase.model_validate(fields)
            hints = case.request.hints
            if hints is None or hints.system_options is None:  # its scalars may be infinite
                return case
    except ValueError:
        pass
    return _parse_slowly(line, path, number)


def _is_doubtful(line: bytes) -> bool:
    """Whether the fast parsers might take something here that strict JSON refuses."""
    if b"\\u0000" in line or b"\r" in line:
        return True
    return b"0" * 19 in line.translate(_ZEROS) and _LONG_NUMBER.search(line) is not None


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
