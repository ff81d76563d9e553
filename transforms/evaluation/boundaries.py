"""Boundary metrics: P_k (Beeferman et al. 1999) and WindowDiff (Pevzner and Hearst 2002).

A text of N units (sentences, lines) has N - 1 gaps, and a segmentation is a bool array (N - 1,) that is true where a
segment ends. A window `i` of the N - k compares units `i` and `i + k`: P_k counts windows where one segmentation has
the two in one segment and the other has not, WindowDiff windows where the numbers of boundaries between them differ.
`k` is half the mean reference segment, halves rounded up, and at least 2. nltk and segeval give the same when handed
these gaps and this `k`; their own defaults for both differ, from these and from each other.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.errors import SettingsError

Gaps = NDArray[np.bool_]


class Disagreements(NamedTuple):
    """Windows in which a segmentation differs from the reference, of `n_windows`."""

    pk_errors: int
    windowdiff_errors: int
    n_windows: int

    @property
    def pk(self) -> float:
        """Share of windows that count for P_k; 0 is perfect."""
        return self.pk_errors / self.n_windows

    @property
    def windowdiff(self) -> float:
        """Share of windows that count for WindowDiff; 0 is perfect."""
        return self.windowdiff_errors / self.n_windows


def window_units(reference: Gaps) -> int:
    """The `k` of a reference: half its mean segment in units, halves rounded up, at least 2."""
    n_units, n_segments = len(reference) + 1, int(reference.sum()) + 1
    return max(2, (n_units + n_segments) // (2 * n_segments))


def compare(reference: Gaps, hypothesis: Gaps, k: int | None = None) -> Disagreements:
    """Windows in which `hypothesis` differs from `reference`; both bool (N - 1,).

    :param k: units between the two ends of a window; by default `window_units(reference)`.
    :raises SettingsError: the two have not the same length, or N is not above k, so that there is no window.
    """
    k = window_units(reference) if k is None else k
    if len(reference) != len(hypothesis):
        raise SettingsError(f"segmentations of {len(reference) + 1} and {len(hypothesis) + 1} units cannot be compared")
    if not 0 < k <= len(reference):
        raise SettingsError(f"a window of k = {k} does not fit a text of {len(reference) + 1} units")
    wanted, found = _boundaries_within(reference, k), _boundaries_within(hypothesis, k)
    return Disagreements(int(np.sum((wanted > 0) != (found > 0))), int(np.sum(wanted != found)), len(wanted))


def no_boundaries(reference: Gaps) -> Gaps:
    """The baseline that never cuts."""
    return np.zeros_like(reference)


def all_boundaries(reference: Gaps) -> Gaps:
    """The baseline that cuts after every unit."""
    return np.ones_like(reference)


def _boundaries_within(gaps: Gaps, k: int) -> NDArray[np.int64]:
    counted: NDArray[np.int64] = np.cumsum(np.append(0, gaps))
    return counted[k:] - counted[:-k]
