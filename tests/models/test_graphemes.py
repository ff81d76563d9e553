import time

import pytest
import regex
from hypothesis import given, settings
from strategies import texts

from models.graphemes import Graphemes, cluster_starts


@settings(max_examples=200, deadline=None)
@given(texts(max_pieces=80))
def test_floor_and_ceil_are_the_nearest_boundaries(text):
    boundaries = [*(match.start() for match in regex.finditer(r"\X", text)), len(text)]
    graphemes = Graphemes(text)
    for place in range(len(text) + 1):
        assert graphemes.floor(place) == max(boundary for boundary in boundaries if boundary <= place)
        assert graphemes.ceil(place) == min(boundary for boundary in boundaries if boundary >= place)


@pytest.mark.parametrize("unit", ["🇩🇪", "e\u0301", "\u0301", "👩\u200d", "\u0600", "क्"])
def test_long_runs_are_right_and_linear(unit):
    text = "a" + unit * 500
    assert list(cluster_starts(text, 0, len(text))) == [match.start() for match in regex.finditer(r"\X", text)]
    start = time.process_time()
    Graphemes(unit * 100_000)
    assert time.process_time() - start < 5


def test_carriage_return_and_line_feed_are_one():
    assert Graphemes("a\r\nb").floor(2) == 1
