"""One value per variant, measure and case: the scores frame with its repetitions averaged."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalnb.comparison.signs import Floats
from evalnb.errors import BadInputError

if TYPE_CHECKING:
    import pandas as pd

STATUSES = ("ok", "undefined", "unavailable")
"""From best to worst: a case takes the worst of its repetitions."""

OK, UNDEFINED, UNAVAILABLE, ABSENT = range(4)

_NEEDED = (
    "variant",
    "repetition",
    "case_id",
    "family_key",
    "measure",
    "k",
    "kind",
    "value",
    "status",
)


class MeasureKey(NamedTuple):
    """What two scores must share to be compared; a different k is a different measure."""

    measure: str
    k: int | None
    kind: str | None


@dataclass(frozen=True, slots=True)
class CaseScores:
    """The scores as arrays.

    Attributes
    ----------
    variants, keys
        In the order in which they appear.
    case_ids, family_keys
        Sorted.
    families
        (cases,): the number of each case's family.
    values
        (variants, keys, cases): NaN unless the status is ok.
    noise
        (variants, keys, cases): what repetitions leave open of a value: the variance between a
        case's repetitions over their number; 0 for a single one.
    statuses
        (variants, keys, cases): a position of :data:`STATUSES`, or ABSENT.
    n_repetitions
        Different ones in the frame.
    remarks
        By positions of variant and key: what the reasons of ok scores say of the limit.
    failures
        By positions of variant and key: why scores are unavailable, the most frequent reason first.
    """

    variants: tuple[str, ...]
    keys: tuple[MeasureKey, ...]
    case_ids: tuple[str, ...]
    family_keys: tuple[str, ...]
    families: NDArray[np.int_]
    values: Floats
    noise: Floats
    statuses: NDArray[np.int8]
    n_repetitions: int
    remarks: dict[tuple[int, int], tuple[str, ...]]
    failures: dict[tuple[int, int], tuple[str, ...]]


def average_cases(scores: pd.DataFrame) -> CaseScores:
    """Read a scores frame and average each case's repetitions.

    Raises
    ------
    BadInputError
        If columns are missing, a row appears twice, a case has two families, an ok score has no
        value or a status is unknown.
    """
    missing = [name for name in _NEEDED if name not in scores.columns]
    if missing:
        raise BadInputError(
            f"the scores lack the column {', '.join(missing)}",
            remedy="pass the frame of a report",
        )
    variants, variant_codes = _in_order(scores["variant"])
    keys, key_codes = _measure_keys(scores)
    case_ids, case_codes = _sorted(scores["case_id"])
    family_keys, family_codes = _sorted(scores["family_key"].fillna(scores["case_id"]))
    shape = (len(variants), len(keys), len(case_ids))
    cells = np.ravel_multi_index((variant_codes, key_codes, case_codes), shape)
    _refuse_duplicates(scores, cells)
    statuses = _status_codes(scores, cells, shape)
    values, noise = _moments(scores, cells, statuses)
    return CaseScores(
        variants=variants,
        keys=keys,
        case_ids=case_ids,
        family_keys=family_keys,
        families=_family_of_case(case_codes, family_codes, case_ids, family_keys),
        values=values,
        noise=noise,
        statuses=statuses,
        n_repetitions=int(scores["repetition"].nunique()),
        remarks=_remarks(scores, variant_codes, key_codes),
        failures=_failures(scores, variant_codes, key_codes),
    )


def _in_order(column: pd.Series) -> tuple[tuple[str, ...], NDArray[np.int_]]:
    import pandas as pd

    codes, found = pd.factorize(column)
    if (codes < 0).any():
        raise BadInputError(f"row {int((codes < 0).argmax())} of the scores has no {column.name}")
    return tuple(map(str, found)), codes


def _sorted(column: pd.Series) -> tuple[tuple[str, ...], NDArray[np.int_]]:
    found, codes = _in_order(column)
    order = sorted(range(len(found)), key=found.__getitem__)
    rank = np.empty(len(order), dtype=np.int_)
    rank[order] = np.arange(len(order))
    return tuple(found[i] for i in order), rank[codes]


def _measure_keys(scores: pd.DataFrame) -> tuple[tuple[MeasureKey, ...], NDArray[np.int_]]:
    import pandas as pd

    parts = [pd.factorize(scores[name], use_na_sentinel=False) for name in MeasureKey._fields]
    sizes = [len(found) for _, found in parts]
    joint = np.ravel_multi_index([codes for codes, _ in parts], sizes)
    codes, cells = pd.factorize(joint)
    keys = []
    for positions in zip(*np.unravel_index(cells, sizes), strict=True):
        measure, k, kind = (found[i] for i, (_, found) in zip(positions, parts, strict=True))
        keys.append(
            MeasureKey(
                str(measure), None if pd.isna(k) else int(k), None if pd.isna(kind) else str(kind)
            )
        )
    return tuple(keys), codes


def _refuse_duplicates(scores: pd.DataFrame, cells: NDArray[np.int_]) -> None:
    import pandas as pd

    repetitions = pd.factorize(scores["repetition"])[0]
    seen = pd.Index(cells * (repetitions.max(initial=0) + 1) + repetitions)
    if not seen.is_unique:
        row = scores.iloc[int(seen.duplicated().argmax())]
        raise BadInputError(
            f"variant {row['variant']!r} has two scores of {row['measure']} for case "
            f"{row['case_id']!r}, repetition {row['repetition']}",
            remedy="give variants of different reports different names",
        )


def _status_codes(
    scores: pd.DataFrame, cells: NDArray[np.int_], shape: tuple[int, int, int]
) -> NDArray[np.int8]:
    import pandas as pd

    found = pd.Index(STATUSES).get_indexer(pd.Index(scores["status"]))
    if (found < 0).any():
        status = scores["status"].iloc[int((found < 0).argmax())]
        raise BadInputError(f"a score has the status {status!r}; it is one of {STATUSES}")
    statuses = np.full(np.prod(shape), ABSENT, dtype=np.int8)
    for status in (OK, UNDEFINED, UNAVAILABLE):
        statuses[cells[found == status]] = status
    return statuses.reshape(shape)


def _moments(
    scores: pd.DataFrame, cells: NDArray[np.int_], statuses: NDArray[np.int8]
) -> tuple[Floats, Floats]:
    rows = statuses.ravel()[cells] == OK
    values = scores["value"].to_numpy(dtype=np.float64, na_value=np.nan)[rows]
    if not np.isfinite(values).all():
        raise BadInputError("a score with status ok has no finite value")
    places, size = cells[rows], statuses.size
    counts = np.bincount(places, minlength=size)
    with np.errstate(invalid="ignore"):
        means = np.bincount(places, values, size) / counts
    squares = np.bincount(places, (values - means[places]) ** 2, size)
    noise = squares / np.maximum(counts * (counts - 1), 1)
    return means.reshape(statuses.shape), noise.reshape(statuses.shape)


def _remarks(
    scores: pd.DataFrame, variants: NDArray[np.int_], keys: NDArray[np.int_]
) -> dict[tuple[int, int], tuple[str, ...]]:
    if "reason" not in scores.columns:
        return {}
    told = scores["reason"].astype("str").str.startswith("the limit")
    return _reasons(scores, (scores["status"] == "ok") & told, variants, keys)


def _failures(
    scores: pd.DataFrame, variants: NDArray[np.int_], keys: NDArray[np.int_]
) -> dict[tuple[int, int], tuple[str, ...]]:
    if "reason" not in scores.columns:
        return {}
    told = (scores["status"] == "unavailable") & scores["reason"].notna()
    return _reasons(scores, told, variants, keys)


def _reasons(
    scores: pd.DataFrame, told: pd.Series, variants: NDArray[np.int_], keys: NDArray[np.int_]
) -> dict[tuple[int, int], tuple[str, ...]]:
    rows = np.flatnonzero(told)
    found: dict[tuple[int, int], Counter[str]] = {}
    for row, reason in zip(rows, scores["reason"].iloc[rows], strict=True):
        found.setdefault((int(variants[row]), int(keys[row])), Counter())[str(reason)] += 1
    return {
        place: tuple(reason for reason, _ in counts.most_common())
        for place, counts in found.items()
    }


def _family_of_case(
    cases: NDArray[np.int_],
    families: NDArray[np.int_],
    case_ids: tuple[str, ...],
    family_keys: tuple[str, ...],
) -> NDArray[np.int_]:
    found = np.empty(len(case_ids), dtype=np.int_)
    found[cases] = families
    wrong = found[cases] != families
    if wrong.any():
        case = cases[wrong.argmax()]
        names = sorted({family_keys[i] for i in families[cases == case]})
        raise BadInputError(
            f"case {case_ids[case]!r} is in the families {', '.join(map(repr, names))}",
            remedy="compare reports over one version of the gold",
        )
    return found
