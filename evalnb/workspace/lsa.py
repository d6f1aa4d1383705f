"""Latent semantic analysis: word weights of the corpus itself, reduced; no model is needed.

It is the weakest of the text indexes, always there, and knows only the words that it was built on.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evalnb.workspace.analysis import fold
from evalnb.workspace.encoders import Floats, Role, unit_length
from evalnb.workspace.vectors import save_array

DIMENSIONS = 256
LSA_SETTINGS = {
    "dimensions": DIMENSIONS,
    "words": "nfkc-casefold-1, dotless i as i, first 6 letters",
    "weights": "(1 + ln n) idf",
    "max_words": 100_000,
    "iterations": 7,
    "seed": 0,
}
VOCABULARY, WEIGHTS, COMPONENTS = "vocabulary.json", "idf.npy", "components.npy"
_WORD = re.compile(r"\w+")
_LETTERS = 6


@dataclass(frozen=True, slots=True)
class LsaEncoder:
    """The fitted space: a word's place and weight, and each word's part of the dimensions.

    Attributes
    ----------
    components
        Shape (words, dimensions).
    """

    vocabulary: dict[str, int]
    idf: Floats
    components: Floats

    def encode(self, texts: Sequence[str], _role: Role) -> Iterator[Floats]:
        """Yield the vector of each text; one without any known word has length 0."""
        for text in texts:
            counts = Counter(word for word in split_words(text) if word in self.vocabulary)
            places = np.array([self.vocabulary[word] for word in counts], dtype=np.intp)
            repeated = np.array(list(counts.values()), dtype=np.float32)
            weights = (1 + np.log(repeated)) * self.idf[places]
            projected: Floats = weights @ self.components[places]
            yield unit_length(projected)

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return int(self.components.shape[1])

    def save(self, folder: Path) -> None:
        """Write the space as arrays and JSON."""
        words = sorted(self.vocabulary, key=self.vocabulary.__getitem__)
        (folder / VOCABULARY).write_text(json.dumps(words, ensure_ascii=False), encoding="utf-8")
        save_array(folder / WEIGHTS, self.idf)
        save_array(folder / COMPONENTS, self.components)


def split_words(text: str) -> list[str]:
    """Cut a text into words, whatever their case, and words to their first letters.

    Cutting stands for stemming in any language; for Turkish it was found as good as a stemmer (Can
    et al. 2008, Information retrieval on Turkish texts). The dotless i counts as i.

    >>> split_words("IŞIK ışıklarında İz")
    ['işik', 'işikla', 'iz']
    """
    return [word[:_LETTERS] for word in _WORD.findall(fold(text).replace("ı", "i"))]


def fit_lsa(texts: Sequence[str]) -> LsaEncoder:
    """Fit the space on texts; the same texts in the same order give the same space.

    A corpus of fewer texts or words than dimensions has fewer dimensions.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    weighing = TfidfVectorizer(
        analyzer=split_words,
        sublinear_tf=True,
        max_features=LSA_SETTINGS["max_words"],
        dtype=np.float32,
    )
    if not any(split_words(text) for text in texts):
        return LsaEncoder({}, np.empty(0, np.float32), np.empty((0, 1), np.float32))
    weighted = weighing.fit_transform(texts)
    rank = min(DIMENSIONS, *weighted.shape)
    if weighted.shape[1] == 1:  # a decomposition takes two words
        components = np.ones((1, 1), dtype=np.float32)
    else:
        iterations, seed = LSA_SETTINGS["iterations"], LSA_SETTINGS["seed"]
        with np.errstate(invalid="ignore"):  # equal texts have no variance for it to divide
            reducing = TruncatedSVD(rank, n_iter=iterations, random_state=seed).fit(weighted)
        components = _signed(reducing.components_.T.astype(np.float32))
    return LsaEncoder(
        {str(word): int(place) for word, place in weighing.vocabulary_.items()},
        weighing.idf_.astype(np.float32),
        np.ascontiguousarray(components),
    )


def load_lsa(folder: Path) -> LsaEncoder:
    """Read a fitted space.

    Raises
    ------
    OSError, ValueError
        If a file is missing, or is not what :meth:`LsaEncoder.save` writes.
    """
    words = json.loads((folder / VOCABULARY).read_bytes())
    idf = np.load(folder / WEIGHTS, allow_pickle=False)
    components = np.load(folder / COMPONENTS, mmap_mode="r", allow_pickle=False)
    if not len(words) == len(idf) == len(components):
        raise ValueError(f"{len(words):,} words, {len(idf):,} weights, {len(components):,} parts")
    return LsaEncoder({word: place for place, word in enumerate(words)}, idf, components)


def _signed(components: Floats) -> Floats:
    """Make each dimension's largest part positive, because a solver's sign is arbitrary."""
    if not components.size:
        return components
    largest = np.abs(components).argmax(axis=0)
    signs = np.sign(components[largest, np.arange(components.shape[1])])
    signed: Floats = components * np.where(signs == 0, np.float32(1), signs).astype(np.float32)
    return signed
