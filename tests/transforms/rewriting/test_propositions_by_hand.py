"""Sound and faulty propositions written by hand in eight languages: how many of each the checks let pass.

`propositions_by_hand.json` was written before the checks took their form, `more_propositions_by_hand.json` after it.
"""

import json

import pytest
from asking_models import Asked

from transforms.rewriting.dialogues import hold
from transforms.rewriting.prompts import load_prompt
from transforms.rewriting.propositions import Passage, rewrite

NAMES = ("propositions_by_hand", "more_propositions_by_hand")
WITHOUT_SPACES = ("zh", "ja")
# Said with a relative clause for the condition of the source.
REFUSED = ["Swimming courses that the club cancels are refunded."]


def passage_of(entry):
    """The sentences as one text, and their spans."""
    gap = "" if entry["language"] in WITHOUT_SPACES else " "
    spans, at = [], 0
    for sentence in entry["sentences"]:
        spans.append((at, at + len(sentence)))
        at += len(sentence) + len(gap)
    return Passage(gap.join(entry["sentences"]), spans, tuple(entry["heading_path"]), entry["context"])


def judged(entry, text, sentences):
    reply = json.dumps({"propositions": [{"text": text, "sentences": sentences}]})
    return hold(rewrite(passage_of(entry), load_prompt("propositions")), Asked(reply))


@pytest.fixture(scope="module", params=NAMES)
def entries(request, checkout):
    return json.loads((checkout / "tests" / "data" / f"{request.param}.json").read_text(encoding="utf-8"))


def test_sound_ones_pass_with_the_span_of_their_sentence(entries):
    refused = []
    for entry in entries:
        for text, sentences in entry["good"]:
            found = judged(entry, text, sentences)
            refused += [] if found.items else [text]
            for item in found.items:
                assert passage_of(entry).text[item.start : item.end] == entry["sentences"][sentences[0] - 1]
    assert refused == [text for text in REFUSED if text in refused]


def test_faulty_ones_do_not(entries):
    for entry in entries:
        for text, sentences, reason in entry["bad"]:
            found = judged(entry, text, sentences)
            assert not found.items, text
            assert not reason or found.counts[f"rejected_propositions.{reason}"] == 1, (text, found.counts)


def test_there_are_enough_to_say_something(entries):
    assert sum(len(entry["good"]) for entry in entries) >= 28 and sum(len(entry["bad"]) for entry in entries) >= 30
