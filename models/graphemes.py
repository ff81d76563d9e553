"""Grapheme clusters: what a reader sees as one character, which a cut must not part."""

import sys
from collections.abc import Iterator
from functools import cache

import numpy as np
import regex
from numpy.typing import NDArray

# A boundary can only be missing where one of the two code points beside it is of these kinds.
_JOINER = regex.compile(
    r"[\r\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}\p{GCB=Prepend}\p{GCB=RI}\p{GCB=L}\p{GCB=V}\p{GCB=T}]"
)
_CLUSTER = regex.compile(r"\X")
# The matcher looks back over a whole run of flags for each of them, so it is given a little at a time.
_WINDOW_CHARS = 128


def cluster_starts(text: str, start: int, end: int) -> Iterator[int]:
    """Yields where each cluster of `text[start:end]` begins, given that one begins at `start`; in linear time.

    >>> list(cluster_starts("ae\u0301b", 0, 4))
    [0, 1, 3]
    """
    n_chars = _WINDOW_CHARS
    while start < end:
        stop = min(start + n_chars, end)
        starts = [start + match.start() for match in _CLUSTER.finditer(text[start:stop])]
        if stop < end and len(starts) == 1:
            n_chars *= 2
            continue
        # The last cluster may go on beyond the window.
        last = starts.pop() if stop < end else end
        yield from starts
        start, n_chars = last, _WINDOW_CHARS


class Graphemes:
    r"""The grapheme clusters of one text. Costs next to nothing where no code point can join another.

    >>> Graphemes("ae\u0301").floor(2)
    1
    """

    def __init__(self, text: str) -> None:
        self.inside = _positions_inside(text)
        breaks = np.flatnonzero(np.diff(self.inside) != 1)
        self._run_starts = self.inside[np.append(0, breaks + 1)] if self.inside.size else self.inside
        self._run_ends = self.inside[np.append(breaks, -1)] if self.inside.size else self.inside

    def floor(self, position: int) -> int:
        """The last cluster boundary at or before `position`."""
        row = self._run_of(position)
        return position if row is None else int(self._run_starts[row]) - 1

    def ceil(self, position: int) -> int:
        """The first cluster boundary at or after `position`."""
        row = self._run_of(position)
        return position if row is None else int(self._run_ends[row]) + 1

    def _run_of(self, position: int) -> int | None:
        if not self.inside.size:
            return None
        row = int(self._run_starts.searchsorted(position, "right")) - 1
        return row if row >= 0 and position <= self._run_ends[row] else None


def _positions_inside(text: str) -> NDArray[np.int64]:
    """Sorted positions at which a cut would part a cluster."""
    if text.isascii() and "\r" not in text:
        return np.empty(0, np.int64)
    is_joiner = _joiners().take(np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32))
    unsure = np.flatnonzero(is_joiner[1:] | is_joiner[:-1]) + 1
    if not unsure.size:
        return unsure
    breaks = np.flatnonzero(np.diff(unsure) != 1)
    first, last = unsure[np.append(0, breaks + 1)], unsure[np.append(breaks, len(unsure) - 1)]
    is_inside = np.zeros(len(text) + 1, np.bool_)
    is_inside[unsure] = True
    for start, end in zip((first - 1).tolist(), (last + 1).tolist(), strict=True):
        is_inside[list(cluster_starts(text, start, end))] = False
    return np.flatnonzero(is_inside)


@cache
def _joiners() -> NDArray[np.bool_]:
    """Whether each code point may join another, by its number."""
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    table = np.zeros(len(every), np.bool_)
    table[[match.start() for match in _JOINER.finditer(every)]] = True
    return table
