"""Phrases find their passage whatever it is cut into, and say where in the original text."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.gold.cases import GoldCase
from evalnb.gold.labels import INVISIBLE, ContentExpectation
from evalnb.measures.content import fold, match_content, matching_units
from evalnb.search.request import QueryRequest
from evalnb.search.system import Unit


def _case(*entries: ContentExpectation | str, language: str | None = None) -> GoldCase:
    content = tuple(
        ContentExpectation(content_contains=(entry,)) if isinstance(entry, str) else entry
        for entry in entries
    )
    return GoldCase(
        case_id="c",
        split="development",
        request=QueryRequest(query="q"),
        content=content,
        language=language,
    )


# phrase, text, language, the part of the text that matches
MATCHES = [
    ("revenue grew", "In Q3 Revenue\n  GREW fast", None, "Revenue\n  GREW"),
    ("revenue grew", "In Q3 revenue fell", None, None),
    ("Efficient models", "Sure, Eﬃcient models", None, "Eﬃcient models"),
    ("ﬁnal", "the final word", None, "final"),
    ("sürdürür", "O su\u0308rdu\u0308ru\u0308r!", None, "su\u0308rdu\u0308ru\u0308r"),
    ("cooperate", "co\u00adoper\u200bate", None, "co\u00adoper\u200bate"),
    ("a b", "a\u00a0\u3000b", None, "a\u00a0\u3000b"),
    ("a b", "a\t\r\n b", None, "a\t\r\n b"),
    ("straße", "STRASSE", None, "STRASSE"),
    ("STRASSE", "die Straße dort", None, "Straße"),
    ("½", "1⁄2 cup", None, "1⁄2"),
    ("Ａ１", "a1", None, "a1"),
    ("ガ", "カ\u3099", None, "カ\u3099"),
    ("가", "\u1100\u1161", None, "\u1100\u1161"),
    ("gelirleri", "GELİRLERİ arttı", None, "GELİRLERİ"),
    ("gelirleri", "GELI\u0307RLERI\u0307 arttı", None, "GELI\u0307RLERI\u0307"),
    ("İstanbul", "istanbul", None, "istanbul"),
    ("istanbul", "İSTANBUL", "en", "İSTANBUL"),
    ("kadın", "KADIN", "tr", "KADIN"),
    ("kadın", "KADIN", "tr-TR", "KADIN"),
    ("kadın", "KADIN", "az", "KADIN"),
    ("kadın", "KADIN", "en", None),
    ("kadın", "KADIN", None, "KADIN"),
    ("KADIN", "kadın", None, "kadın"),
    ("DIŞ", "dış", None, "dış"),
    ("title", "TITLE", "tr", None),
    ("title", "TITLE", None, "TITLE"),
    ("title", "TITLE ş", None, "TITLE"),
    ("x", "", None, None),
    ("x", " \u200b ", None, None),
    ("x", None, None, None),
]  # fmt: skip


@pytest.mark.parametrize(("phrase", "text", "language", "part"), MATCHES)
def test_phrases(phrase: str, text: str | None, language: str | None, part: str | None) -> None:
    spans = match_content(_case(phrase, language=language), "doc", text)
    found = None if spans is None else [(text or "")[start:end] for start, end in spans]
    assert found == (None if part is None else [part])


def test_every_occurrence_of_every_phrase_is_reported_in_order() -> None:
    entry = ContentExpectation(content_contains=("grew", "fell", "absent"))
    assert match_content(_case(entry), None, "it fell, grew, GREW") == ((3, 7), (9, 13), (15, 19))


REPORT = ContentExpectation(document="Report", content_contains=("revenue",))
NAME_ONLY = ContentExpectation(document="report.PDF")


@pytest.mark.parametrize(
    ("entries", "name", "text", "spans"),
    [
        ([REPORT], "q3-report.pdf", "revenue", ((0, 7),)),
        ([REPORT], "notes.txt", "revenue", None),
        ([REPORT], "q3-report.pdf", "costs", None),
        ([REPORT], None, "revenue", None),
        ([NAME_ONLY], "q3-Report.pdf", "anything", ()),
        ([NAME_ONLY], "q3-Report.pdf", None, ()),
        ([NAME_ONLY], "q3-Report.pdf", "", None),
        ([REPORT, "costs"], "notes.txt", "the costs", ((4, 9),)),
    ],
)
def test_an_entry_asks_for_name_and_phrase_and_entries_are_alternatives(
    entries: list[ContentExpectation | str],
    name: str | None,
    text: str | None,
    spans: tuple[tuple[int, int], ...] | None,
) -> None:
    assert match_content(_case(*entries), name, text) == spans


def test_the_units_of_a_corpus_in_one_pass() -> None:
    units = [
        Unit("u1", "d", "report.pdf", "Revenue grew"),
        Unit("u2", "d", "report.pdf", ""),
        Unit("u3", "d", "notes.txt", "revenue\u00a0GREW again"),
    ]
    cases = [
        _case("revenue grew"),
        _case(NAME_ONLY).model_copy(update={"case_id": "named"}),
        _case("nowhere").model_copy(update={"case_id": "missed"}),
    ]
    found = matching_units(cases, iter(units))
    assert found == {"c": ("u1", "u3"), "named": ("u1",), "missed": ()}


_READABLE = st.characters(codec="utf-8", exclude_characters="\x00")  # what gold may hold


@given(st.text(_READABLE, max_size=6) | st.text(f"{INVISIBLE} \u00a0\u3000i\u0307", max_size=4))
def test_gold_takes_the_phrases_of_which_something_is_left(phrase: str) -> None:
    if fold(phrase).plain:
        _case(phrase)
    else:
        with pytest.raises(ValueError, match="an empty phrase would match every text"):
            _case(phrase)


_TRICKY = st.text(
    "iİIıI\u0307\u0301 \u00ad\u200b\t\u00a0ﬁeEﾞカ각\u1100\u1161\u11a8ßΣςſK½a", max_size=14
)


@given(_TRICKY | st.text(max_size=10), _TRICKY.filter(lambda s: bool(fold(s).plain)), st.data())
def test_a_reported_span_holds_the_phrase(text: str, phrase: str, data: st.DataObject) -> None:
    whole = text + phrase + text
    language = data.draw(st.sampled_from([None, "tr", "en"]))
    spans = match_content(_case(phrase, language=language), None, whole)
    for start, end in spans or ():
        assert 0 <= start < end <= len(whole)
        assert match_content(_case(phrase, language=language), None, whole[start:end]) is not None


@given(
    _TRICKY.filter(lambda s: bool(fold(s).plain)), st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"])
)
def test_every_form_of_a_text_matches_itself(text: str, form: str) -> None:
    other = unicodedata.normalize(form, text)  # type: ignore[arg-type]
    assert match_content(_case(text), None, other) is not None
