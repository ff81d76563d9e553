from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.evaluation.statistics import (
    bootstrap_means,
    count_flips,
    estimate_gap,
    estimate_means,
    matched_k,
    proportion_standard_error,
    sign_test,
)


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_sign_test_is_exact(improved, regressed):
    n = improved + regressed
    tail = sum(comb(n, i) for i in range(min(improved, regressed) + 1)) / 2**n
    assert sign_test(improved, regressed) == pytest.approx(min(1.0, 2 * tail))


def test_flips_leave_ties_out():
    assert count_flips(np.array([0.5, 0.1, 0.0, -0.2]))[:3] == (2, 1, 1)


def test_the_bootstrap_is_that_of_resampled_rows():
    """Against drawing rows one by one: the same distribution, so the same quantiles within their noise."""
    values = np.random.default_rng(1).exponential(size=(200, 1))
    rng = np.random.default_rng(2)
    slow = [values[rng.integers(0, 200, 200)].mean() for _ in range(4000)]
    fast = bootstrap_means(values, 4000)[:, 0]
    assert np.quantile(fast, [0.025, 0.5, 0.975]) == pytest.approx(np.quantile(slow, [0.025, 0.5, 0.975]), abs=0.02)
    assert fast.std() == pytest.approx(values.std() / np.sqrt(200), rel=0.08)


def test_an_interval_holds_the_mean_of_the_population_as_often_as_it_says():
    rng = np.random.default_rng(3)
    estimates = [estimate_means(rng.normal(size=(100, 1)), seed=n, n_resamples=300)[0] for n in range(300)]
    assert 0.91 < np.mean([estimate.low <= 0 <= estimate.high for estimate in estimates]) < 0.985


def test_columns_are_drawn_together():
    values = np.random.default_rng(4).normal(size=(50, 1))
    means = bootstrap_means(np.hstack([values, values + 1]))
    assert means[:, 1] - means[:, 0] == pytest.approx(np.ones(len(means)))


def test_the_same_seed_says_the_same_and_blocks_leave_no_trace_in_the_shape():
    values = np.random.default_rng(5).normal(size=(5000, 2))
    assert (bootstrap_means(values) == bootstrap_means(values)).all()
    assert bootstrap_means(values).shape == (1000, 2)
    assert not (bootstrap_means(values) == bootstrap_means(values, seed=1)).all()


def test_estimates_of_a_proportion():
    answers = np.array([1.0] * 120 + [0.0] * 80)[:, None]
    (estimate,) = estimate_means(answers)
    assert estimate.mean == pytest.approx(0.6)
    assert estimate.standard_error == pytest.approx(proportion_standard_error(0.6, 200), rel=0.01)
    assert estimate.high - estimate.low == pytest.approx(4 * 0.0346, rel=0.1)


def test_one_value_has_no_error_and_none_has_no_mean():
    assert np.isnan(estimate_means(np.array([[0.5]]))[0].standard_error)
    assert np.isnan(estimate_means(np.empty((0, 1)))[0].mean)


def test_k_is_matched_with_halves_up_and_never_0():
    assert (matched_k(5, 200, 400), matched_k(1, 10, 1000), matched_k(10, 300, 200)) == (3, 1, 15)


def test_the_gap_of_two_groups_has_both_their_spreads():
    rng = np.random.default_rng(3)
    first, second = rng.normal(0.7, 0.1, 400), rng.normal(0.4, 0.2, 100)
    gap = estimate_gap(first, second)
    expected = (first.var(ddof=1) / 400 + second.var(ddof=1) / 100) ** 0.5
    assert gap.mean == pytest.approx(first.mean() - second.mean())
    assert gap.standard_error == pytest.approx(expected)
    assert (gap.high - gap.low) / 2 == pytest.approx(1.96 * expected, rel=0.1)
    assert np.isnan(estimate_gap(first, second[:0]).mean)
