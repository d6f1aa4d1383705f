"""What executors cost and gain around a search of 5 ms.

Run: python benchmarks/executors.py
Prints the time on 8 threads over that of the bare searches on 8 threads, and the time on a Dask
cluster of one worker over that on two. Both are from the first answer to the last, scoring and
retention included; what happens once a run (start, means, report) is in overhead.py.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from distributed import LocalCluster

from evalnb.evaluation.request import EvaluationRequest, Variant
from evalnb.evaluation.runner import run_evaluation
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.search.request import QueryRequest
from evalnb.systems.function import FunctionSystem

CASES, THREADS, ROUNDS = 1_000, 8, 7
GOLD = dataset_from_cases(
    tuple(
        GoldCase(
            case_id=f"c{number}",
            split="development",
            request=QueryRequest(query=f"question {number}"),
            document_relevance={"d3": 2, "d7": 1},
        )
        for number in range(CASES)
    ),
    dataset_id="executors",
)


def search(query: str) -> list[str]:
    """Answer after 5 ms, as a local search service does."""
    time.sleep(0.005)
    return [f"d{number}" for number in range(10)]


def evaluated_s(executor: str) -> float:
    """Return the seconds from the first answer to the last."""
    answered: list[float] = []
    run_evaluation(
        GOLD,
        {"workspace": FunctionSystem(search)},
        EvaluationRequest(variants=(Variant(name="v"),)),
        executor=executor,
        progress=lambda done, total: answered.append(time.perf_counter()),
    )
    return answered[-1] - answered[0]


def bare_s() -> float:
    """Return the seconds that the searches take on as many threads, their answers dropped."""
    began = time.perf_counter()
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(search, (case.request.query for case in GOLD.cases)))
    return time.perf_counter() - began


def cluster_s(n_workers: int) -> float:
    """Return the best seconds on a Dask cluster of so many processes of one thread."""
    with LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0") as cluster:
        return min(evaluated_s(f"dask:{cluster.scheduler_address}") for _ in range(ROUNDS))


def main() -> None:
    """Alternate what is compared and take the best of each, the least disturbed one."""
    times = [(evaluated_s(f"local:{THREADS}"), bare_s()) for _ in range(ROUNDS)]
    ours, bare = (min(column) for column in zip(*times, strict=True))
    print(f"local:{THREADS} over bare threads  {ours / bare:.3f}")
    print(f"Dask, one worker over two  {cluster_s(1) / cluster_s(2):.2f}")


if __name__ == "__main__":
    main()
