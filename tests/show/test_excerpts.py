"""Where a text is cut, and what stays marked in it."""

from __future__ import annotations

import pytest

from evalnb.show.excerpts import cut_excerpt


@pytest.mark.parametrize(
    ("spans", "size", "marked", "before", "after"),
    [
        ([], 10, [], 0, 90),
        ([(50, 53)], 10, ["b" * 3], 47, 43),
        ([(0, 100)], 10, ["a" * 10], 0, 90),
        ([(95, 100)], 10, ["a" * 5], 90, 0),
        ([(50, 53), (51, 55)], 100, ["bbb", "aa"], 0, 0),
    ],
)
def test_a_cut_keeps_the_first_mark_and_counts_the_rest(
    spans: list[tuple[int, int]], size: int, marked: list[str], before: int, after: int
) -> None:
    text = "a" * 50 + "b" * 3 + "a" * 47
    excerpt = cut_excerpt(text, spans, size)
    assert (excerpt.n_before, excerpt.n_after) == (before, after)
    found = [piece for piece, is_marked in excerpt.pieces if is_marked]
    assert [set(piece) for piece in found] == [set(piece) for piece in marked] or found == marked
    assert sum(len(piece) for piece, _ in excerpt.pieces) == min(size, len(text))
