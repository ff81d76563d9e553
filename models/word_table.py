"""The words that a tokenizer has met, with their tokens: many are looked up, and laid out in a text, at once."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_REMEMBERED_LETTERS = 32
"""Letters of the longest word that is kept after the text in which it was met."""

WORD_START, FORCED_CUT = np.uint8(1), np.uint8(2)
"""Flags of a token: it begins a word; the word was cut in front of it, being too long."""

_MAX_WORDS = 65_536


class EncodedWords(NamedTuple):
    """Tokens in a row: offsets int64 and flags uint8, all of one length."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    flags: NDArray[np.uint8]

    @classmethod
    def empty(cls) -> "EncodedWords":
        """No token."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint8))

    def moved(self, by: int | NDArray[np.int64]) -> "EncodedWords":
        """The same tokens `by` code points further on; one number each, or one for all."""
        return EncodedWords(self.starts + by, self.ends + by, self.flags)

    def after_forced_cut(self) -> "EncodedWords":
        """The same tokens as what follows a cut inside a word."""
        flags = self.flags.copy()
        flags[:1] |= FORCED_CUT | WORD_START
        return self._replace(flags=flags)

    def part(self, start: int, end: int) -> "EncodedWords":
        """The tokens from `start` up to `end`."""
        return EncodedWords(self.starts[start:end], self.ends[start:end], self.flags[start:end])


class WordTable:
    """Words and their tokens: `rows` finds a word's row, the row its slice of the token arrays."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.rows: dict[str, int] = {}
        self.n_tokens = np.empty(0, np.int64)
        self._first = np.empty(0, np.int64)
        self._encoded = EncodedWords.empty()
        self._n_used = self._n_short = self._n_short_used = 0

    def n_tokens_of(self, word: str) -> int | None:
        """How many tokens a word has; None for one that is not known."""
        row = self.rows.get(word)
        return None if row is None else int(self.n_tokens[row])

    def make_room(self) -> None:
        """Forgets all words where there are too many."""
        if len(self.rows) > _MAX_WORDS:
            self._clear()

    def add(self, words: list[str], n_tokens: NDArray[np.int64], encoded: EncodedWords) -> None:
        """Adds `words` with their tokens; long ones come last and stay until `forget_long`."""
        n_words, n_used = len(self.rows), self._n_used
        first = n_used + np.cumsum(n_tokens) - n_tokens
        self.n_tokens = _appended(self.n_tokens, n_words, n_tokens)
        self._first = _appended(self._first, n_words, first)
        self._encoded = EncodedWords(
            _appended(self._encoded.starts, n_used, encoded.starts),
            _appended(self._encoded.ends, n_used, encoded.ends),
            _appended(self._encoded.flags, n_used, encoded.flags),
        )
        self._n_used += len(encoded.starts)
        self.rows.update(zip(words, range(n_words, n_words + len(words)), strict=True))
        if len(words[-1]) <= MAX_REMEMBERED_LETTERS:
            self._n_short, self._n_short_used = len(self.rows), self._n_used

    def forget_long(self) -> None:
        """Drops what was added after the last short word."""
        while len(self.rows) > self._n_short:
            self.rows.popitem()
        self._n_used = self._n_short_used

    def expand(self, rows: NDArray[np.int64], word_starts: NDArray[np.int64]) -> EncodedWords:
        """All tokens of the words at `word_starts`, in order."""
        counts = self.n_tokens[rows]
        firsts = self._first[rows]
        before = np.cumsum(counts) - counts
        source = np.repeat(firsts - before, counts) + np.arange(counts.sum())
        shift = np.repeat(word_starts, counts)
        return EncodedWords(
            self._encoded.starts[source] + shift, self._encoded.ends[source] + shift, self._encoded.flags[source]
        )


def _appended(array: NDArray[Any], n_used: int, new: NDArray[Any]) -> NDArray[Any]:
    """`array` with `new` from `n_used` on; its capacity doubles, so that many small additions stay linear."""
    needed = n_used + len(new)
    if needed > len(array):
        grown = np.empty(max(needed, 2 * len(array), 1024), array.dtype)
        grown[:n_used] = array[:n_used]
        array = grown
    array[n_used:needed] = new
    return array
