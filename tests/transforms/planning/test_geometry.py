from math import sqrt

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from models.errors import SettingsError
from transforms.planning.geometry import (
    check_geometry,
    coarse_wins_above,
    coarse_wins_above_limit,
    distinct_parents,
    distractor_score,
    distractor_wins_above,
    gold_score,
    headroom,
    hits_for_parents,
    pooled_score,
    pooled_score_limit,
)


@given(st.integers(1, 12), st.floats(-1, 1), st.floats(-1, 1), st.floats(-0.05, 0.95))
def test_scores_are_those_of_vectors_that_exist_and_others_are_refused(n, a, b, rho):
    """The Gram matrix of query and sentences is that of real vectors exactly where no eigenvalue is negative."""
    gram = np.full((n + 1, n + 1), rho)
    gram[0, 1], gram[0, 2:] = a, b
    gram[:, 0] = gram[0]
    np.fill_diagonal(gram, 1)
    values, vectors = np.linalg.eigh(gram)
    assume(abs(values[0]) > 1e-6)
    if values[0] < 0:
        with pytest.raises(SettingsError):
            pooled_score(n, a, b, rho)
        return
    points = vectors * np.sqrt(values)
    pooled = points[1:].sum(axis=0)
    assert pooled_score(n, a, b, rho) == pytest.approx(points[0] @ pooled / np.linalg.norm(pooled), abs=1e-9)


@given(st.integers(2, 200), st.floats(0.05, 0.95), st.floats(0, 0.9))
def test_at_the_crossover_both_units_score_the_same(n, rho, a):
    b = coarse_wins_above(n, a, rho)
    assume(_exists(n, a, b, rho))
    assert pooled_score(n, a, b, rho) == pytest.approx(a)


def _exists(n, a, b, rho):
    try:
        check_geometry(n, a, b, rho)
    except SettingsError:
        return False
    return True


def test_long_units_tend_to_the_limits():
    assert pooled_score(10**8, 0.62, 0.5, 0.5) == pytest.approx(pooled_score_limit(0.5, 0.5), rel=1e-6)
    assert coarse_wins_above(10**8, 0.62, 0.5) == pytest.approx(coarse_wins_above_limit(0.62, 0.5), rel=1e-6)


@given(st.integers(1, 50), st.floats(0, 1))
def test_a_distractor_wins_from_where_its_score_passes_that_of_the_gold(m, rho):
    gamma = distractor_wins_above(m, rho)
    assert distractor_score(m, gamma, rho) == pytest.approx(gold_score(m, rho))
    assert headroom(m, rho) == pytest.approx(1 - sqrt(gamma))


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (lambda: gold_score(8, -0.5), "rho = -0.5"),
        (lambda: gold_score(0, 0.5), "at least one"),
        (lambda: pooled_score(2, 1.5, 0, 0), "answer_similarity = 1.5"),
        (lambda: pooled_score(4, 0.9, 0.9, 0.0), "no vectors have"),
        (lambda: distractor_score(8, 0.9, 0.1), "no vectors have"),
        (lambda: coarse_wins_above(1, 0.5, 0.5), "n_sentences = 1"),
        (lambda: pooled_score(2, 0.0, 0.0, -1.0), "leaves nothing"),
        (lambda: pooled_score_limit(0.5, 0), "rho = 0"),
        (lambda: distinct_parents(30, 0.5), "fan_in = 0.5"),
        (lambda: hits_for_parents(3, 0), "fan_in = 0"),
    ],
)
def test_what_no_vectors_have_is_refused(call, part):
    with pytest.raises(SettingsError, match=part):
        call()
