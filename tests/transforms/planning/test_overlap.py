import pytest

from models.facts import EncoderFacts
from models.prices import Assumptions
from transforms.planning.corpus import Windows, passes_from_lengths
from transforms.planning.lengths import Lengths
from transforms.planning.overlap import overlap_figures


def figures(tokens, window, overlap, span=None):
    facts = EncoderFacts("tiny", 1000, 2, 8, 64, 514, 2)
    windows = Windows(window, window, window, overlap)
    corpus = passes_from_lengths(Lengths([tokens], [7]), windows, facts, Assumptions(), "given")
    return {name: figure.value for name, figure in overlap_figures(corpus, span).items()}


def test_the_exact_inflation_stands_beside_the_approximation():
    assert figures(4000, 512, 64) == {"inflation": 1.128, "long_document_inflation": pytest.approx(8 / 7)}
    assert figures(0, 512, 64).keys() == {"long_document_inflation"}


def test_overlap_beyond_what_spans_need_is_waste():
    found = figures(4000, 512, 64, 40)
    assert (found["severance_probability"], found["sufficient_overlap_tokens"]) == (0, 39)
    assert found["wasted_overlap_tokens"] == 25
    short = figures(4000, 512, 0, 40)
    assert short["severance_probability"] == pytest.approx(0.076171875) and short["wasted_overlap_tokens"] == 0
