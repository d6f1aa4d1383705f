"""What a case expects, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evalnb.evaluation.report import EvaluationReport
from evalnb.gold.cases import GoldCase
from evalnb.gold.labels import ContentExpectation
from evalnb.search.result import KINDS
from evalnb.wording import listed

EXPECTED_SHOWN = 12


def document_names(report: EvaluationReport) -> dict[str, str]:
    """Map ids of documents to the names that hits gave them: a digest tells a reader nothing."""
    names: dict[str, str] = {}
    for result in report.results:
        for hit in result.result.hits:
            if hit.ids.document_id and hit.document_name:
                names.setdefault(hit.ids.document_id, hit.document_name)
    return names


def describe_expected(case: GoldCase, names: Mapping[str, str]) -> Iterator[str]:
    """Say in words what a case expects; ids that have a name go by it."""
    if case.content:
        yield " — or — ".join(_content_in_words(entry) for entry in case.content)
    yield from ids_in_words(case, names, forbidden=False)
    for span in case.spans:
        quote = f": “{span.quote}”" if span.quote else ""
        yield f"revision {span.revision_id} [{span.start}, {span.end}){quote}"
    for path in case.paths:
        yield f"path {' → '.join(path)}"
    if case.references:
        yield f"references {', '.join(case.references)}"


def _content_in_words(entry: ContentExpectation) -> str:
    phrases = " or ".join(f"“{phrase}”" for phrase in entry.content_contains)
    parts = [f"document named like “{entry.document}”"] if entry.document else []
    return ", ".join([*parts, *([f"text with {phrases}"] if phrases else [])])


def ids_in_words(case: GoldCase, names: Mapping[str, str], *, forbidden: bool) -> Iterator[str]:
    """Name the ids that a case expects or forbids, kind by kind, with their grades."""
    for kind in KINDS:
        grades = case.relevance(kind)
        ids = (case.forbidden if forbidden else case.expected).of(kind)
        yield from _listed(kind, ids, grades, names)
        if not forbidden:
            graded = [key for key, grade in grades.items() if grade > 0 and key not in ids]
            yield from _listed(f"also graded: {kind}" if ids else kind, graded, grades, names)


def _listed(
    what: str, ids: Sequence[str], grades: Mapping[str, int], names: Mapping[str, str]
) -> Iterator[str]:
    if ids:
        graded = {key: f" (grade {grade})" for key, grade in grades.items()}
        words = (names.get(key, key) + graded.get(key, "") for key in ids)
        yield f"{what} {listed(words, EXPECTED_SHOWN)}"
