"""How buckets of hashes are divided into shards, for a first run and from then on."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import TypeVar

from transforms.store.manifest import N_BUCKETS, DocumentShard, Shard

DOCUMENTS_PER_SHARD = 4096
BYTES_PER_ROW = 1024

AnyShard = TypeVar("AnyShard", Shard, DocumentShard)


def power_of_two_at_least(value: float) -> int:
    """The smallest power of two that is at least `value`, between 1 and the number of buckets.

    >>> power_of_two_at_least(5), power_of_two_at_least(0), power_of_two_at_least(10**9)
    (8, 1, 4096)
    """
    power = 1
    while power < value and power < N_BUCKETS:
        power *= 2
    return power


def ranges(n_shards: int) -> list[tuple[int, int]]:
    """`n_shards` equal ranges of buckets, both ends included.

    >>> ranges(2)
    [(0, 2047), (2048, 4095)]
    """
    width = N_BUCKETS // n_shards
    return [(first, first + width - 1) for first in range(0, N_BUCKETS, width)]


def expected_documents(n_files: int, table_bytes: int) -> float:
    """A guess at how many documents `n_files` and tables of `table_bytes` hold.

    >>> expected_documents(10, 4096)
    14.0
    """
    return n_files + table_bytes / BYTES_PER_ROW


def first_document_shards(n_files: int, table_bytes: int) -> list[DocumentShard]:
    """Empty document shards for a corpus of `n_files` documents beside tables of `table_bytes`."""
    n_shards = power_of_two_at_least(expected_documents(n_files, table_bytes) / DOCUMENTS_PER_SHARD)
    return [DocumentShard(first, last) for first, last in ranges(n_shards)]


def first_shards(corpus_bytes: int, shard_chars: int) -> list[Shard]:
    """Empty content shards for a corpus of `corpus_bytes`."""
    return [Shard(first, last) for first, last in ranges(power_of_two_at_least(corpus_bytes / shard_chars))]


def shard_of(bucket: int, firsts: Sequence[int]) -> int:
    """The index of the shard that holds `bucket`, given the shards' sorted first buckets.

    >>> shard_of(2048, [0, 2048]), shard_of(2047, [0, 2048])
    (1, 0)
    """
    return bisect_right(firsts, bucket) - 1
