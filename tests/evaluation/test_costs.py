"""What searches cost: quantiles without the warm-up, means beside their n, prices."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

import evalnb as ev
from evalnb.errors import BadInputError, NotFoundError
from evalnb.evaluation.canonical import canonical_json
from evalnb.evaluation.costs import COST_COLUMNS, load_prices, parse_prices, priced, variant_costs
from evalnb.evaluation.frames import costs_frame
from evalnb.evaluation.report import EvaluationReport
from evalnb.gold.cases import GoldCase, GoldDataset, dataset_from_cases
from evalnb.search.result import QueryResult, TokenCount, Usage
from evalnb.show.tables import report_text

USED = {
    "q0": Usage(calls=2, tokens=1_200, by_model={"m": TokenCount(input=1_000, output=200)}),
    "q1": Usage(calls=4, tokens=600, by_model={"m": TokenCount(input=600)}),
    "q2": Usage(calls=3, cost=0.5, repaired=2),
    "q3": Usage(),
}


def gold(n: int = 4) -> GoldDataset:
    cases = (
        GoldCase(
            case_id=f"c{i}",
            split="development",
            request={"query": f"q{i}"},
            expected={"document_ids": ["x"]},
        )
        for i in range(n)
    )
    return dataset_from_cases(tuple(cases), dataset_id="d")


def search(query: str) -> QueryResult:
    if query == "q3":
        raise ValueError("down")
    return QueryResult(usage=USED[query])


def timed(report: EvaluationReport, *times: float | None) -> EvaluationReport:
    observed = report.observed.model_copy(update={"latency_ms": times})
    return report.model_copy(update={"observed": observed})


@pytest.fixture(scope="module")
def report() -> EvaluationReport:
    return ev.evaluate(gold(), {"mine": search}).record


def test_a_row_holds_quantiles_warm_up_and_means_with_their_n(report: EvaluationReport) -> None:
    (row,) = variant_costs(timed(report, 90.0, 10.0, 20.0, None))
    assert tuple(row) == COST_COLUMNS
    assert row == {
        "variant": "mine",
        "n": 4,
        "success_rate": 0.75,
        "n_timed": 2,
        "latency_p50": 15.0,
        "latency_p95": pytest.approx(19.5),
        "latency_p99": pytest.approx(19.9),
        "n_warm_up": 1,
        "latency_warm_up": 90.0,
        "n_calls": 3,
        "calls": 3.0,
        "n_tokens": 2,
        "tokens": 900.0,
        "n_cost": 1,
        "cost": 0.5,
        "repaired": 1,
    }


def test_every_session_has_a_warm_up_of_its_own() -> None:
    report = ev.evaluate(gold(2), {"mine": lambda q: []}, repetitions=2).record
    # Results stand by case, then by repetition.
    assert [(r.case_id, r.repetition) for r in report.results] == [
        ("c0", 0), ("c0", 1), ("c1", 0), ("c1", 1),
    ]  # fmt: skip
    (row,) = variant_costs(timed(report, 50.0, 70.0, 1.0, 3.0))
    assert (row["n_warm_up"], row["latency_warm_up"]) == (2, 60.0)
    assert (row["n_timed"], row["latency_p50"]) == (2, 2.0)


def test_sessions_of_several_threads_are_warmed_up_each() -> None:
    def slow(query: str) -> list[str]:
        time.sleep(0.01)
        return []

    report = ev.evaluate(gold(40), {"mine": slow}, executor="local:4").record
    assert len(report.observed.warm_up) == 4
    (row,) = variant_costs(report)
    assert row["n_warm_up"] in (4, 5)  # the first case may have been another session's second
    assert row["n_timed"] == 40 - row["n_warm_up"]
    one_after_another = ev.evaluate(gold(4), {"mine": slow}).record
    assert one_after_another.observed.warm_up == (0,)


def test_one_search_is_a_warm_up_and_has_no_quantile() -> None:
    report = ev.evaluate(gold(1), {"mine": lambda q: []}).record
    (row,) = variant_costs(timed(report, 5.0))
    assert (row["n_timed"], row["latency_p50"], row["latency_warm_up"]) == (0, None, 5.0)
    assert costs_frame(report)["latency_p50"].dtype == "float64"


PRICES = [
    # price table, cost of q0 and q1, mean over the searches that have one (q2 says .5 itself)
    ({"m": {"input_per_million": 2.0, "output_per_million": 10.0}}, 3, (0.004 + 0.0012 + 0.5) / 3),
    ({"m": {"input_per_million": 2}}, 3, (0.002 + 0.0012 + 0.5) / 3),
    ({"other": {"input_per_million": 2.0}}, 1, 0.5),
    ({}, 1, 0.5),
]


@pytest.mark.parametrize(("prices", "n", "mean"), PRICES)
def test_tokens_are_priced_by_model(
    report: EvaluationReport, prices: dict[str, Any], n: int, mean: float
) -> None:
    (row,) = variant_costs(priced(report, parse_prices(prices, where="prices")))
    assert (row["n_cost"], row["cost"]) == (n, pytest.approx(mean))


def test_prices_stand_in_the_observed_part_alone(report: EvaluationReport) -> None:
    prices = parse_prices({"m": {"input_per_million": 2.0}}, where="prices")
    one, two = (json.loads(canonical_json(r)) for r in (report, priced(report, prices)))
    assert two["observed"].pop("prices") == {
        "m": {"input_per_million": 2.0, "output_per_million": 0.0}
    }
    assert not one["observed"].pop("prices")
    assert one == two


FILES = [
    ("p.toml", '["gpt 4"]\ninput_per_million = 2.5\n', None),
    ("p.json", '{"gpt 4": {"input_per_million": 2.5}}', None),
    ("p.toml", "= 1", "not TOML"),
    ("p.toml", "[m]\ninput_per_milion = 1", r"m\.input_per_milion: unknown key; did you mean"),
    ("p.json", '{"m": {"input_per_million": -1}}', r"p\.json: m\.input_per_million"),
    ("p.json", '{"m": {"input_per_million": "1"}}', r"m\.input_per_million: expected a number"),
    ("p.json", '{"m": 1}', "m: expected an object"),
    ("p.json", '{"m": {"input_per_million": NaN}}', "nan is not a finite number"),
    ("p.json", "[]", "expected an object"),
]


@pytest.mark.parametrize(("name", "content", "says"), FILES)
def test_a_price_table_is_read_whole_or_refused(
    tmp_path: Path, name: str, content: str, says: str | None
) -> None:
    path = tmp_path / name
    path.write_text(content)
    if says is None:
        assert load_prices(path)["gpt 4"].input_per_million == 2.5
        return
    with pytest.raises(BadInputError, match=says):
        load_prices(path)
    with pytest.raises(NotFoundError):
        load_prices(tmp_path / "none.toml")


def test_evaluate_takes_prices_and_compare_takes_what_a_search_costs(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    path.write_text('{"m": {"input_per_million": 1.0}}')

    def spending(tokens: int) -> Any:
        count = TokenCount(input=tokens)
        return lambda query: QueryResult(usage=Usage(tokens=tokens, by_model={"m": count}))

    systems = {"dear": spending(1_000_000), "cheap": spending(1_000)}
    report = ev.evaluate(gold(8), systems, prices=path)
    assert report.costs()["cost"].tolist() == pytest.approx([1.0, 0.001])
    row = ev.compare(report, baseline="dear", measures=["cost"]).frame().iloc[0]
    assert (row["verdict"], row["diff"]) == ("better", pytest.approx(-0.999))
    times = ev.compare(report, baseline="dear", measures=["latency_ms"]).frame()
    assert times["n"].tolist() == [7]  # without the warm-up


def test_the_terminal_shows_what_it_cost(report: EvaluationReport) -> None:
    text = report_text(timed(report, 90.0, 10.0, 20.0, None))
    head, row = text.splitlines()[-3:-1]
    assert " ".join(head.split()) == (
        "variant searches answered p50 p95 p99 n warm-up calls tokens cost repaired"
    )
    assert row.split("  ")[0] == "mine"
    assert "75 %  15.0 ms  19.5 ms  19.9 ms  2  90.0 ms  3 (n 3)" in row
    assert row.endswith("900 (n 2)  0.5 (n 1)         1")
