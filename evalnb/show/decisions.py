"""The decision table: what to do, by which figures, with which command."""

from __future__ import annotations

from collections.abc import Sequence

from evalnb.comparison.advice import Advice
from evalnb.show.markup import quiet_html, text_html
from evalnb.show.text import one_line

LEGEND = "Each question is one paired test of its own at .05; better means the verdict better."


def decisions_html(advice: Sequence[Advice]) -> str:
    """Write decisions as a list: a question with its answer, the figures, the command."""
    items = []
    for item in advice:
        head = f"<strong>{text_html(item.question)}</strong> {text_html(item.decision)}"
        command = f"<p><code>{text_html(item.command)}</code></p>" if item.command else ""
        because = quiet_html(f"{item.code}: {item.evidence}")
        items.append(f"<li><p>{head}</p>{because}{command}</li>")
    return f'<ul class="verdicts">{"".join(items)}</ul>{quiet_html(LEGEND)}' if items else ""


def decisions_text(advice: Sequence[Advice]) -> str:
    """Write decisions as lines; empty without any."""
    if not advice:
        return ""
    lines = ["Decisions"]
    for item in advice:
        lines.append(f"{item.code}  {item.question} {one_line(item.decision)}")
        lines += [f"       {one_line(text)}" for text in (item.evidence, item.command) if text]
    return "\n".join([*lines, LEGEND])
