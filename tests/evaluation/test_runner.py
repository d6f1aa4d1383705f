"""One pinned run: what it refuses, what it keeps, what a failure may and may not touch."""

from __future__ import annotations

import json
import sys
import threading
import time

import pytest

from evalnb.api import Limits, compare, evaluate, load_report, system
from evalnb.errors import (
    BadInputError,
    CapabilityError,
    LimitExceededError,
    NotFoundError,
    UnknownMeasureError,
)
from evalnb.evaluation.canonical import canonical_json
from evalnb.evaluation.request import EvaluationRequest, Variant
from evalnb.evaluation.runner import run_evaluation
from evalnb.gold.cases import GoldCase, dataset_from_cases


def case(case_id, query, relevant, **fields):
    return GoldCase(
        case_id=case_id,
        split=fields.pop("split", "development"),
        request={"query": query, **fields.pop("request", {})},
        expected={"document_ids": relevant},
        **fields,
    )


GOLD = dataset_from_cases(
    (
        case("c1", "one", ["a"]),
        case("c2", "two", ["b"]),
        case("c3", "three", []),
        case("t1", "test", ["a"], split="test"),
    ),
    dataset_id="small",
)


def good(query):
    return ["a", "b"]


def values(report, measure, variant="good"):
    return {
        r.case_id: (s.status, s.value)
        for r in report.record.results
        if r.variant == variant
        for s in r.scores
        if s.measure == measure
    }


def test_every_case_gets_its_score_and_no_gold_is_not_zero():
    report = evaluate(GOLD, {"good": good})
    assert values(report, "RR@10") == {
        "c1": ("ok", 1.0),
        "c2": ("ok", 0.5),
        "c3": ("undefined", None),
    }
    [mean] = [
        row for row in report.record.aggregates if (row.measure, row.slice) == ("RR@10", "all")
    ]
    assert (mean.mean, mean.n, mean.n_undefined, mean.n_unavailable) == (0.75, 2, 1, 0)


def test_a_failing_variant_poisons_nothing():
    def failing(query):
        if query == "two":
            raise RuntimeError("the index\nis gone")
        return ["a"]

    report = evaluate(GOLD, {"good": good, "failing": failing, "nothing": lambda q: None})
    assert values(report, "RR@10")["c2"] == ("ok", 0.5)
    assert values(report, "RR@10", "failing") == {
        "c1": ("ok", 1.0),
        "c2": ("unavailable", None),
        "c3": ("undefined", None),
    }
    reasons = {r.variant: r.result.reason for r in report.record.results if r.case_id == "c2"}
    assert reasons["failing"] == "SEARCH_FAILED: RuntimeError: the index is gone"
    assert "returned None" in reasons["nothing"]
    [row] = [
        r
        for r in report.record.aggregates
        if (r.variant, r.measure, r.slice) == ("failing", "RR@10", "all")
    ]
    assert (row.mean, row.n, row.n_unavailable) == (1.0, 1, 1)
    assert (row.success_rate, row.mean_failed_zero) == (0.5, 0.5)


def test_a_call_that_never_returns_is_given_up():
    release = threading.Event()
    report = evaluate(GOLD, {"hangs": lambda q: release.wait(30), "good": good}, timeout_s=0.05)
    release.set()
    assert {s for s, _ in values(report, "RR@10", "hangs").values()} == {"unavailable", "undefined"}
    assert "no answer within 0.05 s" in report.record.results[0].result.reason
    assert values(report, "RR@10")["c1"] == ("ok", 1.0)


def test_a_passed_deadline_ends_the_searches_not_the_report():
    began = time.monotonic()
    report = evaluate(GOLD, {"slow": lambda q: time.sleep(0.2) or ["a"]}, deadline_s=0.3)
    assert time.monotonic() - began < 5
    statuses = [r.result.status for r in report.record.results]
    assert statuses == ["ok", "unavailable", "unavailable"]
    assert "deadline" in report.record.results[-1].result.reason


def test_the_own_time_of_a_function_counts():
    slow = system(lambda q: time.sleep(5), timeout_s=0.05)
    report = evaluate(GOLD, {"slow": slow})
    assert {r.result.status for r in report.record.results} == {"unavailable"}


def test_more_searches_than_the_bound_are_refused_before_the_first():
    calls = []
    with pytest.raises(LimitExceededError, match=r"6 is past the limit of 5.*--max-searches"):
        evaluate(
            GOLD,
            {"a": calls.append, "b": calls.append},
            limits=Limits(searches=5),
        )
    assert calls == []
    report = evaluate(GOLD, {"a": good, "b": good}, limits=Limits(searches=6))
    assert report.record.limits == {"searches": 6}


def test_artifacts_past_their_bound_are_refused_not_cut():
    with pytest.raises(LimitExceededError, match="retained case results"):
        evaluate(
            GOLD,
            {"big": lambda q: [("a", "x" * 10_000)]},
            limits=Limits(artifact_bytes=15_000),
        )


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"split": "test", "measures": ["nDGC@10"]}, UnknownMeasureError, "nDCG"),
        ({"systems": {}}, BadInputError, "no system"),
        ({"systems": {"x": (good, {"mode": "hybrid"})}}, CapabilityError, "hybrid"),
        ({"systems": {"x": (good, {"colour": 1})}}, BadInputError, "colour"),
        ({"systems": {"x": (good, {"channels": ["structural_graph"]})}}, BadInputError, "graph"),
        ({"systems": {"x": (good, {"exact_only": True})}}, BadInputError, "exact_identifiers"),
        ({"systems": {"x": "missing.run"}}, NotFoundError, "missing.run"),
        ({"systems": [good]}, BadInputError, "variants need names"),
        ({"limit": 0}, BadInputError, "limit"),
        ({"repetitions": 0}, BadInputError, "repetitions"),
        ({"timeout_s": -1}, BadInputError, "timeout_s"),
        ({"timeout_s": float("inf")}, BadInputError, "timeout_s"),
        ({"deadline_s": 1e12}, BadInputError, "deadline_s"),
        ({"timeout_s": "x"}, BadInputError, "timeout_s: expected a number, found 'x'"),
        ({"limits": 3}, BadInputError, "limits is 3"),
        ({"cache": __file__}, BadInputError, "the cache is a folder"),
        ({"cache": 3}, BadInputError, "expected a path, found 3"),
        ({"split": "train"}, BadInputError, "split"),
        ({"measures": "nDGC@10"}, UnknownMeasureError, "nDGC@10"),
    ],
)
def test_a_wrong_request_is_refused(arguments, error, says):
    with pytest.raises(error, match=says):
        evaluate(GOLD, arguments.pop("systems", {"good": good}), **arguments)


def test_an_empty_split_names_the_others():
    only_test = dataset_from_cases((GOLD.cases[3],), dataset_id="t")
    with pytest.raises(NotFoundError, match=r"development.*splits it has: test"):
        evaluate(only_test, {"good": good})


def test_what_is_missing_is_na_only_when_asked_for():
    report = evaluate(GOLD, {"x": (good, {"mode": "hybrid"}), "good": good}, allow_unavailable=True)
    assert {r.result.status for r in report.record.results if r.variant == "x"} == {"unavailable"}
    assert {r.result.status for r in report.record.results if r.variant == "good"} == {"ok"}


def test_a_case_that_needs_a_restriction_names_the_field():
    gold = dataset_from_cases(
        (case("c1", "one", ["a"], request={"source_ids": ["s"]}), case("c2", "two", ["a"])),
        dataset_id="restricted",
    )
    calls = []
    report = evaluate(gold, {"f": lambda q: calls.append(q) or ["a"]})
    assert report.record.results[0].result.reason == "the system does not honour source_ids"
    assert calls == ["two"]
    taken = []

    def careful(query, *, request):
        taken.append(request.source_ids)
        return ["a"]

    assert evaluate(gold, {"f": careful}).record.results[0].result.status == "ok"
    assert taken == [("s",), ()]


def test_the_limit_is_the_variants_then_the_cases_then_the_calls():
    gold = dataset_from_cases(
        (case("c1", "one", ["a"], request={"limit": 3}), case("c2", "two", ["a"])), dataset_id="l"
    )
    seen = {"plain": [], "deep": []}

    def depth(name):
        return lambda query, limit: seen[name].append(limit) or []

    evaluate(gold, {"plain": depth("plain"), "deep": (depth("deep"), {"limit": 50})}, limit=7)
    assert seen == {"plain": [3, 7], "deep": [50, 50]}


def test_repetitions_are_searched_and_averaged():
    answers = iter([["a"], [], ["b"], ["b"], [], []] * 2)
    report = evaluate(GOLD, {"good": lambda q: next(answers)}, repetitions=2, seed=7)
    assert [(r.case_id, r.repetition, r.seed) for r in report.record.results] == [
        (c, r, 7) for c in ("c1", "c2", "c3") for r in (0, 1)
    ]
    [mean] = [
        row for row in report.record.aggregates if (row.measure, row.slice) == ("RR@10", "all")
    ]
    assert mean.n == 2


def test_the_same_request_gives_the_same_bytes_outside_observed(tmp_path):
    def written(folder):
        evaluate(GOLD, {"good": good, "also": good}).save(tmp_path / folder)
        document = json.loads((tmp_path / folder).read_text())
        assert document["observed"].pop("latency_ms")
        del document["observed"]
        return canonical_json(document)

    assert written("one.json") == written("two.json")


def test_a_report_comes_back_as_it_was(tmp_path):
    report = evaluate(GOLD, {"good": lambda q: [("a", "text"), ("b", "more")]})
    path = report.save(tmp_path / "report.json")
    assert load_report(tmp_path).record == report.record
    assert load_report(path).save(tmp_path / "again.json").read_bytes() == path.read_bytes()
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())  # as an editor may leave it
    assert load_report(path).record == report.record
    for given, says in ((None, "expected a path"), ("a" * 5_000, "cannot be looked up")):
        with pytest.raises(BadInputError, match=says):
            load_report(given)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text[:-10], "cut off"),
        (lambda text: text.replace("evalnb-report@1", "evalnb-report@9"), "this version reads"),
        (lambda text: "{}", "not a report"),
        (lambda text: "[1]", "not a report"),
        (lambda text: "[" * 100_000, "not a whole JSON document"),
        (lambda text: "", "not a whole JSON document"),
        (lambda text: text.replace('"repetition":0', '"repetition":"0"', 1), "repetition"),
    ],
)
def test_a_damaged_report_says_what_is_wrong(tmp_path, change, says):
    path = evaluate(GOLD, {"good": good}).save(tmp_path / "report.json")
    path.write_text(change(path.read_text()))
    with pytest.raises(BadInputError, match=says):
        load_report(path)


def request(**fields):
    return EvaluationRequest(variants=(Variant(name="v", system="s"),), **fields)


def test_progress_counts_every_search():
    seen = []
    run_evaluation(
        GOLD,
        {"s": system(good)},
        request(),
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_a_snapshot_of_a_system_without_snapshots_is_refused():
    with pytest.raises(BadInputError, match="no system here has snapshots"):
        run_evaluation(GOLD, {"s": system(good)}, request(snapshot_id="snap_1"))


def test_a_label_may_be_a_documents_name():
    gold = dataset_from_cases(
        (case("c1", "one", ["report.pdf"], forbidden={"document_ids": ["secret.md"]}),),
        dataset_id="names",
    )

    def find(query):
        return [
            {"id": "k1", "text": "x", "metadata": {"source": "in/secret.md"}},
            {"id": "k2", "text": "y", "metadata": {"source": "in/report.pdf"}},
        ]

    report = evaluate(gold, {"good": find})
    assert values(report, "RR@10") == {"c1": ("ok", 0.5)}
    assert values(report, "ForbiddenLeakage") == {"c1": ("ok", 1.0)}
    assert report.hits()[["grade", "forbidden", "matched"]].values.tolist() == [
        [0, True, False],
        [1, False, True],
    ]
    assert report.record.results[0].result.hits[0].ids.document_id == "k1"


def test_ids_that_never_meet_are_said_to_be_doubtful():
    report = evaluate(GOLD, {"other": lambda q: ["A.md"], "good": good})
    [note] = [note for note in report.record.notes if note.startswith("other")]
    assert note == (
        "other: no labelled document came back in 2 of 2 searches. Do the ids agree? The gold says "
        "'a', the system returned 'A.md'."
    )


def test_equal_failures_read_alike():
    def failing(query):
        raise RuntimeError(f"no route for {object()}")

    reasons = {r.result.reason for r in evaluate(GOLD, {"v": failing}).record.results}
    assert reasons == {"SEARCH_FAILED: RuntimeError: no route for <object object at 0x...>"}


def test_a_function_that_exits_is_a_failed_search():
    report = evaluate(GOLD, {"v": lambda q: sys.exit(5), "good": good})
    assert report.record.results[0].result.reason == "SEARCH_FAILED: SystemExit: 5"


def test_one_measure_may_stand_alone_and_reports_may_be_paths(tmp_path):
    report = evaluate(GOLD, {"good": good, "other": lambda q: ["b"]}, measures="RR@10")
    assert report.record.compared == ("RR@10",)
    path = report.save(tmp_path / "report.json")
    assert list(compare(path, baseline="good").frame()["candidate"]) == ["other"]
    with pytest.raises(BadInputError, match="expected a report, found dict"):
        compare({}, baseline="good")
    assert report.to_html(tmp_path) == tmp_path / "report.html"


def test_reports_of_different_gold_say_so():
    other = dataset_from_cases(GOLD.cases[:2], dataset_id="small")
    first, second = evaluate(GOLD, {"a": good}), evaluate(other, {"b": good})
    assert any("version_sha" in note for note in compare(first, second, baseline="a").record.notes)
