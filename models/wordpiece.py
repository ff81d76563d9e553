"""BERT's WordPiece at the speed of a dictionary: each distinct word is tokenized once by the real tokenizer.

BERT's pre-tokenizer never joins what white space parts, so the tokens of a text are those of its words in a row. Words
of a block of text are looked up together, the unknown ones are encoded together, and the offsets of the whole come
out of a few array operations. Only short words are remembered, and a bounded number of them.
"""

import hashlib
import re
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray

from models.tokenizer import Tokens, empty_tokens, split_pairs
from models.word_places import (
    SHORT_WORD,
    SPACES,
    SPACES_AND_MARKS,
    blocks_of,
    grapheme_floor,
    pieces_of_long,
    word_offsets,
)
from models.word_table import FORCED_CUT, MAX_REMEMBERED_LETTERS, WORD_START, EncodedWords, WordTable

_GROUP_WORDS = 256
_MAX_PIECES = 1024
# A letter becomes three at most in the normal form BERT uses (a Hangul syllable), so shorter words are never too long.
_MAX_LETTERS_OF_ONE = 3
# White space to Python that BERT takes out of a word instead of ending it there.
_TAKEN_OUT = re.compile("[\x0b\x0c\x1c-\x1f\x85]")


def is_bert_wordpiece(definition: dict[str, Any]) -> bool:
    """Whether a parsed `tokenizer.json` is BERT's, for which a text's tokens are those of its words."""
    normalizer, model = definition.get("normalizer") or {}, definition.get("model") or {}
    return (
        (normalizer.get("type"), normalizer.get("clean_text"), normalizer.get("handle_chinese_chars"))
        == ("BertNormalizer", True, True)
        and (definition.get("pre_tokenizer") or {}).get("type") == "BertPreTokenizer"
        and model.get("type") == "WordPiece"
        and not any(_reaches_over_words(token) for token in definition.get("added_tokens") or ())
    )


class WordPieceTokenizer:
    """A BERT tokenizer with exact counts, code point offsets, and no word lost to its letter limit."""

    is_word_local = True

    def __init__(self, definition: str, max_input_tokens: int) -> None:
        self._tokenizer = tokenizers.Tokenizer.from_str(definition)
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        model = self._tokenizer.model
        self.max_word_letters = int(model.max_input_chars_per_word)
        self.max_input_tokens = max_input_tokens
        self.overhead_tokens = self._tokenizer.num_special_tokens_to_add(is_pair=False)
        self.identity = hashlib.sha256(definition.encode()).hexdigest()
        self._goes_on = _continuation_table(self._tokenizer, model.continuing_subword_prefix)
        self._n_letters_by_id = _letters_table(self._tokenizer, model.continuing_subword_prefix, model.unk_token)
        added = [token.content for token in self._tokenizer.get_added_tokens_decoder().values()]
        self._knows_plain_words = not any(content.isalnum() for content in added)
        self._lowercases, self._model = bool(self._tokenizer.normalizer.lowercase), model
        self._words = WordTable()
        # Over-long words tend to repeat themselves, and each piece is slow to encode.
        self._pieces: dict[str, EncodedWords] = {}
        self._lock = threading.Lock()

    def tokenize(self, text: str) -> Tokens:
        """Content tokens of `text`; a word over `max_word_letters` comes in pieces with forced cuts between."""
        text = _TAKEN_OUT.sub("\x01", text)
        with self._lock:
            blocks = [self._tokenize_block(text, *span) for span in blocks_of(text)]
        if not blocks:
            return empty_tokens()
        starts, ends, flags = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        forced = np.flatnonzero(flags & FORCED_CUT)
        return Tokens(starts, ends, (flags & WORD_START).astype(np.bool_), forced)

    def offsets(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Starts and ends in code points, int64 (n,)."""
        tokens = self.tokenize(text)
        return tokens.starts, tokens.ends

    def count(self, texts: Sequence[str]) -> NDArray[np.int32]:
        """Content tokens of each text as the encoder counts them, int32 (n,): a word too long is one token."""
        with self._lock:
            return np.array([self._count(text) for text in texts], np.int32)

    def _count(self, text: str) -> int:
        words = _TAKEN_OUT.sub("\x01", text).split()
        if len(words) == 1 or max(map(len, words), default=0) > MAX_REMEMBERED_LETTERS:
            known = self._words.n_tokens_of(words[0]) if len(words) == 1 else None
            return len(self._tokenizer.encode(text, add_special_tokens=False).ids) if known is None else known
        rows = self._look_up(words)  # first, since it may replace the arrays of the table
        return int(self._words.n_tokens[rows].sum())

    def _tokenize_block(self, text: str, start: int, end: int) -> "EncodedWords":
        block = text[start:end]
        words, kinds = block.split(), SPACES
        if not words:
            return EncodedWords.empty()
        if max(map(len, words)) > MAX_REMEMBERED_LETTERS:
            # Text without white space, such as minified code or Chinese, has short words too.
            words, kinds = SHORT_WORD.findall(block), SPACES_AND_MARKS
        rows = self._look_up(words)
        encoded = self._words.expand(rows, word_offsets(block, kinds) + start)
        self._words.forget_long()
        return encoded

    def _look_up(self, words: list[str]) -> NDArray[np.int64]:
        """Rows of `words` in the table, after the unknown ones were encoded and added."""
        table = self._words
        rows = list(map(table.rows.get, words))
        if None in rows:
            table.make_room()
            for group in _groups([word for word in dict.fromkeys(words) if word not in table.rows]):
                table.add(group, *self._encode_words(group))
            rows = list(map(table.rows.get, words))
        return np.array(rows, np.int64)

    def _encode_words(self, words: list[str]) -> tuple[NDArray[np.int64], "EncodedWords"]:
        """Tokens of each of `words` (int64 (n,) counts) and all tokens, with offsets from their word's start."""
        if len(words) == 1 and len(words[0]) > MAX_REMEMBERED_LETTERS:
            encoded = self._encode_long(words[0])
            return np.array([len(encoded.starts)]), encoded
        lengths = np.fromiter(map(len, words), np.int64, len(words))
        joined = " ".join(words)
        if joined.isascii() and joined.isprintable() and (found := self._encode_ascii(joined, lengths)) is not None:
            return found
        encoded = self._encode(joined)
        word_starts = np.cumsum(lengths + 1) - lengths - 1
        owners = np.searchsorted(word_starts, encoded.starts, "right") - 1
        return np.bincount(owners, minlength=len(words)), encoded.moved(-word_starts[owners])

    def _encode_ascii(self, joined: str, lengths: NDArray[np.int64]) -> tuple[NDArray[np.int64], "EncodedWords"] | None:
        """As `_encode_words`, for words that their tokens spell, without a search for offsets; None where one does not.

        BERT drops no printable letter of ASCII and changes the length of none, so only an unknown token spells less.
        """
        ids = np.array(self._ids_of(joined), np.int64)
        n_letters = self._n_letters_by_id[ids]
        ends = n_letters.cumsum()
        if not len(ids) or ends[-1] != lengths.sum():
            return None
        word_starts = lengths.cumsum() - lengths
        owners = word_starts.searchsorted(ends, "left") - 1
        ends -= word_starts[owners]
        flags = (~self._goes_on[ids]).astype(np.uint8)
        return np.bincount(owners, minlength=len(lengths)), EncodedWords(ends - n_letters, ends, flags)

    def _ids_of(self, joined: str) -> list[int]:
        """Numbers of the tokens of ASCII words with a space between; letters and digits need no more than the model."""
        if not (self._knows_plain_words and joined.replace(" ", "").isalnum()):
            return self._tokenizer.encode(joined, add_special_tokens=False).ids
        words = (joined.lower() if self._lowercases else joined).split(" ")
        return [token.id for word in words for token in self._model.tokenize(word)]

    def _encode(self, text: str) -> "EncodedWords":
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        starts, ends = split_pairs(encoding.offsets)
        goes_on = self._goes_on[np.array(encoding.ids, np.int64)] if len(starts) else np.empty(0, np.bool_)
        return EncodedWords(starts, ends, (~goes_on).astype(np.uint8))

    def _encode_long(self, word: str) -> "EncodedWords":
        """Tokens of a run without white space of any length, with its over-long words in pieces."""
        parts = [self._encode_piece(word, *piece) for piece in pieces_of_long(word)]
        return EncodedWords(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _encode_piece(self, word: str, start: int, end: int, is_forced: bool) -> "EncodedWords":
        piece = word[start:end]
        if len(piece) > self.max_word_letters and piece.isascii() and piece.isalnum():
            encoded = self._encode_in_pieces(piece, 0, len(piece)).moved(start)
            return encoded.after_forced_cut() if is_forced else encoded
        encoded = self._encode(piece)
        parts, done = [], 0
        for index in self._too_long(piece, encoded).tolist():
            span = int(encoded.starts[index]), int(encoded.ends[index])
            parts += [encoded.part(done, index), self._encode_in_pieces(piece, *span)]
            done = index + 1
        parts.append(encoded.part(done, len(encoded.starts)))
        encoded = EncodedWords(*(np.concatenate(column) for column in zip(*parts, strict=True))).moved(start)
        return encoded.after_forced_cut() if is_forced else encoded

    def _too_long(self, text: str, encoded: "EncodedWords") -> NDArray[np.int64]:
        """Indices of the tokens that stand for a whole word over the letter limit."""
        spans = encoded.ends - encoded.starts
        candidates = np.flatnonzero(spans * _MAX_LETTERS_OF_ONE > self.max_word_letters)
        is_long = [
            self._n_letters(text[encoded.starts[i] : encoded.ends[i]]) > self.max_word_letters for i in candidates
        ]
        return candidates[np.array(is_long, np.bool_)]

    def _encode_in_pieces(self, text: str, start: int, end: int) -> "EncodedWords":
        known, parts = self._pieces, []
        if len(known) > _MAX_PIECES:
            known.clear()
        for at, to in self._spans_within_limit(text, start, end):
            piece = text[at:to]
            if piece not in known:
                known[piece] = self._encode(piece)
            part = known[piece].moved(at)
            parts.append(part.after_forced_cut() if at > start else part)
        return EncodedWords(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _spans_within_limit(self, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yields spans that tile [start, end), each a word the tokenizer can read, cut between graphemes if it can."""
        while start < end:
            to = min(start + self.max_word_letters, end)
            while to - start > 1 and (letters := self._n_letters(text[start:to])) > self.max_word_letters:
                to = start + max(1, (to - start) * self.max_word_letters // (letters + 1))
            if to < end and not text[to - 1 : to + 1].isascii():
                to = grapheme_floor(text, start, to)
            yield start, to
            start = to

    def _n_letters(self, text: str) -> int:
        return len(text) if text.isascii() else len(self._tokenizer.normalizer.normalize_str(text))


def _groups(words: list[str]) -> Iterator[list[str]]:
    """Yields short words some hundred at a time: of letters and digits, of ASCII, others; then each long word alone."""
    short, long = words, []
    if max(map(len, words)) > MAX_REMEMBERED_LETTERS:
        short = [word for word in words if len(word) <= MAX_REMEMBERED_LETTERS]
        long = [word for word in words if len(word) > MAX_REMEMBERED_LETTERS]
    kinds: tuple[list[str], ...] = [], [], []
    for word in short:
        kinds[2 if not word.isascii() else not word.isalnum()].append(word)
    for alike in kinds:
        for start in range(0, len(alike), _GROUP_WORDS):
            yield alike[start : start + _GROUP_WORDS]
    for word in long:
        yield [word]


def _continuation_table(tokenizer: tokenizers.Tokenizer, prefix: str) -> NDArray[np.bool_]:
    vocabulary = tokenizer.get_vocab()
    special = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    table = np.zeros(max(vocabulary.values()) + 1, np.bool_)
    table[[row for token, row in vocabulary.items() if token.startswith(prefix) and token not in special]] = True
    return table


def _letters_table(tokenizer: tokenizers.Tokenizer, prefix: str, unknown: str) -> NDArray[np.int64]:
    """How many letters each token spells, by its number; none of the unknown one."""
    vocabulary = tokenizer.get_vocab()
    table = np.zeros(max(vocabulary.values()) + 1, np.int64)
    for token, row in vocabulary.items():
        table[row] = 0 if token == unknown else len(token) - len(prefix) * token.startswith(prefix)
    return table


def _reaches_over_words(token: dict[str, Any]) -> bool:
    has_space = len(str(token["content"]).split()) != 1
    return has_space or bool(token["lstrip"] or token["rstrip"] or token["single_word"] or token["normalized"])
