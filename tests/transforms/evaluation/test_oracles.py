import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import SettingsError
from transforms.evaluation.extent import Spans, extents
from transforms.evaluation.oracles import best_part_recall_continuous, oracle_iou, oracle_recall


def best_windows(window, gold):
    """Recall and IoU at every phase, measured on the window with the largest part of the answer."""
    phases = np.arange(window)
    here = np.minimum(window - phases, gold)
    starts = np.where(here >= gold - here, 0, window)
    nil = np.zeros(window, np.int64)
    references = Spans(phases, nil, phases, phases + gold)
    return extents(references, Spans(phases, nil, starts, starts + window), window)


@given(st.integers(2, 40), st.integers(0, 60))
def test_as_measured_at_every_phase(gold, more):
    found = best_windows(gold + more, gold)
    assert oracle_recall(gold + more, gold) == pytest.approx(found.recall.mean())
    assert oracle_iou(gold + more, gold) == pytest.approx(found.iou.mean())


def test_a_stick_broken_in_two_and_in_three():
    assert best_part_recall_continuous(2) == pytest.approx(0.75)
    assert best_part_recall_continuous(3) == pytest.approx(11 / 18)


def test_an_answer_longer_than_the_window_is_refused():
    with pytest.raises(SettingsError, match="gold_tokens = 60"):
        oracle_recall(50, 60)
