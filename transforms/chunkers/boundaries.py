"""Where a text may be cut, from the best place to the last: paragraph, line, sentence, clause, word, mark."""

import re
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from transforms.chunkers.measuring import MeasuredText
from transforms.chunkers.sentences import clause_starts, sentence_starts

VERSION = 1

_PARAGRAPH = re.compile(r"\n[^\S\n]*+\n\s*+")
_LINE = re.compile(r"\n\s*+")


class Level(IntEnum):
    """Kinds of boundaries. Every boundary of a level is one of the next level too."""

    PARAGRAPH = 0
    LINE = 1
    SENTENCE = 2
    CLAUSE = 3
    WORD = 4
    MARK = 5


class Boundaries:
    """The clean token indices at which each level's pieces begin, found when first asked for."""

    def __init__(self, measured: MeasuredText) -> None:
        self._measured = measured
        self._levels: dict[Level, NDArray[np.int64]] = {}

    def last(self, level: Level, after: int, until: int) -> int | None:
        """The last boundary of `level` in (after, until], if there is one."""
        indices = self._indices(level)
        row = int(indices.searchsorted(until, "right")) - 1
        return int(indices[row]) if row >= 0 and indices[row] > after else None

    def first(self, level: Level, start: int) -> int:
        """The first boundary of `level` at or after `start`; the text's end is one."""
        indices = self._indices(level)
        row = int(indices.searchsorted(start))
        return int(indices[row]) if row < len(indices) else self._measured.n_tokens

    def best(self, after: int, until: int) -> tuple[Level, int] | None:
        """The last boundary in (after, until] of the first level that has one there."""
        for level in Level:
            index = self.last(level, after, until)
            if index is not None:
                return level, index
        return None

    def _indices(self, level: Level) -> NDArray[np.int64]:
        if level not in self._levels:
            coarser = self._indices(Level(level - 1)) if level else np.array([self._measured.n_tokens])
            is_boundary = np.zeros(self._measured.n_tokens + 1, np.bool_)  # far faster than a union of sorted arrays
            is_boundary[coarser] = is_boundary[self._find(level)] = True
            self._levels[level] = np.flatnonzero(is_boundary)
        return self._levels[level]

    def _find(self, level: Level) -> NDArray[np.int64]:
        text = self._measured.text
        match level:
            case Level.PARAGRAPH:
                return self._measured.clean_indices(match.end() for match in _PARAGRAPH.finditer(text))
            case Level.LINE:
                return self._measured.clean_indices(match.end() for match in _LINE.finditer(text))
            case Level.SENTENCE:
                return self._measured.clean_indices(sentence_starts(text))
            case Level.CLAUSE:
                return self._measured.clean_indices(clause_starts(text))
            case Level.WORD:
                return self._after_white_space
            case Level.MARK:
                return self._measured.clean

    @cached_property
    def _after_white_space(self) -> NDArray[np.int64]:
        measured = self._measured
        inner = measured.clean[(measured.clean > 0) & (measured.clean < measured.n_tokens)]
        return inner[measured.starts[inner] > measured.ends[inner - 1]]
