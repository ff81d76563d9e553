"""Traits of a corpus that decide how to cut it, from sentences and their vectors. Pure arithmetic."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from models.errors import SettingsError
from transforms.planning.separability import Separation, fit_separation

FACT_WORDS = 5
"""A sentence of so many words or more is taken to state one fact: a proxy for m, since nobody has counted facts."""


@dataclass
class Similarity:
    """Mean similarity of two sentences of one passage, each passage counting alike."""

    total: float = 0.0
    n_passages: int = 0

    def add(self, vectors: NDArray[np.float32]) -> None:
        """Count one passage's sentences, unit vectors (n, d); fewer than two say nothing.

        The mean over pairs is (|sum v|^2 - n) / (n (n - 1)).
        """
        n = len(vectors)
        if n > 1:
            summed = vectors.astype(np.float64).sum(axis=0)
            self.total += float((summed @ summed - n) / (n * (n - 1)))
            self.n_passages += 1

    @property
    def rho(self) -> float | None:
        """None where no passage has two sentences."""
        return self.total / self.n_passages if self.n_passages else None


@dataclass
class LabelledGaps:
    """Distances at gaps between sentences, and whether an edge that the author made lies there."""

    distances: list[NDArray[np.float64]] = field(default_factory=list)
    is_edge: list[NDArray[np.bool_]] = field(default_factory=list)

    def add(self, distances: NDArray[np.float64], is_edge: NDArray[np.bool_]) -> None:
        """Take one document's gaps, (n - 1,) each."""
        self.distances.append(distances)
        self.is_edge.append(is_edge)

    def separation(self) -> Separation | None:
        """None where there are too few gaps of either kind, or they do not vary."""
        if not self.distances:
            return None
        try:
            return fit_separation(np.concatenate(self.distances), np.concatenate(self.is_edge))
        except SettingsError:
            return None


def edges_at_gaps(sentence_starts: NDArray[np.int64], edges: Iterable[int]) -> NDArray[np.bool_]:
    """Whether one of `edges` lies after sentence i begins and no later than sentence i + 1 does, bool (n - 1,).

    >>> edges_at_gaps(np.array([0, 10, 20]), [20]).tolist()
    [False, True]
    """
    n_gaps = max(0, len(sentence_starts) - 1)
    places = np.fromiter(edges, np.int64)
    gaps = np.searchsorted(sentence_starts, places, "left") - 1
    found = np.zeros(n_gaps, np.bool_)
    found[gaps[(gaps >= 0) & (gaps < n_gaps)]] = True
    return found


def hits_at_prevalence(separation: Separation) -> float:
    """Share of the cuts at boundaries, and recall, where as many gaps are cut as there are boundaries."""
    return separation.precision(separation.top_fraction_threshold(separation.prevalence))
