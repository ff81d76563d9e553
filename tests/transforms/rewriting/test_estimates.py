"""The estimate is the geometry of the vectors themselves, and grows with facts that differ."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import SettingsError
from models.fakes import HashingEncoder
from models.settings import EncoderSettings
from models.tokenizer import HashingTokenizer
from transforms.chunking import make_cutter
from transforms.elements import Snapshot
from transforms.rewriting.estimates import estimate, measure, open_subjects, sampled_passages
from transforms.settings import ChunkingSettings


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 2**32 - 1), st.floats(0.1, 5))
def test_the_gold_score_is_the_mean_cosine_of_a_fact_and_its_passage(sizes, seed, shared):
    draw = np.random.default_rng(seed)
    passages = [draw.normal(size=(m, 16)) + shared * draw.normal(size=16) for m in sizes]
    found = measure(passages)
    units = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in passages]
    pooled = [rows.sum(axis=0) / np.linalg.norm(rows.sum(axis=0)) for rows in units]
    cosines = [float((rows @ whole).mean()) for rows, whole in zip(units, pooled, strict=True)]
    assert found.gold_score == pytest.approx(np.mean(cosines), abs=1e-9)
    assert found.headroom == pytest.approx(1 - found.gold_score, abs=1e-9)
    assert (found.n_passages, found.m) == (len(sizes), np.mean(sizes))
    assert found.distractor_wins_above == pytest.approx(np.mean(np.square(cosines)), abs=1e-9)


def test_rho_is_the_mean_cosine_of_pairs():
    assert measure([np.eye(3), np.ones((4, 3))]).rho == pytest.approx(0.5)
    assert measure([np.array([[1.0, 0], [-3, 0]])]).rho == -1
    assert measure([np.ones((1, 3))]) == (1, 1, None, 1, 0, 1)


@pytest.mark.parametrize("passages", [[], [np.empty((0, 4))], [np.zeros((2, 4))], [np.full((2, 4), np.nan)]])
def test_what_has_no_direction_is_refused(passages):
    with pytest.raises(SettingsError, match=r"passage|vector"):
        measure(passages)


def test_mixed_passages_have_more_headroom_than_coherent_ones():
    encoder = HashingEncoder.from_settings(EncoderSettings(encoder="hashing"))

    def encode(texts):
        return np.asarray(encoder.encode(texts).vectors, np.float32)

    mixed = Snapshot("The mill grinds rye. A ticket costs four euros. Refunds end in May. Cats sleep on warm sills.")
    coherent = Snapshot("The mill grinds rye. The mill grinds oats. The mill grinds rye and oats. The mill grinds.")
    cutter = make_cutter(ChunkingSettings(), HashingTokenizer())
    found = [estimate(sampled_passages(text, cutter.cut(text)), encode) for text in (mixed, coherent)]
    assert found[0].m == found[1].m == 4
    assert found[0].headroom > 2 * found[1].headroom > 0 and found[0].rho < found[1].rho


def test_open_subjects_are_counted_where_they_can_be_judged():
    english = [
        "The mill on the brook grinds rye for bakers.",
        "It is older than the church.",
        "They close at four.",
    ]
    found = open_subjects([english, ["水車小屋はライ麦を挽く。"]])
    assert (found.n_judged, found.n_unjudged) == (3, 1) and found.share == pytest.approx(2 / 3)
    assert open_subjects([]).share is None


def test_units_without_sentences_are_left_out():
    text = Snapshot("One two three. Four five six.")
    cut = make_cutter(ChunkingSettings(chunker="fixed", window_tokens=2), HashingTokenizer()).cut(text)
    passages = sampled_passages(text, cut)
    assert sum(map(len, passages)) >= len(cut.units) == len(passages)
