import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from transforms.evaluation.extent import Spans
from transforms.evaluation.misses import count_misses, is_held, is_retrieved

SPAN = st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 20), st.integers(1, 10)).map(
    lambda s: (s[0], s[1], s[2], s[2] + s[3])
)
SPANS = st.lists(SPAN, max_size=10)


def spans(rows):
    return Spans(*np.array(rows, np.int64).reshape(-1, 4).T)


@given(SPANS, SPANS)
def test_retrieved_when_every_position_is(gold, retrieved):
    found = is_retrieved(spans(gold), spans(retrieved)).tolist()
    for (question, document, start, end), is_found in zip(gold, found, strict=True):
        got = {p for q, d, s, e in retrieved if (q, d) == (question, document) for p in range(s, e)}
        assert is_found == (set(range(start, end)) <= got)


@given(SPANS, SPANS)
def test_held_when_one_unit_does(gold, units):
    found = is_held(spans(gold), spans(units)).tolist()
    for (_, document, start, end), is_found in zip(gold, found, strict=True):
        assert is_found == any(d == document and s <= start and end <= e for _, d, s, e in units)


def test_severed_or_outranked():
    units = spans([(0, 0, 0, 10), (0, 0, 10, 20), (0, 1, 0, 30)])
    gold = spans([(0, 0, 5, 12), (0, 1, 3, 9), (1, 0, 0, 10), (1, 0, 5, 12)])
    retrieved = spans([(0, 0, 0, 10), (1, 0, 0, 10), (1, 0, 10, 20)])
    assert count_misses(gold, retrieved, units) == (2, 1, 1)
