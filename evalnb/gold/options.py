"""How gold is to be read, as far as the caller says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

from evalnb.errors import BadInputError
from evalnb.gold.cases import Split
from evalnb.limits import GRADE_RANGE
from evalnb.wording import shown

_IN_MEMORY = frozenset({"DataFrame", "dict", "list"})


def spell_option(flag: str, pairs: Mapping[str, Any], where: str) -> str:
    """Spell an option as the command line and Python have it; what is no file needs no flag.

    >>> spell_option("--map", {"query": "q"}, "a.csv")
    "--map query=q, or mapping={'query': 'q'} in Python"
    """
    argument = "mapping" if flag == "--map" else flag.removeprefix("--")
    python = f"{argument}={pairs!r}"
    if where in _IN_MEMORY:
        return python
    typed = ",".join(f"{key}={value}" for key, value in pairs.items())
    return f"{flag} {typed}, or {python} in Python"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a source is to be read; what its format has no use for is refused.

    Raises
    ------
    BadInputError
        For a split that is none, a mapping that is none, or a grade map to anything but grades.
    """

    topics: str | Path | None = None
    split: str | None = None
    mapping: Mapping[str, str] | None = None
    grades: Mapping[Any, int] | None = None
    encoding: str = "utf-8"
    sheet: str | None = None

    def __post_init__(self) -> None:
        """Check what a caller gave."""
        if self.split is not None and self.split not in get_args(Split):
            raise BadInputError(
                f"no split is called {self.split!r}", remedy=f"splits: {', '.join(get_args(Split))}"
            )
        for name, example in (("mapping", '{"query": "question"}'), ("grades", "{1: 4, 2: 3}")):
            given = getattr(self, name)
            if given is not None and not isinstance(given, Mapping):
                raise BadInputError(
                    f"{name} is {shown(given)}, expected a dict", remedy=f"such as {example}"
                )
        for pair in (self.mapping or {}).items():
            if not all(isinstance(column, str) for column in pair):
                raise BadInputError(f"the mapping holds {shown(pair)}, expected two names")
        for raw, grade in (self.grades or {}).items():
            if isinstance(grade, bool) or not isinstance(grade, int) or abs(grade) > GRADE_RANGE:
                raise BadInputError(
                    f"the grade map turns {raw!r} into {grade!r}",
                    remedy=f"a grade is a whole number from -{GRADE_RANGE} to {GRADE_RANGE}",
                )

    @property
    def default_split(self) -> Split:
        """The split of cases that name none."""
        return cast("Split", self.split or "development")

    @property
    def grade_map(self) -> dict[str, int] | None:
        """The grades by the text that stands for them."""
        given = self.grades
        return None if given is None else {str(raw).strip(): given[raw] for raw in given}

    def refuse_others(self, what: str, *used: str) -> None:
        """Refuse an option that would have no effect on this kind of source."""
        for name in ("topics", "split", "mapping", "grades", "sheet"):
            if getattr(self, name) is not None and name not in used:
                raise BadInputError(f"{name} has no effect on {what}", remedy=f"leave {name} out")

    def notes(self) -> tuple[str, ...]:
        """Print the grade map, so that nobody takes its grades for those of the file."""
        if self.grade_map is None:
            return ()
        pairs = ", ".join(f"{raw}={grade}" for raw, grade in self.grade_map.items())
        return (f"grades mapped: {pairs}",)
