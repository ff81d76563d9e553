"""Token counts and offsets on the encoder's own tokenizer, because that is what truncates an input."""

import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
import tokenizers
from numpy.typing import NDArray

from models.errors import ModelError
from models.settings import EncoderSettings

HASHING_MAX_INPUT_TOKENS = 256
_PIECE_CHARS = 16_384
_WHITE_SPACE = re.compile(r"\s")
_HASHING_TOKEN = re.compile(r"\w{1,16}|[^\w\s]")


_NO_CUTS: NDArray[np.int64] = np.empty(0, np.int64)


class Tokens:
    """The content tokens of one text, in order. Arrays of one length; `starts` and `ends` are code points, int64.

    `word_starts`, bool, marks tokens that begin a word of the tokenizer; it may be given as what finds them, since
    windows do not need them. `forced_cuts`, int64, are indices of tokens that no unit may hold together with the token
    before: the word around them is longer than the tokenizer reads.
    """

    def __init__(
        self,
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        word_starts: NDArray[np.bool_] | Callable[[], NDArray[np.bool_]],
        forced_cuts: NDArray[np.int64] = _NO_CUTS,
    ) -> None:
        self.starts, self.ends, self.forced_cuts = starts, ends, forced_cuts
        self._word_starts = word_starts

    @cached_property
    def word_starts(self) -> NDArray[np.bool_]:
        return self._word_starts() if callable(self._word_starts) else self._word_starts


class Tokenizer(Protocol):
    """What cutting and counting need to know of an encoder's tokenizer.

    `is_word_local` promises that the tokens of a text are those of its words, one after the other, so that a slice
    between two word starts holds exactly the tokens counted in the whole.
    """

    @property
    def overhead_tokens(self) -> int:
        """Special tokens around one input."""

    @property
    def max_input_tokens(self) -> int:
        """Tokens that the encoder reads of one input, special tokens included."""

    @property
    def max_word_letters(self) -> int | None:
        """Letters from which a word becomes one unknown token; none where there is no such limit."""

    @property
    def identity(self) -> str:
        """Hash of everything that decides the tokens."""

    @property
    def is_word_local(self) -> bool:
        """Whether counts of slices between word starts need no recount."""

    def tokenize(self, text: str) -> Tokens:
        """Content tokens of `text`; words beyond `max_word_letters` come in pieces, with forced cuts."""

    def offsets(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Starts and ends of the content tokens of `text`, in code points."""

    def count(self, texts: Sequence[str]) -> NDArray[np.int32]:
        """Content tokens of each text, exactly as the encoder counts them."""


class HashingTokenizer:
    """Tokens of the 'hashing' encoder: words in pieces of up to 16 letters, and single marks. Needs no model."""

    overhead_tokens = 0
    max_word_letters = None
    is_word_local = True

    def __init__(self, max_input_tokens: int = HASHING_MAX_INPUT_TOKENS) -> None:
        self.max_input_tokens = max_input_tokens
        self.identity = hashlib.sha256(_HASHING_TOKEN.pattern.encode()).hexdigest()

    def tokenize(self, text: str) -> Tokens:
        """Tokens of `text`; a piece that goes on a word is no word start."""
        starts, ends = self.offsets(text)
        if not starts.size:
            return empty_tokens()
        word_starts = np.ones(len(starts), np.bool_)
        pieces = np.flatnonzero((starts[1:] == ends[:-1]) & (ends[:-1] - starts[:-1] == 16)) + 1
        word_starts[pieces] = [not (text[i] == "_" or text[i].isalnum()) for i in starts[pieces].tolist()]
        return Tokens(starts, ends, word_starts)

    def offsets(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Starts and ends in code points, int64 (n,)."""
        return split_pairs([match.span() for match in _HASHING_TOKEN.finditer(text)])

    def count(self, texts: Sequence[str]) -> NDArray[np.int32]:
        """Tokens of each text, int32 (n,)."""
        return np.array([len(_HASHING_TOKEN.findall(text)) for text in texts], np.int32)


class ModelTokenizer:
    """Any `tokenizer.json`. Long texts are read in pieces cut at white space, so time stays linear."""

    is_word_local = False
    max_word_letters: int | None = None

    def __init__(self, definition: str, max_input_tokens: int) -> None:
        self._tokenizer = tokenizers.Tokenizer.from_str(definition)
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.overhead_tokens = self._tokenizer.num_special_tokens_to_add(is_pair=False)
        self.max_input_tokens = max_input_tokens
        self.identity = hashlib.sha256(definition.encode()).hexdigest()

    def tokenize(self, text: str) -> Tokens:
        """Tokens of `text`. A word starts after white space; counts of slices have to be checked."""
        starts, ends = self.offsets(text)
        if not starts.size:
            return empty_tokens()
        spaces = np.fromiter((match.start() for match in _WHITE_SPACE.finditer(text)), np.int64)
        word_starts = np.append(True, starts[1:] > ends[:-1])
        word_starts |= np.isin(starts - 1, spaces)
        return Tokens(starts, ends, word_starts)

    def offsets(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Starts and ends in code points, int64 (n,), without white space at a token's start."""
        pairs: list[tuple[int, int]] = []
        for at, end_at in pieces_at_white_space(text, _PIECE_CHARS):
            offsets = self._encode(text[at:end_at]).offsets
            pairs += [(at + start, at + end) for start, end in offsets if start < end]
        starts, ends = split_pairs(pairs)
        blank_first = np.array([text[i].isspace() for i in starts.tolist()], np.bool_)
        starts = starts + (blank_first & (ends - starts > 1)) if starts.size else starts
        return np.maximum.accumulate(starts) if starts.size else starts, ends

    def count(self, texts: Sequence[str]) -> NDArray[np.int32]:
        """Tokens of each text, int32 (n,)."""
        return np.array([len(self._encode(text)) for text in texts], np.int32)

    def _encode(self, text: str) -> tokenizers.Encoding:
        return self._tokenizer.encode(text, add_special_tokens=False)


def load_tokenizer(settings: EncoderSettings) -> Tokenizer:
    """The tokenizer of the encoder that `settings` name, read without loading the encoder.

    Raises ModelError when the model's folder has no readable `tokenizer.json`, SettingsError when the asked limit is
    above what the model can read.
    """
    if settings.encoder == "hashing":
        return HashingTokenizer(settings.max_input_tokens or HASHING_MAX_INPUT_TOKENS)
    from models import model_files
    from models.wordpiece import WordPieceTokenizer, is_bert_wordpiece

    folder = model_files.resolve_model(settings)
    path = model_files.read_modules(folder)[0][1] / "tokenizer.json"
    try:
        definition = path.read_text(encoding="utf-8")
        is_bert = is_bert_wordpiece(json.loads(definition))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read; name a model with a fast tokenizer") from error
    limit = model_files.max_input_tokens(folder, settings)
    return WordPieceTokenizer(definition, limit) if is_bert else ModelTokenizer(definition, limit)


def load_budget_tokenizer(name: str, encoders: Tokenizer) -> Tokenizer:
    """The tokenizer that windows are counted with: `encoders` for 'encoder', else 'tiktoken:' and an encoding's name.

    Raises SettingsError for an unknown name, ModelError when the vocabulary is out of reach.
    """
    if name == "encoder":
        return encoders
    from models.tiktoken_tokenizer import load_tiktoken

    return load_tiktoken(name.removeprefix("tiktoken:"))


def empty_tokens() -> Tokens:
    """The tokens of a text without any."""
    return Tokens(_NO_CUTS, _NO_CUTS, np.empty(0, np.bool_))


def pieces_at_white_space(text: str, max_chars: int) -> Iterator[tuple[int, int]]:
    """Yields spans that tile `text`, each ending before white space where one lies within `max_chars`.

    >>> list(pieces_at_white_space("one two three", 8))
    [(0, 7), (7, 13)]
    """
    start = 0
    while start < len(text):
        end = min(start + max_chars, len(text))
        if end < len(text):
            end = max(text.rfind(" ", start + 1, end), text.rfind("\n", start + 1, end), start) or end
            end = end if end > start else min(start + max_chars, len(text))
        yield start, end
        start = end


def split_pairs(pairs: list[tuple[int, int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Starts and ends, int64 (n,) each, of n pairs."""
    flat = np.fromiter(itertools.chain.from_iterable(pairs), np.int64, 2 * len(pairs))
    return flat[::2].copy(), flat[1::2].copy()
