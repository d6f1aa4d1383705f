"""How text becomes tokens, the same on the side of the documents and on the side of the query.

Letters are folded here, in Unicode's terms and with the Turkish rule where the language asks for
it; tantivy then only splits and stems. Its own lower-casing would turn ``İ`` into two codepoints.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import asdict, dataclass

import tantivy

from evalnb.errors import BadInputError

STEMMERS = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
TURKISH_CASE = frozenset({"tr", "az"})  # I is the capital of ı, İ of i
PLAIN = "lexical:plain"

_INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")  # soft hyphen, zero-width characters
# Scripts written without spaces: each character is a token, so that any part of a text is found.
_UNSPACED = re.compile("([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])")
_NAME = re.compile(r"lexical:(?:plain|(stem|plain)-([a-z]{2,3}))")


def fold(text: str, *, turkish: bool = False) -> str:
    """Bring letters to one form: NFKC, no invisible characters, no case.

    >>> fold("Efﬁcient ÇALIŞMA", turkish=True)
    'efficient çalışma'
    """
    if text.isascii():
        return (text.replace("I", "ı") if turkish else text).lower()
    text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    if turkish:
        text = text.replace("I", "ı").replace("İ", "i")
    text = text.casefold().replace("i\u0307", "i")
    return _UNSPACED.sub(r" \1 ", unicodedata.normalize("NFKC", text))


@dataclass(frozen=True, slots=True)
class Analysis:
    """The settings of one analyzer; they enter the identity of every index built with them."""

    stemmer: str | None = None
    turkish: bool = False
    tokenizer: str = "alphanumeric runs"
    folding: str = "nfkc-casefold-1"

    def settings(self) -> dict[str, str | bool | None]:
        """Return the settings by name."""
        return asdict(self)

    def fold(self, text: str) -> str:
        """Bring letters to the form that :meth:`analyzer` splits."""
        return fold(text, turkish=self.turkish)

    def analyzer(self) -> tantivy.TextAnalyzer:
        """Build the splitter and stemmer for folded text."""
        builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        if self.stemmer is not None:
            builder = builder.filter(tantivy.Filter.stemmer(self.stemmer))
        return builder.build()


def lexical_index_name(language: str | None) -> str:
    """Name the lexical index that serves a language.

    A language with a stemmer has ``lexical:stem-XX``; Azerbaijani, which has none but shares the
    Turkish case rule, ``lexical:plain-az``; every other one, and no language, ``lexical:plain``.

    >>> lexical_index_name("tr-TR"), lexical_index_name("ja"), lexical_index_name(None)
    ('lexical:stem-tr', 'lexical:plain', 'lexical:plain')
    """
    if language is None:
        return PLAIN
    primary = re.split("[-_]", language.strip().casefold(), maxsplit=1)[0]  # of tr-TR, tr
    if primary in STEMMERS:
        return f"lexical:stem-{primary}"
    return f"{PLAIN}-{primary}" if primary in TURKISH_CASE else PLAIN


def analysis_of(name: str) -> Analysis:
    """Return the analyzer of a lexical index by its name.

    Raises
    ------
    BadInputError
        If no lexical index has this name.
    """
    found = _NAME.fullmatch(name)
    if found is None or (found[1] == "stem" and found[2] not in STEMMERS):
        raise BadInputError(
            f"no lexical index is called {name!r}",
            remedy=f"{PLAIN}, {PLAIN}-tr, or lexical:stem-XX with XX one of {' '.join(STEMMERS)}"
            + ("" if ":" in name else "; names of text indexes begin with text:"),
        )
    language = found[2]
    stemmer = STEMMERS[language] if found[1] == "stem" else None
    return Analysis(stemmer=stemmer, turkish=language in TURKISH_CASE)
