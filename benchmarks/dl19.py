"""Ten published runs on TREC DL 2019: the whole comparison, and reference figures it has to meet.

Run: python benchmarks/dl19.py
43 queries, each its own family; passages graded 1 are related, not relevant, so RR takes level 2.
Prints the ten means, the comparison with BM25, and each reference figure beside the one found;
leaves with status 1 if one misses.
"""

from __future__ import annotations

import json
import sys

from collections_data import data_folder

import evalnb as ev
from evalnb.comparison.paired import compare_frames

NDCG, RR = "nDCG@10", "RR(rel=2)@10"
SPLADE, TASB = "first_stage/SPLADE_P_P_ENSEMBLE_DISTIL", "first_stage/D_BERT_KD_TASB"
PAIRS = {"BM25": ("first_stage/BM25", "reranked/BM25"), "dense": (TASB, SPLADE)}
COLUMNS = ("diff", "ci_low", "ci_high", "p_value", "mde", "n_needed", "wins", "ties", "losses")
WITHIN = (5e-5, 0.003, 0.003, 0.012, 0.002, 125, 0, 0, 0)
REFERENCES = {
    ("BM25", NDCG): (0.1113, 0.075, 0.148, 0.0001, 0.053, None, 36, 2, 5),
    ("BM25", RR): (0.1315, 0.018, 0.245, 0.02391, 0.164, None, 15, 25, 3),
    ("dense", NDCG): (0.0098, -0.027, 0.047, 0.606, 0.054, 1_250, 24, 3, 16),
    ("dense", RR): (0.0432, -0.041, 0.128, 0.3125, None, None, 7, 33, 3),
}


def evaluated() -> ev.Report:
    """Score the ten run files, the system of a variant being its file."""
    folder = data_folder() / "runs" / "dl19"
    gold = ev.load_gold(
        folder / "qrels.dl19-passage.txt", topics=folder / "topics.dl19-passage.txt"
    )
    runs = {
        f"{stage}/{path.stem}": path
        for stage in ("first_stage", "reranked")
        for path in sorted((folder / stage).glob("*.txt"))
    }
    return ev.evaluate(gold, runs, measures=[NDCG, RR])


def published_missed(report: ev.Report) -> int:
    """Print the published means beside ours, and count those that differ in four decimals."""
    expected = json.loads((data_folder() / "runs" / "dl19" / "expected.json").read_text())
    means = report.aggregates().query("slice == 'all'").set_index(["variant", "measure"])["mean"]
    missed = 0
    for name, figures in expected["expected"].items():
        for measure, published in figures.items():
            found = means[name.removesuffix(".txt"), measure]
            missed += round(found, 4) != published
            print(f"  {name:<45} {measure} {found:.4f}, published {published:.4f}")
    return missed


def references_missed(report: ev.Report) -> int:
    """Print each pair's figures beside the reference, and count those beyond its precision."""
    scores, missed = report.frame(), 0
    for (pair, measure), wanted in REFERENCES.items():
        baseline, candidate = PAIRS[pair]
        both = scores[scores["variant"].isin(PAIRS[pair])]
        row = compare_frames(both, baseline=baseline, measures=[measure]).frame.iloc[0]
        print(f"  {candidate} against {baseline}, {measure}")
        for column, reference, within in zip(COLUMNS, wanted, WITHIN, strict=True):
            if reference is not None:
                fine = abs(row[column] - reference) <= within
                missed += not fine
                remark = "" if fine else "   MISSED"
                print(f"    {column:<8} {row[column]:10.4f}   {reference:g}{remark}")
    return missed


def main() -> int:
    report = evaluated()
    print(report)
    print(ev.compare(report, baseline="first_stage/BM25"))
    missed = published_missed(report) + references_missed(report)
    print(f"{missed} figures miss" if missed else "every figure is met")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
