"""Makes spans fit to be units: nothing blank, no white space around, nothing that the encoder could not read whole."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import pairwise

import numpy as np

from transforms.chunkers.boundaries import Boundaries
from transforms.chunkers.measuring import MeasuredText
from transforms.chunkers.packing import Packer

VERSION = 1

Span = tuple[int, int]


class Fitter:
    """Strips spans of one text, drops blank ones, and splits those over a limit at the best boundaries within it.

    `measured` holds the encoder's tokens and collects the counts; spans over `max_tokens` of them are counted as
    `outcome`. Without a limit nothing is split: the spans are known to hold.
    """

    def __init__(self, measured: MeasuredText, max_tokens: int | None = None, outcome: str = "") -> None:
        self._measured = measured
        self._max_tokens = max_tokens
        self._outcome = outcome

    def fit(self, spans: Iterable[Span], glued: int = 0) -> Iterator[Span]:
        """Yields the spans that become units; the parts of one that was split stand where it stood.

        No part ends at or before the code point `glued`, if it can hold so much.
        """
        stripped = self._stripped(spans)
        return stripped if self._max_tokens is None else self._within(list(stripped), self._max_tokens, glued)

    def _within(self, spans: list[Span], max_tokens: int, glued: int) -> Iterator[Span]:
        waiting, counts = spans[::-1], self._counts(spans)[::-1]
        self._measured.counts[self._outcome] += sum(n_tokens > max_tokens for n_tokens in counts)
        while waiting:
            span, n_tokens = waiting.pop(), counts.pop()
            must_split = n_tokens > max_tokens or self._measured.has_forced_cut(*span)
            parts = self._split(span, n_tokens, max_tokens, glued) if must_split else []
            if not parts:
                yield span
            waiting += parts[::-1]
            counts += self._counts(parts)[::-1]

    def _split(self, span: Span, n_tokens: int, max_tokens: int, glued: int) -> list[Span]:
        """`span` in parts at the best boundaries, in the middle where there is none; none for a single code point."""
        start, end = span
        first, last = max(self._measured.index_at(start + 1) - 1, 0), self._measured.index_at(end)
        # What the span counts alone beyond its tokens in the text, its parts may count too.
        surplus = max(n_tokens - (last - first), 0)
        packer = Packer(self._measured, max(1, max_tokens - surplus), boundaries=self._boundaries)
        packed = packer.pack(first, last, glued=self._measured.index_at(glued))
        inner = [place for _, place in packed if start < place < end]
        if not inner:
            middle = self._measured.grapheme_floor((start + end) // 2)
            if middle == start:  # a single cluster
                middle = (start + end) // 2
                self._measured.counts["cut_graphemes"] += middle > start
            inner = [middle]
        return list(self._stripped(pairwise([start, *inner, end]))) if inner[0] > start else []

    @cached_property
    def _boundaries(self) -> Boundaries:
        return Boundaries(self._measured)

    def _counts(self, spans: list[Span]) -> list[int]:
        places = np.array(spans, np.int64).reshape(-1, 2)
        return list(map(int, self._measured.count_alone(places[:, 0], places[:, 1])))

    def _stripped(self, spans: Iterable[Span]) -> Iterator[Span]:
        measured = self._measured
        for start, end in spans:
            kept = measured.text[start:end].rstrip()
            if not kept:
                measured.counts["blank_windows"] += 1
            elif kept[0].isspace():
                first = start + len(kept) - len(kept.lstrip())
                # White space that bears a combining mark is the mark's own.
                yield max(measured.grapheme_floor(first), start), start + len(kept)
            else:
                yield start, start + len(kept)
