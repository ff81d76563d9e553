"""The sentences of one document as token ranges: cut at clean places, and none longer than an encoder reads."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from models.tokenizer import Tokenizer
from transforms.chunkers.measuring import MeasuredText
from transforms.chunkers.packing import Packer
from transforms.elements import Snapshot
from transforms.sentences import split_sentences

VERSION = 1


class Sentences:
    """n sentences that tile a text. Each begins at the clean token `firsts[i]`, int64 (n,), in order.

    `n_tokens`, int64 (n,), are content tokens of the sentence alone, counted by the tokenizer that will read it.
    """

    def __init__(self, snapshot: Snapshot, measured: MeasuredText, reader: Tokenizer, max_tokens: int) -> None:
        self._text = measured.text
        starts = split_sentences(measured.text, _block_edges(snapshot))[1:, 0]
        self.firsts = _distinct_firsts(measured, starts.tolist())
        self._places = self._find_places(measured)
        self.n_tokens = reader.count(self.texts).astype(np.int64)
        if (self.n_tokens > max_tokens).any():
            inner = list(self._inner_starts(reader, max_tokens))
            measured.counts["split_sentences"] += int((self.n_tokens > max_tokens).sum())
            self.firsts = _distinct_firsts(measured, sorted([*starts.tolist(), *inner]))
            self._places = self._find_places(measured)
            self.n_tokens = reader.count(self.texts).astype(np.int64)

    def __len__(self) -> int:
        return len(self.firsts)

    @property
    def texts(self) -> list[str]:
        return [self.text(row, row + 1) for row in range(len(self))]

    def span(self, row: int) -> tuple[int, int]:
        """Code points [start, end) of a sentence, without the white space around it."""
        start, end = int(self._places[row]), int(self._places[row + 1])
        kept = self._text[start:end].rstrip()
        return start + len(kept) - len(kept.lstrip()), start + len(kept)

    def text(self, first: int, last: int) -> str:
        """The text from sentence `first` to before sentence `last`."""
        return self._text[int(self._places[first]) : int(self._places[last])].strip()

    def _find_places(self, measured: MeasuredText) -> NDArray[np.int64]:
        return np.array([*map(measured.position, self.firsts.tolist()), len(self._text)], np.int64)

    def _inner_starts(self, reader: Tokenizer, max_tokens: int) -> Iterator[int]:
        """Yields the places inside sentences that are too long at which their parts begin."""
        for row in np.flatnonzero(self.n_tokens > max_tokens).tolist():
            start = int(self._places[row])
            part = MeasuredText(self._text[start : int(self._places[row + 1])], reader)
            for _, (first, _end) in pairwise(Packer(part, max_tokens).pack(0, part.n_tokens)):
                yield start + first


def own_sentences(snapshot: Snapshot) -> list[tuple[int, int]]:
    """The sentences [start, end) of a snapshot, whatever any encoder reads: what a language model is shown."""
    return [(start, end) for start, end in split_sentences(snapshot.text, _block_edges(snapshot)).tolist()]


def _block_edges(snapshot: Snapshot) -> list[int]:
    return [edge for block in snapshot.blocks if block.kind != "page" for edge in (block.start, block.end)]


def _distinct_firsts(measured: MeasuredText, starts: list[int]) -> NDArray[np.int64]:
    indices = measured.clean_indices(starts)
    return np.unique(np.append(0, indices[indices < measured.n_tokens]))
