"""Long frames of a report with fixed columns: what charts, widgets and comparisons read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalnb.evaluation.costs import COST_COLUMNS, QUANTITIES, search_costs, variant_costs
from evalnb.evaluation.report import AggregateRow, CaseResult, EvaluationReport
from evalnb.gold.cases import GoldCase
from evalnb.measures.content import match_content
from evalnb.measures.judgements import Judgements, by_label, judgements, labelled_documents
from evalnb.search.result import KINDS, Hit, Kind

if TYPE_CHECKING:
    import pandas as pd

    from evalnb.measures.ranking import Score

SCORE_COLUMNS = (
    "variant",
    "repetition",
    "case_id",
    "family_key",
    "intent",
    "language",
    "split",
    "weight",
    "measure",
    "k",
    "kind",
    "value",
    "numerator",
    "denominator",
    "status",
    "reason",
)
AGGREGATE_COLUMNS = tuple(AggregateRow.model_fields)
ID_COLUMNS = tuple(f"{kind}_id" for kind in KINDS)
HIT_COLUMNS = (
    "variant",
    "repetition",
    "case_id",
    "rank",
    *ID_COLUMNS,
    "grade",
    "forbidden",
    "matched",
)
LATENCY_COLUMNS = ("variant", "repetition", "case_id", "latency_ms", "warm_up")
_NULLABLE = {"k": "Int64", "grade": "Int64"}
_FLOATS = frozenset(
    {
        *("weight", "value", "numerator", "denominator"),
        *("mean", "weighted_mean", "micro", "success_rate", "mean_failed_zero"),
        *("ci_low", "ci_high"),
        *("latency_ms", "latency_p50", "latency_p95", "latency_p99", "latency_warm_up"),
        *("calls", "tokens", "cost"),
    }
)


def scores_frame(report: EvaluationReport) -> pd.DataFrame:
    """Return one row per variant, repetition, case and measure.

    ``family_key`` is the case's own id where it names no family; ``value`` is NaN unless
    ``status`` is ``ok``.
    """
    return _frame(SCORE_COLUMNS, _score_rows(report))


def joined_scores_frame(
    reports: Sequence[EvaluationReport], *, costs: bool = False
) -> pd.DataFrame:
    """Return the scores of several reports; a variant name already taken becomes ``name (2)``.

    With ``costs``, what each search cost stands in rows of its own, so that it can be compared.
    """
    import pandas as pd

    taken: set[str] = set()
    frames = []
    for report in reports:
        names = {}
        for variant in report.variants:
            name, n = variant.name, 1
            while name in taken:
                n += 1
                name = f"{variant.name} ({n})"
            names[variant.name] = name
            taken.add(name)
        rows = chain(_score_rows(report), _cost_rows(report) if costs else ())
        frame = _frame(SCORE_COLUMNS, rows)
        frames.append(frame.assign(variant=frame["variant"].map(names)))
    return pd.concat(frames, ignore_index=True) if frames else _frame(SCORE_COLUMNS, iter(()))


def run_scores_frame(
    qrels: str | Path | Mapping[str, Mapping[str, int]],
    run: str | Path | Mapping[str, Mapping[str, float]],
    measures: Sequence[str] | None = None,
    *,
    ties: bool = False,
) -> pd.DataFrame:
    """Return the scores of one run file, or of dicts of dicts, in the columns of all scores.

    With ``ties``, the worst, expected and best value over all orders of equal scores follow.

    Raises
    ------
    BadInputError, NotEvaluatedError
        As :func:`~evalnb.evaluation.runfiles.score_run`.
    """
    from evalnb.evaluation.runfiles import score_run

    scores = score_run(qrels, run, measures, ties=ties)
    head = [scores.run, 0]
    case = [None, None, None, 1.0]  # a run file knows no intent, language, split or weight
    rows = (
        [*head, row.query, row.query, *case, row.measure, row.k, "document", *row[3:]]
        for row in scores.rows
    )
    frame = _frame(SCORE_COLUMNS, rows)
    if ties:
        import pandas as pd

        columns = ["worst", "expected", "best"]
        frame = frame.join(pd.DataFrame(scores.spreads, columns=columns, dtype="float64"))
    return frame


def aggregates_frame(report: EvaluationReport) -> pd.DataFrame:
    """Return one row per variant, slice and measure: the mean beside its counts."""
    rows = ([getattr(row, name) for name in AGGREGATE_COLUMNS] for row in report.aggregates)
    return _frame(AGGREGATE_COLUMNS, rows)


def hits_frame(report: EvaluationReport) -> pd.DataFrame:
    """Return one row per hit with its ids and what the gold says of it.

    ``grade`` is missing where nobody judged the hit; ``forbidden`` counts a hit of any forbidden
    ancestor; ``matched`` marks the hits that R, RR and Success count, duplicates included.
    """
    return _frame(HIT_COLUMNS, _hit_rows(report))


def latency_frame(report: EvaluationReport) -> pd.DataFrame:
    """Return the time of every search in ms; missing where it did not finish."""
    rows = (
        [*_key(search.result), search.latency_ms, search.warm_up] for search in search_costs(report)
    )
    return _frame(LATENCY_COLUMNS, rows)


def costs_frame(report: EvaluationReport) -> pd.DataFrame:
    """Return what the searches of each variant cost, one row per variant.

    See :func:`~evalnb.evaluation.costs.variant_costs`.
    """
    return _frame(COST_COLUMNS, (list(row.values()) for row in variant_costs(report)))


@dataclass(frozen=True, slots=True)
class HitLabel:
    """What the gold says of one hit.

    ``grade`` is None where it is unjudged; ``relevant`` is what R, RR and Success count.
    """

    grade: int | None
    forbidden: bool
    relevant: bool


class Labels:
    """The gold labels of one case as one system's hits meet them."""

    def __init__(
        self, case: GoldCase, kinds: tuple[Kind, ...], content_units: frozenset[str] | None
    ) -> None:
        self.case = case
        self.kinds = kinds
        self.judged: dict[Kind, Judgements] = {
            kind: judgements(case, kind, content_units) for kind in kinds
        }
        self.forbidden = [(kind, ids) for kind in KINDS if (ids := set(case.forbidden.of(kind)))]
        self.documents = labelled_documents(case)
        self.by_text = bool(case.content) and content_units is None

    def of(self, hit: Hit) -> HitLabel:
        """Label one hit."""
        hit = by_label(hit, self.documents)
        grade: int | None = None
        relevant = False
        for kind, judged in self.judged.items():
            key = hit.ids.of(kind)
            if key is not None and key in judged.grades:
                grade = judged.grades[key] if grade is None else grade
                relevant = relevant or key in judged.targets()
        if not relevant and self.by_text and self.matches(hit):
            grade, relevant = 1, True
        forbidden = any(hit.ids.of(kind) in ids for kind, ids in self.forbidden)
        return HitLabel(grade, forbidden, relevant)

    def matches(self, hit: Hit) -> bool:
        """Whether the hit's name and text match the case's content."""
        return match_content(self.case, hit.document_name, hit.text) is not None


def labels_of(
    report: EvaluationReport, cases: Iterable[GoldCase] | None = None
) -> dict[tuple[str, str], Labels]:
    """Return the labels by variant and case; of every case unless some are given."""
    chosen = report.cases if cases is None else tuple(cases)
    units = {variant.name: report.content_units.get(variant.system) for variant in report.variants}
    return {
        (name, case.case_id): Labels(
            case,
            report.kinds,
            None if found is None or not case.content else frozenset(found.get(case.case_id, ())),
        )
        for name, found in units.items()
        for case in chosen
    }


def _score_rows(report: EvaluationReport) -> Iterator[list[Any]]:
    cases = {case.case_id: case for case in report.cases}
    for result in report.results:
        head = _head(result, cases[result.case_id])
        for score in result.scores:
            yield [*head, *(getattr(score, name) for name in SCORE_COLUMNS[len(head) :])]


def case_scores_frame(
    rows: Iterable[tuple[str, GoldCase, str, int | None, Score]], *, kind: str
) -> pd.DataFrame:
    """Return (variant, case, measure, k, score) rows in the columns of all scores."""
    return _frame(
        SCORE_COLUMNS,
        (
            [variant, 0, case.case_id, *_labels(case), measure, k, kind, *score]
            for variant, case, measure, k, score in rows
        ),
    )


def _cost_rows(report: EvaluationReport) -> Iterator[list[Any]]:
    cases = {case.case_id: case for case in report.cases}
    for search in search_costs(report):
        result = search.result.result
        head = _head(search.result, cases[search.result.case_id])
        for quantity in QUANTITIES:
            value = getattr(search, quantity)
            if search.warm_up and quantity == "latency_ms":
                value = None
            missing = "unavailable" if result.status != "ok" else "undefined"
            status = missing if value is None else "ok"
            reason = result.reason if status == "unavailable" else None
            yield [*head, quantity, None, None, value, value, 1.0, status, reason]


def _head(result: CaseResult, case: GoldCase) -> list[Any]:
    return [*_key(result), *_labels(case)]


def _labels(case: GoldCase) -> tuple[Any, ...]:
    return case.family, case.intent, case.language, case.split, case.weight


def _hit_rows(report: EvaluationReport) -> Iterator[list[Any]]:
    labels = labels_of(report)
    for result in report.results:
        mine = labels[result.variant, result.case_id]
        for hit in result.result.hits:
            label = mine.of(hit)
            yield [
                *_key(result),
                hit.rank,
                *(hit.ids.of(kind) for kind in KINDS),
                label.grade,
                label.forbidden,
                label.relevant,
            ]


def _key(result: CaseResult) -> list[Any]:
    return [result.variant, result.repetition, result.case_id]


def _frame(columns: Sequence[str], rows: Iterator[list[Any]]) -> pd.DataFrame:
    """Build a frame whose types do not depend on what happens to be missing in it."""
    import pandas as pd

    # One flat list: keeping a list per row costs more in the garbage collector than all the rest.
    flat = list(chain.from_iterable(rows))
    assert len(flat) % len(columns) == 0
    series = {}
    for at, name in enumerate(columns):
        values = flat[at :: len(columns)]
        dtype: Any = _NULLABLE.get(name) or ("float64" if name in _FLOATS else None)
        series[name] = pd.Series(values, dtype=dtype or _common(values))
    return pd.DataFrame(series)


def _common(values: Sequence[Any]) -> Any:
    kinds = set(map(type, values))
    if kinds == {bool}:
        return "bool"
    return "int64" if kinds == {int} else "object"
