import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import SettingsError
from transforms.planning.windows import (
    embedded_tokens,
    inflation,
    intact_probability,
    last_window_tokens,
    long_document_inflation,
    padded_slots,
    severance_probability,
    sufficient_overlap,
    window_count,
    window_counts,
)


@st.composite
def windows(draw, max_window=60):
    window = draw(st.integers(1, max_window))
    return window, draw(st.integers(0, window - 1))


def spans_of(n_tokens, window, overlap):
    """The windows themselves, by the rule: starts 0, S, 2S, ..., up to the first that reaches the end."""
    spans, start = [], 0
    while n_tokens and (not spans or spans[-1][1] < n_tokens):
        spans.append((start, min(start + window, n_tokens)))
        start += window - overlap
    return spans


@given(st.integers(0, 400), windows())
def test_counts_and_tokens_are_those_of_the_windows_themselves(n_tokens, window):
    spans = spans_of(n_tokens, *window)
    assert window_count(n_tokens, *window) == len(spans)
    assert embedded_tokens(n_tokens, *window) == sum(end - start for start, end in spans)
    assert padded_slots(n_tokens, *window) == len(spans) * window[0]
    lengths = np.array([n_tokens])
    assert window_counts(lengths, *window).tolist() == [len(spans)]
    assert last_window_tokens(lengths, *window).tolist() == [spans[-1][1] - spans[-1][0] if spans else 0]


@given(st.integers(1, 400), windows())
def test_inflation_never_exceeds_that_of_long_documents_by_more_than_a_window(n_tokens, window):
    limit = long_document_inflation(*window)
    assert 1 <= inflation(n_tokens, *window) <= limit
    assert inflation(10**9, *window) == pytest.approx(limit, rel=1e-6)


@given(st.integers(1, 80), windows())
def test_severance_is_the_share_of_starts_that_no_window_covers(span, window):
    size, overlap = window
    stride = size - overlap
    starts = range(10 * size, 10 * size + stride)  # one stride, far from both ends
    spans = spans_of(40 * size + 200, *window)
    severed = sum(all(not (a <= start and start + span <= b) for a, b in spans) for start in starts)
    assert severance_probability(span, *window) == pytest.approx(severed / stride)
    assert intact_probability(span, *window) == pytest.approx(1 - severed / stride)


@given(st.integers(1, 200), st.integers(0, 100))
def test_the_sufficient_overlap_is_sufficient_and_the_smallest(span, room):
    overlap = sufficient_overlap(span)
    window = max(span, overlap + 1) + room
    assert severance_probability(span, window, overlap) == 0
    if overlap and window > span - 1:
        assert severance_probability(span, window, overlap - 1) > 0


@pytest.mark.parametrize(("window", "overlap"), [(0, 0), (5, 5), (5, 6), (5, -1)])
def test_a_window_that_does_not_advance_is_refused(window, overlap):
    for formula in (window_count, embedded_tokens, padded_slots, severance_probability, intact_probability):
        with pytest.raises(SettingsError, match=r"window_tokens|overlap_tokens"):
            formula(10, window, overlap)


def test_lengths_that_cannot_be_are_refused():
    with pytest.raises(SettingsError, match="document_tokens = -1"):
        window_count(-1, 10)
    with pytest.raises(SettingsError, match="document_tokens = 0"):
        inflation(0, 10)
    with pytest.raises(SettingsError, match="span_tokens = 0"):
        sufficient_overlap(0)
