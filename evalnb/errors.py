"""Every error that evalnb raises on purpose.

::

    EvalnbError                      code                      exit status
    ├── BadInputError                BAD_INPUT                 2
    │   ├── GoldError                GOLD_INVALID              2
    │   ├── UnknownMeasureError      UNKNOWN_MEASURE           2
    │   ├── NotFoundError            NOT_FOUND                 2
    │   ├── LimitExceededError       LIMIT_EXCEEDED            2
    │   └── MissingExtraError        MISSING_EXTRA             2
    ├── IntegrityError               INTEGRITY_FAILED          1
    └── NotEvaluatedError            NOT_EVALUATED             3
        ├── CapabilityError          CAPABILITY_UNAVAILABLE    3
        ├── SearchFailedError        SEARCH_FAILED             3
        ├── SearchTimeoutError       SEARCH_TIMEOUT            3
        ├── BusyError                WORKSPACE_BUSY            3
        ├── InvalidatedError         COMPARISON_INVALIDATED    3
        └── NotebookError            NOTEBOOK_FAILED           3

A message says what was found, where, and what to do about it. Anything else that escapes is
evalnb's own fault and leaves with exit status 70.
"""

from __future__ import annotations


class EvalnbError(Exception):
    """Base of every deliberate error.

    Parameters
    ----------
    message
        What was found, and what was expected.
    where
        The file, line, cell or field, in the form ``file:line`` where there is one.
    remedy
        What the reader can do about it.
    """

    code = "EVALNB_ERROR"
    exit_status = 70

    def __init__(
        self, message: str, *, where: str | None = None, remedy: str | None = None
    ) -> None:
        self.message = message
        self.where = where
        self.remedy = remedy
        super().__init__(message)

    def __str__(self) -> str:
        """One paragraph: place, finding, remedy."""
        place = f"{self.where}: " if self.where else ""
        remedy = f" ({self.remedy})" if self.remedy else ""
        return f"{place}{self.message}{remedy}"


class BadInputError(EvalnbError):
    """The input, or the way evalnb was called, is wrong."""

    code = "BAD_INPUT"
    exit_status = 2


class GoldError(BadInputError):
    """A gold set, judgement file or run file is not what its format promises."""

    code = "GOLD_INVALID"


class UnknownMeasureError(BadInputError):
    """No measure has this name."""

    code = "UNKNOWN_MEASURE"


class NotFoundError(BadInputError):
    """A file, workspace, snapshot, split, variant or case that was named does not exist."""

    code = "NOT_FOUND"


class LimitExceededError(BadInputError):
    """A bound of :mod:`evalnb.limits` would be passed; nothing is ever truncated instead."""

    code = "LIMIT_EXCEEDED"


class MissingExtraError(BadInputError):
    """An optional dependency is not installed."""

    code = "MISSING_EXTRA"


class IntegrityError(EvalnbError):
    """What a system returned does not agree with the pinned corpus."""

    code = "INTEGRITY_FAILED"
    exit_status = 1


class NotEvaluatedError(EvalnbError):
    """The request was understood but could not be evaluated."""

    code = "NOT_EVALUATED"
    exit_status = 3


class CapabilityError(NotEvaluatedError):
    """A system lacks an index, generation, strategy, reranker or field that is required."""

    code = "CAPABILITY_UNAVAILABLE"


class SearchFailedError(NotEvaluatedError):
    """A search raised, or returned something that is not a result."""

    code = "SEARCH_FAILED"


class SearchTimeoutError(NotEvaluatedError):
    """A search, or the whole request, ran past its time."""

    code = "SEARCH_TIMEOUT"


class BusyError(NotEvaluatedError):
    """Another process holds the workspace; try again."""

    code = "WORKSPACE_BUSY"


class InvalidatedError(NotEvaluatedError):
    """The pinned state changed while the comparison ran."""

    code = "COMPARISON_INVALIDATED"


class NotebookError(NotEvaluatedError):
    """A notebook did not finish; the partial one is kept as evidence."""

    code = "NOTEBOOK_FAILED"
