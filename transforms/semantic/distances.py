"""Windows of sentences and the distances between them: pure arithmetic."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

VERSION = 1

Side = tuple[int, int]

DECIMALS = 4
"""Distances are rounded, since an encoder's last bits depend on how its inputs were batched."""
_BLOCK_ROWS = 8192


def window_means(vectors: NDArray[Any], weights: NDArray[Any], before: int, after: int) -> NDArray[np.float32]:
    """The weighted mean of each row with `before` rows before it and `after` rows after it, float32 (n, d).

    `vectors` (n, d) are normalised first; `weights` (n,) are tokens. Equal windows have equal bits wherever they stand.

    >>> window_means(np.eye(2), np.array([1, 3]), 1, 0).round(2).tolist()
    [[1.0, 0.0], [0.25, 0.75]]
    """
    means = np.empty(vectors.shape, np.float32)
    for first in range(0, len(vectors), _BLOCK_ROWS):
        last = min(first + _BLOCK_ROWS, len(vectors))
        low, high = max(0, first - before), min(len(vectors), last + after)
        block_weights = weights[low:high].astype(np.float64)
        block = normalised(vectors[low:high]) * block_weights[:, None]
        sums, totals = np.zeros((last - first, vectors.shape[1])), np.zeros(last - first)
        for shift in range(-before, after + 1):
            start, end = max(first, low - shift), min(last, high - shift)
            if start < end:
                sums[start - first : end - first] += block[start + shift - low : end + shift - low]
                totals[start - first : end - first] += block_weights[start + shift - low : end + shift - low]
        means[first:last] = sums / np.maximum(totals, np.finfo(np.float64).tiny)[:, None]
    return means


def window_sides(neighbours: int, compare: Literal["apart", "overlapping"]) -> tuple[Side, Side]:
    """Rows (before, after) of the two windows that are compared at a gap, around the sentence before it and after it.

    Both hold `2 neighbours + 1` sentences. Apart, the first ends at the gap and the second begins there; overlapping,
    each sentence is in the middle of its window, and the windows share all sentences but two.
    """
    if compare == "overlapping":
        return (neighbours, neighbours), (neighbours, neighbours)
    return (2 * neighbours, 0), (0, 2 * neighbours)


def mean_distances(
    vectors: NDArray[Any], n_tokens: NDArray[np.int64], neighbours: int, compare: Literal["apart", "overlapping"]
) -> NDArray[np.float64]:
    """The distance at each gap of n sentences, float64 (max(n - 1, 0),), from their vectors (n, d), each read once."""
    weights = np.maximum(n_tokens, 1)
    left, right = (window_means(vectors, weights, *side) for side in window_sides(neighbours, compare))
    return gap_distances(left[:-1], right[1:])


def window_ranges(
    n_tokens: NDArray[np.int64], before: int, after: int, max_tokens: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First row and row after the last of each row's window, int64 (n,) each, of at most `max_tokens`.

    A window takes the nearest rows first and ends on a side where the next one does not fit.

    >>> [rows.tolist() for rows in window_ranges(np.array([3, 3, 9]), 1, 1, 10)]
    [[0, 0, 2], [2, 2, 3]]
    """
    sizes = n_tokens.tolist()
    ranges = [_window_range(sizes, row, before, after, max_tokens) for row in range(len(sizes))]
    flat = np.array(ranges, np.int64).reshape(-1, 2)
    return flat[:, 0], flat[:, 1]


def _window_range(sizes: list[int], row: int, before: int, after: int, max_tokens: int) -> tuple[int, int]:
    low, high = max(0, row - before), min(len(sizes), row + after + 1)
    first, last, total = row, row + 1, sizes[row]
    while first > low or last < high:
        if first > low and (row - first <= last - row - 1 or last == high):
            size, is_before = sizes[first - 1], True
        else:
            size, is_before = sizes[last], False
        if total + size > max_tokens:
            low, high = (first, high) if is_before else (low, last)
            continue
        first, last, total = first - is_before, last + (not is_before), total + size
    return first, last


def gap_distances(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float64]:
    """1 - cos of each row of `left` (n, d) and of `right` (n, d), float64 (n,), rounded to 1e-4; 0 for a row of zeros.

    >>> gap_distances(np.array([[1, 0], [2, 0], [0, 0]]), np.array([[2, 0], [0, 3], [1, 1]])).tolist()
    [0.0, 1.0, 0.0]
    """
    distances = np.zeros(len(left))
    for first in range(0, len(left), _BLOCK_ROWS):
        lefts, rights = (normalised(rows[first : first + _BLOCK_ROWS]) for rows in (left, right))
        is_known = lefts.any(axis=1) & rights.any(axis=1)
        cosines = np.einsum("ij,ij->i", lefts, rights)
        distances[first : first + len(lefts)] = np.where(is_known, 1 - cosines, 0.0)
    return np.abs(distances.round(DECIMALS))


def normalised(vectors: NDArray[Any]) -> NDArray[np.float64]:
    """Rows of length 1, float64 (n, d); rows of zeros stay."""
    rows = vectors.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return rows / np.where(lengths > 0, lengths, 1.0)[:, None]
