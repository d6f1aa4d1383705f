"""The commands that evaluate, compare and report, run as a user runs them."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from evalnb.cli.main import main
from evalnb.evaluation.report import Observed, load_report_record
from evalnb.gold.cases import GoldCase, canonical_line, dataset_from_cases
from evalnb.gold.dataset import write_gold_dir
from evalnb.workspace.system import open_workspace

GOLDEN = {
    "cases": [
        {
            "description": "a note for humans",
            "query": "What did revenue do?",
            "expect": {"document": "report.md", "content_contains": ["revenue grew", "gelirleri"]},
        },
        {"query": "hava durumu", "expect": {"content_contains": "hava durumu raporu"}},
        {"query": "profit", "expect": {"content_contains": "never written"}},
    ]
}
SEARCH = """
import time
def search(query, limit):
    return ["a", "b"][:limit]
def reverse(query):
    return ["b", "a"]
def broken(query):
    raise RuntimeError("down")
def slow(query):
    time.sleep(1.5)
    return ["a"]
"""


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run(place, capsys, monkeypatch):
    """Run one command line in the folder, in this process: starting another takes a second."""

    def run_here(*arguments):
        monkeypatch.chdir(place)
        monkeypatch.setattr(sys, "argv", ["evalnb", *map(str, arguments)])
        capsys.readouterr()
        status = main()
        return Done(status, *capsys.readouterr())

    return run_here


@pytest.fixture
def place(tmp_path):
    """A folder with a gold directory, a golden.json, search functions and a workspace."""
    (tmp_path / "mine.py").write_text(SEARCH)
    cases = tuple(
        GoldCase(
            case_id=f"c{number}",
            split="development",
            request={"query": f"question {number}"},
            expected={"document_ids": ["a"]},
        )
        for number in range(4)
    )
    write_gold_dir(dataset_from_cases(cases, dataset_id="four"), tmp_path / "gold")
    (tmp_path / "golden.json").write_text(json.dumps(GOLDEN, ensure_ascii=False))
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "report.md").write_text("# Results\n\nIn the third quarter revenue grew.\n")
    (documents / "hava.md").write_text("# Rapor\n\nhava durumu raporu: yarın güneşli\n")
    open_workspace(tmp_path / "ws", create=True).ingest([documents])
    return tmp_path


def test_the_legs_are_printed_as_the_documentation_shows(run, place):
    done = run("eval-retrieval", "golden.json", "--workspace", "ws")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["#", "query", "semantic", "keyword", "hybrid", "hybrid_rerank"]
    assert lines[1].split() == ["1", *["What", "did", "revenue", "do?"], "n/a", "1", "n/a", "n/a"]
    assert lines[3].split() == ["3", "profit", "n/a", "miss", "n/a", "n/a"]
    table = [line.split() for line in lines[5:]]
    assert table[0][:3] == ["Aggregate", "metrics", "(rank"]
    assert table[1] == ["mode", "hit@1", "hit@3", "hit@5", "MRR", "evaluated"]
    assert ["keyword", "0.67", "0.67", "0.67", "0.667", "3"] in table
    assert ["semantic", "n/a", "n/a", "n/a", "n/a", "0"] in table


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["--modes", "semantic"], 3, "semantic"),
        (["--modes", "fuzzy"], 2, "unknown mode 'fuzzy'"),
        (["--documents", "nothing.md"], 2, "nothing.md"),
        (["--documents", " , "], 2, "--documents names none"),
        (["--documents", "report.md", "--modes", "keyword"], 0, ""),
        (["--knowledge-base", "default", "--modes", "keyword"], 0, ""),
        (["--knowledge-base", "other"], 2, "other"),
        (["--max-searches", "2"], 2, "LIMIT_EXCEEDED"),
        (["--top-k", "0"], 2, "--top-k"),
    ],
)
def test_legs_scopes_and_their_statuses(run, place, arguments, status, says):
    done = run("eval-retrieval", "golden.json", "--workspace", "ws", *arguments)
    assert (done.returncode, says in done.stderr) == (status, True), done.stderr


def test_documents_narrow_what_is_searched(run, place):
    narrow = ["--documents", "hava.md", "--modes", "keyword"]
    done = run("eval-retrieval", "golden.json", "--workspace", "ws", *narrow)
    assert [line.split()[-1] for line in done.stdout.splitlines()[1:4]] == ["miss", "1", "miss"]


def test_names_that_never_meet_are_said_beside_the_legs(run, place):
    (place / "names.csv").write_text("query,expected\nrevenue,report\nhava durumu,hava\n")
    done = run("eval-retrieval", "names.csv", "--workspace", "ws", "--modes", "keyword")
    assert done.returncode == 0, done.stderr
    assert (
        "keyword: no labelled document came back in 2 of 2 searches. Do the ids agree? The gold "
        "says 'report', the system returned 'report.md'." in done.stderr
    )


def test_a_function_is_evaluated_into_a_folder(run, place):
    done = run(
        *("evaluate", "four", "development", "--dataset-path", "gold", "--system", "mine:search"),
        *("--out", "out", "--no-notebooks", "--json"),
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["integrity"]["ok"]
    assert {Path(p).name for p in summary["paths"].values()} == {"report.json", "scores.csv"}
    report = json.loads((place / "out" / "report.json").read_text())
    assert [variant["name"] for variant in report["variants"]] == ["configured"]
    assert report["observed"]["command"].startswith("evalnb evaluate four development")


def test_a_second_report_leaves_nothing_of_the_first(run, place):
    chosen = variants_file(place, "search", "reverse")
    done = run(*EVALUATE, *chosen, "--out", "out", "--no-notebooks")
    assert "reverse against search" in done.stdout  # the verdict, in words
    (place / "out" / "variant_report.html").write_text("of the first")
    run(*EVALUATE, "--system", "mine:search", "--out", "out", "--no-notebooks")
    names = sorted(p.name for p in (place / "out").iterdir())
    assert names == ["history.jsonl", "report.json", "scores.csv"]


def test_searches_run_in_processes_that_find_the_users_module(run, place):
    reports = []
    for more in ((), ("--executor", "processes:1")):
        done = run(*EVALUATE, "--system", "mine:search", "--out", "out", "--no-notebooks", *more)
        assert done.returncode == 0, done.stderr
        reports.append(load_report_record(place / "out"))
    one, other = (r.model_copy(update={"observed": Observed()}) for r in reports)
    assert one == other
    assert run(*EVALUATE, "--system", "mine:search", "--executor", "lokal").returncode == 2


def test_history_says_what_changed_between_runs_into_one_folder(run, place):
    for name in ("search", "reverse"):
        chosen = variants_file(place, "v", systems={"v": {"callable": f"mine:{name}"}})
        assert run(*EVALUATE, *chosen, "--out", "out", "--no-notebooks").returncode == 0
    done = run("history", "out")
    assert done.returncode == 0
    assert "2 runs" in done.stdout
    assert "variant v: callable" in done.stdout
    assert "mine:reverse" in done.stdout
    assert "Means, oldest run first" in done.stdout
    document = json.loads(run("history", "out", "--json").stdout)
    assert {c["outcome"] for c in document["changes"]["values"]} == {"worse"}
    assert [len(row["means"]) for row in document["means"]] == [2] * len(document["means"])
    alone = run("history", "out/report.json")
    assert "1 run," in alone.stdout
    assert "Since" not in alone.stdout
    assert run("history", "nowhere").returncode == 2


def variants_file(place, *names, systems=None):
    file = {
        "format": "evalnb-variants@1",
        "systems": systems or {name: {"callable": f"mine:{name}"} for name in names},
        "variants": [{"name": name, "system": name} for name in names],
    }
    (place / "variants.json").write_text(json.dumps(file))
    return ("--variants", "variants.json")


@pytest.mark.parametrize(
    ("option", "content"),
    [
        ("--variants", '{"format": "evalnb-variants@1", "variants": [{"name": "a", "name": "b"}]}'),
        ("--variants", ""),
        ("--request-file", "{nonsense"),
        ("--prices", '{"m": NaN}'),
        ("--prices", "\x00"),
    ],
)
def test_a_wrong_file_that_is_no_gold_is_not_called_gold(run, place, option, content):
    (place / "wrong.json").write_text(content)
    done = run(*EVALUATE, "--system", "mine:search", option, "wrong.json", "--no-notebooks")
    assert done.returncode == 2
    assert done.stderr.startswith("BAD_INPUT: wrong.json")


EVALUATE = ("evaluate", "four", "development", "--dataset-path", "gold")


def test_variants_across_systems_and_their_comparison(run, place):
    chosen = variants_file(place, "search", "reverse", "broken")
    done = run(*EVALUATE, *chosen, "--out", "out", "--no-notebooks")
    assert done.returncode == 3  # a variant without one ok case
    assert "broken: 4 of 4 searches n/a: SEARCH_FAILED: RuntimeError: down" in done.stderr
    assert (place / "out" / "comparison.csv").read_text().startswith("candidate,baseline,slice,")
    compared = run("compare", "out", "--baseline", "search", "--json")
    rows = json.loads(compared.stdout)["comparisons"]
    verdicts = {(row["candidate"], row["measure"]): row["verdict"] for row in rows}
    assert verdicts["reverse", "RR@10"] == "unresolvable"
    assert verdicts["broken", "RR@10"] == "undecided"
    assert run("compare", "out", "--baseline", "broken").returncode == 3  # nothing to compare
    assert run("report", "out", "--out", "r", "--baseline", "nobody").returncode == 2
    missing = run("compare", "out", "--baseline", "nobody")
    assert missing.returncode == 2
    assert "search" in missing.stderr


def test_gates_decide_the_exit_status(run, place):
    chosen = variants_file(place, "search", "reverse")
    run(*EVALUATE, *chosen, "--out", "out", "--no-notebooks")
    compare = ("compare", "out", "--baseline", "search")
    kept = run(*compare, "--gate", "RR@10 >= 0", "--gate", "regressed<=4")
    assert (kept.returncode, "✓ passed: RR@10 >= 0" in kept.stdout) == (0, True)
    failed = run(*compare, "--gate", "RR@10 >= 2", "--junit", "j.xml", "--markdown", "g.md")
    assert (failed.returncode, "✗ failed: RR@10 >= 2" in failed.stdout) == (1, True)
    assert 'failures="1"' in (place / "j.xml").read_text()
    assert "✗ failed" in (place / "g.md").read_text()
    general = (*compare, "--gate", "RR@10 > baseline")
    assert run(*general).returncode == 3
    assert run(*general, "--undecided", "warn").returncode == 0
    assert json.loads(run(*general, "--json").stdout)["gates"][0]["outcome"] == "undecided"
    assert run(*compare, "--gate", "RR@10 >= ").returncode == 2
    unknown = run("compare", "out", "--baseline", "serach", "--gate", "regressed<=4")
    assert (unknown.returncode, "did you mean 'search'?" in unknown.stderr) == (2, True)
    assert run(*compare, "--junit", "j.xml").returncode == 2
    run(*EVALUATE, "--system", "mine:search", "--out", "alone", "--no-notebooks")
    alone = run("compare", "alone", "--baseline", "configured", "--gate", "RR@10 >= 0")
    assert (alone.returncode, alone.stdout.startswith("Gates")) == (0, True)


def test_variants_that_were_kept_ask_where_their_system_is(run, place):
    kept = {"format": "evalnb-variants@1", "variants": [{"name": "tuned", "system": "hybrid"}]}
    (place / "kept.json").write_text(json.dumps(kept))
    done = run(*EVALUATE, "--variants", "kept.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert """--system, or "systems": {"hybrid": {"toml": "FILE"}} in --variants""" in done.stderr
    run(
        *EVALUATE,
        "--variants",
        "kept.json",
        "--system",
        "mine:search",
        "--out",
        "o",
        "--no-notebooks",
    )
    [variant] = json.loads((place / "o" / "report.json").read_text())["variants"]
    assert variant["system"] == "hybrid"
    kept["variants"].append({"name": "other", "system": "elsewhere"})
    (place / "kept.json").write_text(json.dumps(kept))
    done = run(*EVALUATE, "--variants", "kept.json", "--system", "mine:search")
    assert (done.returncode, "which is not given" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        ((), 2, "no system to search"),
        (("--workspace", "nowhere"), 2, "evalnb ingest"),
        (("--system", "mine"), 2, "module:callable"),
        (("--system", "mine:serach"), 2, "did you mean 'search'?"),
        (("--system", "absent:search"), 2, "no module named 'absent'"),
        (("--system", "bad:search"), 2, "ZeroDivisionError"),
        (("--system", "absent.toml"), 2, "no such file"),
        (("--variants", "gold/manifest.json", "--system", "mine:search"), 2, "not a variants file"),
        (("--variants", "v", "--request-file", "r"), 2, "not both"),
        (("--request-file", "other.json"), 2, "the request says split 'test'"),
        (("--workspace", "ws", "--baseline", "x"), 2, "baseline 'x' is no variant"),
    ],
)
def test_what_is_wrong_is_named(run, place, arguments, status, says):
    (place / "bad.py").write_text("1 / 0")
    (place / "other.json").write_text('{"split": "test", "variants": [{"name": "v"}]}')
    done = run(*EVALUATE, *arguments)
    assert (done.returncode, done.stdout) == (status, "")
    assert says in done.stderr


@pytest.mark.parametrize("executor", [(), ("--executor", "processes:1")])
def test_what_a_function_prints_is_not_the_result(place, executor):
    loud = "print('here')\ndef f(q):\n    print('there')\n    return ['a']\n"
    (place / "loud.py").write_text(loud)
    done = subprocess.run(
        [sys.executable, "-m", "evalnb", *EVALUATE, "--system", "loud:f", "--json", *executor],
        cwd=place,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["dataset"]["id"] == "four"
    assert "here" in done.stderr
    assert "there" in done.stderr


def test_a_demo_of_no_split_ingests_nothing(run, place):
    done = run("demo", "--split", "train", "--out", "demo")
    assert (done.returncode, "split" in done.stderr) == (2, True)
    assert not (place / "demo").exists()


def test_reports_of_one_name_get_a_folder_each(run, place):
    for name in ("one", "two"):
        out = ("--out", f"{name}/v1.2", "--no-notebooks")
        assert run(*EVALUATE, "--system", "mine:search", *out).returncode == 0
    done = run("report", "one/v1.2", "two/v1.2/report.json", "--runs", "--out", "runs")
    assert done.returncode == 0
    assert sorted(path.name for path in (place / "runs").iterdir()) == ["v1.2", "v1.2-2"]


def test_what_is_no_report_is_refused_before_a_notebook_runs(run, place):
    done = run("report", "golden.json", "--out", "pages")
    assert (done.returncode, "not a report" in done.stderr) == (2, True)
    assert not (place / "pages").exists()


def test_an_empty_split_and_another_id_are_refused(run, place):
    found = run("evaluate", "four", "test", *EVALUATE[3:], "--system", "mine:search")
    assert (found.returncode, "splits it has: development" in found.stderr) == (2, True)
    other = run("evaluate", "five", "development", *EVALUATE[3:], "--workspace", "ws")
    assert (other.returncode, "'four', not 'five'" in other.stderr) == (2, True)


def test_a_missing_capability_is_refused_or_reported(run, place):
    (place / "variants.json").write_text(
        '{"format": "evalnb-variants@1", "variants": ['
        '{"name": "keyword"}, {"name": "hybrid", "overrides": {"mode": "hybrid"}}]}'
    )
    chosen = ("--variants", "variants.json", "--workspace", "ws", "--out", "out", "--no-notebooks")
    refused = run(*EVALUATE, *chosen)
    assert refused.returncode == 3
    assert not (place / "out" / "report.json").exists()
    assert "--allow-unavailable" in refused.stderr
    reported = run(*EVALUATE, *chosen, "--allow-unavailable")
    assert reported.returncode == 3
    assert (place / "out" / "report.json").exists()


def test_a_damaged_gold_set_names_the_line(run, place):
    cases = place / "gold" / "cases.jsonl"
    cases.write_bytes(
        cases.read_bytes()
        + canonical_line(GoldCase(case_id="late", split="development", request={"query": "x"}))
    )
    done = run(*EVALUATE, "--system", "mine:search")
    assert (done.returncode, "gold pin" in done.stderr) == (2, True)


def test_an_interrupted_run_goes_on_and_a_second_one_waits_its_turn(run, place):
    chosen = variants_file(
        place, "slow", systems={"slow": {"callable": "mine:slow", "version": "1"}}
    )
    command = [sys.executable, "-m", "evalnb", *EVALUATE, *chosen, "--out", "out", "--no-notebooks"]
    first = subprocess.Popen(command, cwd=place, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while time.monotonic() < until and not n_kept(place / "out" / "cache.sqlite"):
        time.sleep(0.02)
    second = run(*command[3:])
    assert (second.returncode, "WORKSPACE_BUSY" in second.stderr) == (3, True)
    first.send_signal(signal.SIGINT)
    assert first.wait(30) == 130
    first.stderr.close()
    assert not (place / "out" / "report.json").exists()
    third = run(*command[3:])
    assert third.returncode == 0
    assert "of 4 searches of a stopped run or an earlier one" in third.stderr
    again = run(*command[3:])
    assert "took over 4 of 4 searches" in again.stderr


def n_kept(path):
    if not path.exists():
        return 0
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT count(*) FROM answers").fetchone()[0]
    except sqlite3.OperationalError:  # not made yet
        return 0
    finally:
        connection.close()


def test_a_refused_run_leaves_no_folder(run, place):
    done = run(*EVALUATE, "--system", "mine:search", "--out", "out", "--max-searches", "1")
    assert (done.returncode, (place / "out").exists()) == (2, False)
    (place / "stopped.py").write_text("def f(q):\n    raise KeyboardInterrupt\n")
    done = run(*EVALUATE, "--system", "stopped:f", "--out", "out")
    assert (done.returncode, (place / "out").exists()) == (130, False)


def test_a_full_disk_leaves_no_half_written_report(run, place):
    program = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from evalnb.cli.main import main\n"
        "import evalnb.cli.evaluate\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *EVALUATE, "--system", "mine:search", "--out", "out"],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in (2, 3), done.stderr
    assert "Traceback" not in done.stderr
    assert [p.name for p in (place / "out").iterdir()] == []
