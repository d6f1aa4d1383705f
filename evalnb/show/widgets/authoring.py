"""Gold by hand: passages judged by keyboard, and disagreements settled.

The state is the draft's: every judgement is on disk before the next passage is shown.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from evalnb.comparison.holes import judge_next
from evalnb.errors import BadInputError
from evalnb.evaluation.report import AnyReport, record_of
from evalnb.gold.agreement import FORBIDDEN, Label
from evalnb.gold.cases import dataset_from_cases
from evalnb.gold.draft_events import ADJUDICATOR, Extract, Passage
from evalnb.gold.drafting import Draft
from evalnb.gold.judging import blind_order
from evalnb.measures.judgements import result_by_label
from evalnb.search.result import Hit
from evalnb.show.markup import quiet_html, table_html, text_html
from evalnb.show.tables import Cell, Table, format_table, text_columns
from evalnb.show.text import one_line, plural
from evalnb.show.widgets.parts import StateLine, html_part, put_html, tool_box, tool_bundle
from evalnb.show.widgets.passage import SHOWN, PassageView, shown_runs

if TYPE_CHECKING:
    import pandas as pd

_GRADES = {0: "not relevant", 1: "relevant", 2: "highly relevant", 3: "perfectly relevant"}
_ACTIONS = {
    "f": ("forbidden", "must not be shown for this question"),
    "p": ("previous", "the passage before"),
    "n": ("next", "the next passage, judged or not"),
    "u": ("undo", "take back the last thing that you did"),
    "s": ("keep as span", "the selected words, by their place in the text"),
    "q": ("keep as quote", "the selected words, wherever they stand"),
}


def pool_report(draft: Draft, report: AnyReport, *, depth: int = 10) -> int:
    """Add the first ``depth`` ids of every result to what is judged, and count the new ones.

    An id stands once, with every text that any variant returned for it.

    Raises
    ------
    BadInputError
        If the report has none of the draft's questions.
    """
    record, kind = record_of(report), draft.header.kind
    cases = {case.case_id: case for case in record.cases if case.case_id in draft.state.cases}
    if not cases:
        raise BadInputError("the report has none of the draft's questions")
    found: dict[str, dict[str, list[Extract]]] = {case_id: {} for case_id in cases}
    for result in record.results:
        if (case := cases.get(result.case_id)) is None:
            continue
        texts = found[case.case_id]
        ranked: set[str] = set()
        for hit in result_by_label(case, result.result).hits:
            key = hit.ids.of(kind)
            if key is not None and (key in ranked or len(ranked) < depth):
                ranked.add(key)
                texts.setdefault(key, []).extend(_extracts(hit))
    return sum(
        draft.pool(
            case_id, (Passage(id=k, extracts=tuple(dict.fromkeys(e))) for k, e in texts.items())
        )
        for case_id, texts in found.items()
    )


def _extracts(hit: Hit) -> list[Extract]:
    if not hit.text:
        return []
    span, revision = hit.span, hit.ids.revision_id
    if span is None or revision is None or span.end - span.start != len(hit.text):
        return [Extract(text=hit.text, document=hit.document_name)]
    return [
        Extract(text=hit.text, document=hit.document_name, revision_id=revision, start=span.start)
    ]


class Judging:
    """The passages of a draft, one after another, for one judge.

    Keys: a digit grades, f forbids, n and p move, u undoes, s and q keep the selected words; every
    key has a button. The order says nothing of systems or ranks.

    Parameters
    ----------
    by
        Who judges. The ``adjudicator`` sees what others said, and only where they disagree.
    find
        Searches for the questions of a set and returns a report of it: with it, a question can be
        asked here and what is found is pooled.
    report, baseline
        A report of measured variants: what would move the decision between them comes first.

    Raises
    ------
    NotFoundError
        If the baseline is no variant.
    """

    def __init__(
        self,
        draft: Draft,
        *,
        by: str,
        find: Callable[[Any], AnyReport] | None = None,
        report: AnyReport | None = None,
        baseline: str | None = None,
    ) -> None:
        self.draft, self.by, self._find = draft, by, find
        self._first: dict[tuple[str, str], int] = {}
        if report is not None and baseline is not None:
            holes = judge_next(report, baseline=baseline, n=10_000)
            self._first = {(hole.case_id, hole.id): at for at, hole in enumerate(holes)}
        self._lock = threading.RLock()
        self._token = 0
        self._at: tuple[str, str] | None = None
        self.line = StateLine()
        self.passage = PassageView()
        self._question, self._kept = html_part(), html_part()
        self.query = widgets.Text(
            description="Question", placeholder="a question to add", tooltip="a question to add"
        )
        self.buttons = self._buttons()
        self.passage.known_keys = [f"{key} {b.tooltip}" for key, b in self.buttons.items() if key]
        self.passage.on_msg(self._heard)
        asking = [widgets.HBox([self.query, self.buttons[""]])] if find is not None else []
        grades = [str(grade) for grade in draft.header.grades]
        labels, actions = (
            widgets.HBox([self.buttons[key] for key in row]) for row in ((*grades, "f"), "pnusq")
        )
        self._judged = (self.passage, labels, self._kept)
        self.box = tool_box(
            self.line.part, self._question, self.passage, labels, actions, self._kept, *asking
        )
        self._go(self._next_unjudged(None))

    def _buttons(self) -> dict[str, widgets.Button]:
        said = {
            str(grade): (_GRADES.get(grade, f"grade {grade}"), f"grade {grade}")
            for grade in self.draft.header.grades
        }
        made = {}
        for key, (label, tooltip) in {**said, **_ACTIONS, "": ("Ask", "search for it")}.items():
            made[key] = widgets.Button(
                description=f"{key} {label}".strip(), tooltip=tooltip, layout={"width": "auto"}
            )
            made[key].on_click(lambda _, key=key: self.press(key))
        return made

    # What there is to judge

    def queue(self) -> list[tuple[str, str]]:
        """Return what this judge is shown, in order, by (case_id, id)."""
        state = self.draft.state
        order = {case_id: at for at, case_id in enumerate(state.cases)}
        pairs = [(c, key) for c in state.cases for key in state.passages.get(c, {})]
        if self.by == ADJUDICATOR:
            pairs = [pair for pair in pairs if len(set(self._others(*pair).values())) > 1]
        last = len(self._first)
        return sorted(
            pairs,
            key=lambda pair: (self._first.get(pair, last), order[pair[0]], blind_order(*pair)),
        )

    def _others(self, case_id: str, key: str) -> dict[str, Label]:
        said = self.draft.state.said(case_id, key)
        return {name: label for name, label in said.items() if name != ADJUDICATOR}

    def _next_unjudged(self, after: tuple[str, str] | None) -> tuple[str, str] | None:
        queue, judged = self.queue(), self.draft.state.labels(self.by)
        at = queue.index(after) + 1 if after in queue else 0
        left = [pair for pair in queue[at:] + queue[:at] if pair not in judged]
        stay = [after] if after in queue else queue
        return next(iter(left or stay), None)

    # What is pressed

    def press(self, key: str, selected: list[int] | None = None) -> None:
        """Do what a key, or its button, says; ``selected`` is what the passage view sends."""
        with self._lock, self.line.catching():
            words = selected or list(self.passage.selected)
            if key == "":
                self._ask()
            elif key in {"n", "p"}:
                self._move(1 if key == "n" else -1)
            elif key == "u":
                self._undo()
            elif self._at is None:
                raise BadInputError("there is nothing to judge")
            elif key in {"s", "q"}:
                if len(words) != 3 or any(type(word) is not int for word in words):
                    raise BadInputError("nothing is selected", remedy="select words first")
                quote = self.draft.mark(
                    *self._at, (words[0], words[1], words[2]), by=self.by, as_phrase=key == "q"
                )
                self._go(self._at, f"Kept: “{one_line(quote, 80)}”.")
            elif key in self.buttons:
                label: Label = FORBIDDEN if key == "f" else int(key)
                news = self.draft.judge(*self._at, label, by=self.by)
                more = f" {plural(news, 'line')} of another notebook came in." if news else ""
                self._go(self._next_unjudged(self._at), f"Saved: {label}.{more}")

    def _heard(self, _: object, content: Mapping[str, Any], __: object) -> None:
        if content.get("token") != self._token:  # pressed at a passage that was gone already
            self._go(self._at, "A key was too fast to count; press it again.")
            return
        self.press(str(content.get("key", "")) or " ", content.get("selected"))
        if content.get("token") == self._token:  # an error was said: the page waits for an answer
            self._show()

    def _move(self, step: int) -> None:
        self.draft.refresh()
        queue = self.queue()
        at = queue.index(self._at) + step if self._at in queue else 0
        self._go(queue[at % len(queue)] if queue else None)

    def _undo(self) -> None:
        undone = self.draft.undo(by=self.by)
        if undone is None:
            raise BadInputError("there is nothing of yours to undo")
        back = (getattr(undone, "case_id", ""), getattr(undone, "id", ""))
        self._go(back if back in self.queue() else self._next_unjudged(None), "Undone.")

    def _ask(self) -> None:
        if self._find is None or not self.query.value.strip():
            raise BadInputError("there is no question yet", remedy="write one first")
        case_id = self.draft.ask(self.query.value, by=self.by)
        case = self.draft.state.case(case_id)
        n = pool_report(
            self.draft,
            self._find(dataset_from_cases((case,), dataset_id=self.draft.header.dataset_id)),
        )
        self.query.value = ""
        first = next((pair for pair in self.queue() if pair[0] == case_id), self._at)
        self._go(first, f"Asked; {plural(n, 'passage')} found.")

    # What is shown

    def _go(self, to: tuple[str, str] | None, news: str = "") -> None:
        self._at = to
        self._show()
        self.line.say(f"{news} {self._words()}".strip())

    def _words(self) -> str:
        queue, judged = self.queue(), self.draft.state.labels(self.by)
        done = sum(pair in judged for pair in queue)
        if self._at is None:
            return "Nothing is in dispute." if self.by == ADJUDICATOR else "Nothing to judge yet."
        case_id, _ = self._at
        mine = [pair for pair in queue if pair[0] == case_id]
        cases = list(dict.fromkeys(pair[0] for pair in queue))
        said = judged.get(self._at)
        verdict = "not judged yet" if said is None else f"you said {said}"
        others = self._others(*self._at).items() if self.by == ADJUDICATOR else ()
        heard = "".join(f", {name} said {label}" for name, label in others)
        return (
            f"Question {cases.index(case_id) + 1} of {len(cases)}, passage "
            f"{mine.index(self._at) + 1} of {len(mine)}: {verdict}{heard}. "
            f"{done} of {len(queue)} judged by {self.by}."
        )

    def _show(self) -> None:
        self._token += 1
        if self._at is not None and self._at not in self.queue():  # taken out in another notebook
            self._at = self._next_unjudged(None)
        for key, button in self.buttons.items():
            button.description = button.description.removeprefix("✓ ")
            button.disabled = self._at is None and key in {"s", "q"}
        for part in self._judged:  # an empty frame would look like a passage without text
            part.layout.display = "none" if self._at is None else ""
        if self._at is None:
            put_html(self._question, "")
            self.passage.view = {"token": self._token, "extracts": []}
            return
        case_id, key = self._at
        label = self.draft.state.labels(self.by).get(self._at)
        if label is not None:
            button = self.buttons["f" if label == FORBIDDEN else str(label)]
            button.description = f"✓ {button.description}"
        passage = self.draft.state.passage(case_id, key)
        query = self.draft.state.case(case_id).request.query
        names = dict.fromkeys(each.document or "" for each in passage.extracts)
        titles = " · ".join(text_html(one_line(name, 80)) for name in names if name)
        put_html(
            self._question,
            f'<p class="step">{text_html(query)}</p>'
            f'<p class="quiet">{titles or text_html(key)}</p>',
        )
        put_html(self._kept, self._kept_html(case_id, passage))
        self.passage.selected = []
        self.passage.view = {
            "token": self._token,
            "extracts": [
                shown_runs(extract.text, self._marks(case_id, key, extract))
                for extract in passage.extracts
            ],
        }

    def _marks(self, case_id: str, key: str, extract: Extract) -> list[tuple[int, int]]:
        found = []
        for mark in self.draft.state.marks.get(case_id, ()):
            if mark.id == key and mark.span is None:
                at = extract.text.find(mark.quote)
                found += [(at, at + len(mark.quote))] if at >= 0 else []
            elif mark.span is not None and mark.span.revision_id == extract.revision_id:
                start = extract.start or 0
                found.append((mark.span.start - start, mark.span.end - start))
        return found

    def _kept_html(self, case_id: str, passage: Passage) -> str:
        notes = []
        if not passage.extracts:
            notes.append(f"No text was returned for {passage.id}.")
        if any(len(extract.text) > SHOWN for extract in passage.extracts):
            notes.append(f"Only the first {SHOWN:,} characters of a text are shown.")
        kept = "".join(
            f"<li>{'span' if mark.span else 'quote'} in "
            f"{text_html(one_line(self.draft.state.title(case_id, mark.id), 40))}: "
            f"{text_html(one_line(mark.quote, 120))}</li>"
            for mark in self.draft.state.marks.get(case_id, ())
        )
        return "".join(map(quiet_html, notes)) + (f"<ul>{kept}</ul>" if kept else "")

    def frame(self) -> pd.DataFrame:
        """Return what this judge is shown, in order, and said: case_id, query, id, label, kept."""
        import pandas as pd

        state, judged = self.draft.state, self.draft.state.labels(self.by)
        rows = [
            (
                case_id,
                state.cases[case_id].request.query,
                key,
                judged.get((case_id, key)),
                sum(mark.id == key for mark in state.marks.get(case_id, ())),
            )
            for case_id, key in self.queue()
        ]
        columns = ["case_id", "query", "id", "label", "kept"]
        return pd.DataFrame(rows, columns=columns, dtype=object)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        state, judged = self.draft.state, self.draft.state.labels(self.by)
        counts = Counter(case_id for case_id, _ in self.queue())
        done = Counter(pair[0] for pair in self.queue() if pair in judged)
        rows = tuple(
            (
                Cell(one_line(state.cases[case_id].request.query, 80)),
                Cell(str(n)),
                Cell(str(done[case_id])),
            )
            for case_id, n in counts.items()
        )
        table = Table(text_columns("question", "passages", f"judged by {self.by}"), rows)
        html, text = table_html(table), format_table(table)
        return tool_bundle(self.box, self.line.text, html=html, text=text, **kwargs)
