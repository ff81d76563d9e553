"""Pseudo-instruction chunking: sentences are labelled by how near they are to a summary, and cut where labels change.

The summary's vector stands in for the questions to come. A label says on which side of the document's mean a sentence
lies; it is metadata, never a judgement of usefulness.
"""

import numpy as np
from numpy.typing import NDArray

VERSION = 1

# Vectors of equal texts differ in the last bits with the batch they were in; no cut may depend on that.
_DECIMALS = 4


def similarities(sentences: NDArray[np.floating], anchor: NDArray[np.floating]) -> NDArray[np.float64]:
    """Cosine of each sentence to the anchor, rounded to 1e-4.

    :param sentences: float (n, d). :param anchor: float (d,); a zero vector, of either, has similarity 0.
    :returns: float64 (n,).
    """
    rows, target = sentences.astype(np.float64), anchor.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(target)
    products = rows @ target
    cosines = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    return np.asarray(np.round(cosines, _DECIMALS))


def labels(similarity: NDArray[np.float64], min_spread: float = 0.0) -> NDArray[np.bool_]:
    """True where a sentence's similarity is at or above the mean of all, bool (n,).

    Where the similarities spread less than `min_spread`, or not at all, the document is one run: all True.

    >>> labels(np.array([0.9, 0.8, 0.1, 0.2, 0.7])).tolist()
    [True, True, False, False, True]
    >>> labels(np.array([0.51, 0.5]), min_spread=0.1).tolist()
    [True, True]
    """
    if not similarity.size or np.round(np.ptp(similarity), _DECIMALS) < max(min_spread, 10.0**-_DECIMALS / 2):
        return np.ones(len(similarity), np.bool_)
    # Rounded like the similarities, so that the sum's order cannot move a sentence that lies on the mean.
    return np.asarray(similarity >= np.round(similarity.mean(), 2 * _DECIMALS))


def cuts(is_near: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The numbers of the sentences before which a run of equal labels begins, without 0, ascending.

    >>> cuts(np.array([True, True, False, True])).tolist()
    [2, 3]
    """
    return np.flatnonzero(is_near[1:] != is_near[:-1]) + 1
