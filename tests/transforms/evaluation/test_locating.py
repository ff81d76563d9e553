import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from models.errors import SettingsError
from transforms.evaluation.locating import LAST_SPACE, SearchedText, locate
from transforms.evaluation.questions import Reference

TEXT = "One two three.\n\nFour  two\tfive. Six\u00a0seven."
WORDS = st.lists(st.sampled_from(["a", "ab", "b", "ba", "\u00e9", "\U0001f600"]), max_size=15)
GAPS = st.sampled_from([" ", "\n", " \t ", "\u00a0"])


def found(quote, text=TEXT, **span):
    return locate(Reference("a.txt", quote=quote, **span), SearchedText(text), "q, line 1")


@given(WORDS, st.data())
def test_white_space_does_not_matter(words, data):
    """Against a regular expression that takes any white space between two words."""
    text = "".join(word + data.draw(GAPS) for word in words)
    first = data.draw(st.integers(0, max(0, len(words) - 1)))
    quote = data.draw(GAPS).join(words[first : data.draw(st.integers(first, len(words)))])
    assume(quote)
    pattern = re.compile("(?=(" + r"\s+".join(map(re.escape, quote.split())) + "))")
    spans = [match.span(1) for match in pattern.finditer(text)]
    place = found(quote, text)
    if len(spans) == 1:
        assert place == (*spans[0], "found")
    else:
        assert place.fate == "ambiguous"
    near = data.draw(st.integers(0, len(text)))
    hinted = found(quote, text, start=near, end=near + 1)
    if hinted.fate == "moved":
        assert hinted[:2] == min(spans, key=lambda span: abs(span[0] - near))
    else:
        assert hinted.fate == "exact" and text[near : near + 1].split() == quote.split()


def test_a_span_with_its_quote_is_exact():
    assert found("Four two", start=16, end=25) == (16, 25, "exact")


def test_a_quote_is_found_where_the_edit_moved_it():
    assert found("Four two", start=0, end=8) == (16, 25, "moved")
    assert found("Six seven", start=900, end=909) == (32, 41, "moved")


@pytest.mark.parametrize(("quote", "fate"), [("two", "ambiguous"), ("eight", "lost"), ("One two four", "lost")])
def test_a_quote_found_twice_or_never(quote, fate):
    assert found(quote) == (0, 0, fate)


def test_a_span_says_which_of_two_is_meant():
    assert found("two", start=5, end=8)[:2] == (4, 7)
    assert found("two", start=30, end=33)[:2] == (22, 25)


def test_a_part_of_a_word_is_found():
    assert TEXT[slice(*found("hree. Fou")[:2])] == "hree.\n\nFou"


def test_a_span_outside_the_document_is_refused():
    inside = Reference("a.txt", 0, len(TEXT))
    assert locate(inside, SearchedText(TEXT), "q") == (0, len(TEXT), "exact")
    with pytest.raises(SettingsError, match=r"^q, line 7: the span \[3:400\] does not lie in 'a.txt', which has 42"):
        locate(Reference("a.txt", 3, 400), SearchedText(TEXT), "q, line 7")


def test_an_empty_document_has_no_quote():
    assert found("a", "") == (0, 0, "lost") == found("a", " \n", start=0, end=1)


def test_no_white_space_is_missed():
    assert not any(chr(point).isspace() for point in range(LAST_SPACE + 1, 0x110000))


@given(st.text(alphabet="ab \n\u3000\U0001f600", max_size=40))
def test_words_begin_where_splitting_says(text):
    words, searched = text.split(), SearchedText(text)
    for word, start in zip(words, searched._word_starts.tolist(), strict=True):
        assert text[start : start + len(word)] == word
    assert [searched._joined[at] for at in searched._joined_starts.tolist()] == [word[0] for word in words]
