"""What shows on which surface, worked by hand."""

from __future__ import annotations

from evalnb.comparison.exposure import CONSIDERED, exposure_frame
from evalnb.evaluation.request import EvaluationRequest, Variant
from evalnb.evaluation.runner import run_evaluation
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.search.result import Candidates, Citation, Decision, Hit, QueryResult
from evalnb.systems.function import FunctionSystem


def hit(name: str) -> Hit:
    return Hit.model_validate({"rank": 1, "kind": "unit", "ids": {"document_id": name}})


def answered(**answers: QueryResult) -> object:
    cases = tuple(
        GoldCase(
            case_id=case_id,
            split="development",
            request={"query": case_id},
            expected={"document_ids": ["good"]},
            forbidden={"document_ids": forbidden},
        )
        for case_id, forbidden in (("guarded", ["secret"]), ("free", []))
    )
    return run_evaluation(
        dataset_from_cases(cases, dataset_id="d"),
        {name: FunctionSystem(lambda query, a=a: a) for name, a in answers.items()},
        EvaluationRequest(variants=tuple(Variant(name=name, system=name) for name in answers)),
    )


def test_each_surface_is_a_row_and_candidates_stand_apart() -> None:
    good = hit("good")
    report = answered(
        clean=QueryResult(hits=(good,)),
        shows=QueryResult(hits=(hit("secret"),)),
        cites=QueryResult(
            hits=(good,), citations=(Citation.model_validate({"ids": {"document_id": "secret"}}),)
        ),
        decides=QueryResult(hits=(good,), decisions=(Decision(step="drop", ids=("secret",)),)),
        considers=QueryResult(
            hits=(good,), candidates={"lexical": Candidates(ids=("secret",), scores=(1.0,))}
        ),
    )
    frame = exposure_frame(report)
    exposed = frame[frame["n_exposed"] > 0]
    assert list(zip(exposed["surface"], exposed["variant"], strict=True)) == [
        ("hits", "shows"),
        ("citations", "cites"),
        ("decisions", "decides"),
        (CONSIDERED, "considers"),
    ]
    assert set(frame["n"]) == {1}  # the case without forbidden labels is not counted
    assert list(exposed["cases"]) == [("guarded",)] * 4
    assert list(frame.loc[frame["variant"] == "clean", "n_exposed"]) == [0, 0, 0, 0]


def test_nothing_forbidden_is_no_row() -> None:
    case = GoldCase(case_id="c", split="development", request={"query": "q"})
    report = run_evaluation(
        dataset_from_cases((case,), dataset_id="d"),
        {"v": FunctionSystem(lambda query: ["a"])},
        EvaluationRequest(variants=(Variant(name="v", system="v"),)),
    )
    assert exposure_frame(report).empty
