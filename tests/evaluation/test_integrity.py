"""A pinned corpus during a comparison: quotes, bounds of reading, changes underneath."""

from __future__ import annotations

import hashlib

import pytest

from evalnb.api import Limits, evaluate, open_workspace
from evalnb.errors import GoldError, InvalidatedError, LimitExceededError
from evalnb.evaluation.integrity import check_span
from evalnb.gold.cases import GoldCase, dataset_from_cases
from evalnb.gold.labels import GoldSpan
from evalnb.workspace.system import open_workspace as make_workspace

TEXT = "a 😀 straße ends"


def span(start, end, **fields):
    return GoldSpan(revision_id="rev_1", start=start, end=end, **fields)


def test_a_quote_that_stands_at_its_span_is_fine():
    check_span("c", span(4, 10, quote="straße"), TEXT)
    check_span("c", span(4, 10, text_sha256=hashlib.sha256("straße".encode()).hexdigest()), TEXT)


@pytest.mark.parametrize(
    ("labelled", "says"),
    [
        (span(5, 11, quote="straße"), "the numbers count UTF-16 units"),
        (span(7, 14, quote="straße"), "the numbers count UTF-8 bytes"),
        (span(0, 6, quote="straße"), "there stands 'a 😀 st'.*half-open codepoint"),
        (span(40, 46, quote="straße"), "there stands ''"),
        (span(4, 10, text_sha256="0" * 64), "another digest"),
    ],
)
def test_a_quote_elsewhere_says_how_the_numbers_were_counted(labelled, says):
    with pytest.raises(GoldError, match=f"case c.*{says}"):
        check_span("c", labelled, TEXT)


@pytest.fixture
def workspace(tmp_path):
    made = make_workspace(tmp_path / "ws", create=True)
    documents = [
        {"path": f"{n}.txt", "title": f"t{n}", "text": f"word{n} {TEXT}"} for n in range(4)
    ]
    made.ingest_corpus({"sources": [{"key": "s", "documents": documents}]})
    return open_workspace(tmp_path / "ws")


def gold_for(workspace, **fields):
    return dataset_from_cases(
        (
            GoldCase(
                case_id="c",
                split="development",
                request={"query": "word1 ends"},
                content=[{"content_contains": "word1"}],
                **fields,
            ),
        ),
        dataset_id="g",
    )


def test_every_returned_locator_is_verified(workspace):
    record = evaluate(gold_for(workspace), {"keyword": workspace}).record
    assert (record.integrity.ok, record.integrity.n_checked) == (True, 1)
    assert record.cuts["keyword"].snapshot_id == workspace.snapshot().snapshot_id
    assert list(record.content_units["keyword"]) == ["c"]


def test_gold_with_a_wrong_quote_is_refused_before_the_first_search(workspace):
    hit = evaluate(gold_for(workspace), {"keyword": workspace}).record.results[0].result.hits[0]
    wrong = GoldSpan(revision_id=hit.ids.revision_id, start=0, end=5, quote="never")
    with pytest.raises(GoldError, match="'never' does not stand at"):
        evaluate(gold_for(workspace, spans=[wrong]), {"keyword": workspace})
    right = GoldSpan(revision_id=hit.ids.revision_id, start=0, end=5, quote="word1")
    report = evaluate(
        gold_for(workspace, spans=[right]), {"keyword": workspace}, measures=["SpanCompleteness"]
    )
    assert report.record.aggregates[0].mean == 1.0


@pytest.mark.parametrize("bound", ["hydration_bytes", "hydration_rows"])
def test_reading_past_a_bound_is_refused(workspace, bound):
    with pytest.raises(LimitExceededError, match=bound):
        evaluate(gold_for(workspace), {"keyword": workspace}, limits=Limits(**{bound: 1}))


def test_a_changed_corpus_invalidates_the_comparison(workspace):
    inner = workspace.open

    class Changing:
        """The workspace, with a policy that changes while the comparison runs."""

        capabilities, check = workspace.capabilities, workspace.check

        def open(self, context):
            session = inner(context)
            search, cut = session.search, session.cut()
            cuts = [cut]

            def searching(request, controls):
                cuts.append(cut.model_copy(update={"epochs": {"policy": 2}}))
                return search(request, controls)

            session.search, session.cut = searching, lambda: cuts[-1]
            return session

    with pytest.raises(InvalidatedError, match="changed while it was measured"):
        evaluate(gold_for(workspace), {"keyword": Changing()})
