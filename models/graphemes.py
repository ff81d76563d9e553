"""Grapheme clusters: what a reader sees as one character, which a cut must not part."""

import sys
from collections.abc import Iterator
from functools import cache, cached_property

import numpy as np
import regex
from numpy.typing import NDArray

# A boundary can only be missing where one of the two code points beside it is of these kinds. Most are of none, which
# the look-ahead finds out at once.
_JOINER = regex.compile(
    r"(?=\P{GCB=Other})"
    r"[\r\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}\p{GCB=Prepend}\p{GCB=RI}\p{GCB=L}\p{GCB=V}\p{GCB=T}]"
)
_FIRST_JOINER = 0x300  # after the carriage return
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
    r"""The grapheme clusters of one text, which is read when a place beside a joiner is asked for, or all of them.

    >>> Graphemes("ae\u0301").floor(2)
    1
    """

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def inside(self) -> NDArray[np.int64]:
        """Sorted positions at which a cut would part a cluster."""
        return _positions_inside(self._text)

    def floor(self, position: int) -> int:
        """The last cluster boundary at or before `position`."""
        run = self._run_of(position)
        return position if run is None else run[0] - 1

    def ceil(self, position: int) -> int:
        """The first cluster boundary at or after `position`."""
        run = self._run_of(position)
        return position if run is None else run[1] + 1

    def _run_of(self, position: int) -> tuple[int, int] | None:
        """First and last of the positions inside one cluster, or several in a row, among which `position` is."""
        beside = self._text[max(position - 1, 0) : position + 1]
        if (beside.isascii() and beside != "\r\n") or not _JOINER.search(beside) or not self.inside.size:
            return None
        starts, ends = self._runs
        row = int(starts.searchsorted(position, "right")) - 1
        return (int(starts[row]), int(ends[row])) if row >= 0 and position <= ends[row] else None

    @cached_property
    def _runs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return _runs_of(self.inside)


def _positions_inside(text: str) -> NDArray[np.int64]:
    unsure = _unsure_positions(text)
    if not unsure.size:
        return unsure
    first, last = _runs_of(unsure)
    is_inside = np.zeros(len(text) + 1, np.bool_)
    is_inside[unsure] = True
    for start, end in zip((first - 1).tolist(), (last + 1).tolist(), strict=True):
        is_inside[list(cluster_starts(text, start, end))] = False
    return np.flatnonzero(is_inside)


def _unsure_positions(text: str) -> NDArray[np.int64]:
    """Sorted positions inside `text` that stand beside a joiner."""
    joiners = _joiner_positions(text)
    if not joiners.size:
        return joiners
    is_unsure = np.zeros(len(text) + 1, np.bool_)
    is_unsure[joiners] = is_unsure[joiners + 1] = True
    is_unsure[[0, -1]] = False
    return np.flatnonzero(is_unsure)


def _joiner_positions(text: str) -> NDArray[np.int64]:
    """Where `text` has a joiner, sorted. Only code points that might be one are looked up."""
    if text.isascii() and "\r" not in text:
        return np.empty(0, np.int64)
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    is_candidate = codes >= _FIRST_JOINER
    if "\r" in text:
        is_candidate |= codes == ord("\r")
    candidates = np.flatnonzero(is_candidate)
    if not candidates.size:
        return candidates
    found = codes[candidates]
    return candidates[_joiners(int(found.max()).bit_length())[found]]


def _runs_of(places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First and last of each run of numbers without a gap in `places`, sorted and not empty."""
    breaks = np.flatnonzero(np.diff(places) != 1)
    return places[np.append(0, breaks + 1)], places[np.append(breaks, -1)]


@cache
def _joiners(n_bits: int) -> NDArray[np.bool_]:
    """Whether each code point below 2**n_bits may join another, by its number: most texts need few of them."""
    n_codes = min(1 << n_bits, sys.maxunicode + 1)
    every = np.arange(n_codes, dtype=np.uint32).tobytes().decode("utf-32-le", "surrogatepass")
    table = np.zeros(n_codes, np.bool_)
    table[[match.start() for match in _JOINER.finditer(every)]] = True
    return table
