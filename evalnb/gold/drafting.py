"""A gold set in the making: questions, pooled passages and judgements, each on disk at once.

A draft is a folder: draft.json says what it is, journal.jsonl holds what people did, a line each,
and previous/ the version that it goes on from. Nothing in the journal is ever changed: undoing is
a line more. Notebooks that write the same draft see each other's lines.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from evalnb.errors import BadInputError, GoldError
from evalnb.files import checked_path, explained, read_bounded, write_file
from evalnb.gold.agreement import FORBIDDEN, Label
from evalnb.gold.cases import GoldCase, GoldDataset, Split
from evalnb.gold.dataset import check_dataset_id, load_gold_dir, write_gold_dir
from evalnb.gold.draft_events import (
    EVENT,
    Asked,
    Deed,
    Grouped,
    Header,
    Judged,
    Marked,
    Passage,
    Pooled,
    Removed,
    Undone,
)
from evalnb.gold.draft_state import DraftState
from evalnb.gold.families import DERIVED, Family, split_by_family, suggest_families
from evalnb.gold.journal import Journal
from evalnb.gold.judging import Change, check_gradable, version_changes
from evalnb.gold.labels import LabelProvenance
from evalnb.limits import MANIFEST_BYTES
from evalnb.search.request import Record
from evalnb.search.result import Kind
from evalnb.strict_json import describe_validation_error, load_strict
from evalnb.wording import listed, shown

HEADER, JOURNAL, PREVIOUS = "draft.json", "journal.jsonl", "previous"

_Made = TypeVar("_Made", bound=Record)


@dataclass(frozen=True, slots=True)
class Pinned:
    """A new version on disk, and what it changed."""

    dataset: GoldDataset
    path: Path
    changes: tuple[Change, ...] = field(repr=False)


def open_draft(
    folder: str | Path,
    *,
    dataset_id: str | None = None,
    previous: GoldDataset | None = None,
    kind: Kind | None = None,
    grades: tuple[int, ...] | None = None,
    independent: bool | None = None,
    note: str | None = None,
) -> Draft:
    """Begin a draft, or go on with the one that stands in the folder.

    What is not given is as the draft was begun; only the provenance can change afterwards.

    Parameters
    ----------
    dataset_id
        Of the set that it becomes; the folder's name unless given.
    previous
        The version to go on from; its cases are in the draft, its grades too.
    kind
        What the ids that are judged name; ``document`` unless given.
    grades
        Those that may be given, of 0 to 9; 0 to 3 unless given. 1 and above are relevant.
    independent, note
        For the provenance of the labels: whether they were made without looking at what the
        systems under test match on, and how they were made.

    Raises
    ------
    BadInputError
        If the folder cannot be written, or a draft of other settings stands in it.
    GoldError
        If a line of the journal is none, naming it.
    """
    place = checked_path(folder)
    if kind is not None:
        check_gradable(kind)
    if grades is not None and (not grades or any(not 0 <= grade <= 9 for grade in grades)):
        raise BadInputError(f"grades are {grades}, expected some of 0 to 9")
    given = {
        "dataset_id": dataset_id,
        "previous": previous and previous.version_sha,
        "kind": kind,
        "grades": grades and tuple(sorted(set(grades))),
        "independent": independent,
        "note": note,
    }
    given = {name: value for name, value in given.items() if value is not None}
    with explained("cannot be written", place, remedy="choose a folder that you may write to"):
        if (place / HEADER).exists():
            header = _gone_on(place / HEADER, given)
        else:
            header = _begun(place, given, previous)
    return Draft(place, header)


def _begun(place: Path, given: dict[str, Any], previous: GoldDataset | None) -> Header:
    header = _made(Header, **{"dataset_id": place.resolve().name, **given})
    try:
        check_dataset_id(header.dataset_id)
    except ValueError as error:
        raise BadInputError(str(error), remedy="name one with dataset_id=") from error
    if previous is not None:
        renamed = previous.model_copy(update={"dataset_id": header.dataset_id})
        write_gold_dir(renamed, place / PREVIOUS)
    write_file(place / HEADER, header.to_bytes())
    return header


def _gone_on(path: Path, given: dict[str, Any]) -> Header:
    data = read_bounded(path, bound=MANIFEST_BYTES, what="the settings of a draft")
    found = load_strict(Header, data, where=str(path))
    header = _made(Header, **{**dict(found), **given})
    for name in ("dataset_id", "previous", "kind", "grades"):
        if (old := getattr(found, name)) != (new := getattr(header, name)):
            raise BadInputError(
                f"the draft was begun with {name} {shown(old)}, not {shown(new)}",
                where=str(path),
                remedy="open it as it was begun, or begin another in a new folder",
            )
    if header != found:
        write_file(path, header.to_bytes())
    return header


def _made(record: type[_Made], **fields: Any) -> _Made:
    try:
        return record.model_validate(fields)
    except ValidationError as error:
        raise BadInputError(describe_validation_error(error)) from error


class Draft:
    """A draft that is open: every method that changes it returns when that is on disk.

    Attributes
    ----------
    state
        What the journal amounts to, with what other notebooks wrote up to the last change here.
    previous
        The version that the draft goes on from, if any.
    """

    def __init__(self, folder: Path, header: Header) -> None:
        self.folder = folder
        self.header = header
        self.previous = None if header.previous is None else load_gold_dir(folder / PREVIOUS)
        self._events: list[Any] = []
        self._void: set[int] = set()
        self.state = self._begun()
        self._journal = Journal(folder / JOURNAL, self._take)

    def _begun(self) -> DraftState:
        return DraftState(self.header, self.previous.cases if self.previous else ())

    def _take(self, line: bytes, number: int) -> None:
        try:
            event = EVENT.validate_json(line)
        except ValidationError as error:
            raise GoldError(
                f"no line of a draft: {describe_validation_error(error)}",
                where=f"{self.folder / JOURNAL}:{number}",
                remedy="put back a copy from before it was edited",
            ) from error
        self._events.append(event)
        if not isinstance(event, Undone):
            self.state.add(event)
            return
        self._void.add(event.line)
        self.state = self._begun()
        for at, past in enumerate(self._events):
            if at not in self._void:
                self.state.add(past)

    def _write(self, event: Record) -> int:
        """Put a line on disk, and count the lines of others that came before it."""
        n_before = len(self._events)
        self._journal.append(event.model_dump_json().encode())
        return len(self._events) - n_before - 1

    def refresh(self) -> int:
        """Take in what other notebooks wrote meanwhile, and count their lines."""
        before = len(self._events)
        self._journal.refresh()
        return len(self._events) - before

    def ask(self, query: str, *, by: str, **fields: Any) -> str:
        """Add a question; further fields are those of a case, such as ``intent`` or ``tags``.

        Returns
        -------
        str
            Its case_id, which follows from the query: asking again changes nothing.
        """
        given = fields.pop("request", {})
        case_id = "q-" + hashlib.sha256(query.encode(errors="replace")).hexdigest()[:12]
        header = self.header
        origin = LabelProvenance(
            method="human", annotators=1, independent=header.independent, note=header.note
        )
        case = _made(
            GoldCase,
            **{"split": "development", "label_provenance": origin, **fields},
            case_id=case_id,
            request={"query": query, **given},
        )
        if case_id not in self.state.cases:
            self._write(_made(Asked, by=by, case=case))
        return case_id

    def remove(self, case_id: str, *, by: str) -> None:
        """Take a question out; those who judged it see it no more."""
        self.state.case(case_id)
        self._write(_made(Removed, by=by, case_id=case_id))

    def pool(self, case_id: str, passages: Iterable[Passage]) -> int:
        """Add what systems returned for a question, and count the passages that are new."""
        self.state.case(case_id)
        known = self.state.passages.get(case_id, {})
        found = [p for p in passages if p.joined(known.get(p.id)) != known.get(p.id)]
        n_new = sum(passage.id not in known for passage in found)
        if found:
            self._write(Pooled(case_id=case_id, passages=tuple(found)))
        return n_new

    def judge(self, case_id: str, key: str, label: Label, *, by: str) -> int:
        """Give a passage a grade, or ``"forbidden"``.

        Returns
        -------
        int
            How many lines others have written since the last one was taken in.
        """
        self.state.passage(case_id, key)
        if label != FORBIDDEN and label not in self.header.grades:
            allowed = ", ".join(map(str, self.header.grades))
            raise BadInputError(f"the label is {label!r}, expected {allowed} or 'forbidden'")
        return self._write(_made(Judged, by=by, case_id=case_id, id=key, label=label))

    def mark(
        self,
        case_id: str,
        key: str,
        selected: tuple[int, int, int],
        *,
        by: str,
        as_phrase: bool = False,
    ) -> str:
        """Keep words of a passage as evidence.

        Parameters
        ----------
        selected
            The ordinal of the extract, and the start and the end of the words in its text: half
            open, in codepoints.
        as_phrase
            Keep the words themselves, which any system's text may hold, in place of their place.

        The words are returned, without blanks around them.

        Raises
        ------
        BadInputError
            If nothing is selected, or the system did not say where the text stands.
        """
        extracts = self.state.passage(case_id, key).extracts
        at, start, end = selected
        inside = 0 <= at < len(extracts) and 0 <= start < end <= len(extracts[at].text)
        # A hand that selects takes spaces along.
        quote = extracts[at].text[start:end].strip() if inside else ""
        if not quote:
            raise BadInputError("nothing is selected", remedy="select words of one passage first")
        extract = extracts[at]
        found: dict[str, object] = {}
        if as_phrase:
            found["phrase"] = {"document": extract.document, "content_contains": [quote]}
        elif extract.revision_id is None or extract.start is None:
            raise BadInputError(
                "the system does not say where this text stands",
                remedy="keep the words as a phrase",
            )
        else:
            low = extract.start + extract.text.index(quote, start)
            place = {"revision_id": extract.revision_id, "start": low, "end": low + len(quote)}
            found["span"] = {**place, "quote": quote}
        self._write(_made(Marked, by=by, case_id=case_id, id=key, **found))
        return quote

    def suggest_families(self, *, likeness: float = DERIVED) -> tuple[Family, ...]:
        """Group cases that ask nearly the same, or whose relevant texts are nearly the same."""
        return suggest_families(
            {case_id: case.request.query for case_id, case in self.state.cases.items()},
            self.state.evidence(),
            known={case_id: case.family for case_id, case in self.state.cases.items()},
            likeness=likeness,
        )

    def group(
        self,
        families: Iterable[Family],
        *,
        keep_apart: Collection[str] = (),
        test_share: float = 0.5,
        seed: int = 0,
    ) -> dict[str, Split]:
        """Put cases into the families that are meant, and deal families to the splits.

        Cases of the version before stay on their split. Grouping again takes the place of this.

        Parameters
        ----------
        keep_apart
            Keys of suggested families that are none.

        Returns
        -------
        dict
            The split of every case, by case_id.
        """
        own = {case_id: case.family for case_id, case in self.state.cases.items()}
        own |= {
            case_id: own[family.case_ids[0]]
            for family in families
            if family.key not in keep_apart
            for case_id in family.case_ids
        }
        fixed: dict[str, Split] = {
            case.case_id: case.split
            for case in (self.previous.cases if self.previous else ())
            if case.case_id in own
        }
        splits = split_by_family(own, test_share=test_share, seed=seed, fixed=fixed)
        sizes = Counter(own.values())
        named = {case_id: name for case_id, name in own.items() if sizes[name] > 1}
        if self.state.groups != {"family_key": named, "split": splits}:
            self._write(_made(Grouped, families=named, splits=splits))
        return splits

    def undo(self, *, by: str) -> Deed | None:
        """Undo the last thing that this person did and that stands; null if there is none."""
        for at in range(len(self._events) - 1, -1, -1):
            event = self._events[at]
            if at not in self._void and isinstance(event, Deed) and event.by == by:
                self._write(Undone(by=by, line=at))
                return event
        return None

    def dataset(self) -> GoldDataset:
        """Return the set as it stands; see :meth:`DraftState.dataset`."""
        return self.state.dataset()

    def changes(self) -> tuple[Change, ...]:
        """Say how the set differs from the version before it."""
        return version_changes(self.previous, self.dataset())

    def pin(self, path: str | Path) -> Pinned:
        """Write the set as a new gold directory.

        Raises
        ------
        GoldError
            If labels are in dispute, there are no cases, or nothing has changed.
        BadInputError
            If something else stands at ``path``, or it cannot be written.
        """
        self.refresh()
        if disputes := self.state.disputes():
            named = listed((f"{each.case_id}: {each.id}" for each in disputes), most=3)
            raise GoldError(
                f"labels are in dispute: {len(disputes)} ({named})",
                remedy="settle them as the adjudicator",
            )
        dataset, target = self.dataset(), checked_path(path)
        if not dataset.cases:
            raise GoldError("there are no questions yet", where=str(self.folder))
        if dataset.version_sha == self.header.previous:
            raise GoldError("nothing has changed since the version before", where=str(self.folder))
        with explained("cannot be written", target):
            written = write_gold_dir(dataset, target)
        return Pinned(written, target, version_changes(self.previous, written))
