"""TREC DL 2019, 43 queries, each its own family: what a published reranking is worth."""

from functools import cache
from pathlib import Path

import pandas as pd
import pytest
import pytrec_eval
from dl19 import evaluated, published_missed

from evalnb.comparison.paired import compare_frames

LEVEL = 2  # passages judged 1 are related, not relevant


@pytest.fixture(scope="module")
def dl19(data_dir: Path) -> Path:
    folder = data_dir / "runs" / "dl19"
    if not folder.is_dir():
        pytest.skip(f"no runs in {folder}")
    return folder


@cache
def qrels(folder: Path) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels.dl19-passage.txt").read_text().splitlines():
        query, _, document, grade = line.split()
        found.setdefault(query, {})[document] = int(grade)
    return found


@cache
def values(folder: Path, name: str) -> dict[str, dict[str, float]]:
    run: dict[str, dict[str, float]] = {}
    for line in (folder / f"{name}.txt").read_text().splitlines():
        query, _, document, _, score, _ = line.split()
        run.setdefault(query, {})[document] = float(score)
    judged = qrels(folder)
    gains = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10"}).evaluate(run)
    found = {}
    for query, grades in judged.items():
        ranked = sorted(run.get(query, {}).items(), key=lambda item: item[::-1], reverse=True)[:10]
        ranks = [i for i, (d, _) in enumerate(ranked, start=1) if grades.get(d, 0) >= LEVEL]
        found[query] = {
            "nDCG@10": gains.get(query, {}).get("ndcg_cut_10", 0.0),
            "RR(rel=2)@10": 1 / ranks[0] if ranks else 0.0,
        }
    return found


def scores(folder: Path, measure: str, names: tuple[str, ...]) -> pd.DataFrame:
    rows = [
        {
            "variant": name,
            "repetition": 0,
            "case_id": query,
            "family_key": query,
            "measure": measure,
            "k": 10,
            "kind": "document",
            "value": found[measure],
            "status": "ok",
        }
        for name in names
        for query, found in values(folder, name).items()
    ]
    return pd.DataFrame(rows)


RERANKED = ("first_stage/BM25", "reranked/BM25")
DENSE = ("first_stage/D_BERT_KD_TASB", "first_stage/SPLADE_P_P_ENSEMBLE_DISTIL")


@pytest.mark.parametrize(
    ("names", "measure", "diff", "ends", "p", "counts", "mde", "verdict"),
    [
        (RERANKED, "nDCG@10", 0.1113, (0.075, 0.148), 0.0001, (36, 2, 5), 0.053, "better"),
        (RERANKED, "RR(rel=2)@10", 0.1315, (0.018, 0.245), 0.02391, (15, 25, 3), 0.164, "better"),
        (DENSE, "nDCG@10", 0.0098, (-0.027, 0.047), 0.606, (24, 3, 16), 0.054, "undecided"),
        (DENSE, "RR(rel=2)@10", 0.0432, (-0.041, 0.128), 0.3125, (7, 33, 3), None, "undecided"),
    ],
)
def test_reference_figures(
    dl19: Path,
    names: tuple[str, str],
    measure: str,
    diff: float,
    ends: tuple[float, float],
    p: float,
    counts: tuple[int, int, int],
    mde: float | None,
    verdict: str,
) -> None:
    row = compare_frames(scores(dl19, measure, names), baseline=names[0]).frame.iloc[0]
    assert row["diff"] == pytest.approx(diff, abs=5e-5)
    assert (row.ci_low, row.ci_high) == pytest.approx(ends, abs=0.003)
    assert row.p_value == pytest.approx(p, abs=0.012)
    assert (row.wins, row.ties, row.losses) == counts
    assert (row.n, row.n_families, row.verdict) == (43, 43, verdict)
    if mde is not None:
        assert row.mde == pytest.approx(mde, rel=0.04)


def test_p_is_exact_where_ten_queries_changed(dl19: Path) -> None:
    frame = scores(dl19, "RR(rel=2)@10", DENSE)
    found = [
        compare_frames(frame, baseline=DENSE[0], seed=seed).frame.p_value.iloc[0] for seed in (0, 1)
    ]
    assert found == [0.3125, 0.3125]


def test_more_queries_are_needed_to_tell_two_dense_retrievers_apart(dl19: Path) -> None:
    row = compare_frames(scores(dl19, "nDCG@10", DENSE), baseline=DENSE[0]).frame.iloc[0]
    assert row.n_needed == pytest.approx(1_250, rel=0.1)
    assert row.leaning == "better"


def test_five_rerankings_at_once(dl19: Path) -> None:
    names = tuple(
        f"{stage}/{run.stem}"
        for stage in ("first_stage", "reranked")
        for run in sorted((dl19 / stage).glob("*.txt"))
    )
    frame = pd.concat([scores(dl19, m, names) for m in ("nDCG@10", "RR(rel=2)@10")])
    rows = compare_frames(frame, baseline="first_stage/BM25").frame
    assert len(rows) == 18
    assert (rows.p_adjusted >= rows.p_value).all()
    alone = compare_frames(scores(dl19, "nDCG@10", RERANKED), baseline=RERANKED[0]).frame.iloc[0]
    among = rows[(rows.candidate == RERANKED[1]) & (rows.measure == "nDCG@10")].iloc[0]
    assert among.ci_low < alone.ci_low
    assert among.ci_high > alone.ci_high
    assert among.mde > alone.mde
    assert among.verdict == "better"


def test_published_means_from_the_files_themselves(dl19: Path) -> None:
    report = evaluated()
    assert len(report.record.variants) == 10
    assert published_missed(report) == 0
