"""Splitting shards that outgrew their size. A half lists its parent's files until the run has rewritten its own."""

from collections.abc import Iterable, Iterator

import msgspec

from transforms.layout import DOCUMENTS_PER_SHARD
from transforms.store.manifest import N_BUCKETS, DocumentShard, Shard

SPLIT_DOCUMENTS = 4 * DOCUMENTS_PER_SHARD


def split_document_shards(shards: Iterable[DocumentShard], n_expected: float = 0) -> Iterator[DocumentShard]:
    """The shards of the documents table, the large ones among them in halves, quarters and so on.

    A shard is large by the documents that it holds, or by its part of the `n_expected` that the listing suggests: all
    that a run reads for one shard meets under one key.
    """
    for shard in shards:
        n_held = shard.documents.n_rows if shard.documents else 0
        width = shard.last - shard.first + 1
        n_documents = max(n_held, n_expected * width / N_BUCKETS)
        while n_documents > SPLIT_DOCUMENTS and width > 1:
            n_documents, width = n_documents / 2, width // 2
        for first in range(shard.first, shard.last + 1, width):
            yield msgspec.structs.replace(shard, first=first, last=min(first + width - 1, shard.last))


def split_shards(shards: Iterable[Shard], shard_chars: int) -> Iterator[Shard]:
    """The content shards, those of more than twice `shard_chars` halved and without an index of their own.

    A single content is never divided, however long it is.
    """
    for shard in shards:
        if shard.n_chars > 2 * shard_chars and shard.n_contents > 1 and shard.last > shard.first:
            middle = (shard.first + shard.last) // 2
            half = msgspec.structs.replace(shard, index=None, index_kind="", training="")
            yield msgspec.structs.replace(half, last=middle)
            yield msgspec.structs.replace(half, first=middle + 1)
        else:
            yield shard
