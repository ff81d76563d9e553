"""Sentences: what holds for every text, then the places where splitters go wrong."""

from itertools import pairwise

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import markdown, texts

from transforms.sentences import split_sentences


def sentences(text, breaks=()):
    return [text[start:end] for start, end in split_sentences(text, breaks).tolist()]


@settings(max_examples=300, deadline=None)
@given(texts() | markdown(), st.data())
def test_spans_are_exact_ordered_and_cover_all_but_white_space(text, data):
    breaks = data.draw(st.lists(st.integers(0, len(text)), max_size=4))
    spans = split_sentences(text, breaks).tolist()
    assert all(start < end for start, end in spans)
    assert all(former[1] <= following[0] for former, following in pairwise(spans))
    assert "".join("".join(text[start:end].split()) for start, end in spans) == "".join(text.split())
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)
    assert not any(start < place < end for place in breaks for start, end in spans)


@given(st.lists(st.sampled_from([".", "!", "。", '"', "”", "\n", " ", "a", "A", "…"]), max_size=60).map("".join))
def test_runs_of_stops_and_quotes_keep_the_order(text):
    spans = split_sentences(text)
    assert spans.shape == (len(spans), 2) and (spans[1:, 0] >= spans[:-1, 1]).all()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "今日は晴れ。明日は雨！本当？v1.2.3 を a@b.co に送る。https://x.y/z.html を見る。",
            ["今日は晴れ。", "明日は雨！", "本当？", "v1.2.3 を a@b.co に送る。", "https://x.y/z.html を見る。"],
        ),
        ("「本当？」と言った。彼は帰った。", ["「本当？」と言った。", "彼は帰った。"]),
        ("他说：“我来了。我走了。”然后他走了。", ["他说：“我来了。", "我走了。”", "然后他走了。"]),
        ("他走了。“我来。”", ["他走了。", "“我来。”"]),
        ("यह एक वाक्य है। यह दूसरा है॥ बी.सी. में तीसरा?", ["यह एक वाक्य है।", "यह दूसरा है॥", "बी.सी. में तीसरा?"]),
        ("هذا صحيح؟ نعم. انتهى۔ جديد", ["هذا صحيح؟", "نعم.", "انتهى۔", "جديد"]),
        ("Τι κάνεις; Είμαι καλά. Εσύ\u037e Ναι· καλά.", ["Τι κάνεις;", "Είμαι καλά.", "Εσύ\u037e", "Ναι· καλά."]),
        ("One; Two. A: B", ["One; Two.", "A: B"]),
        ("Սա առաջինն է: Սա երկրորդն է։ Վերջ", ["Սա առաջինն է:", "Սա երկրորդն է։", "Վերջ"]),
        ("ሰላም፡ነው፡፡ እንዴት ነህ፧ አበቃ፨ ቀጣይ", ["ሰላም፡ነው፡፡", "እንዴት ነህ፧", "አበቃ፨", "ቀጣይ"]),
        ("བཀྲ་ཤིས། །ང་བོད་པ་ཡིན། མཇུག༎", ["བཀྲ་ཤིས། །", "ང་བོད་པ་ཡིན།", "མཇུག༎"]),
        ("သွားသည်။သူ၊ လာသည်။", ["သွားသည်။", "သူ၊ လာသည်။"]),
        ('他说:"走吧!"然后走了.我不知道...是的.好', ['他说:"走吧!"', "然后走了.", "我不知道...是的.", "好"]),
        ("「本当!?」と言った。はい!終わり", ["「本当!?」と言った。", "はい!", "終わり"]),
        ("１．はじめに\n幅は３．１４である．次に示す．", ["１．はじめに", "幅は３．１４である．", "次に示す．"]),
        ("ภาษาไทยไม่มีจุด เราเว้นวรรคแทน", ["ภาษาไทยไม่มีจุด เราเว้นวรรคแทน"]),
    ],
)
def test_stops_of_many_scripts(text, expected):
    assert sentences(text) == expected


def test_every_stop_that_unicode_knows_ends_a_sentence():
    stops = [mark for mark in map(chr, range(0x10000)) if regex.match(r"\p{Sentence_Break=STerm}", mark)]
    missed = [mark for mark in stops if len(sentences(f"ꦏꦏ{mark} ꦏꦏ")) == 1]
    assert len(stops) > 80 and missed == ["\u104a", "\ua9c8"]  # the commas of Burmese and Javanese


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "« Bonjour ! » dit-il. « Ça va\u202f?\u00a0» Oui.",
            ["« Bonjour ! » dit-il.", "« Ça va\u202f?\u00a0»", "Oui."],
        ),
        (
            "Er sagte: „Ja!“ Sie ging. ‚Nein.‘ »Gut.« Ende.",
            ["Er sagte: „Ja!“", "Sie ging.", "‚Nein.‘", "»Gut.«", "Ende."],
        ),
        ("He left. “Yes.” ‘No.’ Done", ["He left.", "“Yes.”", "‘No.’", "Done"]),
        (
            "It is known.[1] Others say so.[2][n 1] End.¹ Next",
            ["It is known.[1]", "Others say so.[2][n 1]", "End.¹", "Next"],
        ),
        ("Thanks!😊 See you.👍🏽 Bye 😍 so long", ["Thanks!😊", "See you.👍🏽", "Bye 😍 so long"]),
        ("زار \u200fالمدينة.\u200f ثم عاد.\u200e Next", ["زار \u200fالمدينة.\u200f", "ثم عاد.\u200e", "Next"]),
        ("One.\ufeff Two.\u200b Three. \u200efour", ["One.\ufeff", "Two.\u200b", "Three. \u200efour"]),
        ("One.\u00a0Two.\u3000Three.\u2003Four", ["One.", "Two.", "Three.", "Four"]),
    ],
)
def test_what_is_set_behind_a_stop_belongs_to_its_sentence(text, expected):
    assert sentences(text) == expected


@pytest.mark.parametrize("mark", ["\x0b", "\x85", "\u2028"])
def test_every_line_break_is_one(mark):
    text = f"A title{mark}Then a sentence.{mark}{mark}Another"
    assert sentences(text) == ["A title", "Then a sentence.", "Another"]
    assert split_sentences(text).tolist() == split_sentences(text.replace(mark, "\n")).tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mr. J. R. Smith lives in St. Ives. He left.", ["Mr. J. R. Smith lives in St. Ives.", "He left."]),
        ("It cost $5.20 (approx. 4.50 €). See Fig. 3.", ["It cost $5.20 (approx. 4.50 €).", "See Fig. 3."]),
        ("The U.S. Army came. It left the U.S. The end.", ["The U.S. Army came.", "It left the U.S.", "The end."]),
        ("He works at Acme Inc. Bob, too. Yes.", ["He works at Acme Inc. Bob, too.", "Yes."]),
        ("Visit www.example.com. Or write to b@x.org. Bye", ["Visit www.example.com.", "Or write to b@x.org.", "Bye"]),
        ("Python 3.11.2 is out! Is it? Yes", ["Python 3.11.2 is out!", "Is it?", "Yes"]),
        ('He said "Stop!" and left. "Why?" she asked.', ['He said "Stop!" and left.', '"Why?" she asked.']),
        ('"Go." They went. (All of them.) End', ['"Go."', "They went.", "(All of them.)", "End"]),
        ("Wait... what? No... I see. Yes", ["Wait... what?", "No...", "I see.", "Yes"]),
        ("Am 3. Oktober kam Dr. Wu z. B. um 5. Ja.", ["Am 3. Oktober kam Dr. Wu z. B. um 5.", "Ja."]),
        (
            "Die 3. Auflage, im 2. Stock. Es waren 3. Danach 4.",
            ["Die 3. Auflage, im 2. Stock.", "Es waren 3.", "Danach 4."],
        ),
        ("Es war die 3. Die Vierte kam.", ["Es war die 3.", "Die Vierte kam."]),
        ("См. рис. 5 у проф. Павлова. Т.е. Так.", ["См. рис. 5 у проф. Павлова.", "Т.е. Так."]),
        ("En EE. UU. vive la Sra. Ruiz. Il sig. Rossi no.", ["En EE. UU. vive la Sra. Ruiz.", "Il sig. Rossi no."]),
        ("It sold out. iPhone users cried.", ["It sold out.", "iPhone users cried."]),
        ("i was tired. you know that. Bye", ["i was tired.", "you know that.", "Bye"]),
        ("no stop at all", ["no stop at all"]),
        ("", []),
        (" \n\n ", []),
    ],
)
def test_abbreviations_numbers_addresses_and_quotes(text, expected):
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Head\nText here. More\n- one\n- two", ["# Head", "Text here.", "More", "- one", "- two"]),
        ("1. First. Second.\n2. Next", ["1. First.", "Second.", "2. Next"]),
        ("Title\n=====\n\nBody", ["Title\n=====", "Body"]),
        ("| a | 1. b |\n| c | d |", ["| a | 1. b |", "| c | d |"]),
        ("Author: Me\nDate: 2020", ["Author: Me", "Date: 2020"]),
        (
            "INTRODUCTION\nThis is the first sentence of a text.",
            ["INTRODUCTION", "This is the first sentence of a text."],
        ),
        ("ends at etc.\n\nNew", ["ends at etc.", "New"]),
        ("one page\x0cNext page", ["one page", "Next page"]),
    ],
)
def test_headings_lists_and_rows_end_sentences(text, expected):
    assert sentences(text) == expected


def test_a_line_wrapped_at_a_width_ends_no_sentence():
    text = (
        "This paragraph was wrapped at a width of forty\ncharacters, as Mail programs do it when they\n"
        "Send text to Somebody. Then it went on by Dr.\nWu.\n\nNext"
    )
    assert [" ".join(sentence.split()) for sentence in sentences(text)] == [
        "This paragraph was wrapped at a width of forty characters, as Mail programs do it when they Send text to "
        "Somebody.",
        "Then it went on by Dr. Wu.",
        "Next",
    ]


def test_given_breaks_end_sentences():
    assert sentences("Heading Body text", [8]) == ["Heading", "Body text"]
