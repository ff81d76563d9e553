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


@pytest.mark.parametrize(
    "reply",
    ['{"cut_after": [2]}', "[[1], [2]]", "Sure! Here it is: ```json [] ```", '{"propositions": [' + " \n" * 5000],
)
def test_an_answer_to_another_question_is_no_prefix(reply):
    assert made(reply) == ("", {"rejected_prefixes": 1, "rejected_prefixes.not_prose": 1})


def test_a_prefix_in_another_language_is_refused():
    german = "Es geht um eine Fahrkarte für die Nacht und um die Tageskarten in der Stadt."
    assert made(german).counts["rejected_prefixes.other_language"] == 1


def test_what_does_not_print_is_taken_out():
    prefix = made("About \x1b[31mnight\u202e tickets.\x00")
    assert prefix == ("About night tickets.", {"prefixes": 1, "unprintable_marks": 3})


def test_of_an_answer_without_end_only_the_beginning_is_looked_at():
    prefix = made("About night tickets. " * 100_000, max_tokens=12)
    assert prefix == ("About night tickets. " * 2 + "About night tickets.", {"prefixes": 1, "trimmed_prefixes": 1})


def test_months_are_known_in_digits():
    settings = {"max_tokens": 40, "count_tokens": count_words}
    ask = Asked("From the prices of May 2024.")
    assert hold(place("Prices as of 03.05.2024.", PROMPT, **settings), ask).text == "From the prices of May 2024."
    assert hold(place("Prices as of 03.06.2024.", PROMPT, **settings), ask).counts["rejected_prefixes"] == 1
