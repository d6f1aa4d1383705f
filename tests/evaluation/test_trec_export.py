"""What a report exports scores the same when it is read back as TREC files."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import evalnb as ev
from evalnb.errors import BadInputError
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.workspace.system import open_workspace

MEASURES = ["nDCG@10", "RR@10", "R@10", "AP"]


def case(case_id: str, **labels: object) -> GoldCase:
    return GoldCase.model_validate(
        {"case_id": case_id, "split": "development", "request": {"query": case_id}, **labels}
    )


def same(report: ev.Report, variant: str, files: list[Path], tmp_path: Path) -> None:
    qrels, *runs = files
    run = next(path for path in runs if path.stem == variant)
    own = report.frame().query("variant == @variant and measure in @MEASURES")
    read = ev.score(qrels, run, [m if "@" in m else f"{m}@10" for m in MEASURES])
    read["measure"] = read["measure"].replace({"AP@10": "AP"})
    both = own.merge(read, on=["case_id", "measure"], suffixes=("", "_read"))
    assert len(both) == len(own)
    pd.testing.assert_series_equal(both["value"], both["value_read"], check_names=False)


def test_runs_of_functions_score_alike(tmp_path: Path) -> None:
    gold = dataset_from_cases(
        (
            case("one", document_relevance={"a": 1, "b": 3}),
            case("two", expected={"document_ids": ["c 1"]}, forbidden={"document_ids": ["a"]}),
            case("none", document_relevance={"z": 2}),
        ),
        dataset_id="three",
    )
    found = {"one": [("b", 0.5), ("a", 0.9)], "two": [("a", 1.0), ("c 1", 1.0)], "none": []}
    systems = {"in order": found.get, "back": lambda query: found[query][::-1]}
    report = ev.evaluate(gold, systems, measures=MEASURES)
    files = report.save_runs(tmp_path / "runs")
    assert [path.name for path in files] == ["qrels.txt", "in~20order.run", "back.run"]
    assert files[0].read_text().splitlines()[0] == "one\t0\ta\t1"
    same(report, "back", files, tmp_path)
    renamed = files[1].rename(files[1].with_name("in order.run"))
    same(report, "in order", [files[0], renamed], tmp_path)


def test_phrases_become_judged_units_of_each_corpus(tmp_path: Path) -> None:
    text = "Boats leave at dawn. " * 30 + "The ferry sails at noon. " * 30
    for name, size in (("small", 200), ("large", 800)):
        workspace = open_workspace(tmp_path / name, create=True)
        documents = [{"path": "a.md", "text": text}, {"path": "b.md", "text": text.upper()}]
        workspace.ingest_corpus(
            {"sources": [{"key": "s", "documents": documents}]},
            settings={"chunk_size": size, "chunk_overlap": 0},
        )
        workspace.index("lexical:stem-en")
    gold = dataset_from_cases(
        (case("when does the ferry sail", content=[{"content_contains": "sails at noon"}]),),
        dataset_id="ferry",
    )
    systems = {name: ev.open_workspace(tmp_path / name) for name in ("small", "large")}
    report = ev.evaluate(gold, systems, measures=MEASURES)
    files = report.save_runs(tmp_path / "runs")
    assert [path.name for path in files] == ["small.qrels", "large.qrels", "small.run", "large.run"]
    for qrels, run in zip(files[:2], files[2:], strict=True):
        same(report, run.stem, [qrels, run], tmp_path)


def test_cases_judged_by_several_kinds_need_a_choice(tmp_path: Path) -> None:
    gold = dataset_from_cases(
        (case("one", document_relevance={"a": 1}), case("two", expected={"unit_ids": ["a#1"]})),
        dataset_id="mixed",
    )
    report = ev.evaluate(gold, lambda query: ["a"])
    with pytest.raises(BadInputError, match="judged by unit, document"):
        report.save_runs(tmp_path)
    assert not list(tmp_path.iterdir())
