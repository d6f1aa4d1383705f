"""Exact search: the best of the admitted ones, in one order."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalnb.workspace.eligibility import Eligibility
from evalnb.workspace.vectors import Owners, Vectors, best_places

BEST = [
    # scores, limit, admitted, places
    ([0.1, 0.9, 0.5], 2, None, [1, 2]),
    ([0.5, 0.9, 0.5, 0.9], 3, None, [1, 3, 0]),
    ([0.1, 0.2], 10, None, [1, 0]),
    ([-0.5, -0.1, -0.9], 2, None, [1, 0]),
    ([0.9, 0.8, 0.1], 2, [False, True, True], [1, 2]),
    ([0.9, 0.8, 0.1], 2, [False, False, False], []),
    ([], 3, None, []),
]


@pytest.mark.parametrize("kib", [0, 8, 60])
def test_a_full_disk_is_said_with_its_file(tmp_path, kib) -> None:
    script = (
        "import resource, signal, sys; from pathlib import Path; import numpy as np\n"
        "from evalnb.workspace.vectors import create_matrix, save_array\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({kib * 1024}, {kib * 1024}))\n"
        "for write in (lambda p: save_array(p, np.zeros(20_000)),\n"
        "              lambda p: create_matrix(p, (100, 200)).fill(1)):\n"
        "    try: write(Path('a.npy')); sys.exit(9)\n"
        "    except OSError as error: assert error.errno and error.filename in ('a.npy', None)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize(("scores", "limit", "admitted", "places"), BEST)
def test_best_places(scores, limit, admitted, places) -> None:
    mask = None if admitted is None else np.array(admitted)
    assert best_places(np.array(scores, dtype=np.float32), limit, admitted=mask).tolist() == places


@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(1, 5_000),
    limit=st.integers(1, 120),
    levels=st.integers(1, 2_000),
    share=st.sampled_from([0.0, 0.01, 0.5, 1.0]),
)
@settings(max_examples=150, deadline=None)
def test_the_same_as_sorting_everything(seed, size, limit, levels, share) -> None:
    rng = np.random.default_rng(seed)
    scores = (rng.integers(-levels, levels, size) / levels).astype(np.float32)
    admitted = rng.random(size) < share
    everything = sorted(np.flatnonzero(admitted), key=lambda at: (-scores[at], at))
    assert best_places(scores, limit, admitted=admitted).tolist() == everything[:limit]


def test_units_of_one_vector_have_one_score() -> None:
    matrix = np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    vectors = Vectors(matrix, np.array([1, 0, 1], dtype=np.int32))
    assert vectors.scores(np.array([0.6, 0.8], dtype=np.float32)).tolist() == pytest.approx(
        [0.8, 0.6, 0.8]
    )


class TestOwners:
    OWNERS = Owners(
        np.array([[0, 0, 1], [0, 1, 2], [0, 1, 2], [0, 0, 0]], dtype=np.int32),
        (
            {"src_a": 0, "src_b": 1},
            {"doc_a": 0, "doc_b": 1, "doc_c": 2},
            {"rev_a": 0, "rev_b": 1, "rev_c": 2},
            {"text": 0},
        ),
    )
    RULES = [
        ({}, None),
        ({"sources": {"src_a"}}, [True, True, False]),
        ({"documents": {"doc_b", "doc_c"}}, [False, True, True]),
        ({"sources": {"src_a"}, "documents": {"doc_b", "doc_c"}}, [False, True, False]),
        ({"revisions": {"rev_unknown"}}, [False, False, False]),
        ({"modalities": {"image"}}, [False, False, False]),
        ({"lapsed": {"rev_b", "rev_unknown"}}, [True, False, True]),
    ]

    @pytest.mark.parametrize(("rules", "admitted"), RULES)
    def test_what_is_admitted(self, rules, admitted) -> None:
        eligible = Eligibility(**{name: frozenset(ids) for name, ids in rules.items()})
        found = self.OWNERS.admitted(eligible)
        assert (None if found is None else found.tolist()) == admitted
