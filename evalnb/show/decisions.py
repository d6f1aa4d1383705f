"""The decision table: what to do, by which figures, with which command."""

from __future__ import annotations

from collections.abc import Sequence

from evalnb.comparison.advice import Advice
from evalnb.show.tables import Cell, Column, Table
from evalnb.show.text import one_line

LEGEND = "Each question is one paired test of its own at .05; better means the verdict better."


def decisions_table(advice: Sequence[Advice]) -> Table:
    """Lay decisions out, one a row."""
    headers = ("question", "decision", "because", "command", "code")
    rows = tuple(
        tuple(
            Cell(one_line(text, 400))
            for text in (item.question, item.decision, item.evidence, item.command, item.code)
        )
        for item in advice
    )
    return Table(tuple(Column(name, right=False) for name in headers), rows, "Decisions")


def decisions_text(advice: Sequence[Advice]) -> str:
    """Write decisions as lines: too long for a table in a terminal. Empty without any."""
    if not advice:
        return ""
    lines = ["Decisions"]
    for item in advice:
        lines.append(f"{item.code}  {item.question} {one_line(item.decision)}")
        lines += [f"       {one_line(text)}" for text in (item.evidence, item.command) if text]
    return "\n".join([*lines, LEGEND])
