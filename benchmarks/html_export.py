"""How long a report takes to become one page, and how large the page is.

``python benchmarks/html_export.py [cases variants] ...`` measures the sizes given, or the usual
ones. The last column sets the export against the time that the same report takes to serialise as
JSON, which holds on any machine. Then the variant report of 1,024 cases is run as a notebook, and
its export is set against nbconvert's own of the same notebook, in turns. Exit status 1 if the page
of 1,024 searches passes 4 MB, or the export takes more than 1.5 times as long as nbconvert's.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evalnb.evaluation.canonical import canonical_json
from evalnb.evaluation.report import EvaluationReport, save_report
from evalnb.evaluation.request import EvaluationRequest, Variant
from evalnb.evaluation.runner import run_evaluation
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.limits import Limits
from evalnb.systems.function import FunctionSystem

SIZES = ((1_024, 1), (512, 2), (5, 200), (5_000, 1))
BOUND_MB, BOUND_RATIO, ROUNDS = 4.0, 1.5, 3
HITS, WORDS = 10, 150
VOCABULARY = (
    *("revenue", "profit", "quarter", "contract", "supplier", "invoice", "delivery", "warranty"),
    *("refund", "policy", "travel", "budget", "hiring", "risk", "audit", "server", "backup"),
    *("cloud", "latency", "index", "search", "ranking", "chunk", "token"),
)


def main() -> int:
    given = [int(value) for value in sys.argv[1:]]
    sizes = list(zip(given[::2], given[1::2], strict=True)) or list(SIZES)
    from evalnb.show.html import write_report_html

    print("cases  variants  export s     MB  against JSON")
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        write_report_html(evaluated(2, 2), Path(folder) / "warm.html")
        for n_cases, n_variants in sizes:
            report = evaluated(n_cases, n_variants)
            path = Path(folder) / "page.html"
            export = seconds(lambda: write_report_html(report, path))  # noqa: B023
            as_json = seconds(lambda: canonical_json(report))  # noqa: B023
            size = path.stat().st_size / 1e6
            print(
                f"{n_cases:>5}  {n_variants:>8}  {export:>8.2f}  {size:>5.2f}  "
                f"{export / as_json:.1f} times its JSON"
            )
            if n_cases * n_variants <= 1_024 and size > BOUND_MB:
                status = 1
        ratio, size = against_nbconvert(evaluated(1_024, 1), Path(folder))
        print(f"notebook of 1,024 cases: {ratio:.2f} times nbconvert's export, {size:.2f} MB")
    return status or int(ratio > BOUND_RATIO or size > BOUND_MB)


def against_nbconvert(report: EvaluationReport, folder: Path) -> tuple[float, float]:
    from nbconvert.exporters import HTMLExporter

    from evalnb.show.export import export_html
    from evalnb.show.notebooks import run_notebook

    save_report(report, folder / "report.json")
    notebook = run_notebook("variant_report", folder)
    pages = folder / "ours.html", folder / "bare.html"

    def bare() -> None:
        pages[1].write_text(HTMLExporter().from_filename(str(notebook))[0])

    export_html(notebook, pages[0])
    bare()
    turns = [
        (seconds(lambda: export_html(notebook, pages[0])), seconds(bare)) for _ in range(ROUNDS)
    ]
    return statistics.median(ours / theirs for ours, theirs in turns), pages[0].stat().st_size / 1e6


def seconds(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def evaluated(n_cases: int, n_variants: int) -> EvaluationReport:
    words = random.Random(7)
    names = [f"document-{at:05d}.pdf" for at in range(max(n_cases, 60))]
    texts = {name: " ".join(words.choices(VOCABULARY, k=WORDS)) for name in names}
    cases = tuple(
        GoldCase(
            case_id=f"{at:05d}",
            split="development",
            request={"query": f"What does {names[at]} say about {VOCABULARY[at % 24]}?"},
            expected={"document_ids": [names[at]]},
        )
        for at in range(n_cases)
    )

    def searching(seed: int) -> Callable[[str], Any]:
        def search(query: str) -> Any:
            chance = random.Random(f"{seed} {query}")
            found = chance.sample(names, HITS)
            found[chance.randrange(HITS)] = query.split()[2]
            return [
                {"id": name, "text": texts[name], "score": 1 / rank, "document": name}
                for rank, name in enumerate(found, start=1)
            ]

        return search

    systems = {f"variant {at}": FunctionSystem(searching(at)) for at in range(n_variants)}
    return run_evaluation(
        dataset_from_cases(cases, dataset_id="bench"),
        systems,
        EvaluationRequest(variants=tuple(Variant(name=n, system=n) for n in systems)),
        limits=Limits(searches=10**6, artifact_bytes=2**31, report_bytes=2**31),
    )


if __name__ == "__main__":
    sys.exit(main())
