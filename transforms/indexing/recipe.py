"""Which index a corpus of a given size gets."""

from math import log2, sqrt
from typing import Literal

import msgspec

from models.errors import SettingsError
from transforms.settings import IndexSettings

VERSION = 2
"""Raised when the bytes of an index, or which index is taken, change for equal vectors."""

BITS = 8
N_CODEWORDS = 1 << BITS
ROWS_PER_LIST = 39
"""Fewest training rows of an inverted list, as FAISS advises."""

TRAINING_ROWS_PER_LIST = 64
MAX_HOLDOUT_ROWS = 2048
HOLDOUT_EVERY = 16

LEAST_CODE_BYTES = 48
"""What a code has by default where it divides the vectors; shorter codes of short vectors lose too many neighbours."""

Kind = Literal["flat", "ivfpq"]


class IndexRecipe(msgspec.Struct, frozen=True):
    """How a shard is built and searched.

    `flat` is exact over the stored fp16 vectors: one inverted list of half-precision codes, since that takes explicit
    ids and removals. `ivfpq` has `nlist` inverted lists of `pq_bytes` byte codes around centroids, on inner product.
    """

    kind: Kind
    dimension: int
    nlist: int = 1
    pq_bytes: int = 0
    nprobe: int = 1
    rerank_factor: int = 1
    version: int = VERSION

    @property
    def factory(self) -> str:
        """FAISS's own name of the index. `np` leaves out polysemous training, 71 times slower and no use here."""
        return "IVF1,SQfp16" if self.kind == "flat" else f"IVF{self.nlist},PQ{self.pq_bytes}x{BITS}np"

    def accepts(self, factory: str) -> bool:
        """Whether shards of a stored training can go on: the same kind and codes. `nlist` is drift's business."""
        return self.kind == "ivfpq" and factory.split(",")[-1] == self.factory.split(",")[-1]


def plan_index(
    settings: IndexSettings, dimension: int, n_units: int, current_factory: str | None = None, n_shards: int = 1
) -> IndexRecipe:
    """The recipe for `n_units` vectors of `dimension` components in `n_shards`.

    `auto` takes IVF-PQ from `min_ivf_units`, and leaves it again only below half of that, so that a corpus around the
    threshold is not rebuilt every week; `current_factory` is that of the version's training, if it has one.
    Too few rows to train (an 8-bit code book needs 256) give flat whatever was asked.

    :raises SettingsError: `pq_bytes` does not divide `dimension`.

    >>> plan_index(IndexSettings(), 384, 200_000).factory
    'IVF2048,PQ48x8np'
    """
    if _takes_ivfpq(settings, n_units, current_factory is not None):
        n_bytes = code_bytes(settings, dimension)
        return IndexRecipe(
            "ivfpq", dimension, n_lists(n_units, n_shards), n_bytes, settings.nprobe, settings.rerank_factor
        )
    return IndexRecipe("flat", dimension, rerank_factor=settings.rerank_factor)


def n_lists(n_units: int, n_shards: int = 1) -> int:
    """The power of two nearest to four times the root of `n_units`, on a log scale, at most one list per 39 units.

    Every shard repeats the centroids, so the bound holds for the units of a mean shard: it keeps them a fraction of
    the vectors however many shards there are.

    >>> n_lists(20_000), n_lists(10_000_000), n_lists(1_000)
    (512, 16384, 25)
    >>> n_lists(10_000_000, n_shards=128)
    2003
    """
    nearest = 1 << round(log2(4 * sqrt(max(1, n_units))))
    return max(1, min(nearest, n_units // max(1, n_shards) // ROWS_PER_LIST))


def n_training_rows(recipe: IndexRecipe) -> int:
    """Rows that training can use, hold-out included; a smaller corpus is used whole. 0 for flat."""
    if recipe.kind == "flat":
        return 0
    return max(TRAINING_ROWS_PER_LIST * recipe.nlist, N_CODEWORDS * N_CODEWORDS) + MAX_HOLDOUT_ROWS


def n_holdout_rows(n_rows: int) -> int:
    """Rows of a sample of `n_rows` kept out of training, to know the errors of vectors that it has not seen."""
    return min(n_rows // HOLDOUT_EVERY, MAX_HOLDOUT_ROWS)


def _takes_ivfpq(settings: IndexSettings, n_units: int, is_trained: bool) -> bool:
    if settings.index == "flat" or n_units - n_holdout_rows(n_units) < N_CODEWORDS:
        return False
    fewest = settings.min_ivf_units // 2 if is_trained else settings.min_ivf_units
    return settings.index == "ivfpq" or n_units >= fewest


def code_bytes(settings: IndexSettings, dimension: int) -> int:
    """Bytes of a vector's code: as set, or at most 48, or an eighth of the components of longer vectors.

    :raises SettingsError: `pq_bytes` does not divide `dimension`.

    >>> code_bytes(IndexSettings(), 384), code_bytes(IndexSettings(), 100)
    (48, 25)
    """
    divisors = [n for n in range(1, dimension + 1) if dimension % n == 0]
    if settings.pq_bytes is None:
        return max(n for n in divisors if n <= max(LEAST_CODE_BYTES, dimension // 8))
    if settings.pq_bytes not in divisors:
        choices = ", ".join(map(str, divisors))
        raise SettingsError(
            f"pq_bytes = {settings.pq_bytes} does not divide the vectors' {dimension} components; take {choices}"
        )
    return settings.pq_bytes
