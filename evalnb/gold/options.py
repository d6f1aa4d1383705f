"""How gold is to be read, as far as the caller says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

from evalnb.errors import BadInputError
from evalnb.gold.cases import Split
from evalnb.limits import GRADE_RANGE

GradeMap = Mapping[Any, int]


@dataclass(frozen=True, slots=True)
class Options:
    """How a file is to be read; what a kind of file has no use for is refused."""

    topics: Path | None = None
    split: Split | None = None
    mapping: Mapping[str, str] | None = None
    grades: Mapping[str, int] | None = None
    encoding: str = "utf-8"
    sheet: str | None = None

    @classmethod
    def checked(
        cls,
        *,
        topics: str | Path | None,
        split: str | None,
        mapping: Mapping[str, str] | None,
        grades: GradeMap | None,
        encoding: str,
        sheet: str | None = None,
    ) -> Options:
        """Check what a caller gave.

        Raises
        ------
        BadInputError
            For a split that is none, or a grade map to anything but grades.
        """
        return cls(
            topics=None if topics is None else Path(topics),
            split=_checked_split(split),
            mapping=mapping,
            grades=_checked_grades(grades),
            encoding=encoding,
            sheet=sheet,
        )

    def refuse_others(self, kind: str, *used: str) -> None:
        """Refuse an option that would have no effect on this kind of file."""
        for name in ("topics", "split", "mapping", "grades", "sheet"):
            if getattr(self, name) is not None and name not in used:
                raise BadInputError(f"{name} has no effect on {kind}", remedy=f"leave {name} out")

    def notes(self) -> tuple[str, ...]:
        """Print the grade map, so that nobody takes its grades for those of the file."""
        if self.grades is None:
            return ()
        pairs = ", ".join(f"{raw}={grade}" for raw, grade in self.grades.items())
        return (f"grades mapped: {pairs}",)


def _checked_split(split: str | None) -> Split | None:
    if split is not None and split not in get_args(Split):
        raise BadInputError(
            f"no split is called {split!r}", remedy=f"splits: {', '.join(get_args(Split))}"
        )
    return cast("Split | None", split)


def _checked_grades(grades: GradeMap | None) -> dict[str, int] | None:
    if grades is None:
        return None
    for raw, grade in grades.items():
        if isinstance(grade, bool) or not isinstance(grade, int) or abs(grade) > GRADE_RANGE:
            raise BadInputError(
                f"the grade map turns {raw!r} into {grade!r}",
                remedy=f"a grade is a whole number from -{GRADE_RANGE} to {GRADE_RANGE}",
            )
    return {str(raw).strip(): grade for raw, grade in grades.items()}
