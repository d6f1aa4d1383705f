"""How far two variants return the same: sets down to a cutoff, and whole rankings."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from evalnb.errors import BadInputError
from evalnb.evaluation.report import AnyReport, EvaluationReport, check_variant, record_of
from evalnb.measures.judgements import ranked_ids
from evalnb.search.result import Kind

if TYPE_CHECKING:
    import pandas as pd

PERSISTENCE = 0.9  # the first 10 ranks weigh 86 %
NONE = (np.nan, np.nan)
COLUMNS = ("variant", "other", "kind", "k", "p", "n", "jaccard", "rbo")


def jaccard(one: Sequence[str], other: Sequence[str], k: int) -> float | None:
    """Return the shared ids among the first k over all of both; undefined if both are empty.

    >>> jaccard(["a", "b", "c"], ["b", "d"], 2)
    0.3333333333333333
    """
    first, second = set(one[:k]), set(other[:k])
    return len(first & second) / len(first | second) if first or second else None


def rank_biased_overlap(
    one: Sequence[str], other: Sequence[str], p: float = PERSISTENCE
) -> float | None:
    r"""Return the extrapolated rank-biased overlap, RBO_EXT; undefined if both are empty.

    With X_d the number of ids shared down to depth d, and s <= l the lengths of the lists,
    RBO_EXT = (1-p)/p (sum_{d=1..l} X_d/d p^d + sum_{d=s+1..l} X_s (d-s)/(s d) p^d)
    + ((X_l - X_s)/l + X_s/s) p^l. Ids are distinct. Equal lists give 1, disjoint ones 0.

    Reference: Webber, Moffat, Zobel, A similarity measure for indefinite rankings, ACM TOIS 28(4),
    2010, equation 32.

    Parameters
    ----------
    p
        How far a reader goes on: each next rank is looked at with this probability.

    Examples
    --------
    >>> round(rank_biased_overlap(["a", "b"], ["b", "a"], 0.9), 6)
    0.9
    """
    if not 0 < p < 1:
        raise BadInputError(f"p must be between 0 and 1, is {p}")
    short, long = sorted((one, other), key=len)
    if not short:
        return 0.0 if long else None
    s, depth = len(short), len(long)
    in_short: set[str] = set()
    in_long: set[str] = set()
    shared, at_short, total = 0, 0, 0.0
    for d, key in enumerate(long, start=1):
        own = short[d - 1 : d]
        in_long.add(key)
        in_short.update(own)
        shared += (key in in_short) + sum(each != key and each in in_long for each in own)
        at_short = shared if d <= s else at_short
        beyond = at_short * (d - s) / (s * d) if d > s else 0.0
        total += (shared / d + beyond) * p**d
    end = (shared - at_short) / depth + at_short / s
    return (1 - p) / p * total + end * p**depth


def overlap_frame(
    report: AnyReport, *, k: int = 10, p: float = PERSISTENCE, baseline: str = ""
) -> pd.DataFrame:
    """Average the overlap of every two variants, or of each with the baseline, over the cases.

    Returns
    -------
    pandas.DataFrame
        Columns variant, other, kind, k, p, n, jaccard, rbo. Ids are documents where every variant
        names them, else of the kind that is judged. ``n`` counts the cases that both answered with
        anything; two empty lists say nothing.

    Raises
    ------
    NotFoundError
        If the baseline is no variant.
    """
    import pandas as pd

    report = record_of(report)
    names = [variant.name for variant in report.variants]
    if baseline:
        check_variant(baseline, names, baseline=True)
    kind = _kind(report)
    lists = {} if kind is None else _lists(report, kind)
    others = ((baseline, name) for name in names if name != baseline)
    rows = []
    for one, other in others if baseline else itertools.combinations(names, 2):
        found = [
            (jaccard(a, b, k), rank_biased_overlap(a, b, p))
            for case_id, a in lists.get(one, {}).items()
            if (b := lists.get(other, {}).get(case_id)) is not None and (a or b)
        ]
        means = np.mean(np.array(found, dtype=float).reshape(-1, 2), axis=0) if found else NONE
        rows.append((one, other, kind, k, p, len(found), float(means[0]), float(means[1])))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _kind(report: EvaluationReport) -> Kind | None:
    """Choose ids that variants can share: chunks of two sizes have none in common."""
    for result in report.results:
        if any(hit.ids.document_id is None for hit in result.result.hits):
            return next(iter(report.kinds), None)
    return "document"


def _lists(report: EvaluationReport, kind: Kind) -> dict[str, dict[str, tuple[str, ...]]]:
    cases = {case.case_id: case for case in report.cases}
    found: dict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)
    for result in report.results:
        if not result.repetition and result.result.status == "ok":
            ids = ranked_ids(cases[result.case_id], result.result, kind)
            found[result.variant][result.case_id] = ids
    return found
