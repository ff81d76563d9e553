"""What a threshold on distances finds, when two normal distributions of one spread describe them."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.errors import SettingsError

_MAX_STEPS = 200


@dataclass(frozen=True)
class Separation:
    """Distances at boundaries and inside topics: their means, the pooled spread, and the share of boundaries.

    `sigma_boundary` and `sigma_within` tell how far one spread stands for both.
    """

    mu_boundary: float
    mu_within: float
    sigma: float
    prevalence: float
    sigma_boundary: float
    sigma_within: float

    @property
    def delta(self) -> float:
        """Separability: (mu_boundary - mu_within) / sigma."""
        return (self.mu_boundary - self.mu_within) / self.sigma

    def recall(self, threshold: float) -> float:
        """Share of the boundaries above the threshold: 1 - Phi((t - mu_boundary) / sigma)."""
        return _tail((threshold - self.mu_boundary) / self.sigma)

    def false_positive_rate(self, threshold: float) -> float:
        """Share of the other gaps above the threshold: 1 - Phi((t - mu_within) / sigma)."""
        return _tail((threshold - self.mu_within) / self.sigma)

    def cut_fraction(self, threshold: float) -> float:
        """Share of all gaps above the threshold: pi R + (1 - pi) F."""
        rest = (1 - self.prevalence) * self.false_positive_rate(threshold)
        return self.prevalence * self.recall(threshold) + rest

    def precision(self, threshold: float) -> float:
        """Share of the cuts that are boundaries: pi R / (pi R + (1 - pi) F); 0 where nothing is cut."""
        cuts = self.cut_fraction(threshold)
        return self.prevalence * self.recall(threshold) / cuts if cuts else 0.0

    def top_fraction_threshold(self, cut_fraction: float) -> float:
        """The threshold that cuts `cut_fraction` (above 0, below 1) of all gaps: the root of pi R + (1 - pi) F = q.

        >>> round(Separation(0.35, 0.25, 0.08, 8 / 199, 0.08, 0.08).top_fraction_threshold(0.05), 6)
        0.390708
        """
        low = min(self.mu_boundary, self.mu_within) - 40 * self.sigma
        high = max(self.mu_boundary, self.mu_within) + 40 * self.sigma
        for _ in range(_MAX_STEPS):
            middle = (low + high) / 2
            if self.cut_fraction(middle) > cut_fraction:
                low = middle
            else:
                high = middle
        return (low + high) / 2


def fit_separation(distances: NDArray[np.float64], is_boundary: NDArray[np.bool_]) -> Separation:
    """The separation of annotated gaps: `distances` (n,) and whether each is a boundary (n,).

    Spreads are sample standard deviations; the pooled one weighs each by its degrees of freedom. Raises SettingsError
    where there are fewer than two gaps of a kind, or the distances do not vary.
    """
    at, within = distances[is_boundary], distances[~is_boundary]
    if min(len(at), len(within)) < 2:
        raise SettingsError(f"{len(at)} boundaries and {len(within)} other gaps are too few; annotate two of each")
    spreads = float(at.std(ddof=1)), float(within.std(ddof=1))
    squares = (len(at) - 1) * spreads[0] ** 2 + (len(within) - 1) * spreads[1] ** 2
    sigma = math.sqrt(squares / (len(distances) - 2))
    if not sigma > 0:
        raise SettingsError("the distances never vary, so nothing separates boundaries from other gaps")
    return Separation(float(at.mean()), float(within.mean()), sigma, len(at) / len(distances), *spreads)


def _tail(z: float) -> float:
    """1 - Phi(z)."""
    return 0.5 * math.erfc(z / math.sqrt(2))
