"""Vectors of texts, each different text encoded once however many policies cut it out."""

import hashlib
from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np
from numpy.typing import NDArray

from models.encoder import Encoder
from pipelines.progress import Progress, Watch

TEXTS_AT_ONCE = 1024


class VectorMemo:
    """An encoder that remembers. `n_encoded` counts the texts that it had to encode, `n_over_limit` those cut off."""

    def __init__(self, encoder: Encoder, watch: Watch | None = None) -> None:
        self.encoder = encoder
        self.n_encoded = self.n_over_limit = 0
        self._watch: Watch = watch or (lambda poll: nullcontext())
        self._rows: dict[bytes, int] = {}
        self._vectors: list[NDArray[np.float16]] = []
        self._valid: list[NDArray[np.bool_]] = []

    def vectors(self, texts: Sequence[str]) -> tuple[NDArray[np.float16], NDArray[np.bool_]]:
        """Vectors float16 (n, d), and whether each can be used, bool (n,)."""
        names = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        new = {name: text for name, text in zip(names, texts, strict=True) if name not in self._rows}
        self._encode(list(new.values()))
        self._rows |= {name: len(self._rows) + number for number, name in enumerate(new)}
        rows = np.array([self._rows[name] for name in names], np.int64)
        if not self._vectors:
            return np.empty((0, self.encoder.dimension), np.float16), np.empty(0, np.bool_)
        return np.concatenate(self._vectors)[rows], np.concatenate(self._valid)[rows]

    def _encode(self, texts: Sequence[str]) -> None:
        # The longest first: the encoder pads less, and the estimate of the time left is too high, not too low.
        order = sorted(range(len(texts)), key=lambda row: len(texts[row]), reverse=True)
        vectors = np.empty((len(texts), self.encoder.dimension), np.float16)
        valid = np.empty(len(texts), np.bool_)
        done = 0
        with self._watch(lambda: Progress("encoding", done, len(texts), "units") if texts else None):
            for start in range(0, len(texts), TEXTS_AT_ONCE):
                rows = order[start : start + TEXTS_AT_ONCE]
                encoded = self.encoder.encode([texts[row] for row in rows])
                vectors[rows], valid[rows] = encoded.vectors, encoded.valid
                self.n_over_limit += int(encoded.over_limit.sum())
                done += len(rows)
        self.n_encoded += len(texts)
        if len(texts):
            self._vectors.append(vectors)
            self._valid.append(valid)
