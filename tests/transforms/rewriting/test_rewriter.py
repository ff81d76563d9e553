"""Whatever a model answers, no unit is lost, every span lies in the document, and what was refused is counted."""

import json

import pytest
from asking_models import Asked
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import snapshots

from models.fake_llm import count_words
from models.llm.records import Answer, LlmFailure
from models.settings import EncoderSettings
from models.tokenizer import HashingTokenizer, load_tokenizer
from transforms.chunking import make_cutter
from transforms.elements import CHUNK, PASSAGE, PROPOSITION, SOURCE_LEVELS, SUMMARY, CutDocument, Snapshot, Unit
from transforms.rewriting.dialogues import hold
from transforms.rewriting.rewriter import UNITS_AT_ONCE, Rewriter
from transforms.rewriting.settings import RewritingSettings
from transforms.settings import ChunkingSettings

TOKENIZER = HashingTokenizer(60)
KINDS = ["propositions", "context", "summary"]
TEXT = "The mill grinds rye. Its wheel has 24 blades.\n\nThe Harrow line runs at night. A ticket costs 4.20 euros."


def rewriter(kind, **more):
    chosen = RewritingSettings(rewrite=kind, **({"max_prefix_tokens": 20} | more))
    return Rewriter(chosen, TOKENIZER, TOKENIZER.max_input_tokens, 2000, count_words)


def cut(snapshot, **more):
    return make_cutter(ChunkingSettings(chunker="recursive", min_tokens=0, **more), TOKENIZER).cut(snapshot)


def rewritten(kind, reply, text=TEXT, window_tokens=12, overlap_tokens=0, **more):
    snapshot, ask = Snapshot(text), Asked(reply)
    document = cut(snapshot, window_tokens=window_tokens, overlap_tokens=overlap_tokens)
    return document, hold(rewriter(kind, **more).dialogue(snapshot, document, "c1"), ask), ask


def facts(*items):
    return json.dumps({"propositions": [{"text": text, "sentences": sentences} for text, sentences in items]})


WORDS = [
    "The mill",
    "Harrow line",
    "24",
    "4.20 euros",
    "It",
    "costs",
    "a ticket",
    "grinds rye",
    ".",
    "\n",
    "夜",
    "٣",
    '"',
]
PROSE = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
NUMBERS = st.lists(st.integers(-1, 6), max_size=4)
LISTS = st.lists(st.tuples(PROSE, NUMBERS), max_size=5).map(lambda items: facts(*items))
COPIES = st.sampled_from(["copy", "copy all"])
FAILURES = st.sampled_from(
    [LlmFailure("over_context"), LlmFailure("timed_out"), Answer("{", is_cut=True), "", "x" * 9000]
)


def reply_of(draw_from):
    """A model that copies lines of what it is shown, or answers from a list, by the number of the request."""

    def reply(content, number):
        chosen = draw_from[number % len(draw_from)]
        if chosen in ("copy", "copy all"):
            lines = [line for line in content.splitlines() if line.startswith("[")]
            said = [(line.partition("] ")[2], [i]) for i, line in enumerate(lines, 1)]
            return facts(*(said if chosen == "copy all" else said[:1]))
        return chosen

    return reply


@pytest.mark.parametrize("kind", KINDS)
@given(
    snapshot=snapshots(),
    answers=st.lists(LISTS | PROSE | COPIES | FAILURES, min_size=1, max_size=6),
    overlap=st.integers(0, 5),
)
@settings(max_examples=60)
def test_random_answers_lose_nothing(kind, snapshot, answers, overlap):
    document = cut(snapshot, window_tokens=12, overlap_tokens=overlap)
    ask = Asked(reply_of(answers))
    made = hold(rewriter(kind, max_rewritten_units=7).dialogue(snapshot, document), ask)
    sources = [unit for unit in made.units if unit.level in SOURCE_LEVELS]
    assert [(unit.start, unit.end, unit.text) for unit in sources] == list(map(_plain, document.units))
    assert all(snapshot.text[unit.start : unit.end] == unit.text for unit in sources)
    for unit in made.units:
        assert 0 <= unit.start <= unit.end <= len(snapshot.text)
        assert 0 < unit.n_tokens == TOKENIZER.count([unit.text])[0]
        assert TOKENIZER.count([unit.embedded_text])[0] <= TOKENIZER.max_input_tokens
        assert (unit.parent is not None) == (unit.level == PROPOSITION)
        if unit.parent is not None:
            parent = made.units[unit.parent]
            assert parent.level == PASSAGE and parent.start <= unit.start < unit.end <= parent.end
    keys = [(unit.level, unit.start, unit.end, unit.text) for unit in made.units]
    assert len(keys) == len(set(keys))
    assert len(ask.requests) <= (
        min(len(document.units), 7) if kind != "summary" else 3 * len(snapshot.text) // 100 + 3
    )


def _plain(unit):
    return (unit.start, unit.end, unit.text)


def test_propositions_follow_their_passage_and_point_at_their_sentences():
    document, made, ask = rewritten("propositions", reply_of(["copy all"]))
    assert [(unit.level, unit.text, unit.parent) for unit in made.units] == [
        (PASSAGE, "The mill grinds rye. Its wheel has 24 blades.", None),
        (PROPOSITION, "The mill grinds rye.", 0),
        (PASSAGE, "The Harrow line runs at night.", None),
        (PROPOSITION, "The Harrow line runs at night.", 2),
        (PASSAGE, "A ticket costs 4.20 euros.", None),
        (PROPOSITION, "A ticket costs 4.20 euros.", 4),
    ]
    assert made.counts["rejected_propositions.pronoun_subject"] == 1
    fact = next(unit for unit in made.units if unit.text == "A ticket costs 4.20 euros.")
    assert TEXT[fact.start : fact.end] == fact.text and fact.context == ""
    assert {request.owner for request in ask.requests} == {"c1"} and len(ask.requests) == len(document.units)


def test_passages_without_a_proposition_stay_as_they_were_cut():
    document, made, _ = rewritten("propositions", facts(("It costs 9 euros.", [1])))
    assert made.units == document.units
    assert made.counts["passages_as_themselves.none_left"] == made.counts["rejected_propositions"] == len(made.units)


def test_a_failed_request_is_counted_by_its_reason():
    for kind, name in zip(KINDS, ["passages_as_themselves", "rejected_prefixes", "failed_summaries"], strict=True):
        document, made, _ = rewritten(kind, LlmFailure("over_context"))
        assert made.units == document.units
        assert made.counts[f"{name}.over_context"] == (len(document.units) if kind != "summary" else 1)


def test_what_overlapping_passages_both_say_is_one_unit():
    text = "The mill grinds rye. The wheel turns. The Harrow line runs at night."
    units = tuple(Unit(start, end, text[start:end], 8) for start, end in [(0, 37), (21, 68)])
    one_fact = lambda content, number: facts(("The wheel turns.", [2 - number]))  # noqa: E731
    made = hold(rewriter("propositions").dialogue(Snapshot(text), CutDocument(units, "x")), Asked(one_fact))
    assert [unit.level for unit in made.units] == [PASSAGE, PROPOSITION, CHUNK]
    assert made.counts["shared_propositions"] == made.counts["passages_as_themselves.none_kept"] == 1


def test_a_proposition_that_the_encoder_cannot_read_whole_is_left_out():
    long = "The mill " + "and the mill " * 30 + "grinds rye."
    document, made, _ = rewritten("propositions", facts((long, [1])))
    assert made.units == document.units
    assert made.counts["propositions_over_room"] > 0


def test_a_prefix_stands_in_front_of_a_body_that_is_not_shortened():
    document, made, ask = rewritten("context", "This is about a mill and its wheel.")
    assert all(unit.context == "This is about a mill and its wheel." for unit in made.units)
    assert [unit.text for unit in made.units] == [unit.text for unit in document.units]
    assert made.counts["prefixes"] == len(document.units)
    assert "The mill grinds rye." in ask.requests[-1].messages[-1].content


def test_a_prefix_follows_the_headings_and_takes_only_the_room_that_is_left():
    text = "The mill grinds rye " * 10
    unit = Unit(0, len(text), text, 40, "Mills > Rye", ("Mills", "Rye"))
    reply = "This is about mills. It goes on about the many mills of the Harrow line and their wheels and blades."
    made = hold(
        rewriter("context", max_prefix_tokens=64).dialogue(Snapshot(text), CutDocument((unit,), "x")), Asked(reply)
    )
    assert made.units[0].context == "Mills > Rye\nThis is about mills."
    assert made.counts["trimmed_prefixes"] == 1


def test_no_prefix_is_asked_for_where_none_has_room():
    text = "mill " * 58
    ask = Asked("About mills.")
    made = hold(rewriter("context").dialogue(Snapshot(text), CutDocument((Unit(0, len(text), text, 58),), "x")), ask)
    assert made.counts == {"prefixes_without_room": 1} and not ask.requests and made.units[0].context == ""


def test_a_summary_is_one_unit_of_the_whole_document():
    document, made, _ = rewritten("summary", "A mill and a night line.")
    *units, summary = made.units
    assert tuple(units) == document.units
    assert (summary.level, summary.start, summary.end) == (SUMMARY, 0, len(TEXT))
    assert (summary.text, summary.n_tokens) == ("A mill and a night line.", 7)


def test_a_summary_over_the_encoders_limit_loses_its_last_sentences():
    _, made, _ = rewritten("summary", "A mill. " + "It has a wheel and many blades. " * 12)
    assert made.units[-1].text.startswith("A mill. It has") and made.units[-1].text.endswith("blades.")
    assert made.counts["trimmed_summaries"] == 1


def test_units_over_the_limit_stay_and_no_call_is_made_for_them():
    text = "The mill grinds rye.\n\n" * 20
    document, made, ask = rewritten("propositions", reply_of(["copy"]), text, window_tokens=6, max_rewritten_units=3)
    assert len(ask.requests) == 3 and made.counts["units_over_rewriting_limit"] == len(document.units) - 3
    assert [unit.level for unit in made.units[-2:]] == [CHUNK, CHUNK]


def test_a_long_document_asks_in_turns():
    text = "The mill grinds rye.\n\n" * (UNITS_AT_ONCE + 5)
    _, _, ask = rewritten("context", "About a mill.", text, window_tokens=6)
    assert (ask.n_calls, len(ask.requests)) == (2, UNITS_AT_ONCE + 5)


def test_nothing_is_asked_for_documents_without_units_or_without_rewriting():
    for kind in [*KINDS, "none"]:
        ask = Asked("x")
        empty = CutDocument((), "x", {"texts_without_tokens": 1})
        assert hold(rewriter(kind).dialogue(Snapshot("\u200b"), empty), ask) == empty and not ask.requests
    document, made, ask = rewritten("none", "x")
    assert made == document and not ask.requests


def test_the_identity_holds_what_decides_the_units():
    identities = [str(rewriter(kind, **more).identity) for kind in KINDS for more in ({}, {"shown_chars": 7})]
    assert len(set(identities)) == 5  # a summary is shown the whole document
    assert rewriter("context").identity["versions"]["prefixes"] == 3


def test_units_are_cut_shorter_for_prefixes_unless_a_window_was_chosen():
    assert rewriter("context").reserved_tokens(None) == 20
    assert rewriter("context", max_prefix_tokens=64).reserved_tokens(None) == TOKENIZER.max_input_tokens // 3
    assert rewriter("context").reserved_tokens(40) == rewriter("summary").reserved_tokens(None) == 0


def test_a_prefix_fits_beside_its_text_in_what_a_real_encoder_reads():
    tokenizer = load_tokenizer(EncoderSettings())
    room = tokenizer.max_input_tokens - tokenizer.overhead_tokens
    text = "The antediluvian watermill grinds rye, oats and buckwheat for v1.2.3 of the bakery. " * 60
    chosen = RewritingSettings(rewrite="context")
    writer = Rewriter(chosen, tokenizer, room, 2000, count_words)
    cutter = make_cutter(ChunkingSettings(chunker="recursive"), tokenizer, writer.reserved_tokens(None))
    reply = " ".join(f"This is about the watermill's part {word}." for word in ["alpha", "beta", "gamma", "delta"] * 4)
    made = hold(writer.dialogue(Snapshot(text), cutter.cut(Snapshot(text))), Asked(reply))
    counts = tokenizer.count([unit.embedded_text for unit in made.units])
    assert len(made.units) > 3 and made.counts["prefixes"] == made.counts["trimmed_prefixes"] == len(made.units)
    assert 200 < counts.max() <= room
