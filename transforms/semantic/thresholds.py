"""Five kinds of threshold, and the cuts they make among distances."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

VERSION = 2

# A signal that equals the threshold differs from it in the last bits of the sums, and no cut may depend on those.
_DECIMALS = 8

ThresholdKind = Literal["percentile", "absolute", "deviation", "iqr", "gradient"]


class Breakpoints(NamedTuple):
    """Cuts among n distances.

    `signal` float64 (n,) is what was compared: the distances, or their gradient. `threshold` is in its units, infinite
    where there is nothing to compare. `is_cut` bool (n,) marks the places to cut at.
    """

    signal: NDArray[np.float64]
    threshold: float
    is_cut: NDArray[np.bool_]


def find_breakpoints(
    distances: NDArray[np.float64],
    kind: ThresholdKind,
    factor: float,
    min_distance: float = 0.0,
    min_run_sentences: int = 1,
) -> Breakpoints:
    """The places whose signal is strictly above the threshold, and whose distance is at least `min_distance`.

    `factor` is the percentile (linear quantile) of `percentile` and `gradient`, the distance of `absolute`, the number
    of standard deviations above the mean of `deviation`, and the number of inter-quartile ranges above it of `iqr`.
    Equal distances give no cut, whatever the threshold. Of cuts closer to each other than `min_run_sentences` the one
    with the larger distance stays, of equal ones the first.

    >>> find_breakpoints(np.array([0.1, 0.1, 0.6, 0.1]), "percentile", 95.0).is_cut.tolist()
    [False, False, True, False]
    """
    signal = distances
    if kind == "gradient" and len(distances) > 1:
        signal = np.gradient(distances)
    if not len(distances) or distances.min() == distances.max():
        return Breakpoints(signal, float("inf"), np.zeros(len(distances), np.bool_))
    threshold = round(_threshold(signal, kind, factor), _DECIMALS)
    is_cut = (signal.round(_DECIMALS) > threshold) & (distances >= min_distance)
    return Breakpoints(signal, threshold, _apart(distances, is_cut, min_run_sentences))


def _apart(distances: NDArray[np.float64], is_cut: NDArray[np.bool_], min_run: int) -> NDArray[np.bool_]:
    if min_run <= 1:
        return is_cut
    places = np.flatnonzero(is_cut)
    kept, is_near = np.zeros(len(is_cut), np.bool_), np.zeros(len(is_cut), np.bool_)
    for place in places[np.argsort(-distances[places], kind="stable")].tolist():
        if not is_near[place]:
            kept[place] = True
            is_near[max(0, place - min_run + 1) : place + min_run] = True
    return kept


def _threshold(signal: NDArray[np.float64], kind: ThresholdKind, factor: float) -> float:
    match kind:
        case "percentile" | "gradient":
            return float(np.quantile(signal, factor / 100))
        case "absolute":
            return factor
        case "deviation":
            return float(signal.mean() + factor * signal.std())
        case "iqr":
            low, high = np.quantile(signal, [0.25, 0.75])
            return float(signal.mean() + factor * (high - low))
