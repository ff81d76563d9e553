"""Whatever a model says: the pieces tile the text, calls are bounded by windows, and a window's edge never cuts."""

import json
from itertools import pairwise

import pytest
from asking_models import Asked
from hypothesis import given, settings
from hypothesis import strategies as st

from models.fake_llm import count_words, in_prose
from models.llm.records import Answer, LlmFailure
from transforms.elements import Block, Snapshot
from transforms.rewriting.boundaries import cut_spans, find_boundaries, structural_fallback
from transforms.rewriting.dialogues import hold
from transforms.rewriting.prompts import load_prompt

PROMPT = load_prompt("boundaries")


def document(n_sentences, words=5):
    text, spans = "", []
    for number in range(n_sentences):
        start = len(text)
        text += f"Sentence {number} " + "has words " * words + ".\n"
        spans.append((start, len(text)))
    return text, spans


def find(text, spans, ask, context_tokens=1500, fallback=lambda first, end: [], **more):
    return hold(
        find_boundaries(text, spans, PROMPT, fallback, context_tokens=context_tokens, count_tokens=count_words, **more),
        ask,
    )


def shown(request):
    """The sentences of a window, as the model sees their numbers and their own."""
    lines = request.messages[len(PROMPT.turns) - 1].content.splitlines()
    return [int(line.split()[2]) for line in lines]


replies = st.one_of(
    st.text(max_size=60),
    st.lists(st.one_of(st.integers(-5, 120), st.text(max_size=3), st.floats(), st.none())).map(json.dumps),
    st.lists(st.integers(1, 30), unique=True).map(sorted).map(lambda numbers: json.dumps({"cut_after": numbers})),
    st.sampled_from(
        [LlmFailure("unavailable"), LlmFailure("over_context"), Answer("[1, 2", is_cut=True), "0", "999999"]
    ),
)


@given(st.lists(replies, min_size=1, max_size=6), st.integers(0, 150), st.integers(1, 40), st.sets(st.integers(0, 150)))
@settings(max_examples=80)
def test_any_answers_are_lossless_and_bounded(answers, n_sentences, words, structural):
    text, spans = document(n_sentences, words)
    ask = Asked(lambda prompt, number: answers[number % len(answers)])
    cuts = find(text, spans, ask, fallback=lambda first, end: sorted(structural))
    assert list(cuts.before) == sorted(set(cuts.before)) and all(0 < number < n_sentences for number in cuts.before)
    pieces = cut_spans(len(text), spans, cuts.before)
    assert "".join(text[start:end] for start, end in pieces) == text
    assert len(pieces) == len(cuts.before) + 1 or not text
    assert len(ask.requests) <= 2 * cuts.counts["boundary_windows"] <= 2 * n_sentences
    assert cuts.counts["boundary_fallbacks"] == sum(
        count for name, count in cuts.counts.items() if name.startswith("boundary_fallbacks.")
    )


def test_windows_are_half_as_long_as_they_go_on():
    text, spans = document(400)
    ask = Asked('{"cut_after": []}')
    cuts = find(text, spans, ask)
    width = max(len(shown(request)) for request in ask.requests)
    assert cuts.before == () and len(ask.requests) <= 2 * (400 // width + 1) + 1
    seen = [number for request in ask.requests for number in shown(request)]
    assert set(seen) == set(range(400))


def test_the_open_piece_is_carried_into_the_next_window():
    text, spans = document(60)
    ask = Asked('{"cut_after": [4]}')
    cuts = find(text, spans, ask, context_tokens=1330)
    firsts = [shown(request)[0] for request in ask.requests]
    ends = [shown(request)[-1] + 1 for request in ask.requests]
    assert len(firsts) > 2 and all(first < end for first, end in zip(firsts[1:], ends, strict=False))
    assert cuts.before == tuple(first + 4 for first in firsts)
    assert not set(ends[:-1]) & (set(cuts.before) - {first + 4 for first in firsts})


def test_the_last_piece_is_shown_again_from_its_start_where_it_is_short():
    text, spans = document(60)
    ask = Asked(lambda prompt, number: json.dumps({"cut_after": [prompt.count("\n") - 1]}))
    cuts = find(text, spans, ask)
    assert [shown(request)[0] for request in ask.requests[1:]] == list(cuts.before[:-1])


@pytest.mark.parametrize(
    ("bad", "problem"),
    [("prose", "no_json"), ("[0]", "out_of_range"), ("[-5]", "out_of_range"), ("[999999]", "out_of_range"),
     ("[2, 2]", "not_rising"), ("[3, 1]", "not_rising"), ('["one"]', "not_numbers"), ("[1.5]", "not_numbers"),
     ("[1,2,3,4,5,6,7]", "all_cut"), (Answer("[1, 2]", is_cut=True), "cut_answer")],
)  # fmt: skip
def test_an_answer_that_fails_is_asked_for_once_more_with_the_reason(bad, problem):
    text, spans = document(8)
    ask = Asked(lambda prompt, number: "[3]" if number else bad)
    cuts = find(text, spans, ask)
    assert cuts.before == (3,) and cuts.counts["boundary_retries"] == 1
    again = ask.requests[1].messages
    assert again[: len(PROMPT.turns)] == ask.requests[0].messages and [turn.role for turn in again[-2:]] == [
        "assistant",
        "user",
    ]
    cuts = find(text, spans, Asked(bad), fallback=lambda first, end: [0, 2, 5, 8])
    assert cuts.before == (2, 5) and cuts.counts[f"boundary_fallbacks.{problem}"] == 1


@pytest.mark.parametrize(
    "good", ['{"cut_after": [2, 5]}', '["2", "5"]', "[2.0, 5.0]", in_prose('{"cut_after": [2, 5]}')]
)
def test_spellings_are_repaired_and_counted(good):
    text, spans = document(8)
    cuts = find(text, spans, Asked(good))
    assert cuts.before == (2, 5) and "boundary_fallbacks" not in cuts.counts
    assert (good == '{"cut_after": [2, 5]}') is (cuts.counts == {"boundary_windows": 1})


def test_a_failure_falls_back_at_once():
    text, spans = document(8)
    ask = Asked(LlmFailure("over_context"))
    cuts = find(text, spans, ask, fallback=lambda first, end: [4])
    assert cuts.before == (4,) and len(ask.requests) == 1 and cuts.counts["boundary_fallbacks.over_context"] == 1


@pytest.mark.parametrize("n_sentences", [0, 1])
def test_a_document_of_one_sentence_asks_nobody(n_sentences):
    text, spans = document(n_sentences)
    ask = Asked("[1]")
    assert find(text, spans, ask) == ((), {}) and not ask.requests


@pytest.mark.parametrize("gap", [0, 1])
def test_the_fallback_cuts_where_the_author_did(gap):
    text = "# One\nFirst here. Second.\n\nThird.\n# Two\nFourth."
    starts = [0, 6, 18, 27, 34, 40]
    spans = [(start, end - gap) for start, end in pairwise([*starts, len(text) + gap])]
    headed = Snapshot(text, (Block("heading", 0, 5, 1), Block("heading", 34, 39, 1)))
    assert structural_fallback(headed, spans)(0, 6) == [4] and structural_fallback(headed, spans)(4, 6) == []
    assert structural_fallback(Snapshot(text), spans)(0, 6) == [3]


def test_an_endless_sentence_is_shown_in_part():
    text = "Short one. " + "word " * 100_000
    spans = [(0, 11), (11, len(text))]
    ask = Asked("[1]")
    cuts = find(text, spans, ask)
    assert cuts.before == (1,) and cuts.counts["trimmed_sentences"] == 1
    assert len(ask.requests[0].messages[-1].content) < 2000


def test_a_hundred_thousand_sentences_are_read_in_linear_time():
    text, spans = document(100_000, words=1)
    ask = Asked('{"cut_after": [10]}')
    cuts = find(text, spans, ask, context_tokens=8000)
    assert len(ask.requests) == cuts.counts["boundary_windows"] < 100_000 / 40
