"""What gates found: as lines, as a JUnit file, as Markdown for a review."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from xml.etree import ElementTree

from evalnb.comparison.gates import GateResult
from evalnb.show.text import one_line, visible

SIGNS = {"passed": "✓", "failed": "✗", "undecided": "?"}


def gates_text(results: Sequence[GateResult]) -> str:
    """Write one line a gate and candidate, failures first."""
    order = ("failed", "undecided", "passed")
    lines = [
        f"{SIGNS[r.outcome]} {r.outcome}: {r.gate} ({r.scope}) for {one_line(r.candidate, 60)}: "
        f"{one_line(r.detail, 300)}"
        for r in sorted(results, key=lambda r: order.index(r.outcome))
    ]
    return "\n".join(["Gates", *lines])


def gates_junit(results: Sequence[GateResult]) -> bytes:
    """Write a JUnit file: a test case a gate and candidate; an undecided gate is skipped."""
    counts = Counter(result.outcome for result in results)
    suite = ElementTree.Element(
        "testsuite",
        name="evalnb gates",
        tests=str(len(results)),
        failures=str(counts["failed"]),
        skipped=str(counts["undecided"]),
        errors="0",
    )
    for result in results:
        case = ElementTree.SubElement(
            suite, "testcase", classname=visible(result.candidate), name=visible(result.gate)
        )
        if result.outcome == "passed":
            continue
        tag = "failure" if result.outcome == "failed" else "skipped"
        found = ElementTree.SubElement(case, tag, message=visible(result.detail))
        found.text = "\n".join(visible(case_id) for case_id in result.cases)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def gates_markdown(results: Sequence[GateResult]) -> str:
    """Write a table that a review shows."""
    rows = ["| | gate | holds | candidate | because |", "|---|---|---|---|---|"]
    for result in results:
        cells = (result.gate, result.scope, result.candidate, result.detail)
        shown = " | ".join(_cell(text) for text in cells)
        rows.append(f"| {SIGNS[result.outcome]} {result.outcome} | {shown} |")
    return "\n".join(rows) + "\n"


def _cell(text: str) -> str:
    """Write text that no Markdown reader takes for markup."""
    plain = one_line(text, 300)
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]<>()#+!|~$" else sign for sign in plain)
