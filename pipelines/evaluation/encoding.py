"""Vectors of texts, each different text encoded once however many policies cut it out."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from models.encoder import Encoder
from pipelines.progress import Progress, Watch

TEXTS_AT_ONCE = 1024


class VectorBlock(NamedTuple):
    """Digests of n texts, their vectors float16 (n, d), and whether each can be used, bool (n,)."""

    names: Sequence[bytes]
    vectors: NDArray[np.float16]
    valid: NDArray[np.bool_]


class VectorShelf(Protocol):
    """Keeps what an encoder made, so that it need not be made again."""

    def blocks(self) -> Iterator[VectorBlock]:
        """Everything that is kept."""

    def keep(self, block: VectorBlock) -> None:
        """Keep this as well, from the moment it returns."""


class VectorMemo:
    """An encoder that remembers, and with a `shelf` beyond its process.

    `n_encoded` counts the texts that it had to encode, `n_kept` those that lay on the shelf, `n_over_limit` those that
    it cut off.
    """

    def __init__(
        self, encoder: Encoder, watch: Watch | None = None, shelf: VectorShelf | None = None, stage: str = "encoding"
    ) -> None:
        self.encoder = encoder
        self.n_encoded = self.n_over_limit = 0
        self._watch: Watch = watch or (lambda poll: nullcontext())
        self._shelf, self._stage = shelf, stage
        self._rows: dict[bytes, int] = {}
        self._vectors: list[NDArray[np.float16]] = []
        self._valid: list[NDArray[np.bool_]] = []
        for block in shelf.blocks() if shelf else ():
            self._remember(block)
        self.n_kept = len(self._rows)

    def missing(self, texts: Sequence[str]) -> list[str]:
        """The different texts that would have to be encoded."""
        named = {_name(text): text for text in texts}
        return [text for name, text in named.items() if name not in self._rows]

    def vectors(self, texts: Sequence[str]) -> tuple[NDArray[np.float16], NDArray[np.bool_]]:
        """Vectors float16 (n, d), and whether each can be used, bool (n,)."""
        self._encode(self.missing(texts))
        rows = np.array([self._rows[_name(text)] for text in texts], np.int64)
        if not self._vectors:
            return np.empty((0, self.encoder.dimension), np.float16), np.empty(0, np.bool_)
        self._vectors, self._valid = [np.concatenate(self._vectors)], [np.concatenate(self._valid)]
        return self._vectors[0][rows], self._valid[0][rows]

    def _encode(self, texts: Sequence[str]) -> None:
        # The longest first: the encoder pads less, and the estimate of the time left is too high, not too low.
        ordered = sorted(texts, key=len, reverse=True)
        done = 0
        with self._watch(lambda: Progress(self._stage, done, len(ordered), "units") if ordered else None):
            for start in range(0, len(ordered), TEXTS_AT_ONCE):
                block = ordered[start : start + TEXTS_AT_ONCE]
                encoded = self.encoder.encode(block)
                made = VectorBlock([_name(text) for text in block], encoded.vectors, encoded.valid)
                if self._shelf:
                    self._shelf.keep(made)
                self._remember(made)
                self.n_over_limit += int(encoded.over_limit.sum())
                self.n_encoded += len(block)
                done += len(block)

    def _remember(self, block: VectorBlock) -> None:
        first = sum(map(len, self._valid))
        self._vectors.append(block.vectors)
        self._valid.append(block.valid)
        # Of a text that comes twice the later vector counts; the rows of the earlier one are not asked for.
        self._rows |= {name: first + number for number, name in enumerate(block.names)}


def _name(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
