"""Units are exact spans: by headings, by size, on word borders, with overlap."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evalnb.workspace.chunking import Chunking, Heading, heading_paths


def cut(text: str, headings: tuple[Heading, ...] = (), **how) -> list[str]:
    return [text[start:end] for start, end in Chunking(**how).spans(text, headings)]


BY_SIZE = [
    # text, size, overlap, units
    ("", 10, 0, []),
    (" \n\t ", 10, 0, []),
    ("one", 10, 0, ["one"]),
    ("  one  ", 10, 0, ["one"]),
    ("aaa bbb ccc", 7, 0, ["aaa bbb", "ccc"]),  # a word that ends on the border is whole
    ("aaa bbbb ccc", 7, 0, ["aaa", "bbbb", "ccc"]),
    ("aaaaaaaaaaaa bb", 5, 0, ["aaaaa", "aaaaa", "aa bb"]),  # nothing to cut at
    ("aa bb cc dd ee", 8, 3, ["aa bb cc", "cc dd ee"]),
    ("a aa aa", 4, 2, ["a aa", "aa"]),  # an overlap that would fill the unit is left out
    ("a b c BBBBBBBB d", 8, 3, ["a b c", "BBBBBBBB", "d"]),
    ("aa bb cc dd ee", 8, 4, ["aa bb cc", "cc dd ee"]),  # the overlap is whole words
    ("One two. Three four.", 15, 0, ["One two.", "Three four."]),
    ("One two.\n\nThree. Four", 15, 0, ["One two.", "Three. Four"]),  # paragraph before sentence
    ("Bir iki üç! Dört beş.", 20, 0, ["Bir iki üç!", "Dört beş."]),
]


@pytest.mark.parametrize(("text", "size", "overlap", "units"), BY_SIZE)
def test_by_size(text: str, size: int, overlap: int, units: list[str]) -> None:
    assert cut(text, chunker="size", size=size, overlap=overlap) == units


GUIDE = "intro\n# A\nabout a\n## B\nabout b\n## C\n### D\nabout d"
GUIDE_HEADINGS = tuple(
    Heading(GUIDE.index(f"{'#' * level} {title}"), level, title)
    for level, title in ((1, "A"), (2, "B"), (2, "C"), (3, "D"))
)


def test_by_headings() -> None:
    assert cut(GUIDE, GUIDE_HEADINGS, chunker="headings", size=100, overlap=0) == [
        "intro",
        "# A\nabout a",
        "## B\nabout b",
        "## C\n### D\nabout d",  # a heading without a body stays with the next
    ]


def test_a_section_longer_than_the_size_is_cut_by_size() -> None:
    text = "# A\none two three four five\n# B\nsix"
    headings = (Heading(0, 1, "A"), Heading(text.index("# B"), 1, "B"))
    assert cut(text, headings, chunker="headings", size=14, overlap=0) == [
        "# A\none two",
        "three four",
        "five",
        "# B\nsix",
    ]


def test_headings_mean_nothing_to_the_size_chunker() -> None:
    assert cut(GUIDE, GUIDE_HEADINGS, chunker="size", size=1_000, overlap=0) == [GUIDE]


PATHS = [
    ("intro", ()),
    ("about a", ("A",)),
    ("about b", ("A", "B")),
    ("about d", ("A", "C", "D")),
]


@pytest.mark.parametrize(("place", "path"), PATHS)
def test_heading_path(place: str, path: tuple[str, ...]) -> None:
    assert list(heading_paths(GUIDE_HEADINGS, [GUIDE.index(place)])) == [path]


def test_heading_paths_in_one_pass() -> None:
    positions = [GUIDE.index(place) for place, _ in PATHS]
    assert list(heading_paths(GUIDE_HEADINGS, positions)) == [path for _, path in PATHS]


words = st.text(alphabet="ab .\n\tçİ中😀", max_size=300)


@given(text=words, size=st.integers(1, 60), share=st.floats(0, 0.5))
@example(text="a aa aa", size=4, share=0.5)
def test_spans_cover_all_ink_in_order(text: str, size: int, share: float) -> None:
    overlap = int(size * share)
    spans = list(Chunking(chunker="size", size=size, overlap=overlap).spans(text))
    covered: set[int] = set()
    for start, end in spans:
        assert 0 < end - start <= size
        assert text[start:end] == text[start:end].strip()
        covered |= set(range(start, end))
    assert {at for at, c in enumerate(text) if not c.isspace()} <= covered
    assert spans == sorted(set(spans))
    assert [end for _, end in spans] == sorted({end for _, end in spans})


@given(text=words, size=st.integers(1, 60))
def test_without_overlap_nothing_is_repeated(text: str, size: int) -> None:
    spans = list(Chunking(chunker="size", size=size, overlap=0).spans(text))
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


def test_a_long_text_takes_time_in_proportion_to_its_length() -> None:
    text = "word " * 400_000  # with quadratic copying this would take minutes
    assert len(list(Chunking(chunker="size", size=1_000, overlap=100).spans(text))) > 2_000
