"""Packs pieces of a text up to a number of tokens, cutting at the best boundary that is within reach."""

from collections.abc import Iterator

from transforms.chunkers.boundaries import Boundaries, Level
from transforms.chunkers.measuring import MeasuredText

VERSION = 1


class Packer:
    """Cuts ranges of one text into spans of at most `max_tokens`, which share at most `overlap` tokens.

    A span ends at the last boundary within reach of the coarsest level that has one there, so a paragraph, line or
    sentence that fits is never parted. Overlap is whole pieces: as many as fit beside the next piece.
    """

    def __init__(
        self, measured: MeasuredText, max_tokens: int, overlap: int = 0, boundaries: Boundaries | None = None
    ) -> None:
        self._measured = measured
        self._boundaries = boundaries or Boundaries(measured)
        self._max_tokens = max_tokens
        self._overlap = overlap

    def pack(self, start: int, end: int, *, glued: int = 0, overlaps: bool = True) -> Iterator[tuple[int, int]]:
        """Yields spans of code points that cover the token range [start, end).

        The first span is not ended before or at token `glued`, if it can hold so much.
        """
        for segment_start, segment_end in self._measured.segments(start, end):
            yield from self._pack_segment(segment_start, segment_end, glued, self._overlap if overlaps else 0)

    def _pack_segment(self, first: int, end: int, glued: int, overlap: int) -> Iterator[tuple[int, int]]:
        measured = self._measured
        start, done = measured.position(first), first  # tokens before `done` are in a span already
        while (reach := first + self._max_tokens - measured.surplus(start, first)) < end:
            keep = glued if done < glued < reach else done
            found = self._boundaries.best(keep, reach) or self._boundaries.best(done, reach)
            if found is None:
                cut = measured.cut_anywhere(start, end, self._max_tokens)
                yield start, cut
                start, first = cut, measured.index_at(cut)
                done = first
                continue
            level, done = found
            yield start, measured.position(done)
            first = self._overlap_start(first, done, end, level, overlap) if overlap else done
            start = measured.position(first)
        if start < measured.position(end):
            yield start, measured.position(end)

    def _overlap_start(self, former: int, done: int, end: int, cut_level: Level, overlap: int) -> int:
        """The token from which the next span repeats whole pieces of the one that ended at `done`."""
        found = self._boundaries.best(done, min(done + self._max_tokens, end))
        if found is None:
            return done
        next_piece_end = self._boundaries.first(max(found[0], cut_level), done + 1)
        earliest = max(done - overlap, next_piece_end - self._max_tokens, former + 1)
        return min(self._boundaries.first(max(cut_level, Level.SENTENCE), earliest), done)
