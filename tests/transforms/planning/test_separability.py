import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import SettingsError
from transforms.planning.separability import Separation, fit_separation

separations = st.builds(Separation, st.floats(-1, 2), st.floats(-1, 2), st.floats(0.01, 0.5), st.floats(0.001, 0.999))


@given(separations, st.floats(0.001, 0.999))
def test_the_threshold_cuts_the_asked_share(separation, cut_fraction):
    threshold = separation.top_fraction_threshold(cut_fraction)
    assert separation.cut_fraction(threshold) == pytest.approx(cut_fraction, rel=1e-9)


@given(separations, st.floats(-2, 3))
def test_precision_and_recall_tell_the_same_cuts(separation, threshold):
    cuts = separation.cut_fraction(threshold)
    found = separation.precision(threshold) * cuts
    assert found == pytest.approx(separation.prevalence * separation.recall(threshold), abs=1e-12)


def test_a_fit_finds_what_the_distances_were_drawn_from():
    generator = np.random.default_rng(7)
    is_boundary = np.arange(40_000) % 10 == 0
    distances = generator.normal(np.where(is_boundary, 0.6, 0.25), np.where(is_boundary, 0.1, 0.05))
    fitted = fit_separation(distances, is_boundary)
    assert (fitted.mu_boundary, fitted.mu_within) == pytest.approx((0.6, 0.25), abs=0.005)
    assert (fitted.sigma_boundary, fitted.sigma_within) == pytest.approx((0.1, 0.05), abs=0.005)
    assert fitted.prevalence == 0.1 and fitted.delta == pytest.approx(0.35 / 0.0571, rel=0.03)
    threshold = 0.45
    assert fitted.recall(threshold) == pytest.approx((distances[is_boundary] > threshold).mean(), abs=0.1)


def test_equal_means_separate_nothing():
    even = Separation(0.3, 0.3, 0.1, 0.2)
    assert even.delta == 0 and even.precision(0.4) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (lambda: Separation(1, 0, 0, 0.1), "sigma = 0"),
        (lambda: Separation(1, 0, 1, 1), "prevalence = 1"),
        (lambda: Separation(1, 0, 1, 0.1).top_fraction_threshold(0), "cut_fraction = 0"),
        (lambda: fit_separation(np.array([1.0, 2, 3]), np.array([True, False, False])), "too few"),
        (lambda: fit_separation(np.array([1, 2, 3, np.nan]), np.array([True, True, False, False])), "not finite"),
    ],
)
def test_what_cannot_be_is_refused(call, part):
    with pytest.raises(SettingsError, match=part):
        call()


@pytest.mark.parametrize(
    ("separation", "delta", "threshold", "recall", "rate"),
    [
        (Separation(0.9, 0.25, 0.08, 8 / 199), 8.125, 0.4354848849994364, 0.9999999968092235, 0.010209424217414775),
        (Separation(0.35, 0.25, 0.08, 8 / 199), 1.25, 0.390708063002007, 0.3054284085984763, 0.03930142791210567),
    ],
)
def test_worked_figures_of_a_top_five_percent_threshold(separation, delta, threshold, recall, rate):
    found = separation.top_fraction_threshold(0.05)
    assert (separation.delta, found) == pytest.approx((delta, threshold), rel=1e-12)
    assert separation.recall(found) == pytest.approx(recall, rel=1e-9)
    assert separation.false_positive_rate(found) == pytest.approx(rate, rel=1e-9)
    assert separation.precision(found) == pytest.approx(8 / 199 * recall / 0.05, rel=1e-9)


@pytest.mark.parametrize("gaps", [[True, False], [True, True], [False] * 5])
def test_too_few_gaps_of_a_kind_are_refused(gaps):
    with pytest.raises(SettingsError, match="too few"):
        fit_separation(np.arange(len(gaps)) / 10, np.array(gaps))


def test_distances_that_never_vary_are_refused():
    with pytest.raises(SettingsError, match="never vary"):
        fit_separation(np.full(6, 0.5), np.array([True, False] * 3))
