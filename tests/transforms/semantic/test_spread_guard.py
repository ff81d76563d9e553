"""The guard that is chosen does best on the texts of all guards there are, and interferes no more than it must."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.chunkers.pic import labels
from transforms.semantic.spread_guard import GuardedText, choose_guard, guard_row, guard_rows, guarded_text

spreads = st.integers(0, 20000).map(lambda n: n / 10000)
texts = st.lists(st.builds(GuardedText, spreads, st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12)


@given(texts, spreads)
def test_no_guard_does_better(some, other):
    chosen = choose_guard(some)
    assert chosen.pk <= guard_row(some, other).pk
    assert chosen.min_spread == 0 or guard_row(some, 0.0).pk > chosen.pk
    assert all(chosen.pk <= row.pk for row in guard_rows(some))


@given(texts, spreads, spreads)
def test_a_higher_guard_leaves_more_texts_as_one_run(some, one, other):
    low, high = sorted((one, other))
    assert guard_row(some, low).one_run_share <= guard_row(some, high).one_run_share
    assert guard_row(some, 0.0).one_run_share == 0 and guard_row(some, 2.01).one_run_share == 1


@given(st.lists(st.integers(-10000, 10000).map(lambda n: n / 10000), min_size=2, max_size=30), st.data())
def test_a_text_is_one_run_for_the_guard_as_it_is_for_the_chunker(similarity, data):
    scores = np.array(similarity)
    gaps = np.array(data.draw(st.lists(st.booleans(), min_size=len(scores) - 1, max_size=len(scores) - 1)))
    text = guarded_text(scores, gaps)
    guard = data.draw(spreads | st.just(text.spread) | st.just(text.spread + 1e-4))
    if guard > 0.0001:
        assert (text.spread < guard) == bool(np.round(np.ptp(scores), 4) < guard)
        assert not text.spread < guard or labels(scores, guard).all()
    if not gaps.any():
        assert text.pk_one_run == 0


def test_a_flat_text_is_saved_and_a_steep_one_is_left_alone():
    flat, steep = GuardedText(0.1, 0.6, 0.0), GuardedText(0.5, 0.1, 0.4)
    assert choose_guard([flat, steep]).min_spread == 0.5
    assert choose_guard([steep]).min_spread == 0.0
    row = guard_row([flat, steep], 0.5)
    assert (row.one_run_share, row.pk) == (0.5, pytest.approx(0.05))
