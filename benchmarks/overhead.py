"""evalnb's own time around a function that returns at once.

Run: python benchmarks/overhead.py
Prints milliseconds a search, everything included: admission, scoring, retention, aggregates.
"""

from __future__ import annotations

import time

import evalnb as ev
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.search.request import QueryRequest

CASES, VARIANTS, ROUNDS = 256, 4, 5
ANSWERS = {
    "nothing": [],
    "ten ids": [f"d{n}" for n in range(10)],
    "ten texts": [(f"d{n}", "some text of a chunk " * 20) for n in range(10)],
}


def main() -> None:
    """Time full evaluations and print the best of five, the least disturbed one."""
    gold = dataset_from_cases(
        tuple(
            GoldCase(
                case_id=f"c{number}",
                split="development",
                request=QueryRequest(query=f"question {number}"),
                document_relevance={"d3": 2, "d7": 1, f"x{number}": 1},
            )
            for number in range(CASES)
        ),
        dataset_id="overhead",
    )
    ev.evaluate(gold, {"warm": lambda query: []})
    for name, answer in ANSWERS.items():
        systems = {f"v{number}": (lambda query, a=answer: a) for number in range(VARIANTS)}
        times = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            ev.evaluate(gold, systems)
            times.append(time.perf_counter() - began)
        print(f"{name:10} {min(times) / (CASES * VARIANTS) * 1000:.3f} ms a search")


if __name__ == "__main__":
    main()
