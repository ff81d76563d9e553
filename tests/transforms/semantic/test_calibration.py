"""What a threshold buys, counted by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.semantic.calibration import (
    AnnotatedGaps,
    choose,
    fit,
    overlap_for,
    read_annotated,
    threshold_row,
)

TEXT = AnnotatedGaps(
    np.array([0.1, 0.9, 0.2, 0.3, 0.8, 0.1]),
    np.array([False, True, False, False, False, True]),
    np.array([5, 5, 5, 5, 5, 5, 5], np.int64),
)


def test_a_row_counts_hits_misses_and_parted_spans():
    row = threshold_row([TEXT], fit([TEXT]), 60.0, 0.0, span_tokens=10)
    # Cuts above 0.3: after the second sentence, a boundary, and after the fifth, inside the section [10, 30).
    assert (row.n_cuts, row.recall, row.false_positive_rate, row.precision) == (2, 0.5, 0.25, 0.5)
    # Spans of 10 tokens start at 0; at 10 to 20, of which 16 to 20 (25 - 10 < start) are parted; none fits at the end.
    assert row.split == 5 / 12


@given(st.lists(st.integers(1, 9), min_size=2, max_size=9), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_parted_spans_are_those_with_a_cut_inside(sizes, span, seed):
    random = np.random.default_rng(seed)
    n = len(sizes) - 1
    text = AnnotatedGaps(random.random(n).round(4), random.random(n) < 0.4, np.array(sizes, np.int64))
    pooled = [TEXT, text]
    row = threshold_row([text], fit(pooled), 50.0, 0.0, span)
    ends = np.cumsum(sizes)
    is_cut = text.distances > np.quantile(text.distances, 0.5)
    section = np.repeat(np.append(0, np.cumsum(text.is_boundary)), sizes)
    starts = [s for s in range(ends[-1] - span + 1) if len(set(section[s : s + span])) == 1]
    parted = [s for s in starts if any(s < cut < s + span for cut in ends[:-1][is_cut])]
    assert row.split == (len(parted) / len(starts) if starts else 0.0)


def test_the_best_percentile_is_chosen():
    chosen = choose([TEXT, TEXT], fit([TEXT, TEXT]), 10)
    assert chosen.pk == min(
        threshold_row([TEXT], fit([TEXT]), percentile, 0.0, 10).pk for percentile in (70.0, 85.0, 95.0)
    )


@pytest.mark.parametrize(
    ("ratio", "overlap", "inflation", "without", "beside"),
    [(1.0, 256, 2.0, 79 / 512, 0.0), (0.0, 0, 1.0, 79 / 512, 79 / 512), (50 / 462, 50, 512 / 462, 79 / 512, 29 / 462)],
)
def test_overlap_of_the_same_cost(ratio, overlap, inflation, without, beside):
    row = overlap_for(ratio + 1e-12, 512, 80)
    assert (row.overlap_tokens, row.inflation) == (overlap, pytest.approx(inflation))
    assert (row.split_without, row.split_with) == pytest.approx((without, beside))


def test_marks_are_left_out_and_sections_begin_where_they_say():
    source = "========,1,one.\nAlpha.\nBeta.\n\n========,2,empty.\n========,2,two.\nGamma.\n"
    text, starts = read_annotated(source)
    assert text == "Alpha.\nBeta.\n\nGamma." and [text[start:][:5] for start in starts] == ["Alpha", "Gamma"]
    assert read_annotated("no mark\n") == ("no mark", [0])


def test_pk_of_nothing_found_is_the_share_of_windows_with_a_boundary():
    gaps = np.array([False, False, True, False, False, False])
    text = AnnotatedGaps(np.zeros(6), gaps, np.ones(7, np.int64))
    assert threshold_row([text], fit([TEXT]), 95.0, 0.0, 2).pk == 2 / 5  # n = 7, two sections, k = 2


def test_a_text_of_two_sentences_has_a_pk():
    text = AnnotatedGaps(np.array([0.4]), np.array([True]), np.array([3, 3], np.int64))
    assert threshold_row([text], fit([TEXT]), 95.0, 0.0, 2).pk == 1.0
