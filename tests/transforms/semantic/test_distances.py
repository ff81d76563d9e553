"""Windows and distances against what their definitions say, row by row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.semantic import distances
from transforms.semantic.distances import gap_distances, window_means, window_ranges


@pytest.mark.parametrize("block_rows", [3, 8192])
@given(st.integers(1, 12), st.integers(0, 4), st.integers(0, 4), st.integers(0, 2**32 - 1))
def test_a_window_is_the_weighted_mean_of_its_rows(block_rows, n_rows, before, after, seed):
    random = np.random.default_rng(seed)
    vectors, weights = random.standard_normal((n_rows, 5)), random.integers(1, 30, n_rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distances, "_BLOCK_ROWS", block_rows)
        means = window_means(vectors, weights, before, after)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for row in range(n_rows):
        inside = slice(max(0, row - before), row + after + 1)
        expected = (unit[inside] * weights[inside, None]).sum(axis=0) / weights[inside].sum()
        assert np.allclose(means[row], expected, atol=1e-6)


@given(st.integers(2, 12), st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_distances_are_exact_to_four_decimals_and_do_not_depend_on_length(n_rows, n, seed):
    random = np.random.default_rng(seed)
    vectors = random.standard_normal((n_rows, 6))
    left, right = vectors[:-1], vectors[1:]
    found = gap_distances(left, right)
    cosines = (left * right).sum(axis=1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)
    assert np.abs(found - (1 - cosines)).max() <= 0.5001e-4
    assert (found == found.round(4)).all() and (found >= 0).all()
    assert (gap_distances(left * 3, right * 0.5) == found).all()


def test_last_bits_of_vectors_change_no_distance():
    random = np.random.default_rng(7)
    vectors = random.standard_normal((400, 32)).astype(np.float32)
    weights = random.integers(1, 40, 400)
    jittered = vectors * (1 + 1e-7 * random.standard_normal(vectors.shape)).astype(np.float32)
    one, other = (
        gap_distances(window_means(v, weights, 2, 0)[:-1], window_means(v, weights, 0, 2)[1:])
        for v in (vectors, jittered)
    )
    assert (one != other).mean() < 0.01  # only where a distance lies on a rounding edge


def test_equal_rows_have_distance_zero_and_rows_of_zeros_none():
    same = np.tile(np.array([0.3, 0.1, 0.7], np.float16), (5, 1))
    means = window_means(same, np.array([3, 1, 9, 2, 7]), 1, 1)
    assert gap_distances(means[:-1], means[1:]).tolist() == [0.0] * 4
    assert gap_distances(np.zeros((2, 3)), np.ones((2, 3))).tolist() == [0.0, 0.0]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.integers(0, 3), st.integers(0, 3), st.integers(1, 20))
def test_window_ranges_hold_their_row_and_keep_the_limit(sizes, before, after, max_tokens):
    n_tokens = np.array(sizes, np.int64)
    firsts, lasts = window_ranges(n_tokens, before, after, max_tokens)
    for row, (first, last) in enumerate(zip(firsts.tolist(), lasts.tolist(), strict=True)):
        assert max(0, row - before) <= first <= row < last <= min(len(sizes), row + after + 1)
        assert n_tokens[first:last].sum() <= max_tokens or (first, last) == (row, row + 1)
        full = n_tokens[max(0, row - before) : row + after + 1].sum() <= max_tokens
        assert not full or (first, last) == (max(0, row - before), min(len(sizes), row + after + 1))
