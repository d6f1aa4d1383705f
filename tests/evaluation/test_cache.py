"""What is kept, what is used again, and what a damaged or foreign file may never become."""

from __future__ import annotations

import multiprocessing
import sqlite3

import pytest

from evalnb.api import evaluate, system
from evalnb.errors import BadInputError, InvalidatedError, NotEvaluatedError
from evalnb.evaluation.cache import SearchCache
from evalnb.evaluation.report import Observed
from evalnb.evaluation.searching import Answer
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.search.result import Hit, Identities, QueryResult
from evalnb.search.system import Capabilities, Cut


def case(case_id, query, relevant, **request):
    return GoldCase(
        case_id=case_id,
        split="development",
        request={"query": query, **request},
        expected={"document_ids": relevant},
    )


ONE, TWO, THREE = (case(f"c{n}", q, ["a"]) for n, q in enumerate(("one", "two", "three"), 1))


def gold(*cases):
    return dataset_from_cases(cases or (ONE, TWO, THREE), dataset_id="three")


class Recorder:
    """A function that writes down what it is asked, and may raise."""

    def __init__(self, answers=None):
        self.calls, self.raises = [], {}
        self.answers = answers or {}

    def __call__(self, query, limit):
        self.calls.append(query)
        if error := self.raises.pop(query, None):
            raise error
        return self.answers.get(query, ["b", "a"])

    def taken(self):
        calls, self.calls = self.calls, []
        return calls


def outside_observed(report):
    return report.record.model_copy(update={"observed": Observed()})


def test_a_stopped_run_goes_on_where_it_was(tmp_path):
    search = Recorder()
    search.raises["two"] = KeyboardInterrupt()
    variant = {"v": system(search, version="1")}
    with pytest.raises(KeyboardInterrupt):
        evaluate(gold(), variant, cache=tmp_path)
    resumed = evaluate(gold(), variant, cache=tmp_path)
    assert search.taken() == ["one", "two", "two", "three"]
    assert resumed.record.observed.n_resumed == 1
    assert outside_observed(resumed) == outside_observed(evaluate(gold(), variant))


def test_a_rerun_searches_nothing_and_keeps_the_times(tmp_path):
    search = Recorder()
    variant = {"v": system(search, version="1")}
    first, second = (evaluate(gold(), variant, cache=tmp_path) for _ in range(2))
    assert search.calls == ["one", "two", "three"]
    assert second.record.observed.n_resumed == 3
    assert second.record.observed.latency_ms == first.record.observed.latency_ms
    assert second.record.observed.warm_up == first.record.observed.warm_up == (0,)
    assert outside_observed(second) == outside_observed(first)


@pytest.mark.parametrize(
    ("changed", "searched"),
    [
        ({}, []),
        ({"gold": gold(ONE, case("c2", "second", ["a"]), THREE)}, ["second"]),
        ({"gold": gold(ONE, TWO, THREE, case("c4", "four", ["a"]))}, ["four"]),
        ({"gold": gold(case("c1", "one", ["a"], limit=3), TWO, THREE)}, ["one"]),
        ({"gold": gold(ONE, case("c2", "two", ["b"]), THREE)}, []),  # scores are made anew
        ({"measures": ["AP"]}, []),
        ({"timeout_s": 9.0}, []),
        ({"repetitions": 2}, ["one", "two", "three"]),
        ({"seed": 1}, ["one", "two", "three"]),
        ({"limit": 5}, ["one", "two", "three"]),
        ({"version": "2"}, ["one", "two", "three"]),
        ({"overrides": {"limit": 5}}, ["one", "two", "three"]),
        ({"overrides": {"limit": 10}}, []),  # what it was anyway
        ({"name": "other"}, ["one", "two", "three"]),
    ],
    ids=str,
)
def test_what_changed_is_searched_again_and_nothing_else(tmp_path, changed, searched):
    search = Recorder()

    def run(gold_set, folder, version="1", overrides=None, name="v", **options):
        given = (system(search, version=version), overrides or {})
        return evaluate(gold_set, {name: given}, cache=folder, **options)

    run(gold(), tmp_path)
    search.taken()
    options = {"gold_set": changed.get("gold", gold()), **changed}
    options.pop("gold", None)
    found = run(folder=tmp_path, **options)
    assert search.taken() == searched
    assert outside_observed(found) == outside_observed(run(folder=None, **options))


def test_changed_labels_change_the_scores_of_kept_answers(tmp_path):
    variant = {"v": system(Recorder(), version="1")}
    evaluate(gold(), variant, cache=tmp_path)
    report = evaluate(gold(ONE, case("c2", "two", ["b"])), variant, cache=tmp_path)
    values = {r.case_id: r.scores[1].value for r in report.record.results}
    assert report.record.results[0].scores[1].measure == "RR@10"
    assert values == {"c1": 0.5, "c2": 1.0}


def test_an_added_variant_alone_is_searched(tmp_path):
    first, second = Recorder(), Recorder()
    versioned = system(first, version="1")
    evaluate(gold(), {"old": versioned}, cache=tmp_path)
    added = {"new": system(second, version="1"), "old": versioned}
    report = evaluate(gold(), added, cache=tmp_path)
    assert (first.taken(), second.taken()) == (["one", "two", "three"],) * 2
    assert report.record.observed.n_resumed == 3


def test_two_functions_of_one_name_and_version_keep_apart(tmp_path):
    def variants():
        return {name: system(Recorder({"one": [name]}), version="1") for name in ("small", "large")}

    first, second = (evaluate(gold(ONE), variants(), cache=tmp_path) for _ in range(2))
    assert outside_observed(first) == outside_observed(second)
    assert [r.result.hits[0].ids.document_id for r in second.record.results] == ["small", "large"]


def test_an_unversioned_function_is_always_searched_beside_a_kept_one(tmp_path):
    kept, unpinned = Recorder(), Recorder()
    variants = {"kept": system(kept, version="1"), "unpinned": unpinned}
    for _ in range(2):
        report = evaluate(gold(), variants, cache=tmp_path)
    assert (len(kept.calls), len(unpinned.calls)) == (3, 6)
    assert report.record.observed.n_resumed == 3


def test_unversioned_functions_alone_leave_no_file(tmp_path):
    evaluate(gold(), {"v": Recorder()}, cache=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_what_failed_is_searched_again(tmp_path):
    search = Recorder()
    search.raises["two"] = RuntimeError("the server is gone")
    variant = {"v": system(search, version="1")}
    failed = evaluate(gold(), variant, cache=tmp_path)
    assert [r.result.status for r in failed.record.results] == ["ok", "unavailable", "ok"]
    mended = evaluate(gold(), variant, cache=tmp_path)
    assert search.calls == ["one", "two", "three", "two"]
    assert {r.result.status for r in mended.record.results} == {"ok"}


class Moving:
    """A pinned corpus whose state can change; its own session."""

    def __init__(self):
        self.state, self.calls, self.moves_at = "s1", 0, None

    def capabilities(self):
        return Capabilities(identity={"system": "moving"})

    def check(self, controls):
        pass

    def open(self, context):
        return self

    def close(self):
        pass

    def cut(self):
        return Cut(snapshot_id=self.state)

    def units(self):
        return iter(())

    def bindings(self, ids):
        return {}

    def extraction(self, extraction_id):
        raise AssertionError("nothing was returned")

    def search(self, request, controls):
        self.calls += 1
        if self.calls == self.moves_at:
            self.state = "s2"
        return QueryResult(hits=(Hit(rank=1, ids=Identities(document_id=self.state)),))


def test_another_state_is_searched_anew_and_a_change_in_the_middle_keeps_nothing(tmp_path):
    moving = Moving()
    moving.moves_at = 2
    with pytest.raises(InvalidatedError):
        evaluate(gold(), {"v": moving}, cache=tmp_path)
    moving.state = "s1"
    report = evaluate(gold(), {"v": moving}, cache=tmp_path)
    assert {r.result.hits[0].ids.document_id for r in report.record.results} == {"s1"}
    moving.state = "s3"
    report = evaluate(gold(), {"v": moving}, cache=tmp_path)
    assert {r.result.hits[0].ids.document_id for r in report.record.results} == {"s3"}


FOUND = Answer(QueryResult(hits=(Hit(rank=1, ids=Identities(document_id="a"), score=0.1),)), 2.5)


def test_an_answer_comes_back_as_it_was(tmp_path):
    with SearchCache(tmp_path) as cache:
        cache.put("k", FOUND)
        assert cache.get("k") == FOUND
        assert cache.get("other") is None
    with SearchCache(tmp_path) as cache:
        assert cache.get("k") == FOUND
        cache.forget(["k"])
        assert cache.get("k") is None
    assert [path.name for path in tmp_path.iterdir()] == ["cache.sqlite"]


@pytest.mark.parametrize(
    "change",
    [
        "result = replace(result, '\"a\"', '\"b\"')",
        "latency_ms = 1",
        "warm_up = 1",
        "sha256 = ''",
        "result = x'00'",
        "key = 'moved'",
    ],
)
def test_a_changed_answer_is_none(tmp_path, change):
    with SearchCache(tmp_path) as cache:
        cache.put("k", FOUND)
    connection = sqlite3.connect(tmp_path / "cache.sqlite")
    with connection:
        connection.execute(f"UPDATE answers SET {change}")
    connection.close()
    with SearchCache(tmp_path) as cache:
        assert cache.get("k") is cache.get("moved") is None


def text_file(path):
    path.write_text("not a database, and long enough to be one " * 100)


def foreign_database(path):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE customers (name TEXT)")
    connection.close()


def newer_cache(path):
    SearchCache(path.parent).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 9")
    connection.close()


def overwritten_page(path):
    with SearchCache(path.parent) as cache:
        for n in range(100):
            cache.put(f"k{n}", FOUND)
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (text_file, "damaged or something else.*delete it"),
        (foreign_database, "not a cache of evalnb"),
        (newer_cache, "format 9, this version reads 1"),
        (overwritten_page, "damaged or something else.*delete it"),
    ],
)
def test_a_file_that_is_no_sound_cache_is_refused_and_left_alone(tmp_path, spoil, says):
    spoil(tmp_path / "cache.sqlite")
    before = (tmp_path / "cache.sqlite").read_bytes()
    with pytest.raises(BadInputError, match=says):
        evaluate(gold(), {"v": system(Recorder(), version="1")}, cache=tmp_path)
    assert (tmp_path / "cache.sqlite").read_bytes() == before


def test_a_place_that_cannot_hold_a_cache_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInputError, match="expected a folder"):
        SearchCache(tmp_path / "file")
    (tmp_path / "cache.sqlite").mkdir()
    with pytest.raises(NotEvaluatedError, match=r"cache\.sqlite: the cache cannot be used"):
        SearchCache(tmp_path)


def write_many(folder, name):
    with SearchCache(folder) as cache:
        for n in range(200):
            cache.put(f"{name}{n}", FOUND)


def test_two_processes_share_a_cache(tmp_path):
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=write_many, args=(tmp_path, name)) for name in "abc"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    with SearchCache(tmp_path) as cache:
        assert all(cache.get(f"{name}{n}") == FOUND for name in "abc" for n in range(200))
