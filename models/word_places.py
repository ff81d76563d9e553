"""Where BERT's words begin in a text, and where a long text or word may be parted so that its tokens stay the same."""

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from models.graphemes import cluster_starts

_BLOCK_CHARS = 131_072
_PIECE_CHARS = 4096
# Marks that are words of their own to BERT and no part of a special token: a text may be read in two halves there.
_MARKS = "-,.;:!?/+*=|#~'\"(){}&%$@^\u3001\u3002\u4e00-\u9fff"
_BREAK = re.compile(f"[{_MARKS}]")
SHORT_WORD = re.compile(f"[{_MARKS}]|[^{_MARKS}\\s]+")
_SPACE_END = re.compile(r"\s")
_SPACE_OR_MARK = re.compile(f"[{_MARKS}\\s]")
_LETTER, _SPACE, _MARK = np.uint8(0), np.uint8(1), np.uint8(2)


def blocks_of(text: str) -> Iterator[tuple[int, int]]:
    """Yields spans that tile `text`, cut at the first white space after `_BLOCK_CHARS`, or a mark where that is far."""
    start = 0
    while start < len(text):
        least = start + _BLOCK_CHARS
        found = _SPACE_END.search(text, least, least + _BLOCK_CHARS) or _SPACE_OR_MARK.search(text, least)
        end = found.start() if found else len(text)
        yield start, end
        start = end


def pieces_of_long(word: str) -> Iterator[tuple[int, int, bool]]:
    """Yields spans that tile `word`, and whether the cut before is forced because no mark was near."""
    start, is_forced = 0, False
    while len(word) - start > _PIECE_CHARS:
        marks = [match.start() for match in _BREAK.finditer(word, start + _PIECE_CHARS // 2, start + _PIECE_CHARS)]
        end = marks[-1] if marks else grapheme_floor(word, start, start + _PIECE_CHARS)
        yield start, end, is_forced
        start, is_forced = end, not marks
    yield start, len(word), is_forced


def grapheme_floor(text: str, start: int, at: int) -> int:
    """The last grapheme boundary in (start, at], or `at` where the cluster fills all of it."""
    if text[at - 1 : at + 1].isascii():
        return at
    starts = cluster_starts(text, start, min(len(text), at + 64))
    return max((place for place in starts if start < place <= at), default=at)


def word_offsets(text: str, kinds: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Where each word begins: a run of letters, as `str.split` finds it, or a mark where `kinds` knows marks."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    kind = kinds[np.minimum(codes, len(kinds) - 1)]
    goes_on = np.append(False, kind[:-1] == _LETTER)
    return np.flatnonzero((kind == _MARK) | ((kind == _LETTER) & ~goes_on))


def _kinds(*, with_marks: bool) -> NDArray[np.uint8]:
    """For each code point what it is; the last stands for all after it, which are letters."""
    table = np.full(0xA001, _LETTER, np.uint8)
    for code in range(len(table)):
        if chr(code).isspace():
            table[code] = _SPACE
        elif with_marks and _BREAK.match(chr(code)):
            table[code] = _MARK
    return table


SPACES = _kinds(with_marks=False)
SPACES_AND_MARKS = _kinds(with_marks=True)
