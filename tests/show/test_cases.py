"""The drill-down of one case, as data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evalnb.evaluation.report import EvaluationReport
from evalnb.gold.cases import GoldCase
from evalnb.search.result import (
    Candidates,
    ChannelRank,
    Decision,
    Hit,
    Identities,
    QueryResult,
    Span,
    Trace,
)
from evalnb.show.cases import CaseView, Change, view_cases
from evalnb.show.drilldown import case_html, case_states, cases_text

MakeReport = Callable[..., EvaluationReport]


def views(report: EvaluationReport, **options: Any) -> dict[str, CaseView]:
    return {view.case.case_id: view for view in view_cases(report, **options)}


def test_ranks_stand_side_by_side(report: EvaluationReport) -> None:
    view = views(report, baseline="today")["case-1"]
    assert [(v.name, v.outcome) for v in view.variants] == [
        ("today", "3"),
        ("better <i>", "1"),
        ("broken", "1"),
    ]
    assert view.expected == ("document harbour",)
    assert view.forbidden == ("document secret",)


def test_every_hit_says_what_it_is_and_where_it_was(report: EvaluationReport) -> None:
    today, better, _ = views(report, baseline="today")["case-1"].variants
    assert [(hit.sign, hit.moved) for hit in today.hits] == [
        ("unjudged", ""),
        ("forbidden", ""),
        ("relevant", ""),
    ]
    assert [(hit.key, hit.moved) for hit in better.hits] == [
        ("harbour", "was 3"),
        ("other", "was 1"),
    ]


def test_a_failure_is_not_a_miss(report: EvaluationReport) -> None:
    found = views(report)
    broken = found["case/2 ü"].variants[2]
    assert broken.outcome == "n/a"
    assert "the provider said <b>no</b>" in (broken.failure or "")
    assert found["case-3"].variants[2].outcome == "miss"
    assert not found["no-gold"].labelled


def test_what_was_not_recorded_is_said_and_not_guessed(report: EvaluationReport) -> None:
    view = views(report)["case-1"]
    assert view.variants[0].courses is None
    assert view.variants[0].decisions is None
    page = case_html(view, compared=report.compared)
    assert page.count("Candidates and Trace: not recorded.") == 3


def test_states_are_what_the_filter_asks(report: EvaluationReport) -> None:
    changes = {
        "better <i>": {"case-1": Change("RR@10", 0.5, 0.5)},
        "broken": {"case-1": Change("RR@10", 0.1, -0.1)},
    }
    found = views(report, baseline="today", changes=changes)
    assert set(case_states(found["case-1"])) == {
        *("hit", "hit:0", "hit:1", "hit:2", "forbidden", "forbidden:0"),
        *("improved", "improved:1", "regressed", "regressed:2"),
    }
    assert set(case_states(found["case/2 ü"])) == {"hit", "hit:0", "hit:1", "failed", "failed:2"}
    assert set(case_states(found["case-3"])) == {"hit", "hit:0", "hit:1", "miss", "miss:2"}
    assert list(case_states(found["no-gold"])) == []


def test_a_summary_names_what_its_numbers_are(report: EvaluationReport) -> None:
    changes = {"better <i>": {"case-1": Change("RR@10", 2 / 3, 2 / 3)}}
    found = views(report, baseline="today", changes=changes)
    page = case_html(found["case-1"], compared=report.compared)
    assert "today: rank <b>3</b>" in page
    assert 'rank <b>1</b> <span class="better">▲ RR@10 +0.667</span>' in page
    assert "broken: <b>miss</b>" in case_html(found["case-3"], compared=report.compared)


def test_only_the_cases_asked_for(report: EvaluationReport) -> None:
    assert list(views(report, case_ids=["case-3"])) == ["case-3"]
    assert list(views(report, case_ids=[])) == []
    assert cases_text(views(report, case_ids=["case-3"]).values()) == (
        "case-3  who keeps the light  [today 1 · better <i> 1 · broken miss]"
    )


def one(make_report: MakeReport, gold: GoldCase, result: QueryResult) -> CaseView:
    report = make_report([gold], {"mine": {gold.request.query: result}})
    (view,) = view_cases(report)
    return view


def unit(key: str, rank: int, **more: Any) -> Hit:
    return Hit(rank=rank, kind="unit", ids=Identities(document_id="d", unit_id=key), **more)


def test_the_relevant_are_followed_through_the_candidates(make_report: MakeReport) -> None:
    gold = GoldCase(
        case_id="c",
        split="development",
        request={"query": "q", "trace": True},
        expected={"unit_ids": ["u1", "u7", "u9"]},
    )
    hit = unit("u1", 1, channels={"lexical": ChannelRank(rank=2)})
    view = one(
        make_report,
        gold,
        QueryResult(
            hits=(hit,),
            candidates={
                "lexical": Candidates(ids=("x", "u1", "u7")),
                "text": Candidates(ids=("x",)),
            },
            trace=Trace(decisions=(Decision(step="fuse", detail="rrf k=60"),)),
        ),
    )
    (mine,) = view.variants
    assert [course.target for course in mine.courses or ()] == ["u1", "u7", "u9"]
    page = case_html(view, compared=("R@10",))
    assert "✓ u1: lexical 2, text absent → fused 2 → returned 1<" in page
    assert "✓ u7: lexical 3, text absent → fused 3 → not returned<" in page
    assert "✓ u9: lexical absent, text absent → fused absent → not returned<" in page
    assert "<small>lexical 2</small>" in page.replace("u1 · ", "")
    assert "Trace: fuse: rrf k=60" in page
    assert "not recorded" not in page


def test_expected_spans_and_matched_phrases_are_marked(make_report: MakeReport) -> None:
    gold = GoldCase(
        case_id="c",
        split="development",
        request={"query": "q"},
        content=[{"content_contains": ["EFFICIENT models"]}],
        spans=[{"revision_id": "r", "start": 103, "end": 107}],
    )
    hit = Hit(
        rank=1,
        kind="unit",
        ids=Identities(unit_id="u", revision_id="r"),
        text="one two Efﬁcient  models three",
        span=Span(extraction_id="e", start=100, end=130),
    )
    (variant,) = one(make_report, gold, QueryResult(hits=(hit,))).variants
    excerpt = variant.hits[0].excerpt
    assert excerpt is not None
    assert [text for text, marked in excerpt.pieces if marked] == [" two", "Efﬁcient  models"]
    assert "".join(text for text, _ in excerpt.pieces) == hit.text


def test_what_is_expected_is_said_in_words(make_report: MakeReport) -> None:
    gold = GoldCase(
        case_id="c",
        split="development",
        request={"query": "q"},
        expected={"document_ids": ["doc_1"]},
        document_relevance={"doc_1": 2, "doc_2": 1, "doc_3": 0},
        content=[{"document": "guide", "content_contains": ["a", "b"]}, {"content_contains": "c"}],
    )
    named = Hit(rank=1, ids=Identities(document_id="doc_1"), document_name="The Guide")
    assert one(make_report, gold, QueryResult(hits=(named,))).expected == (
        "document named like “guide”, text with “a” or “b” — or — text with “c”",
        "document The Guide (grade 2)",
        "also graded: document doc_2 (grade 1)",
    )


def test_repetitions_that_differ_show_each_rank(make_report: MakeReport) -> None:
    answers = iter([["a"], ["b", "a"], []])

    class Drifting(dict[str, Any]):
        def get(self, query: str, default: Any = None) -> Any:
            return next(answers)

    gold = GoldCase(
        case_id="c",
        split="development",
        request={"query": "q"},
        expected={"document_ids": ["a"]},
    )
    report = make_report([gold], {"mine": Drifting()}, repetitions=3)
    (view,) = view_cases(report)
    assert view.variants[0].outcome == "1 / 2 / miss"
    assert "miss" in set(case_states(view))


def named(name: str, rank: int) -> Hit:
    """Make a hit whose id is the system's own and whose name a person knows."""
    return Hit(
        rank=rank, kind="document", ids=Identities(document_id=f"doc_{name}"), document_name=name
    )


def test_documents_go_by_the_names_that_labels_use(make_report: MakeReport) -> None:
    gold = GoldCase(
        case_id="c",
        split="development",
        request={"query": "q"},
        expected={"document_ids": ["refund.md", "rules.md", "never.md"]},
        forbidden={"document_ids": ["secret.md"]},
    )
    candidates = {"lexical": Candidates(ids=("doc_docs/refund.md", "doc_docs/rules.md"))}
    report = make_report(
        [gold],
        {
            "by name": {"q": [("other.md", 2.0), ("refund.md", 1.0)]},
            "by id": {
                "q": QueryResult(
                    hits=(named("docs/refund.md", 1), named("secret.md", 2)), candidates=candidates
                )
            },
            "elsewhere": {"q": QueryResult(hits=(named("docs/rules.md", 1),))},
        },
        measures=("RR@10", "R@10"),
    )
    (view,) = view_cases(report, baseline="by name")
    by_name, by_id, elsewhere = view.variants
    assert {score.measure: score.value for score in by_id.scores}["RR@10"] == 1.0
    assert [variant.outcome for variant in view.variants] == ["2", "1", "1"]
    assert [(hit.sign, hit.moved) for hit in by_id.hits] == [
        ("relevant", "was 2"),
        ("forbidden", "new"),
    ]
    assert by_name.courses is elsewhere.courses is None
    assert [(course.target, course.channels) for course in by_id.courses or ()] == [
        ("refund.md", (("lexical", 1),)),
        ("rules.md", (("lexical", 2),)),
        ("never.md", (("lexical", None),)),
    ]
    assert "hit:1" in set(case_states(view))
