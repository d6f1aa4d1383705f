"""The index of several reports: one row each, with its verdict in words and where it stands."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evalnb.evaluation.report import EvaluationReport
from evalnb.show.display import Display, facts_html
from evalnb.show.html import page_facts, page_html, write_page
from evalnb.show.markup import display_css, table_html
from evalnb.show.numbers import format_count
from evalnb.show.tables import Cell, Column, Table, format_table, text_columns
from evalnb.show.text import one_line
from evalnb.wording import listed

NAMES_SHOWN = 6
VERDICT_CSS = ".evalnb td:nth-child(2) { min-width: 14rem; }\n"


@dataclass(frozen=True, slots=True)
class Entry:
    """One report, and what became of it."""

    name: str
    report: Path
    folder: Path
    dataset: str
    variants: tuple[str, ...]
    n_cases: int
    finished_at: str
    faults: list[str] = field(default_factory=list)
    read: bool = True

    @classmethod
    def of(cls, record: EvaluationReport, *, name: str, report: Path, folder: Path) -> Entry:
        """Keep of a report what the index tells."""
        return cls(
            name=name,
            report=report,
            folder=folder,
            dataset=f"{record.dataset.name or record.dataset.id}, {record.dataset.split}",
            variants=tuple(variant.name for variant in record.variants),
            n_cases=len(record.cases),
            finished_at=record.observed.finished_at,
        )

    @classmethod
    def unread(cls, why: str, *, name: str, report: Path) -> Entry:
        """Keep of what could not be read why not; pages of an earlier report are not linked."""
        return cls(
            name=name,
            report=report,
            folder=report.parent,
            dataset="",
            variants=(),
            n_cases=0,
            finished_at="",
            faults=[why],
            read=False,
        )


def write_index(entries: Sequence[Entry], path: Path) -> Path:
    """Write the page that lists reports; it lies above their folders."""
    import pandas as pd

    rows = [_row(entry, path.parent) for entry in entries]
    columns = (
        *text_columns("report", "verdict", "data set"),
        Column("cases"),
        *text_columns("variants", "finished"),
    )
    table = Table(columns, tuple(rows), "Reports")
    failed = sum(bool(entry.faults) for entry in entries)
    facts = {"reports": format_count(len(entries)), **({"failed": str(failed)} if failed else {})}
    opening = Display(
        key="opening",
        title="Reports",
        question="Which reports are there?",
        data=pd.DataFrame(list(facts.items()), columns=["fact", "value"]),
        text=", ".join(f"{name}: {value}" for name, value in facts.items()),
        html=f"<style>\n{display_css()}{VERDICT_CSS}</style>\n{facts_html(facts.items())}",
    )
    listing = Display(
        key="reports",
        title="Verdicts",
        question="What does each report say, and where is it?",
        data=pd.DataFrame(
            [[cell.text for cell in row] for row in rows], columns=[c.header for c in columns]
        ),
        text=format_table(table),
        html=table_html(table),
    )
    return write_page(path, page_html("Retrieval reports", [opening, listing]))


def _row(entry: Entry, above: Path) -> tuple[Cell, ...]:
    pages = {
        name: page
        for name in ("variant_report", "case_drilldown")
        if entry.read and (page := entry.folder / f"{name}.html").is_file()
    }
    links = {name: Path(os.path.relpath(page, above)).as_posix() for name, page in pages.items()}
    said = (page_facts(page).get("description", "") for page in pages.values())
    verdict = "; ".join(entry.faults) or next(filter(None, said), "")
    return (
        Cell(one_line(entry.name, 80), href=links.get("variant_report", "")),
        Cell(one_line(verdict, 300), "worse" if entry.faults else ""),
        Cell(one_line(entry.dataset, 120)),
        Cell(
            format_count(entry.n_cases) if entry.read else "",
            href=links.get("case_drilldown", ""),
        ),
        Cell(listed((one_line(name, 40) for name in entry.variants), NAMES_SHOWN)),
        Cell(entry.finished_at[:16].replace("T", " ")),
    )
