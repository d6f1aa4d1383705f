import numpy as np
import pytest

from evalnb.comparison.signs import (
    SAMPLED_VECTORS,
    flip_signs,
    level_of_rank,
    rank_of_level,
    sampled_blocks,
    share_of_vectors,
    subset_sums,
)


@pytest.mark.parametrize("n_families", [17, 64, 65, 130])
def test_sampled_signs_are_the_bits_of_pcg64(n_families: int) -> None:
    seed, n_vectors = 7, 50
    words = -(-n_families // 64)
    raw = np.random.PCG64(seed).random_raw(n_vectors * words)
    expected = [
        [(int(raw[b * words + f // 64]) >> (f % 64)) & 1 for f in range(n_families)]
        for b in range(n_vectors)
    ]
    blocks = list(sampled_blocks(n_families, seed, n_vectors=n_vectors))
    assert np.concatenate([bits for _, bits in blocks]).tolist() == expected


def test_blocks_continue_one_stream() -> None:
    n_families = 4_000  # 32 MiB hold about 1,000 rows of it
    starts, rows, first = [], 0, {}
    for start, bits in sampled_blocks(n_families, 3, n_vectors=2_500):
        starts.append(start)
        first[start] = bits[0].copy()
        rows += len(bits)
    assert (rows, starts[0], len(starts)) == (2_500, 0, 3)
    raw = np.random.PCG64(3).random_raw(2_500 * 63).reshape(2_500, 63)
    for start in starts:
        assert first[start][5] == (int(raw[start, 0]) >> 5) & 1
        assert first[start][3_999] == (int(raw[start, 62]) >> (3_999 - 62 * 64)) & 1


def test_every_sign_vector_of_few_families() -> None:
    flips = flip_signs(np.array([[1.0, 10.0, 100.0]]), np.array([[1.0, 2.0, 4.0]]), seed=0)
    assert flips.exhaustive
    assert flips.flipped_sums.tolist() == [[0, 1, 10, 11, 100, 101, 110, 111]]
    assert flips.flipped_sizes(0).tolist() == [0, 1, 2, 3, 4, 5, 6, 7]


def test_sampling_starts_at_seventeen_families() -> None:
    assert flip_signs(np.ones((1, 16)), np.ones((1, 16)), seed=0).n_vectors == 2**16
    sampled = flip_signs(np.ones((1, 17)), np.ones((1, 17)), seed=0)
    assert (sampled.n_vectors, sampled.exhaustive) == (SAMPLED_VECTORS, False)


def test_hypotheses_with_other_sizes_get_their_own_product() -> None:
    sizes = np.array([[1.0, 1.0], [2.0, 0.0], [1.0, 1.0]])
    flips = flip_signs(np.zeros((3, 2)), sizes, seed=0)
    found = [flips.flipped_sizes(row).tolist() for row in range(3)]
    assert found == [[0, 1, 1, 2], [0, 2, 0, 2], [0, 1, 1, 2]]
    assert len(flips.distinct_sizes) == 2


def test_subset_sums_keep_leading_axes() -> None:
    assert subset_sums(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist() == [[0, 1, 2, 3], [0, 3, 4, 7]]
    assert subset_sums(np.zeros((2, 0))).tolist() == [[0], [0]]


@pytest.mark.parametrize(
    ("level", "n_vectors", "exhaustive", "rank"),
    [
        (0.05, 64, True, 4),
        (0.05, 256, True, 13),
        (0.05, 10_000, False, 500),
        (0.01, 10_000, False, 100),
        (0.00005, 10_000, False, 1),
    ],
)
def test_rank_is_the_smallest_count_above_the_level(
    level: float, n_vectors: int, exhaustive: bool, rank: int
) -> None:
    assert rank_of_level(level, n_vectors, exhaustive=exhaustive) == rank
    assert share_of_vectors(rank, n_vectors, exhaustive=exhaustive) > level
    reached = level_of_rank(rank, n_vectors, exhaustive=exhaustive)
    assert rank_of_level(reached, n_vectors, exhaustive=exhaustive) == rank


def test_a_sampled_p_is_never_zero() -> None:
    assert share_of_vectors(0, 10_000, exhaustive=False) == 1 / 10_001
