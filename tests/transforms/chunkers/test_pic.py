"""Labels follow the mean of the cosines, exactly and however the sums were taken; no spread, no cut."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from transforms.chunkers.pic import cuts, labels, similarities

vectors = hnp.arrays(np.float32, st.tuples(st.integers(0, 30), st.just(4)), elements=st.floats(-2, 2, width=16))


@given(vectors, hnp.arrays(np.float32, 4, elements=st.floats(-2, 2, width=16)))
def test_similarities_are_cosines(sentences, anchor):
    found = similarities(sentences, anchor)
    assert found.shape == (len(sentences),) and (np.abs(found) <= 1).all()
    for row, value in zip(sentences.astype(np.float64), found.tolist(), strict=True):
        length = np.linalg.norm(row) * np.linalg.norm(anchor.astype(np.float64))
        assert abs(value - (row @ anchor / length if length else 0)) < 1e-4


@given(vectors, hnp.arrays(np.float32, 4, elements=st.floats(-2, 2, width=16)), st.randoms())
def test_labels_do_not_depend_on_scale_or_order(sentences, anchor, random):
    similarity = similarities(sentences, anchor)
    near = labels(similarity)
    assert near.tolist() == labels(similarities(sentences * 2, anchor * 4)).tolist()
    order = list(range(len(sentences)))
    random.shuffle(order)
    assert labels(similarity[order]).tolist() == near[order].tolist()


@given(hnp.arrays(np.float64, st.integers(0, 40), elements=st.integers(-10000, 10000).map(lambda n: n / 10000)))
def test_runs_alternate_and_labels_compare_with_the_mean(similarity):
    near = labels(similarity)
    if len(similarity) and np.ptp(similarity) > 0:
        total = round(float((similarity * 10000).round().sum()))
        scores = (similarity * 10000).round().astype(int).tolist()
        assert near.tolist() == [score * len(scores) >= total for score in scores]
        assert near.any() and not near.all()
    places = [0, *cuts(near).tolist(), len(near)]
    runs = [set(near[a:b].tolist()) for a, b in pairwise(places) if a < b]
    assert all(len(run) == 1 for run in runs) and all(a != b for a, b in pairwise(runs))


def test_the_spread_guard_makes_one_run():
    similarity = np.array([0.5, 0.55, 0.6])
    assert labels(similarity, min_spread=0.11).all() and cuts(labels(similarity, 0.11)).size == 0
    assert labels(similarity, min_spread=0.1).tolist() == [False, True, True]
    assert labels(np.full(5, 0.3)).all()


def test_a_zero_summary_is_one_run():
    assert labels(similarities(np.eye(4, dtype=np.float32), np.zeros(4, np.float32))).all()
    assert labels(np.empty(0)).size == 0
