"""What a pinned corpus says against a gold set, before anything is searched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evalnb.evaluation.integrity import absent_labels, check_span, document_labels
from evalnb.gold.cases import GoldCase
from evalnb.gold.labels import ContentExpectation
from evalnb.measures.content import matching_units
from evalnb.search.system import PinnedCorpus, Unit
from evalnb.wording import listed

TOO_MUCH = 0.1  # of all units: a phrase that marks more than a tenth marks no passage
FEW_UNITS = 10
MIN_WORDS = 5  # a shorter question may well be a heading or an identifier
VERBATIM_INTENTS = frozenset({"exact_phrase", "identifier", "exact_identifier"})


def corpus_doubts(corpus: PinnedCorpus, cases: Sequence[GoldCase]) -> tuple[str, ...]:
    """Check labels against a corpus.

    Returns
    -------
    tuple of str
        Labelled ids that the corpus does not have, content gold that matches nothing or too much,
        and questions that stand in the corpus word for word.

    Raises
    ------
    GoldError
        If a quote does not stand at its span.
    """
    _check_spans(corpus, cases)
    units = list(corpus.units())
    return (
        *absent_labels(corpus, cases, {label for unit in units for label in document_labels(unit)}),
        *_content(cases, units),
        *_verbatim(cases, units),
    )


def _check_spans(corpus: PinnedCorpus, cases: Sequence[GoldCase]) -> None:
    spans = [(case.case_id, span) for case in cases for span in case.spans]
    owners = corpus.bindings({span.revision_id for _, span in spans})
    texts: dict[str, str] = {}
    for case_id, span in spans:
        if (owner := owners.get(span.revision_id)) is None:
            continue
        if owner.extraction_id not in texts:
            texts[owner.extraction_id] = corpus.extraction(owner.extraction_id).text
        check_span(case_id, span, texts[owner.extraction_id])


def _content(cases: Sequence[GoldCase], units: Sequence[Unit]) -> Iterator[str]:
    found = matching_units([case for case in cases if case.content], units)
    if nothing := [case_id for case_id, ids in found.items() if not ids]:
        n = len(nothing)
        yield f"cases whose content matches nothing in the corpus: {n} ({listed(nothing)})"
    bound = max(FEW_UNITS, TOO_MUCH * len(units))
    if too_much := [case_id for case_id, ids in found.items() if len(ids) > bound]:
        yield (
            f"cases whose content matches more than {bound:.0f} of {len(units)} units: "
            f"{len(too_much)} ({listed(too_much)})"
        )


def _verbatim(cases: Sequence[GoldCase], units: Sequence[Unit]) -> Iterator[str]:
    asked = [
        case.model_copy(
            update={"content": (ContentExpectation(content_contains=(case.request.query,)),)}
        )
        for case in cases
        if case.intent not in VERBATIM_INTENTS and len(case.request.query.split()) >= MIN_WORDS
    ]
    found = matching_units(asked, units)
    if verbatim := [case_id for case_id, ids in found.items() if ids]:
        yield (
            "cases whose question stands in the corpus word for word, which favours keyword "
            f"search: {len(verbatim)} ({listed(verbatim)})"
        )
