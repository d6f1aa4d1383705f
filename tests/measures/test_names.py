"""One spelling is stored; every spelling of the field is read."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.errors import BadInputError, UnknownMeasureError
from evalnb.measures.names import FAMILIES, TREC_CUTOFFS, Measure, parse_measure, parse_measures
from evalnb.search.result import KINDS

CANONICAL = [
    "nDCG@10", "nDCG(dcg='exp-log2')@10", "nDCG", "RR", "RR@10", "R@5", "P@5", "P(rel=2)@5", "AP",
    "AP@100", "Success@5", "Judged@10", "Rprec", "Rprec(rel=3)", "Bpref", "SpanCompleteness",
    "LocatorValidity", "ForbiddenLeakage", "ForbiddenCandidates", "PathP", "PathR", "EdgeP",
    "ReferenceResolution", "R@tokens=2000", "Success@tokens=2000", "SpanCompleteness@tokens=2000",
    "file:nDCG@10", "unit:R(rel=2)@5",
]  # fmt: skip

OTHER_SPELLINGS = {
    "ndcg@10": "nDCG@10",
    "NDCG@10": "nDCG@10",
    "ndcg_cut_10": "nDCG@10",
    "ndcg_cut.10": "nDCG@10",
    "ndcg": "nDCG",
    "nDCG(gain=exp)@10": "nDCG(dcg='exp-log2')@10",
    'nDCG(dcg="exp-log2")@10': "nDCG(dcg='exp-log2')@10",
    "nDCG(dcg='log2')@10": "nDCG@10",
    "mrr@10": "RR@10",
    "MRR": "RR",
    "recip_rank": "RR",
    "hit@5": "Success@5",
    "hit_rate@5": "Success@5",
    "success_5": "Success@5",
    "success.5": "Success@5",
    "Success @ 5": "Success@5",
    "recall@10": "R@10",
    "recall_10": "R@10",
    "recall.10": "R@10",
    "map": "AP",
    "MAP@100": "AP@100",
    "map_cut_100": "AP@100",
    "P_5": "P@5",
    "P.5": "P@5",
    "precision@5": "P@5",
    "P(rel=1)@5": "P@5",
    "P( rel = 2 )@5": "P(rel=2)@5",
    "rprec": "Rprec",
    "R_prec": "Rprec",
    "bpref": "Bpref",
    "judged_10": "Judged@10",
    "span_completeness": "SpanCompleteness",
    "FILE:ndcg@10": "file:nDCG@10",
}


@pytest.mark.parametrize("name", CANONICAL)
def test_canonical_names_print_as_they_were_read(name: str) -> None:
    assert str(parse_measure(name)) == name


@pytest.mark.parametrize(("spelling", "canonical"), OTHER_SPELLINGS.items())
def test_other_spellings(spelling: str, canonical: str) -> None:
    assert str(parse_measure(spelling)) == canonical


def test_parameters_are_fields() -> None:
    assert parse_measure("file:P(rel=2)@5") == Measure("P", rel=2, k=5, kind="file")
    assert parse_measure("R@tokens=2000") == Measure("R", tokens=2000)
    assert parse_measure("nDCG(gain=exp)") == Measure("nDCG", dcg="exp-log2")


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (["ndcg_cut.5,10"], ["nDCG@5", "nDCG@10"]),
        (["P.5,10", "map"], ["P@5", "P@10", "AP"]),
        (["AP, RR@10 P@5"], ["AP", "RR@10", "P@5"]),
        (["nDCG(dcg='exp-log2')@10,AP"], ["nDCG(dcg='exp-log2')@10", "AP"]),
        (["AP", "map", "MAP"], ["AP"]),
        (["map_cut"], [f"AP@{k}" for k in TREC_CUTOFFS]),
        (["ndcg_cut"], [f"nDCG@{k}" for k in TREC_CUTOFFS]),
        ([], []),
    ],
)
def test_several_names(texts: list[str], names: list[str]) -> None:
    assert [str(measure) for measure in parse_measures(*texts)] == names


@pytest.mark.parametrize(
    ("name", "near"),
    [("ndgc@10", "nDCG"), ("recal@5", "R"), ("SpanCompletness", "SpanCompleteness"), ("mp", "AP")],
)
def test_unknown_names_list_near_ones(name: str, near: str) -> None:
    with pytest.raises(UnknownMeasureError, match=rf"near names: .*\b{near}\b") as caught:
        parse_measure(name)
    assert repr(name) in str(caught.value)


@pytest.mark.parametrize("name", ["", "xyzzy", "official", "all_trec", "nDCG@1e3", "P@-1", "P@٣"])
def test_other_unknown_names(name: str) -> None:
    with pytest.raises(UnknownMeasureError):
        parse_measure(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nDCG@0", "at least 1"),
        ("nDCG(rel=2)@10", "no relevance level touches it"),
        ("P(rel=0)@5", "must be 1 to 100"),
        ("P(rel=101)@5", "must be 1 to 100"),
        ("P(rel=1.5)@5", "does not take 'rel=1.5'"),
        ("P(dcg=exp)@5", "does not take 'dcg=exp'"),
        ("nDCG(dcg=cubic)@5", "does not take 'dcg=cubic'"),
        ("Rprec@5", "takes no cutoff"),
        ("PathP@5", "takes no cutoff"),
        ("P@tokens=200", "measures that have one: R, Success, SpanCompleteness"),
        ("chunk:P@5", "no kind of id"),
        ("unit:PathP", "reads no ranking"),
        ("P@5,10", "names 2 measures"),
    ],
)
def test_refusals(name: str, message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        parse_measure(name)


def test_a_name_is_a_text() -> None:
    with pytest.raises(BadInputError, match="a measure is named by a text such as nDCG@10, not 3"):
        parse_measures("AP", 3)  # type: ignore[arg-type]


def test_directions_and_ranges() -> None:
    lower = {name for name in FAMILIES if not Measure(name).higher_is_better}
    binary = {name for name in FAMILIES if Measure(name).binary}
    assert lower == {"ForbiddenLeakage", "ForbiddenCandidates"}
    assert binary == {"Success"}
    assert all(Measure(name).bounded for name in FAMILIES)
    assert [name for name in FAMILIES if Measure(name).informational] == ["ForbiddenCandidates"]


@pytest.mark.parametrize(
    ("name", "at_two"),
    [("P@5", "P(rel=2)@5"), ("P(rel=3)@5", "P(rel=3)@5"), ("nDCG@10", "nDCG@10")],
)
def test_a_level_reaches_the_measures_that_have_one(name: str, at_two: str) -> None:
    assert str(parse_measure(name).at_level(2)) == at_two


@st.composite
def _measures(draw: st.DrawFn) -> Measure:
    name = draw(st.sampled_from(sorted(FAMILIES)))
    family = FAMILIES[name]
    size = st.integers(1, 10**6)
    cut = draw(st.sampled_from(["none"] + ["k"] * family.cutoff + ["tokens"] * family.tokens))
    return Measure(
        name,
        rel=draw(st.integers(1, 100)) if family.rel else 1,
        dcg=draw(st.sampled_from(["log2", "exp-log2"])) if family.dcg else "log2",
        k=draw(size) if cut == "k" else None,
        tokens=draw(size) if cut == "tokens" else None,
        kind=draw(st.none() | st.sampled_from(KINDS)) if family.ranked else None,
    )


@given(_measures())
def test_every_measure_prints_and_parses_back(measure: Measure) -> None:
    assert parse_measure(str(measure)) == measure


@given(st.text(max_size=30))
def test_any_text_is_a_measure_or_a_typed_error(text: str) -> None:
    with suppress(BadInputError):
        assert all(isinstance(measure, Measure) for measure in parse_measures(text))
