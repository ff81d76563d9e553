"""Encoders without a model, for trials and tests: one that hashes words, and faulty ones that fail on purpose."""

import re
import time
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.encoder import Encoded, Encoder, encode_in_batches
from models.settings import EncoderSettings
from models.tokenizer import HashingTokenizer, Tokenizer, load_tokenizer

# Raise when a text's vector changes.
VERSION = 1
# A word, or one sign of a script that writes without spaces.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")
_MARK = re.compile(r"\S")
_MAX_WORD_WEIGHT = 12


class HashingEncoder:
    """Feature hashing of words (Weinberger et al. 2009, https://arxiv.org/abs/0902.2206): near texts, near vectors.

    A word goes to one of `dimension` places with a sign, both from its CRC-32, and weighs as many as it has letters,
    up to 12, since long words tell texts apart. All sums are of integers and the rest is IEEE arithmetic, so a text
    has the same bytes in any batch and on any machine. Blank texts have no vector.
    """

    def __init__(
        self,
        dimension: int = 64,
        tokenizer: Tokenizer | None = None,
        *,
        batch_tokens: int = 8192,
        document_prompt: str = "",
        query_prompt: str = "",
    ) -> None:
        self.dimension = dimension
        self.tokenizer: Tokenizer = tokenizer or HashingTokenizer()
        self.document_prompt, self.query_prompt = document_prompt, query_prompt
        self.description: dict[str, Any] = {"device": "cpu", "dtype": "float64", "threads": 1, "libraries": {}}
        self._batch_tokens = batch_tokens

    @classmethod
    def from_settings(cls, settings: EncoderSettings) -> "HashingEncoder":
        return cls(
            settings.hashing_dimension,
            load_tokenizer(settings),
            batch_tokens=settings.batch_tokens,
            document_prompt=settings.document_prompt,
            query_prompt=settings.query_prompt,
        )

    @property
    def max_input_tokens(self) -> int:
        return self.tokenizer.max_input_tokens

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Vectors of passages."""
        return self._encode([self.document_prompt + text for text in texts])

    def encode_queries(self, texts: Sequence[str]) -> Encoded:
        """Vectors of questions; without prompts the same as of passages."""
        return self._encode([self.query_prompt + text for text in texts])

    def forward(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of one batch, float32 (n, dimension). What the faulty encoders replace."""
        return np.stack([hash_words(text, self.dimension) for text in texts])

    def _encode(self, texts: list[str]) -> Encoded:
        started_at = time.perf_counter()
        n_tokens = self.tokenizer.count(texts) + np.int32(self.tokenizer.overhead_tokens)
        over_limit = n_tokens > self.max_input_tokens
        for row in np.flatnonzero(over_limit).tolist():
            texts[row] = self._cut(texts[row])
        return encode_in_batches(
            lambda rows: self.forward([texts[row] for row in rows]),
            np.minimum(n_tokens, np.int32(self.max_input_tokens)),
            over_limit,
            dimension=self.dimension,
            batch_tokens=self._batch_tokens,
            padding_tokens=64,
            started_at=started_at,
        )

    def _cut(self, text: str) -> str:
        _, ends = self.tokenizer.offsets(text)
        return text[: int(ends[self.max_input_tokens - self.tokenizer.overhead_tokens - 1])]


def hash_words(text: str, dimension: int) -> NDArray[np.float32]:
    """The normalised sum of the words of `text`, float32 (dimension,); zeros for a blank text.

    >>> near = hash_words("the quick brown fox", 64) @ hash_words("the quick brown cat", 64)
    >>> bool(near > 0.7)
    True
    """
    words = Counter(_WORD.findall(text.lower()) or _MARK.findall(text))
    sums = np.zeros(dimension, np.int64)
    for word, n_times in words.items():
        code = zlib.crc32(word.encode("utf-8", "surrogatepass"))
        weight = n_times * min(len(word), _MAX_WORD_WEIGHT)
        sums[(code >> 1) % dimension] += weight if code & 1 else -weight
    length = np.sqrt(np.float64(sums @ sums))
    return (sums / length if length else sums).astype(np.float32)


def hashing_identity(settings: EncoderSettings) -> dict[str, Any]:
    """`encoder_identity` of the hashing encoder."""
    tokenizer = load_tokenizer(settings)
    return {
        "kind": "hashing",
        "version": VERSION,
        "weights_sha256": "",
        "tokenizer_sha256": tokenizer.identity,
        "dimension": settings.hashing_dimension,
        "max_input_tokens": tokenizer.max_input_tokens,
        "document_prompt": settings.document_prompt,
    }


class RandomEncoder(HashingEncoder):
    """Answers at random, the same for the same text: what nobody can have tuned for."""

    def forward(self, texts: Sequence[str]) -> NDArray[np.float32]:
        seeds = [zlib.crc32(text.encode("utf-8", "surrogatepass")) for text in texts]
        return np.stack([np.random.default_rng(seed).standard_normal(self.dimension) for seed in seeds]).astype(
            np.float32
        )


class NanEncoder(HashingEncoder):
    """Answers NaN for every text that holds `mark`."""

    mark = "NOT-A-NUMBER"

    def forward(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = super().forward(texts)
        vectors[[self.mark in text for text in texts]] = np.nan
        return vectors


class SmallMemoryEncoder(HashingEncoder):
    """Runs out of memory when one batch has more than `max_texts` texts, or any text holds `mark`."""

    mark = "TOO-BIG"
    max_texts = 4

    def forward(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if len(texts) > self.max_texts or any(self.mark in text for text in texts):
            raise RuntimeError(f"CUDA out of memory. Tried to encode {len(texts)} texts at once")
        return super().forward(texts)


class CountingEncoder:
    """Another encoder that keeps every text it was asked for: `calls` holds one list of texts a call."""

    def __init__(self, inner: Encoder | None = None) -> None:
        self.inner: Encoder = inner or HashingEncoder()
        self.calls: list[list[str]] = []

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    @property
    def max_input_tokens(self) -> int:
        return self.inner.max_input_tokens

    @property
    def description(self) -> dict[str, Any]:
        return self.inner.description

    @property
    def n_texts(self) -> int:
        """Texts encoded so far."""
        return sum(map(len, self.calls))

    def encode(self, texts: Sequence[str]) -> Encoded:
        self.calls.append(list(texts))
        return self.inner.encode(texts)

    def encode_queries(self, texts: Sequence[str]) -> Encoded:
        self.calls.append(list(texts))
        return self.inner.encode_queries(texts)
