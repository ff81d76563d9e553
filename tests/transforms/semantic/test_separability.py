"""Separability against worked figures, and against draws from two normals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import SettingsError
from transforms.semantic.separability import Separation, fit_separation

STITCHED = Separation(0.9, 0.25, 0.08, 8 / 199, 0.08, 0.08)
COHERENT = Separation(0.35, 0.25, 0.08, 8 / 199, 0.08, 0.08)


@pytest.mark.parametrize(
    ("separation", "delta", "threshold", "recall", "rate"),
    [
        (STITCHED, 8.125, 0.4354848849994364, 0.9999999968092235, 0.010209424217414775),
        (COHERENT, 1.25, 0.390708063002007, 0.3054284085984763, 0.03930142791210567),
    ],
)
def test_worked_figures_of_a_top_five_percent_threshold(separation, delta, threshold, recall, rate):
    found = separation.top_fraction_threshold(0.05)
    assert (separation.delta, found) == pytest.approx((delta, threshold), rel=1e-12)
    assert separation.recall(found) == pytest.approx(recall, rel=1e-9)
    assert separation.false_positive_rate(found) == pytest.approx(rate, rel=1e-9)
    assert separation.precision(found) == pytest.approx(8 / 199 * recall / 0.05, rel=1e-9)


@given(st.floats(-1, 2), st.floats(-1, 2), st.floats(0.01, 1), st.floats(0.001, 0.999), st.floats(0.0001, 0.9999))
def test_a_top_fraction_threshold_cuts_that_fraction(mu_boundary, mu_within, sigma, prevalence, fraction):
    separation = Separation(mu_boundary, mu_within, sigma, prevalence, sigma, sigma)
    assert separation.cut_fraction(separation.top_fraction_threshold(fraction)) == pytest.approx(fraction, abs=1e-9)


def test_a_fit_finds_what_was_drawn():
    random = np.random.default_rng(3)
    is_boundary = random.random(20_000) < 0.1
    distances = np.where(is_boundary, 0.6, 0.4) + 0.1 * random.standard_normal(20_000)
    found = fit_separation(distances, is_boundary)
    assert found.delta == pytest.approx(2.0, abs=0.05) and found.prevalence == is_boundary.mean()
    assert found.sigma_boundary == pytest.approx(np.std(distances[is_boundary], ddof=1))


@pytest.mark.parametrize("gaps", [[True, False], [True, True], [False] * 5])
def test_too_few_gaps_of_a_kind_are_refused(gaps):
    with pytest.raises(SettingsError, match="too few"):
        fit_separation(np.arange(len(gaps)) / 10, np.array(gaps))


def test_distances_that_never_vary_are_refused():
    with pytest.raises(SettingsError, match="never vary"):
        fit_separation(np.full(6, 0.5), np.array([True, False] * 3))
