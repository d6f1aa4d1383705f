"""Folding and stemming are the same for documents and queries, Turkish rules included."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.errors import BadInputError
from evalnb.workspace.analysis import (
    STEMMERS,
    TURKISH_CASE,
    analysis_of,
    fold,
    lexical_index_name,
)

FOLDED = [
    # text, plain, turkish
    ("ISTANBUL", "istanbul", "ıstanbul"),
    ("İSTANBUL", "istanbul", "istanbul"),
    ("I\u0307STANBUL", "istanbul", "istanbul"),  # the dot as a character of its own
    ("ılık", "ılık", "ılık"),
    ("Straße", "strasse", "strasse"),
    ("Eﬃcient", "efficient", "efficient"),
    ("Su\u0308r", "sür", "sür"),
    ("soft\u00adhyphen", "softhyphen", "softhyphen"),
    ("zero\u200bwidth", "zerowidth", "zerowidth"),
    ("ΣΊΣΥΦΟΣ", "σίσυφοσ", "σίσυφοσ"),
    ("２０２６", "2026", "2026"),
    ("日本語x", " 日  本  語 x", " 日  本  語 x"),
]


@pytest.mark.parametrize(("text", "plain", "turkish"), FOLDED)
def test_fold(text: str, plain: str, turkish: str) -> None:
    assert fold(text) == plain
    assert fold(text, turkish=True) == turkish


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_folding_twice_changes_nothing_more(text: str) -> None:
    once = fold(text)
    assert "".join(fold(once).split()) == "".join(once.split())


TOKENS = [
    ("lexical:plain", "Running dogs", ["running", "dogs"]),
    ("lexical:stem-en", "Running dogs", ["run", "dog"]),
    ("lexical:stem-tr", "KIZLARIN kitapları", ["kız", "kitap"]),
    ("lexical:stem-tr", "İLKELERİN", ["ilke"]),
    ("lexical:stem-de", "Häuser", ["haus"]),
    ("lexical:plain-az", "QIZIL", ["qızıl"]),
    ("lexical:plain", "東京へ", ["東", "京", "へ"]),
    ("lexical:plain", "...!?", []),
]


@pytest.mark.parametrize(("name", "text", "tokens"), TOKENS)
def test_tokens(name: str, text: str, tokens: list[str]) -> None:
    analysis = analysis_of(name)
    assert analysis.analyzer().analyze(analysis.fold(text)) == tokens


@pytest.mark.parametrize("language", sorted(STEMMERS))
def test_every_stemmer_exists(language: str) -> None:
    analysis = analysis_of(f"lexical:stem-{language}")
    assert analysis.turkish == (language in TURKISH_CASE)
    assert analysis.analyzer().analyze("a")


NAMES = [
    (None, "lexical:plain"),
    ("en", "lexical:stem-en"),
    ("EN-us", "lexical:stem-en"),
    ("tr_TR", "lexical:stem-tr"),
    ("az", "lexical:plain-az"),
    ("ja", "lexical:plain"),
]


@pytest.mark.parametrize(("language", "name"), NAMES)
def test_the_index_of_a_language(language: str | None, name: str) -> None:
    assert lexical_index_name(language) == name
    analysis_of(name)


@pytest.mark.parametrize("name", ["lexical:stem-xx", "lexical:", "text:lsa", "lexical:stem-en/.."])
def test_unknown_names(name: str) -> None:
    with pytest.raises(BadInputError, match="no lexical index is called"):
        analysis_of(name)


def test_a_name_without_its_kind_says_which_kinds_there_are() -> None:
    with pytest.raises(BadInputError, match="names of text indexes begin with text:"):
        analysis_of("minilm-l6-v2-int8")


def test_every_setting_enters_the_identity() -> None:
    names = ("lexical:plain", "lexical:plain-tr", "lexical:stem-tr", "lexical:stem-en")
    assert len({str(analysis_of(name).settings()) for name in names}) == len(names)
