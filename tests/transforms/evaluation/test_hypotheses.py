from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import SettingsError
from transforms.evaluation.hypotheses import Hypothesis, check_hypotheses, judge
from transforms.evaluation.statistics import Estimate

METRICS = ("recall",)
EDGES = st.lists(st.integers(-100, 100), min_size=2, max_size=6, unique=True).map(sorted)


def ranges(edges, quantity="C - A"):
    pairs = pairwise(edges)
    return [Hypothesis(f"h{n}", quantity, "recall", low / 100, high / 100) for n, (low, high) in enumerate(pairs)]


@given(EDGES, st.floats(-1, 1))
def test_ranges_side_by_side_are_taken_and_at_most_one_is_hit(edges, value):
    hypotheses = ranges(edges)
    check_hypotheses(hypotheses, METRICS)
    verdict = judge(hypotheses, "C - A", "recall", Estimate(value, 0.0, value, value))
    hits = [one.name for one in hypotheses if one.low <= value < one.high or value == one.high == 1]
    assert ([verdict.hit] if verdict.hit else []) == hits == list(verdict.touched)


@given(EDGES)
def test_ranges_that_overlap_are_refused_for_one_quantity_only(edges):
    wide = Hypothesis("wide", "C - A", "recall", edges[0] / 100, edges[-1] / 100)
    with pytest.raises(SettingsError, match="overlap"):
        check_hypotheses([*ranges(edges), wide], METRICS)
    check_hypotheses([*ranges(edges, "B - C"), wide], METRICS)


def test_an_interval_over_two_ranges_touches_both():
    verdict = judge(ranges([-10, 5, 30]), "C - A", "recall", Estimate(0.1, 0.05, 0.0, 0.2))
    assert verdict.hit == "h1" and verdict.touched == ("h0", "h1")
