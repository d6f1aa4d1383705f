"""What can be known before a run, or of one figure, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import evalnb as ev
from evalnb.cli.main import main

ROWS = "query,expected,split\n" + "".join(f"question {n},d{n},development\n" for n in range(12))


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "questions.csv"
    path.write_text(ROWS)
    return path


def test_power_of_a_gold_set(questions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["power", str(questions), "--spread", "0.2"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("12 cases in 12 families, split development\n")
    assert "families for +0.02" in shown
    assert main(["power", str(questions), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["cases"], found["families"]) == (12, 12)
    assert [each["spread"] for each in found["prospects"]] == [0.1, 0.2, 0.4]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--split", "test"], "no case is in the split 'test'"),
        (["--difference", "3"], "the difference has to lie between 0 and 1"),
    ],
)
def test_power_of_nothing_is_refused(
    questions: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    assert main(["power", str(questions), *arguments]) == 2
    assert says in capsys.readouterr().err


AUDITS = [
    ("50", "0.60", "0.72", "at least 6 cases changed; of values 0 and 1, p is 0.0312 or more"),
    ("50", "0.60", "0.72", "beyond chance only if the differences spread by at most 0.422"),
    ("4", "0.50", "0.75", "so few cases cannot show any difference"),
]


@pytest.mark.parametrize(("n", "baseline", "mean", "says"), AUDITS)
def test_audits(
    capsys: pytest.CaptureFixture[str], n: str, baseline: str, mean: str, says: str
) -> None:
    arguments = ["audit", "--n", n, "--baseline", baseline, "--mean", mean]
    assert main(arguments) == 0
    assert says in capsys.readouterr().out
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n"] == int(n)


def test_an_audit_of_nonsense_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--n", "0", "--baseline", "0.5", "--mean", "0.5"]) == 2
    assert "n has to be at least 1" in capsys.readouterr().err


@pytest.fixture
def report(questions: Path, tmp_path: Path) -> Path:
    def found(query: str) -> list[str]:
        return ["d99", "d" + query.split()[1]]

    ev.evaluate(str(questions), {"mine": found, "other": found}).save(tmp_path / "report.json")
    return tmp_path / "report.json"


def test_a_figure_is_explained(report: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = ev.load_report(report).record.cases[0].case_id
    arguments = ["explain", str(report), "--case", case, "-m", "nDCG@10"]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert "mine: nDCG@10 over document ids" in shown
    assert "other: nDCG@10 over document ids" in shown
    assert "Every rule gives the same value." in shown
    assert "2      1  d0 <- target" in shown
    assert main([*arguments, "--variant", "mine", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)
    assert (one["variant"], one["readings"][0]["rule"]) == ("mine", "evalnb")
    assert main([*arguments, "--variant", "nobody"]) == 2
    assert "variants: mine, other" in capsys.readouterr().err


def test_power_counts_only_cases_that_say_what_is_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "questions.csv"
    path.write_text(ROWS + "a question without judgements,,development\n")
    assert main(["power", str(path)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("12 cases in 12 families, split development\n")
    assert "left out, as nothing is labelled: 1 case\n" in shown
    path.write_text("query,expected\none,\ntwo,\n")
    assert main(["power", str(path)]) == 2
    assert "no case says what is right" in capsys.readouterr().err


def test_power_of_one_family_says_that_it_shows_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "questions.csv"
    path.write_text("query,expected\none,a\n")
    assert main(["power", str(path)]) == 0
    assert "so few families cannot show any difference\n" in capsys.readouterr().out


@pytest.mark.parametrize("spread", ["-1", "0", "nan", "inf"])
def test_a_spread_that_is_none_is_refused(spread: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--n", "100", "--baseline", "0.5", "--mean", "0.6", "--spread", spread]
    assert main(["audit", *options]) == 2
    assert "a spread has to lie between 0 and 1" in capsys.readouterr().err
