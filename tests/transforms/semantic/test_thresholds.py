"""Thresholds against their formulas, and what makes no cut."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.semantic.thresholds import find_breakpoints

KINDS = ("percentile", "absolute", "deviation", "iqr", "gradient")
DISTANCES = np.array([0.1, 0.2, 0.15, 0.9, 0.3, 0.25, 0.8, 0.1])
lists = st.lists(st.integers(0, 20000).map(lambda n: n / 10000), max_size=40)


@pytest.mark.parametrize(
    ("kind", "factor", "threshold", "cuts"),
    [
        ("percentile", 95.0, 0.865, [3]),
        ("percentile", 50.0, 0.225, [3, 4, 5, 6]),
        ("absolute", 0.3, 0.3, [3, 6]),
        ("deviation", 1.0, 0.35 + np.std(DISTANCES), [3, 6]),
        ("deviation", 3.0, 0.35 + 3 * np.std(DISTANCES), []),
        ("iqr", 1.5, 0.35 + 1.5 * (0.425 - 0.1375), [3, 6]),
        ("gradient", 95.0, 0.315, [2]),
    ],
)
def test_each_kind_is_its_formula(kind, factor, threshold, cuts):
    found = find_breakpoints(DISTANCES, kind, factor)
    assert found.threshold == pytest.approx(threshold)
    assert np.flatnonzero(found.is_cut).tolist() == cuts


@pytest.mark.parametrize("kind", KINDS)
@given(lists, st.floats(0, 2), st.integers(1, 5))
def test_cuts_are_strictly_above_at_least_the_minimum_and_apart(kind, values, minimum, run):
    distances = np.array(values)
    factor = {"percentile": 60.0, "gradient": 60.0, "absolute": 0.5}.get(kind, 0.2)
    found = find_breakpoints(distances, kind, factor, minimum, run)
    assert found.signal.shape == found.is_cut.shape == distances.shape
    assert (found.signal[found.is_cut] > found.threshold).all() and (distances[found.is_cut] >= minimum).all()
    assert (np.diff(np.flatnonzero(found.is_cut)) >= run).all()
    all_cuts = find_breakpoints(distances, kind, factor, minimum).is_cut
    for place in np.flatnonzero(all_cuts & ~found.is_cut).tolist():  # what was left out has a larger one near by
        near = slice(max(0, place - run + 1), place + run)
        assert distances[near][found.is_cut[near]].max() >= distances[place]


def exact_cuts(distances, kind, factor):
    """The cuts by their definitions in whole numbers and fractions, of distances of four decimals."""
    d = [Fraction(round(distance * 10000), 10000) for distance in distances]
    n, factor = len(d), Fraction(str(factor))
    if kind == "gradient" and n > 1:
        inner = [(d[i + 1] - d[i - 1]) / 2 for i in range(1, n - 1)]
        signal = [d[1] - d[0], *inner, d[-1] - d[-2]]
    else:
        signal = d
    mean = sum(d) / n
    match kind:
        case "absolute":
            threshold = factor
        case "deviation":
            variance = sum((value - mean) ** 2 for value in d) / n
            return [value > mean and (value - mean) ** 2 > factor**2 * variance for value in d]
        case "iqr":
            threshold = mean + factor * (quantile(d, Fraction(3, 4)) - quantile(d, Fraction(1, 4)))
        case _:
            threshold = quantile(signal, factor / 100)
    return [value > threshold for value in signal]


def quantile(values, share):
    ordered, place = sorted(values), share * (len(values) - 1)
    low = int(place)
    return ordered[low] + (place - low) * (ordered[min(low + 1, len(values) - 1)] - ordered[low])


@pytest.mark.parametrize("kind", KINDS)
@given(st.lists(st.integers(0, 7), min_size=2, max_size=12), st.integers(1, 2800), st.sampled_from([0, 1, 2]))
def test_sums_that_equal_the_threshold_are_not_above_it(kind, steps, size, which):
    distances = (np.array(steps) * size / 10000).round(4)
    factor = {"percentile": (50, 80, 95), "gradient": (50, 80, 95), "absolute": (0.1, 0.3, 0.5)}.get(kind, (0, 1, 1.5))
    found = find_breakpoints(distances, kind, float(factor[which])).is_cut.tolist()
    same = distances.min() == distances.max()
    assert found == ([False] * len(steps) if same else exact_cuts(distances, kind, factor[which]))


@pytest.mark.parametrize(
    ("kind", "factor", "distances"),
    [
        ("deviation", 1.0, [0.0942, 0.8097]),
        ("gradient", 80.0, [0.5397, 0.4626, 0.0771, 0.0]),
        ("iqr", 0.5, [0.5313, 0.0, 0.4554, 0.2277]),
    ],
)
def test_last_bits_make_no_cut(kind, factor, distances):
    found = find_breakpoints(np.array(distances), kind, factor).is_cut.tolist()
    assert found == exact_cuts(distances, kind, factor)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [0.0, 0.1, 0.3333, 1.0])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 1000])
def test_equal_distances_give_no_cut(kind, value, n):
    found = find_breakpoints(np.full(n, value), kind, 0.0)
    assert not found.is_cut.any() and found.threshold == float("inf")


@given(lists)
def test_the_top_percentile_never_cuts_and_the_lowest_cuts_all_above_the_least(values):
    distances = np.array(values)
    assert not find_breakpoints(distances, "percentile", 100.0).is_cut.any()
    lowest = find_breakpoints(distances, "percentile", 0.0).is_cut
    assert lowest.tolist() == [value > min(values) for value in values]
