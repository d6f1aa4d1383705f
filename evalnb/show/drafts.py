"""What a draft of a gold set says of its judges and its families, to look at."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from evalnb.gold.drafting import Draft
from evalnb.gold.families import Family, Reason
from evalnb.show.display import Display
from evalnb.show.markup import display_css, table_html, text_html
from evalnb.show.tables import Cell, Table, format_table, text_columns
from evalnb.show.text import one_line

_STYLE = f"<style>\n{display_css()}</style>\n"


def agreement(draft: Draft) -> Display:
    """Show how far every two judges agree, and everything that they disagree on."""
    import pandas as pd

    pairs = [
        (one, other, draft.state.agreement(one, other))
        for one, other in combinations(draft.state.annotators, 2)
    ]
    rows = [
        (one, other, each.case_id, each.id, each.first, each.second)
        for one, other, found in pairs
        for each in found.disagreements
    ]
    columns = ["first", "second", "case_id", "id", "first_label", "second_label"]
    said = [f"{one} and {other}: {found}." for one, other, found in pairs]
    said = said or ["One person alone has judged so far, or nobody: kappa needs two."]
    table = Table(
        text_columns("question", "passage", "labels"),
        tuple(
            (
                Cell(one_line(draft.state.cases[case_id].request.query, 60)),
                Cell(one_line(draft.state.title(case_id, key), 40)),
                Cell(f"{one} {first} · {other} {second}"),
            )
            for one, other, case_id, key, first, second in rows
        ),
        caption="Disagreements",
    )
    return Display(
        key="agreement",
        title="Agreement",
        question="How far do the judges agree, beyond chance?",
        data=pd.DataFrame(rows, columns=columns, dtype=object),
        text="\n".join([*said, *([format_table(table)] if rows else [])]),
        html=_STYLE
        + "".join(f"<p>{text_html(line)}</p>" for line in said)
        + (table_html(table) if rows else ""),
    )


def families(draft: Draft, found: Sequence[Family]) -> Display:
    """Show which questions seem to belong together, and why."""
    import pandas as pd

    rows = [
        (
            family.key,
            case_id,
            draft.state.cases[case_id].request.query,
            "; ".join(_words(draft, reason) for reason in family.reasons),
        )
        for family in found
        for case_id in family.case_ids
    ]
    table = Table(
        text_columns("family", "question", "why"),
        tuple(
            (Cell(key), Cell(one_line(query, 60)), Cell(one_line(why, 200)))
            for key, _, query, why in rows
        ),
    )
    nothing = "No two questions seem to belong together."
    return Display(
        key="families",
        title="Families",
        question="Which questions are not independent?",
        data=pd.DataFrame(rows, columns=["family", "case_id", "query", "why"], dtype=object),
        text=format_table(table) if rows else nothing,
        html=_STYLE + (table_html(table) if rows else f"<p>{nothing}</p>"),
    )


def _words(draft: Draft, reason: Reason) -> str:
    """Name cases by their questions, and texts by their documents."""
    state = draft.state
    titles = {
        key: state.title(case_id, key) for case_id in state.cases for key in state.passages[case_id]
    }
    names = titles | {
        case_id: f"“{one_line(case.request.query, 40)}”" for case_id, case in state.cases.items()
    }
    said = {part: names.get(part, part) for part in (reason.first, reason.second, reason.by)}
    return str(Reason(said[reason.first], said[reason.second], reason.says, said[reason.by]))
