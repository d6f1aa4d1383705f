"""What the lines of a draft amount to: its cases, what there is to judge, and who said what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from evalnb.errors import GoldError, NotFoundError
from evalnb.gold.agreement import FORBIDDEN, Agreement, Disagreement, Label, cohen_kappa
from evalnb.gold.cases import GoldCase, GoldDataset, dataset_from_cases
from evalnb.gold.draft_events import (
    ADJUDICATOR,
    Asked,
    Grouped,
    Header,
    Judged,
    Marked,
    Passage,
    Pooled,
    Removed,
)
from evalnb.gold.judging import Judgement, judged_case
from evalnb.gold.labels import LabelProvenance
from evalnb.strict_json import describe_validation_error
from evalnb.wording import near_names


class DraftState:
    """The sum of a draft's lines; nothing here touches the disk.

    Attributes
    ----------
    cases
        By case_id, without the labels that people gave here.
    passages
        By case_id and id, what there is to judge.
    marks
        By case_id, the words that were selected.
    groups
        ``family_key`` and ``split`` by case_id, where cases were put into families.
    """

    def __init__(self, header: Header, cases: Iterable[GoldCase] = ()) -> None:
        self._header = header
        self.cases: dict[str, GoldCase] = {case.case_id: case for case in cases}
        self.passages: dict[str, dict[str, Passage]] = defaultdict(dict)
        self.marks: dict[str, list[Marked]] = defaultdict(list)
        self._labels: dict[tuple[str, str], dict[str, Label]] = defaultdict(dict)
        self.groups: dict[str, Mapping[str, str]] = {}

    def add(self, event: Any) -> None:
        """Take one more line in."""
        match event:
            case Asked():
                self.cases.setdefault(event.case.case_id, event.case)
            case Removed():
                self.cases.pop(event.case_id, None)
            case Pooled():
                known = self.passages[event.case_id]
                for passage in event.passages:
                    known[passage.id] = passage.joined(known.get(passage.id))
            case Judged():
                self._labels[event.case_id, event.id][event.by] = event.label
            case Marked():
                self.marks[event.case_id].append(event)
            case Grouped():
                self.groups = {"family_key": event.families, "split": event.splits}

    def case(self, case_id: str) -> GoldCase:
        """Return a case.

        Raises
        ------
        NotFoundError
            If it is not there, naming those near it.
        """
        if case_id not in self.cases:
            raise NotFoundError(f"no case is called {case_id!r}{near_names(case_id, self.cases)}")
        return self.cases[case_id]

    def passage(self, case_id: str, key: str) -> Passage:
        """Return what is judged under an id; errors as :meth:`case`."""
        self.case(case_id)
        if key not in self.passages.get(case_id, {}):
            raise NotFoundError(f"{key!r} is no passage of {case_id!r}", remedy="pool it first")
        return self.passages[case_id][key]

    def title(self, case_id: str, key: str) -> str:
        """Return what a reader knows a passage by: its document's name, else its id."""
        extracts = self.passage(case_id, key).extracts
        return next((each.document for each in extracts if each.document), key)

    @property
    def annotators(self) -> tuple[str, ...]:
        """Everybody who gave a label that stands, in the order of their first."""
        names = (name for labels in self._labels.values() for name in labels)
        return tuple(dict.fromkeys(name for name in names if name != ADJUDICATOR))

    def said(self, case_id: str, key: str) -> Mapping[str, Label]:
        """Return what everybody said of one passage, by name."""
        return self._labels.get((case_id, key), {})

    def labels(self, by: str) -> dict[tuple[str, str], Label]:
        """Return what one person said, by (case_id, id), of cases that are still there."""
        return {
            key: labels[by]
            for key, labels in self._labels.items()
            if by in labels and key[0] in self.cases
        }

    def agreement(self, first: str, second: str) -> Agreement:
        """Compare two annotators.

        Raises
        ------
        NotFoundError
            If one has judged nothing.
        """
        for name in (first, second):
            if name not in self.annotators:
                raise NotFoundError(
                    f"{name!r} has judged nothing{near_names(name, self.annotators)}",
                    remedy=f"annotators: {', '.join(self.annotators) or 'none yet'}",
                )
        return cohen_kappa(self.labels(first), self.labels(second))

    def disputes(self) -> tuple[Disagreement, ...]:
        """Return what is labelled differently and not settled by the adjudicator."""
        return tuple(
            Disagreement(*key, *list(dict.fromkeys(labels.values()))[:2])
            for key, labels in self._labels.items()
            if key[0] in self.cases and _settled(labels) is None
        )

    def settled(self, case_id: str) -> dict[str, Label]:
        """Return the labels of a case that stand, by id: agreed, or adjudicated."""
        return {
            key: label
            for key in self.passages.get(case_id, {})
            if (label := _settled(self.said(case_id, key))) is not None
        }

    def evidence(self) -> dict[str, dict[str, str]]:
        """Return the texts of what is relevant, by case_id and id."""
        return {
            case_id: {
                key: "\n".join(extract.text for extract in self.passages[case_id][key].extracts)
                for key, label in self.settled(case_id).items()
                if label != FORBIDDEN and label >= 1
            }
            for case_id in self.cases
        }

    def dataset(self) -> GoldDataset:
        """Return the set as it stands; what is in dispute is left unjudged.

        Raises
        ------
        GoldError
            If the labels of a case contradict each other, naming it.
        """
        cases = tuple(map(self._finished, self.cases.values()))
        return dataset_from_cases(cases, dataset_id=self._header.dataset_id)

    def _finished(self, case: GoldCase) -> GoldCase:
        case_id = case.case_id
        grouped = case.model_copy(
            update={name: found[case_id] for name, found in self.groups.items() if case_id in found}
        )
        labels, marks = self.settled(case_id), self.marks.get(case_id, [])
        if not labels and not marks:
            return grouped
        people = {mark.by for mark in marks}
        people.update(name for key in labels for name in self._labels[case_id, key])
        header, before = self._header, case.label_provenance
        origin = LabelProvenance(
            method="human",
            annotators=max(1, len(people - {ADJUDICATOR})),
            independent=header.independent,
            note=header.note or (before.note if before else ""),
        )
        judged = {
            key: Judgement(None, True) if label == FORBIDDEN else Judgement(label, False)
            for key, label in labels.items()
        }
        update = {"label_provenance": origin, **_evidence(case, marks)}
        try:
            return judged_case(grouped.model_copy(update=update), judged, header.kind)
        except ValidationError as error:
            raise GoldError(describe_validation_error(error), where=case_id) from error


def _settled(labels: Mapping[str, Label]) -> Label | None:
    if ADJUDICATOR in labels:
        return labels[ADJUDICATOR]
    found = set(labels.values())
    return found.pop() if len(found) == 1 else None


def _evidence(case: GoldCase, marks: Sequence[Marked]) -> dict[str, object]:
    """Add the words that were selected; phrases of one document are alternatives together."""
    spans = dict.fromkeys((*case.spans, *(mark.span for mark in marks if mark.span)))
    content = list(case.content)
    for phrase in (mark.phrase for mark in marks if mark.phrase):
        at = next((i for i, c in enumerate(content) if c.document == phrase.document), None)
        if at is None:
            content.append(phrase)
        elif (quote := phrase.content_contains[0]) not in content[at].content_contains:
            joined = (*content[at].content_contains, quote)
            content[at] = content[at].model_copy(update={"content_contains": joined})
    return {"spans": tuple(spans), "content": tuple(content)}
