"""Splitting shards that outgrew their size. A half lists its parent's files until the run has rewritten its own."""

from collections.abc import Iterable, Iterator

import msgspec

from transforms.layout import DOCUMENTS_PER_SHARD
from transforms.store.manifest import DocumentShard, Shard

SPLIT_DOCUMENTS = 4 * DOCUMENTS_PER_SHARD


def split_document_shards(shards: Iterable[DocumentShard]) -> Iterator[DocumentShard]:
    """The shards of the documents table, the large ones among them halved."""
    for shard in shards:
        if shard.documents and shard.documents.n_rows > SPLIT_DOCUMENTS and shard.last > shard.first:
            middle = (shard.first + shard.last) // 2
            yield msgspec.structs.replace(shard, last=middle)
            yield msgspec.structs.replace(shard, first=middle + 1)
        else:
            yield shard


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
