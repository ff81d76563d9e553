from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.planning.advice import (
    LEAST_GOLD_SCORE,
    Traits,
    advise_chunker,
    advise_levels,
    advise_llm_boundaries,
    advise_overlap,
    advise_propositions,
    advise_window,
    enough_overlap,
    sentences_at_score,
)
from transforms.planning.geometry import gold_score
from transforms.planning.separability import Separation

PLAIN = Traits(254, 0.0, 0.5, 20.0, 40, False, 0.5, 0.0, None, "paragraph")
APART, TOGETHER = Separation(0.9, 0.2, 0.1, 0.1), Separation(0.3, 0.29, 0.1, 0.7)


@given(st.floats(0, 0.99), st.floats(0.1, 0.99))
def test_one_more_sentence_would_lose_the_score(rho, least):
    n = sentences_at_score(rho, least)
    if n is None:
        assert gold_score(10**6, rho) >= least - 1e-9
    else:
        assert gold_score(n, rho) >= least - 1e-6 and gold_score(n + 1, rho) < least + 1e-6


@pytest.mark.parametrize(
    ("markup", "separation", "choice"),
    [
        (1.0, APART, "structural"),
        (0.5, APART, "auto"),
        (0.0, APART, "semantic"),
        (0.0, TOGETHER, "recursive"),
        (0.0, None, "recursive"),
    ],
)
def test_structure_goes_first_then_meaning_where_it_parts(markup, separation, choice):
    assert advise_chunker(replace(PLAIN, markup_share=markup, separation=separation)).choice == choice


@given(st.one_of(st.none(), st.floats(-0.2, 1)), st.integers(1, 600), st.floats(1, 80), st.integers(20, 8000))
def test_a_window_fits_the_encoder_and_an_overlap_the_window(rho, answer, sentence, most):
    traits = replace(PLAIN, rho=rho, answer_tokens=answer, sentence_tokens=sentence)
    window = advise_window(traits, most).tokens
    assert 0 < window <= most and window >= min(most, 4 * answer)
    assert 0 <= enough_overlap(traits, window) < window or window == 1
    if rho is not None and rho >= LEAST_GOLD_SCORE**2:
        assert window == most


@pytest.mark.parametrize(
    ("severed", "tokens", "part"),
    [
        (None, 0, "give --questions"),
        ((0, 0, 9), 0, "none of 9 answers is cut"),
        ((4, 4, 9), 0, "longer windows"),
        ((4, 1, 9), 39, "4 of 9 answers are cut without, 1 with it"),
    ],
)
def test_an_overlap_is_paid_for_only_where_it_keeps_answers_whole(severed, tokens, part):
    advice = advise_overlap(PLAIN, enough_overlap(PLAIN, 160), severed)
    assert advice.tokens == tokens and part in advice.reason


@pytest.mark.parametrize(
    ("rho", "facts", "anaphora", "levels", "propositions"),
    [
        (0.2, 6.0, 0.4, "sentence + section", "can pay"),
        (0.2, 6.0, 0.0, "sentence + section", "hardly"),
        (0.2, 6.0, None, "sentence + section", "hardly"),
        (0.2, 2.0, 0.4, "one", "hardly"),
        (0.9, 6.0, 0.0, "one", "cannot pay"),
        (None, 6.0, 0.0, "one", "cannot pay"),
    ],
)
def test_facts_are_matched_one_by_one_where_pooling_hides_them(rho, facts, anaphora, levels, propositions):
    traits = replace(PLAIN, rho=rho, anaphoric_share=anaphora)
    assert advise_levels(traits, facts).choice == levels
    assert advise_propositions(traits, facts).choice == propositions


@pytest.mark.parametrize(
    ("share", "separation", "choice"),
    [(0.01, None, "cannot pay"), (0.5, APART, "hardly"), (0.5, TOGETHER, "can pay"), (0.5, None, "can pay")],
)
def test_an_llm_cuts_where_there_is_much_to_cut_and_nothing_cheaper(share, separation, choice):
    traits = replace(PLAIN, long_unmarked_share=share, separation=separation)
    assert advise_llm_boundaries(traits).choice == choice
