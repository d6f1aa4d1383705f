"""What a user sees of reports that leave little or nothing to compare, or are no reports."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd
import pytest

import evalnb as ev
from evalnb.cli.main import main
from evalnb.comparison.paired import compare_frames
from evalnb.errors import BadInputError, LimitExceededError, NotFoundError

Search = Callable[[str], list[str]]
Run = Callable[..., tuple[int, str, str]]


def at(rank: int) -> Search:
    """Make a search that finds a question's document at this rank."""
    return lambda query: [*(f"x{n}" for n in range(1, rank)), f"d{query.split()[1]}"]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run one command line in a folder of its own: status, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def run_here(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["evalnb", *map(str, arguments)])
        capsys.readouterr()
        status = main()
        return status, *capsys.readouterr()

    return run_here


def saved(
    name: str,
    systems: Mapping[str, Search],
    *,
    n: int = 8,
    row: str = "question {n},d{n},",
    limit: int = 10,
) -> Path:
    """Evaluate over questions of one shape and save the report into the working folder."""
    rows = [row.format(n=number) for number in range(n)]
    Path("gold.csv").write_text("\n".join(["query,expected,family", *rows]) + "\n")
    return ev.evaluate("gold.csv", dict(systems), limit=limit).save(name)


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        ({"row": "question {n},,"}, 3, "N/A (no gold) for any case: RR@10"),
        ({"n": 1}, 0, "1 of 1 families changed, and fewer than 6 can never reach p <= 0.05"),
        ({"row": "question {n},d{n},one"}, 0, "too few families changed for any test to decide"),
        ({"systems": {"a": at(2), "b": at(2)}}, 0, "identical on all 8 cases (RR@10 0.500)"),
        ({"systems": {"a": at(2), "b": at(1)}}, 0, "the same difference of +0.5 in every pair"),
    ],
    ids=["all N/A", "one case", "one family", "identical variants", "constant difference"],
)
def test_little_to_compare(run: Run, options: dict, status: int, said: str) -> None:
    report = saved("r.json", **({"systems": {"a": at(1), "b": at(2)}} | options))
    found, out, _ = run("compare", "r.json", "--baseline", "a", "-m", "RR@10")
    assert (found, said in out) == (status, True), out
    in_python = str(ev.compare(report, baseline="a", measures=["RR@10"]))
    assert said in in_python
    assert "nan" not in (out + in_python).lower()


def test_a_margin_calls_what_hardly_changed_equivalent(run: Run) -> None:
    saved("r.json", {"a": at(1), "b": at(1)}, n=40)
    compare = ("compare", "r.json", "--baseline", "a", "-m", "RR@10", "--json")
    verdicts = [
        json.loads(run(*compare, *margin)[1])["comparisons"][0]["verdict"]
        for margin in ((), ("--margin", "0.05"), ("--margin", "0.1"))
    ]
    assert verdicts == ["unresolvable", "unresolvable", "equivalent"]  # 0 of 40: below .088


def test_no_shared_cases(run: Run) -> None:
    saved("one.json", {"a": at(1)})
    saved("two.json", {"b": at(1)}, row="other {n},d{n},")
    status, out, _ = run("compare", "one.json", "two.json", "--baseline", "a")
    assert status == 3
    assert (
        "No case has a score under both variants: nDCG@10, RR@10, R@10: are both of one gold" in out
    )
    assert "the reports differ in version_sha of the gold" in out


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ("--baseline aa", "NOT_FOUND: baseline", "'aa' is no variant; did you mean 'a'"),
        ("--baseline a -m nDGC@10", "UNKNOWN_MEASURE", "no measure is called 'nDGC@10'"),
        ("--baseline a --gate regresed<=2", "UNKNOWN_MEASURE: gate", "did you mean 'regressed'"),
        ("--baseline a --gate nDGC@10>=.5", "UNKNOWN_MEASURE: gate", "(near names: nDCG)"),
        ("--baseline a --gate RR@10=>.5", "BAD_INPUT: gate", "'RR@10=>.5' is no gate"),
        ("--baseline a --gate RR@10>basline", "BAD_INPUT: gate", "MEASURE > baseline"),
        ("--baseline a --gate every", "BAD_INPUT: gate", "every MEASURE OP NUMBER"),
        ("--baseline a --max-hypotheses 2", "LIMIT_EXCEEDED", "3 is past the limit of 2"),
    ],
)
def test_wrong_questions(run: Run, options: str, code: str, said: str) -> None:
    saved("r.json", {"a": at(1), "b": at(2)})
    status, out, err = run("compare", "r.json", *options.split())
    assert (status, out) == (2, "")
    assert err.startswith(code)
    assert said in err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("evalnb-report@1", "evalnb-report@2"), "upgrade evalnb"),
        (lambda text: text[: len(text) // 2], "not a whole JSON document"),
        (lambda _: "nDCG@10 is .7\n", "not a whole JSON document"),
        (lambda _: "", "not a whole JSON document"),
        (lambda _: '{"nDCG@10": 0.7}', "not a report: its format is None"),
    ],
    ids=["a newer version", "truncated", "no JSON", "empty", "another JSON"],
)
def test_what_is_no_report(run: Run, change: Callable[[str], str], said: str) -> None:
    path = saved("r.json", {"a": at(1), "b": at(2)})
    path.write_text(change(path.read_text()))
    for command in (("compare", "r.json", "--baseline", "a"), ("explain", "r.json", "--case", "c")):
        status, out, err = run(*command, "-m", "RR@10")
        assert (status, out) == (2, "")
        assert err.startswith("BAD_INPUT: r.json: ")
        assert said in err
    with pytest.raises(BadInputError, match=said):
        ev.compare("r.json", baseline="a")


def test_names_that_two_reports_share_are_told_apart(run: Run) -> None:
    saved("one.json", {"a": at(1)})
    saved("two.json", {"a": at(2), "b": at(3)})
    compare = ("compare", "one.json", "two.json", "--baseline", "a", "-m", "RR@10")
    status, out, _ = run(*compare, "--json")
    rows = json.loads(out)["comparisons"]
    assert status == 0
    assert [(row["candidate"], row["wins"], row["losses"]) for row in rows] == [
        ("a (2)", 0, 8),
        ("b", 0, 8),
    ]


def test_two_systems_with_other_limits_are_paired_by_case(run: Run) -> None:
    saved("deep.json", {"a": at(7)})
    saved("short.json", {"b": at(7)}, limit=5)
    status, out, _ = run("compare", "deep.json", "short.json", "--baseline", "a", "-m", "RR@10")
    assert status == 0
    assert "worse: RR@10 -0.143" in out
    assert "b: the limit" in out


def test_two_gold_versions_are_paired_by_the_cases_they_share(run: Run) -> None:
    one, two = saved("one.json", {"a": at(1)}), saved("two.json", {"b": at(2)}, n=10)
    found = ev.compare(one, two, baseline="a", measures=["RR@10"])
    assert found.frame()["n"].tolist() == [8]
    assert "2 cases left out: 2 scored for one variant only" in found.frame()["note"][0]
    assert any("differ in version_sha of the gold" in note for note in found.record.notes)
    status, out, _ = run("compare", "one.json", "two.json", "--baseline", "a", "-m", "RR@10")
    assert status == 0
    assert "the reports differ in version_sha of the gold" in out


def test_two_workspaces_are_paired_by_case(run: Run, tmp_path: Path) -> None:
    """One corpus in two cuts: the cases pair by document, and the other state is named."""
    gold = "query,expected\n" + "".join(f"word{n} here,page{n}.txt\n" for n in range(8))
    Path("gold.csv").write_text(gold)
    for name, filler in (("one", ""), ("two", "here here ")):
        folder = tmp_path / f"text-{name}"
        folder.mkdir()
        for n in range(8):
            (folder / f"page{n}.txt").write_text(f"{filler}word{n} stands here")
        assert run("ingest", folder, "--workspace", name)[0] == 0
        ev.evaluate("gold.csv", {name: ev.open_workspace(name)}).save(f"{name}.json")
    status, out, err = run("compare", "one.json", "two.json", "--baseline", "one", "-m", "RR@10")
    assert status == 0, err
    assert "on all 8 cases" in out


def test_ten_thousand_variants_are_refused_before_any_work(run: Run) -> None:
    names = [f"v{n}" for n in range(10_000)]
    frame = pd.DataFrame({"variant": names, "value": 0.5, "case_id": "c", "family_key": "c"})
    frame = frame.assign(repetition=0, measure="RR@10", k=10, kind="document", status="ok")
    with pytest.raises(LimitExceededError, match=r"9,999 is past the limit of 1,024") as refused:
        compare_frames(frame, baseline="v0")
    assert "max_hypotheses" in str(refused.value)
    with pytest.raises(LimitExceededError, match=r"searches"):
        saved("r.json", dict.fromkeys(names, at(1)), n=1)
    with pytest.raises(NotFoundError) as missing:
        compare_frames(frame, baseline="w", max_hypotheses=10_000)
    assert len(str(missing.value)) < 500


def test_variants_that_differ_in_one_control_are_paired(run: Run) -> None:
    rows = "".join(f"question {n},d{n}\n" for n in range(8))
    Path("gold.csv").write_text(f"query,expected\n{rows}")
    hybrid = ev.fused({"keyword": at(3), "semantic": at(1)})
    systems = {
        "hybrid": hybrid,
        "keyword": (hybrid, {"channels": ["keyword"]}),
        "steep": (hybrid, {"hints": {"rrf_k": 5}}),
    }
    ev.evaluate("gold.csv", systems).save("r.json")
    compare = ("compare", "r.json", "--baseline", "hybrid", "-m", "RR@10")
    status, out, _ = run(*compare)
    assert status == 0
    table = out.partition("\n\nOne control at a time")[2].splitlines()
    assert [line.split()[0] for line in table[1:]] == ["control", "channels", "rrf_k"]
    assert "keyword, semantic  keyword   hybrid     RR@10        +0.667" in table[2]
    assert table[3].endswith("identical")
    pairs = json.loads(run(*compare, "--json")[1])["ablations"]
    assert [(pair["control"], pair["after"]) for pair in pairs] == [
        ("channels", '["keyword", "semantic"]'),
        ("rrf_k", "5"),
    ]


def test_gates_are_not_written_over_a_report_or_over_each_other(run: Run) -> None:
    report = saved("r.json", {"old": at(2), "new": at(1)})
    before = report.read_bytes()
    gate = ("compare", "r.json", "--baseline", "old", "--gate", "regressed<=0")
    status, _, said = run(*gate, "--junit", report.resolve())
    assert (status, report.read_bytes()) == (2, before)
    assert "a report stands there" in said
    status, _, said = run(*gate, "--junit", "gates", "--markdown", "./gates")
    assert (status, Path("gates").exists()) == (2, False)
    assert "name the same file" in said


def test_an_explained_case_without_gold_says_so(run: Run) -> None:
    none = saved("none.json", {"old": at(1)}, n=1, row="question {n},,")
    case_id = ev.load_report(none).record.cases[0].case_id
    status, out, _ = run("explain", "none.json", "--case", case_id, "-m", "RR")
    assert "N/A: the gold says nothing of what is right" in out
    saved("r.json", {"old": at(1)}, n=1)
    status, out, _ = run("explain", "r.json", "--case", case_id, "-m", "unit:R@10")
    assert (status, "Every rule" in out) == (0, False)
    assert "N/A by every rule: no unit id of this case is labelled." in out
