"""What a threshold on distances between neighbouring sentences finds, when two normal distributions describe them.

Distances at topic boundaries have mean `mu_boundary`, those inside a topic `mu_within`, both the spread `sigma`; a gap
is cut where its distance is above the threshold.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.errors import SettingsError


@dataclass(frozen=True)
class Separation:
    """Two distributions of distances, and the share of gaps that are boundaries (`prevalence`).

    `sigma` is pooled; `sigma_boundary` and `sigma_within` tell how far one spread stands for both.
    """

    mu_boundary: float
    mu_within: float
    sigma: float
    prevalence: float
    sigma_boundary: float | None = None
    sigma_within: float | None = None

    def __post_init__(self) -> None:
        if not self.sigma > 0:
            raise SettingsError(f"sigma = {self.sigma} must be above 0; distances that never vary separate nothing")
        if not 0 < self.prevalence < 1:
            raise SettingsError(f"prevalence = {self.prevalence} must lie between 0 and 1; it is boundaries over gaps")

    @property
    def delta(self) -> float:
        """Separability: (mu_boundary - mu_within) / sigma."""
        return separability(self.mu_boundary, self.mu_within, self.sigma)

    def recall(self, threshold: float) -> float:
        """Share of the boundaries above the threshold: 1 - Phi((t - mu_boundary) / sigma)."""
        return _tail((threshold - self.mu_boundary) / self.sigma)

    def false_positive_rate(self, threshold: float) -> float:
        """Share of the other gaps above the threshold: 1 - Phi((t - mu_within) / sigma)."""
        return _tail((threshold - self.mu_within) / self.sigma)

    def cut_fraction(self, threshold: float) -> float:
        """Share of all gaps above the threshold: pi R + (1 - pi) F."""
        other = (1 - self.prevalence) * self.false_positive_rate(threshold)
        return self.prevalence * self.recall(threshold) + other

    def precision(self, threshold: float) -> float:
        """Share of the cuts that are boundaries: pi R / (pi R + (1 - pi) F). 0 where nothing is cut."""
        cuts = self.cut_fraction(threshold)
        return self.prevalence * self.recall(threshold) / cuts if cuts else 0.0

    def top_fraction_threshold(self, cut_fraction: float) -> float:
        """The threshold that cuts `cut_fraction` of all gaps: the root t of pi R(t) + (1 - pi) F(t) = q.

        :raises SettingsError: not 0 < q < 1.

        >>> round(Separation(0.35, 0.25, 0.08, 8 / 199).top_fraction_threshold(0.05), 4)
        0.3907
        """
        from scipy.optimize import brentq

        if not 1e-12 <= cut_fraction <= 1 - 1e-12:
            raise SettingsError(f"cut_fraction = {cut_fraction} must lie between 0 and 1")
        low, high = min(self.mu_boundary, self.mu_within), max(self.mu_boundary, self.mu_within)
        ends = low - 10 * self.sigma, high + 10 * self.sigma
        return float(brentq(lambda t: self.cut_fraction(t) - cut_fraction, *ends, xtol=1e-15, rtol=1e-14))


def separability(mu_boundary: float, mu_within: float, sigma: float) -> float:
    """Delta: how many spreads the means lie apart. Green and Swets 1966 call it d'.

    >>> separability(0.9, 0.25, 0.08)
    8.125
    """
    if not sigma > 0:
        raise SettingsError(f"sigma = {sigma} must be above 0; distances that never vary separate nothing")
    return (mu_boundary - mu_within) / sigma


def fit_separation(distances: NDArray[np.float64], is_boundary: NDArray[np.bool_]) -> Separation:
    """The separation of annotated gaps: `distances` float (n,), and which of them are boundaries, bool (n,).

    Spreads are sample standard deviations; the pooled one weighs each with its degrees of freedom.

    :raises SettingsError: fewer than two gaps of either kind, or distances that are not finite.
    """
    at, within = distances[is_boundary], distances[~is_boundary]
    if min(len(at), len(within)) < 2:
        raise SettingsError(f"{len(at)} boundaries and {len(within)} other gaps are too few; annotate two of each")
    if not np.isfinite(distances).all():
        raise SettingsError("a distance is not finite; leave out what the encoder could not read")
    spreads = float(at.std(ddof=1)), float(within.std(ddof=1))
    squares = (len(at) - 1) * spreads[0] ** 2 + (len(within) - 1) * spreads[1] ** 2
    sigma = (squares / (len(distances) - 2)) ** 0.5
    return Separation(float(at.mean()), float(within.mean()), sigma, len(at) / len(distances), *spreads)


def _tail(z: float) -> float:
    """1 - Phi(z), exact far out too."""
    from scipy.special import ndtr

    return float(ndtr(-z))
