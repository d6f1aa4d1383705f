"""What one search returns: operators, restrictions, exact identifiers, dates, the trace."""

from __future__ import annotations

import datetime as dt

import pytest

from evalnb.errors import CapabilityError
from evalnb.search.request import Hints, Scope
from evalnb.search.result import QueryResult
from evalnb.workspace.system import Workspace


def names(result: QueryResult) -> list[str | None]:
    return [hit.document_name for hit in result.hits]


OPERATORS = [
    ("any", "refund cheque", {"refunds.md", "old/charges.md"}),
    ("all", "refund cheque", set()),
    ("all", "payment takes", {"charges.md"}),
    ("all", "Charging payment", {"charges.md"}),  # one word in the title, one in the text
    ("phrase", "takes a payment", {"charges.md"}),
    ("phrase", "payment a takes", set()),
    ("phrase", "Refunding a payment", {"refunds.md"}),
    ("phrase", "cheque", {"old/charges.md"}),
]


@pytest.mark.parametrize(("operator", "query", "found"), OPERATORS)
def test_operators(handbook: Workspace, ask, operator, query, found) -> None:
    result = ask(handbook, query, hints=Hints(lexical_operator=operator))
    assert set(names(result)) == found


def test_a_hit_says_everything_about_itself(handbook: Workspace, ask) -> None:
    (hit,) = ask(handbook, "reverses").hits
    assert hit.rank == 1
    assert hit.document_name == "refunds.md"
    assert hit.text == "A refund reverses a payment. See rule AML-17 and `refund_api`."
    assert hit.metadata == {"title": "Refunding a payment"}
    assert hit.span is not None
    assert (hit.span.start, hit.span.end) == (0, len(hit.text))
    assert hit.locator is not None
    assert hit.locator.model_dump() == {
        "type": "text",
        "path": "refunds.md",
        "start": 0,
        "end": len(hit.text),
    }
    assert {kind for kind, value in hit.ids.model_dump().items() if value} == {
        "source_id",
        "document_id",
        "revision_id",
        "unit_id",
        "file_id",
    }
    assert hit.channels["lexical"].rank == 1
    assert hit.channels["lexical"].score == hit.score


def test_the_same_query_gives_the_same_bytes(handbook: Workspace, ask) -> None:
    first = ask(handbook, "payment charge fee", trace=True)
    assert (
        first.model_dump_json() == ask(handbook, "payment charge fee", trace=True).model_dump_json()
    )


def test_ties_are_settled_by_unit_id(workspace: Workspace, ask) -> None:
    documents = [{"path": f"{n}.txt", "text": "the same words"} for n in range(50)]
    workspace.ingest_corpus({"sources": [{"key": "s", "documents": documents}]})
    every = ask(workspace, "words", limit=50)
    ids = [hit.ids.unit_id for hit in every.hits]
    assert ids == sorted(ids)
    assert len(ids) == 50
    top = ask(workspace, "same words", limit=7, overrides={"hints": Hints(candidates=7)})
    assert [hit.ids.unit_id for hit in top.hits] == ids[:7]


class TestRestrictions:
    def test_each_kind(self, handbook: Workspace, ask) -> None:
        hits = {hit.document_name: hit.ids for hit in ask(handbook, "payment").hits}
        assert set(hits) == {"refunds.md", "charges.md", "old/charges.md"}
        for kind in ("source", "document", "revision"):
            wanted = getattr(hits["old/charges.md"], f"{kind}_id")
            found = ask(handbook, "payment", **{f"{kind}_ids": (wanted,)})
            assert names(found) == ["old/charges.md"]

    def test_they_combine_by_and(self, handbook: Workspace, ask) -> None:
        hits = {hit.document_name: hit.ids for hit in ask(handbook, "payment").hits}
        result = ask(
            handbook,
            "payment",
            source_ids=(hits["charges.md"].source_id,),
            document_ids=(hits["old/charges.md"].document_id,),
        )
        assert names(result) == []

    def test_an_unknown_id_finds_nothing(self, handbook: Workspace, ask) -> None:
        assert names(ask(handbook, "payment", source_ids=("src_unknown",))) == []

    def test_the_scope_narrows_every_request(self, handbook: Workspace, ask) -> None:
        archive = handbook.resolve_scope(["archive"])
        handbook_scope = handbook.resolve_scope(["handbook"])
        assert names(ask(handbook, "payment", scope=archive)) == ["old/charges.md"]
        asked = ask(handbook, "payment", scope=archive, source_ids=handbook_scope.source_ids)
        assert names(asked) == []

    def test_a_restriction_leaves_the_scores_alone(self, handbook: Workspace, ask) -> None:
        free = {hit.document_name: hit.score for hit in ask(handbook, "payment").hits}
        scope = handbook.resolve_scope(["archive"])
        (hit,) = ask(handbook, "payment", scope=scope).hits
        assert hit.score == free["old/charges.md"]

    def test_a_restricted_search_is_not_cut_before_it_is_restricted(
        self, workspace: Workspace, ask
    ) -> None:
        crowd = [{"path": f"{n}.txt", "text": "fee fee fee"} for n in range(300)]
        rare = [{"path": "rare.txt", "text": "a fee among many other words of no interest"}]
        workspace.ingest_corpus(
            {"sources": [{"key": "a", "documents": crowd}, {"key": "b", "documents": rare}]}
        )
        result = ask(workspace, "fee", scope=workspace.resolve_scope(["b"]), limit=1)
        assert names(result) == ["rare.txt"]

    def test_modalities_filter_kinds_of_hits(self, handbook: Workspace, ask) -> None:
        assert names(ask(handbook, "cheque", modalities=("text",))) == ["old/charges.md"]
        assert names(ask(handbook, "cheque", modalities=("image",))) == []


class TestDates:
    DAYS = [
        ("2019-12-31", []),
        ("2020-01-01", ["The fee is two percent."]),
        ("2020-12-31", ["The fee is two percent."]),
        ("2021-01-01", ["The fee is three percent."]),
        ("2031-06-01", ["The fee is three percent."]),
    ]

    @pytest.mark.parametrize(("day", "texts"), DAYS)
    def test_as_of_selects_the_revision_valid_at_the_date(
        self, handbook: Workspace, ask, day, texts
    ) -> None:
        result = ask(handbook, "fee", as_of=dt.date.fromisoformat(day))
        assert [hit.text for hit in result.hits] == texts

    def test_without_a_date_every_pinned_revision_is_found(self, handbook: Workspace, ask) -> None:
        assert len(ask(handbook, "fee").hits) == 2

    def test_documents_without_dates_hold_always(self, handbook: Workspace, ask) -> None:
        assert names(ask(handbook, "cheque", as_of=dt.date(1900, 1, 1))) == ["old/charges.md"]

    def test_where_periods_overlap_the_later_one_holds(self, workspace: Workspace, ask) -> None:
        documents = [
            {"path": "a", "text": "fee one", "effective_from": "2020-01-01"},
            {"path": "a", "text": "fee two", "effective_from": "2021-01-01"},
            {"path": "a", "text": "fee draft"},
        ]
        workspace.ingest_corpus({"sources": [{"key": "s", "documents": documents}]})
        texts = {
            day: [hit.text for hit in ask(workspace, "fee", as_of=dt.date(day, 6, 1)).hits]
            for day in (2019, 2020, 2021)
        }
        assert texts == {2019: ["fee draft"], 2020: ["fee one"], 2021: ["fee two"]}


class TestExactIdentifiers:
    def test_exact_hits_come_first(self, handbook: Workspace, ask) -> None:
        result = ask(handbook, "cheque", exact_identifiers=("AML-17",))
        assert names(result) == ["refunds.md", "old/charges.md"]
        assert result.hits[0].metadata["exact_identifiers"] == 1

    def test_exact_only_returns_nothing_else(self, handbook: Workspace, ask) -> None:
        result = ask(handbook, "cheque", exact_identifiers=("AML-17",), exact_only=True)
        assert names(result) == ["refunds.md"]

    FOUND = [("AML-17", 1), ("refund_api", 1), ("aml-17", 0), ("AML", 0), ("AML-1", 0), ("api", 0)]

    @pytest.mark.parametrize(("identifier", "n"), FOUND)
    def test_case_and_borders_count(self, handbook: Workspace, ask, identifier, n) -> None:
        result = ask(handbook, "x", exact_identifiers=(identifier,), exact_only=True)
        assert len(result.hits) == n

    def test_more_identifiers_rank_higher(self, workspace: Workspace, ask) -> None:
        documents = [
            {"path": "one", "text": "`alpha` alpha words words words"},
            {"path": "two", "text": "`alpha` and `beta`"},
        ]
        workspace.ingest_corpus({"sources": [{"key": "s", "documents": documents}]})
        result = ask(workspace, "words", exact_identifiers=("alpha", "beta"), exact_only=True)
        assert names(result) == ["two", "one"]

    def test_restrictions_hold_for_exact_hits(self, handbook: Workspace, ask) -> None:
        scope = handbook.resolve_scope(["archive"])
        result = ask(handbook, "cheque", scope=scope, exact_identifiers=("AML-17",))
        assert names(result) == ["old/charges.md"]

    def test_an_identifier_that_stands_nowhere_names_the_whole_document(
        self, workspace: Workspace, ask
    ) -> None:
        workspace.ingest_corpus(
            {
                "sources": [
                    {
                        "key": "s",
                        "documents": [{"path": "p", "text": "words", "identifiers": ["ISO 9001"]}],
                    }
                ]
            }
        )
        result = ask(workspace, "x", exact_identifiers=("ISO 9001",), exact_only=True)
        assert names(result) == ["p"]


class TestUnavailable:
    CONTROLS = [
        ({"mode": "semantic"}, "no text index"),
        ({"mode": "hybrid"}, "no text index"),
        ({"channels": ("image",)}, "no image index"),
        ({"channels": ("lexical", "structural_graph")}, "no structural_graph index"),
        ({"rerank": True, "hints": Hints(reranker="bge")}, "no reranker 'bge'"),
        ({"channels": ("bm42",)}, "no channel 'bm42'"),
        ({"hints": Hints(language="fi")}, "no index lexical:stem-fi"),
        ({"hints": Hints(lexical_index="lexical:stem-tr")}, "no index lexical:stem-tr"),
        ({"hints": Hints(system_options={"a": 1})}, "system_options"),
    ]

    @pytest.mark.parametrize(("overrides", "message"), CONTROLS)
    def test_what_is_missing_is_said(self, handbook: Workspace, ask, overrides, message) -> None:
        with pytest.raises(CapabilityError, match=message):
            ask(handbook, "payment", overrides=overrides)

    def test_the_command_that_builds_it_is_named(self, handbook: Workspace, ask) -> None:
        with pytest.raises(CapabilityError, match="evalnb index lexical:stem-fi --workspace"):
            ask(handbook, "payment", hints=Hints(language="fi"))


class TestCandidatesAndTrace:
    def test_candidates_are_kept_past_the_limit(self, handbook: Workspace, ask) -> None:
        result = ask(handbook, "payment", limit=1)
        kept = result.candidates["lexical"]
        assert len(result.hits) == 1
        assert len(kept.ids) == len(kept.scores) == 3
        assert kept.ids[0] == result.hits[0].ids.unit_id
        assert list(kept.scores) == sorted(kept.scores, reverse=True)

    def test_the_pool_is_what_the_hint_says_or_the_limit(self, workspace: Workspace, ask) -> None:
        documents = [{"path": str(n), "text": f"word {n}"} for n in range(150)]
        workspace.ingest_corpus({"sources": [{"key": "s", "documents": documents}]})
        sizes = {
            (candidates, limit): len(
                ask(workspace, "word", limit=limit, hints=Hints(candidates=candidates))
                .candidates["lexical"]
                .ids
            )
            for candidates, limit in ((None, 10), (20, 10), (20, 40))
        }
        assert sizes == {(None, 10): 100, (20, 10): 20, (20, 40): 40}

    def test_no_trace_unless_asked(self, handbook: Workspace, ask) -> None:
        assert ask(handbook, "payment").trace is None

    def test_the_trace_says_what_was_decided(self, handbook: Workspace, ask) -> None:
        result = ask(
            handbook,
            "payment fee",
            scope=handbook.resolve_scope(["archive"]),
            as_of=dt.date(2022, 1, 1),
            limit=1,
            trace=True,
        )
        assert result.trace is not None
        steps = [(decision.step, decision.detail) for decision in result.trace.decisions]
        assert steps == [
            ("restrict", "source: 1 allowed; revision: 1 not valid at the date"),
            ("lexical", "lexical:plain, any: payment fee -> 2 candidates"),
            ("cut", "limit 1 of 2"),
        ]
        assert len(result.trace.decisions[-1].ids) == 1


def test_scope_of_unknown_names(handbook: Workspace) -> None:
    assert handbook.resolve_scope([], []) == Scope()
