"""One document measured once: its tokens, its grapheme clusters, and exact counts of any slice."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from models.graphemes import Graphemes
from models.tokenizer import Tokenizer
from transforms.elements import DetectionCost

VERSION = 1

MAX_WORD_TOKENS = 256
"""How far the end of a cut word is looked for. Of a longer one the surplus may come out one too high, never too low."""
_NO_DETECTION = DetectionCost()


class MeasuredText:
    """A text with its tokens. A token index names the place before that token, `n_tokens` the text's end.

    `is_clean`, bool (n_tokens + 1,), marks the indices at which a cut parts neither a word nor a grapheme cluster, so
    that the tokens on both sides stay what they are in the whole. `counts` collects what cutting had to do, `detection`
    says what finding the places for it cost.
    """

    def __init__(self, text: str, tokenizer: Tokenizer, graphemes: Graphemes | None = None) -> None:
        tokens = tokenizer.tokenize(text)
        self.text = text
        self.starts, self.ends = tokens.starts, tokens.ends
        self.n_tokens = len(tokens.starts)
        self.counts: Counter[str] = Counter()
        self.detection = _NO_DETECTION
        self._tokenizer = tokenizer
        self.graphemes = graphemes or Graphemes(text)
        self._tokens = tokens
        self._forced_cuts = tokens.forced_cuts
        # Single numbers are found in a view in half the time, and come out as Python's own.
        self._start_view, self._end_view = self.starts.data, self.ends.data
        if tokens.forced_cuts.size:
            self._count_forced_cuts()

    @cached_property
    def is_clean(self) -> NDArray[np.bool_]:
        is_clean = np.zeros(self.n_tokens + 1, np.bool_)
        is_clean[self._words] = True
        is_clean[1:-1] &= self.starts[1:] >= self.ends[:-1]
        if self.graphemes.inside.size:
            is_clean &= ~np.isin(self._positions, self.graphemes.inside)
        is_clean[[0, -1]] = True
        return is_clean

    @cached_property
    def clean(self) -> NDArray[np.int64]:
        """The clean token indices, sorted."""
        return np.flatnonzero(self.is_clean)

    def position(self, index: int) -> int:
        """The code point at which the token begins; what lies between two tokens belongs to the one before."""
        if 0 < index < self.n_tokens:
            return self._start_view[index]
        return len(self.text) if index else 0

    def index_at(self, position: int) -> int:
        """The first token that begins at or after `position`."""
        return max(bisect_left(self._start_view, position), int(position > 0))

    def clean_indices(self, positions: Iterable[int]) -> NDArray[np.int64]:
        """The clean token indices that stand at `positions`, in order; a position where no cut is clean has none."""
        places = np.fromiter(positions, np.int64)
        indices = _with_last(self.starts, len(self.text)).searchsorted(places)
        # A token of many marks may begin before the place, where no cut is.
        is_between = np.append(0, self.ends)[indices] <= places
        return indices[is_between & self.is_clean[indices]]

    def clean_floor(self, index: int) -> int:
        """The last clean index at or before `index`."""
        return int(self.clean[self.clean.searchsorted(index, "right") - 1])

    def clean_ceil(self, index: int) -> int:
        """The first clean index at or after `index`."""
        return int(self.clean[self.clean.searchsorted(index)])

    def segments(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yields index ranges that tile [start, end), cut where no unit may go on: in a word too long to be read."""
        forced = self._forced_cuts
        inner = forced[forced.searchsorted(start, "right") : forced.searchsorted(end)].tolist() if forced.size else ()
        for cut in inner:
            yield start, cut
            start = cut
        if start < end:
            yield start, end

    def count(self, start: int, end: int) -> int:
        """Content tokens of `text[start:end]`: those of its whole words, and those of a cut word at either end."""
        return int(self.count_spans(np.array([start]), np.array([end]))[0])

    def count_spans(self, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
        """Content tokens of each `text[start:end]`, int64 (n,); exact where the tokenizer is word-local."""
        first = self._word_positions[:-1].searchsorted(starts)
        last = self._word_positions[:-1].searchsorted(ends)
        counts = self._words[last] - self._words[first]
        head_ends, tail_ends = self._word_ends[first], self._word_ends[last]
        for row in np.flatnonzero((head_ends > starts) | (tail_ends > ends)).tolist():
            counts[row] = self._count_with_cut_words(int(starts[row]), int(ends[row]), int(first[row]), int(last[row]))
        return counts

    def count_alone(self, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
        """Content tokens of each `text[start:end]` as the encoder counts it, int64 (n,)."""
        if self._tokenizer.is_word_local:
            return self.count_spans(starts, ends)
        slices = [self.text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        return self._tokenizer.count(slices).astype(np.int64)

    def has_forced_cut(self, start: int, end: int) -> bool:
        """Whether the span holds a word in pieces that no unit may hold together."""
        if not self._forced_cuts.size:
            return False
        places = self._forced_places
        row = int(places.searchsorted(start, "right"))
        return row < len(places) and int(places[row]) < end

    def surplus(self, start: int, index: int) -> int:
        """Tokens from `start` on beyond those from `index` on: what cutting a word in two has added."""
        if self.is_clean[index] and self.position(index) == start:
            return 0
        clean = min(self.clean_ceil(min(index + 1, self.n_tokens)), index + MAX_WORD_TOKENS)
        return self.count(start, self.position(clean)) - (clean - index)

    def cut_anywhere(self, start: int, end_index: int, max_tokens: int) -> int:
        """The last position before token `end_index` that leaves at most `max_tokens` from `start` on.

        A cut inside a grapheme cluster moves to its start. A cluster that holds more than `max_tokens` is cut hard.
        """
        index = min(self.index_at(start) + max_tokens, end_index)
        place = wanted = self.position(index)
        while (end := self.graphemes.floor(place)) > start:
            surplus = self.count(start, end) - max_tokens
            if surplus <= 0:
                self.counts["moved_cuts"] += end != wanted
                return end
            place = self.position(max(self.index_at(end) - surplus, 0))
        end = min(self.graphemes.ceil(start + 1), self.position(end_index))
        if self.count(start, end) <= max_tokens:
            self.counts["moved_cuts"] += 1
            return end
        self.counts["cut_graphemes"] += 1
        return self._cut_cluster(start, end, max_tokens)

    def grapheme_floor(self, position: int) -> int:
        """The last cluster boundary at or before `position`."""
        return self.graphemes.floor(position)

    def _cut_cluster(self, start: int, end: int, max_tokens: int) -> int:
        """A late position before `end` with at most `max_tokens` from `start` on, at least one code point further.

        Half of the surplus goes at a time: no faster than tokens do, and a cluster of a megabyte in a few steps.
        """
        while end > start + 1 and (surplus := self.count(start, end) - max_tokens) > 0:
            index = max(self.index_at(end) - max(surplus // 2, 1), 0)
            end = max(start + 1, min(self.position(index), end - 1))
        return end

    def _count_with_cut_words(self, start: int, end: int, first: int, last: int) -> int:
        head_end, tail_end = int(self._word_ends[first]), int(self._word_ends[last])
        fragments = []
        if head_end > start:
            fragments.append(self.text[start : min(head_end, end)])
        if last > first and tail_end > end:
            last -= 1
            fragments.append(self.text[int(self._word_positions[last]) : end])
        n_cut = int(self._tokenizer.count(fragments).sum()) if fragments else 0
        return int(self._words[last] - self._words[first]) + n_cut

    @cached_property
    def _positions(self) -> NDArray[np.int64]:
        positions = _with_last(self.starts, len(self.text))
        positions[0] = 0
        return positions

    @cached_property
    def _forced_places(self) -> NDArray[np.int64]:
        return self._positions[self._forced_cuts]

    @cached_property
    def _words(self) -> NDArray[np.int64]:
        words = np.flatnonzero(np.append(self._tokens.word_starts, True))
        words[:1] = 0
        return words

    @cached_property
    def _word_positions(self) -> NDArray[np.int64]:
        return _with_last(self.starts, len(self.text))[self._words]

    @cached_property
    def _word_ends(self) -> NDArray[np.int64]:
        return np.append(0, self.ends)[self._words]

    def _count_forced_cuts(self) -> None:
        own = np.setdiff1d(np.flatnonzero(self._tokens.word_starts), self._forced_cuts)
        self.counts["cut_words"] += len(np.unique(own.searchsorted(self._forced_cuts)))
        inside = np.isin(self._forced_places, self.graphemes.inside).sum()
        if inside:
            self.counts["cut_graphemes"] += int(inside)


class BudgetText(MeasuredText):
    """A text measured by a tokenizer that only limits windows: a slice counts the tokens that it touches in the text.

    So windows are those of the whole text's tokens, and a slice read alone may come to a few more or less.
    """

    def count(self, start: int, end: int) -> int:
        return bisect_left(self._start_view, end) - bisect_right(self._end_view, start)

    def count_spans(self, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.starts.searchsorted(ends) - self.ends.searchsorted(starts, "right")


def _with_last(array: NDArray[np.int64], last: int) -> NDArray[np.int64]:
    """A copy of `array` with one more entry; several times as fast as `np.append`."""
    longer = np.empty(len(array) + 1, np.int64)
    longer[:-1] = array
    longer[-1] = last
    return longer
