"""A prefix places its passage in a sentence or two that fit; whatever else comes back is refused and counted."""

import pytest
from asking_models import Asked
from hypothesis import given
from hypothesis import strategies as st

from models.fake_llm import count_words
from models.llm.records import Answer, LlmFailure
from transforms.rewriting.dialogues import hold
from transforms.rewriting.prefixes import place
from transforms.rewriting.prompts import load_prompt

PROMPT = load_prompt("prefix")
PASSAGE = "It is valid until six in the morning. Day passes cost 12 euros."


def made(reply, max_tokens=40, **more):
    settings = {"heading_path": ("Harrow line", "Tickets"), "context": "Night buses."} | more
    dialogue = place(PASSAGE, PROMPT, max_tokens=max_tokens, count_tokens=count_words, **settings)
    return hold(dialogue, Asked(reply))


def test_a_prefix_is_one_line_and_the_model_sees_what_is_known():
    ask = Asked("About night tickets\nof the Harrow line.")
    prefix = hold(
        place(
            PASSAGE, PROMPT, heading_path=("Harrow line",), context="Night.", max_tokens=40, count_tokens=count_words
        ),
        ask,
    )
    assert prefix == ("About night tickets of the Harrow line.", {"prefixes": 1})
    shown = ask.requests[0].messages[-1].content
    assert "Document: Night." in shown and "Headings: Harrow line" in shown and PASSAGE in shown


@pytest.mark.parametrize(
    ("reply", "reason"),
    [("", "empty"), (PASSAGE, "repeats_prompt"), (PROMPT.turns[2].content, "repeats_prompt"),
     ("Tickets of 1987.", "invented_number"), ("Tickets of the Marlow line.", "invented_name"),
     ("关于夜间车票。", "other_language"), ("word " * 50, "too_long"),
     (LlmFailure("timed_out"), "timed_out")],
)  # fmt: skip
def test_what_is_of_no_use_is_refused(reply, reason):
    prefix = made(reply)
    assert prefix.text == "" and prefix.counts == {"rejected_prefixes": 1, f"rejected_prefixes.{reason}": 1}


def test_names_are_not_judged_where_every_noun_has_a_capital():
    german = "Die Karte ist bis sechs Uhr in der Nacht gültig und kostet 12 Euro."
    ask = Asked("Es geht um eine Fahrkarte für die Nacht.")
    prefix = hold(place(german, PROMPT, max_tokens=40, count_tokens=count_words), ask)
    assert prefix.counts == {"prefixes": 1, "unjudged_names": 1}


def test_a_long_prefix_loses_its_last_sentences():
    prefix = made("About night tickets. They are of the Harrow line. " + "more " * 30 + ".", max_tokens=12)
    assert prefix == ("About night tickets. They are of the Harrow line.", {"prefixes": 1, "trimmed_prefixes": 1})


def test_a_cut_answer_ends_with_a_whole_sentence():
    assert made(Answer("About night tickets. They are of", is_cut=True)).text == "About night tickets."


@given(st.text(max_size=200), st.booleans(), st.integers(1, 20))
def test_no_prefix_is_longer_than_its_room(text, is_cut, max_tokens):
    prefix = made(Answer(text, is_cut=is_cut), max_tokens)
    assert count_words(prefix.text) <= max_tokens and "\n" not in prefix.text
    assert bool(prefix.text) is (prefix.counts["prefixes"] == 1)
