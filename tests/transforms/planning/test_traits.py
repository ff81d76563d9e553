from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.planning.separability import Separation
from transforms.planning.traits import LabelledGaps, Similarity, edges_at_gaps, hits_at_prevalence


def test_rho_is_the_mean_cosine_of_all_pairs():
    rng = np.random.default_rng(1)
    passages = [rng.normal(size=(n, 8)) for n in (1, 2, 5)]
    found, expected = Similarity(), []
    for rows in passages:
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        found.add(rows.astype(np.float32))
        cosines = [float(a @ b) for i, a in enumerate(rows) for b in rows[i + 1 :]]
        expected += [np.mean(cosines)] if cosines else []
    assert found.rho == pytest.approx(np.mean(expected), abs=1e-6)
    assert Similarity().rho is None


@given(st.lists(st.integers(0, 60), min_size=1, max_size=12, unique=True).map(sorted), st.sets(st.integers(0, 70)))
def test_an_edge_belongs_to_the_gap_that_it_lies_in(starts, edges):
    expected = [any(a < edge <= b for edge in edges) for a, b in pairwise(starts)]
    assert edges_at_gaps(np.array(starts), edges).tolist() == expected


def test_labels_without_two_of_each_kind_separate_nothing():
    gaps = LabelledGaps()
    assert gaps.separation() is None
    gaps.add(np.array([0.1, 0.2, 0.9]), np.array([False, False, True]))
    assert gaps.separation() is None
    gaps.add(np.array([0.8]), np.array([True]))
    assert gaps.separation().delta > 1


def test_hits_are_the_prevalence_where_nothing_separates_and_one_where_all_does():
    assert hits_at_prevalence(Separation(0.3, 0.3, 0.1, 0.4)) == pytest.approx(0.4)
    assert hits_at_prevalence(Separation(0.9, 0.1, 0.05, 0.2)) == pytest.approx(1.0, abs=1e-6)
