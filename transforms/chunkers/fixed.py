"""Level 1: windows of a fixed number of tokens that start at 0, S, 2S, ..."""

from collections.abc import Iterator
from dataclasses import dataclass

from transforms.chunkers.fitting import Fitter
from transforms.chunkers.headings import HeadingPaths
from transforms.chunkers.measuring import MeasuredText
from transforms.chunkers.protocol import Piece
from transforms.elements import Snapshot

VERSION = 1


def window_spans(measured: MeasuredText, window: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Yields spans of `window` tokens with stride `window - overlap`, until one reaches the end.

    A cut inside a grapheme cluster moves to the cluster's start; a cut inside a word moves back when the cut word
    would count more tokens than the window holds. The following windows keep their stride from there.
    """
    for start, end in measured.segments(0, measured.n_tokens):
        yield from _segment_spans(measured, start, end, window, overlap)


def _segment_spans(
    measured: MeasuredText, first: int, end: int, window: int, overlap: int
) -> Iterator[tuple[int, int]]:
    start = measured.position(first)
    last_end = start
    while end - first > window or measured.count(start, measured.position(end)) > window:
        cut = measured.cut_anywhere(start, end, window)
        if cut <= last_end:  # the overlap left no room for anything new
            start, first = last_end, measured.index_at(last_end)
            continue
        yield start, cut
        if cut >= measured.position(end):
            return
        start, last_end = _next_start(measured, start, cut, overlap), cut
        first = measured.index_at(start)
    yield start, measured.position(end)


def _next_start(measured: MeasuredText, former: int, cut: int, overlap: int) -> int:
    """Where the window begins that repeats the last `overlap` tokens before `cut`."""
    if not overlap:
        return cut
    wanted = measured.position(max(measured.index_at(cut) - overlap, 0))
    start = measured.grapheme_floor(wanted)
    start = start if former < start < cut else cut
    measured.counts["moved_cuts"] += start != wanted
    return start


@dataclass(frozen=True)
class FixedChunker:
    """Fixed windows; each carries the heading path that holds at its start."""

    window: int
    overlap: int = 0
    name = "fixed"
    max_context_tokens = 0

    def cut(self, snapshot: Snapshot, measured: MeasuredText, fitter: Fitter) -> Iterator[Piece]:
        headings = HeadingPaths(snapshot, measured.counts)
        for start, end in fitter.fit(window_spans(measured, self.window, self.overlap)):
            yield Piece(start, end, heading_path=headings.at(start))
