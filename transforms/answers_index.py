"""Where the answers to keys lie: sixteen bytes of memory for each, found in a few steps from however many files."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from transforms.store.manifest import FileEntry


class _Tier(NamedTuple):
    """The first 64 bits of keys, uint64 (n,), ascending, each with the number of its file and its row, int32 (n,)."""

    digests: NDArray[np.uint64]
    files: NDArray[np.int32]
    rows: NDArray[np.int32]


class AnswerIndex:
    """Files of answers and their keys. A later tier is less than half of the one before, so there are few of them."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._entries: dict[int, FileEntry] = {}
        self._tiers: list[_Tier] = []
        self._n_files = 0

    @property
    def paths(self) -> Collection[str]:
        """The files that are in it."""
        return self._numbers.keys()

    def add(self, entry: FileEntry, keys: Sequence[Any]) -> None:
        """Takes a file in whose rows have these keys, ascending hex digits. One that is there already stays."""
        if entry.path in self._numbers:
            return
        number, n_rows = self._n_files, len(keys)
        self._n_files += 1
        self._numbers[entry.path], self._entries[number] = number, entry
        tier = _Tier(digests_of(keys), np.full(n_rows, number, np.int32), np.arange(n_rows, dtype=np.int32))
        while self._tiers and len(self._tiers[-1].digests) <= 2 * len(tier.digests):
            tier = self._merged(self._tiers.pop(), tier)
        self._tiers.append(tier)

    def remove(self, path: str) -> None:
        """Forgets a file. Its keys are dropped when their tier is next merged."""
        del self._entries[self._numbers.pop(path)]

    def rows_of(self, keys: Iterable[str]) -> Iterator[tuple[FileEntry, list[int]]]:
        """Yields files, in the order in which they came, with the rows that may have one of these keys, ascending."""
        digests = digests_of(sorted(keys))
        found: defaultdict[int, list[int]] = defaultdict(list)
        for tier in self._tiers:
            starts, ends = tier.digests.searchsorted(digests), tier.digests.searchsorted(digests, "right")
            for hit in np.flatnonzero(ends > starts).tolist():
                place = slice(int(starts[hit]), int(ends[hit]))
                for number, row in zip(tier.files[place].tolist(), tier.rows[place].tolist(), strict=True):
                    found[number].append(row)
        for number in sorted(found.keys() & self._entries.keys()):
            yield self._entries[number], sorted(set(found[number]))

    def _merged(self, first: _Tier, second: _Tier) -> _Tier:
        digests = np.concatenate([first.digests, second.digests])
        files = np.concatenate([first.files, second.files])
        rows = np.concatenate([first.rows, second.rows])
        order = digests.argsort(kind="stable")
        kept = order[np.isin(files[order], list(self._entries))]
        return _Tier(digests[kept], files[kept], rows[kept])


def digests_of(keys: Sequence[Any]) -> NDArray[np.uint64]:
    """The first 64 bits of hex digits, uint64 (n,)."""
    return np.array([int(key[:16], 16) for key in keys], np.uint64)
